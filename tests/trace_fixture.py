"""ofproto/trace of a private Open vSwitch, in the terms of `evaluate`."""

import re
from collections.abc import Collection
from pathlib import Path

from controller.flows.action import Meter
from controller.flows.evaluate import Outcome
from controller.flows.flow import Flow
from controller.flows.text import flows_text, meter_text, term_text
from controller.southbound.named import Named
from ovs_fixture import PrivateOvs

# Indented deeper is what would be of a packet that is too large.
HIT = re.compile(r"^ ?(\d+)\. .*priority (\d+)(?:, cookie (0x[0-9a-f]+))?$")


def install(ovs: PrivateOvs, bridge: str, flows: Collection[Flow]) -> None:
    """The flows, and the meters that they name."""
    for meter in Named(flows).all():
        if isinstance(meter, Meter):
            ovs.ofctl("add-meter", bridge, meter_text(meter))
    file = Path(ovs.directory) / "flows.txt"
    file.write_text(flows_text(flows))
    ovs.ofctl("--bundle add-flows", bridge, str(file))


def trace(ovs: PrivateOvs, bridge: str, packet: dict[str, int], *options: str) -> str:
    spelled = {"ip_ttl": "nw_ttl", "vlan_vid": "vlan_tci"}
    terms = [
        f"{spelled[name]}={value}" if name in spelled else term_text((name, value, None))
        for name, value in packet.items()
    ]
    return ovs.appctl("ofproto/trace", *options, bridge, ",".join(terms))


def hits(outcome: Outcome) -> list[tuple[int, int, int]]:
    return [(flow.table, flow.priority, flow.cookie) for flow in outcome.hits]


def matched(text: str) -> list[tuple[int, int, int]]:
    """Table, priority and cookie of every flow that was hit, in the words of a trace."""
    found = (match.groups() for line in text.splitlines() if (match := HIT.match(line)))
    return [(int(table), int(priority), int(cookie or "0", 16)) for table, priority, cookie in found]


def outputs(text: str) -> int:
    """How many packets left, in the words of a trace."""
    found = len(re.findall(r"^ {4}(?:output:|IN_PORT|LOCAL|CONTROLLER)", text, re.MULTILINE))
    return found - text.count("skipping output to input port")
