"""Ports more than one per instance, and addresses that ports share, for snapshots in tests."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network

from hypothesis import strategies as st

from controller.model.snapshot import Intent
from controller.model.tenancy import Port


def with_ports(intent: Intent, homes: Mapping[str, str]) -> Intent:
    """The intent with a second port, in the subnet with the given id, of the instances with these ids."""
    places = {instance.id: place for place, instance in enumerate(intent.instances)}
    subnets = {one.id: one for one in intent.subnets}
    more = tuple(
        Port(instance, "eth1", home, str(IPv4Network(subnets[home].cidr)[100 + places[instance]]),
             f"02:bb:00:00:00:{places[instance]:02x}", zone=1000 + places[instance])
        for instance, home in homes.items()
    )  # fmt: skip
    return replace(intent, ports=(*intent.ports, *more))


def with_allowed(intent: Intent, *allowed: tuple[str, ...]) -> Intent:
    """The intent whose first ports may send from these addresses, too."""
    ports = (replace(port, allowed_addresses=one) for port, one in zip(intent.ports, allowed, strict=False))
    return replace(intent, ports=(*ports, *intent.ports[len(allowed):]))


@st.composite
def allowing(draw: st.DrawFn, intent: Intent) -> Intent:
    """The intent with allowed addresses at some ports, which they share with others of their subnet."""
    networks = {one.id: (one.cidr, one.cidr6) for one in intent.subnets}
    ports = []
    for port in intent.ports:
        first, second = networks[port.subnet]
        base, base6 = first.removesuffix("0/24"), (second or "").removesuffix("/64")
        sizes = [f"{base}200", f"{base}200/29", f"{base}192/26"]
        chosen = [draw(st.sampled_from(sizes))] if draw(st.booleans()) else []
        if second and draw(st.booleans()):
            chosen.append(draw(st.sampled_from([f"{base6}c8", f"{base6}c0/122"])))
        ports.append(replace(port, allowed_addresses=tuple(chosen)))
    return replace(intent, ports=tuple(ports))


SHARED = ("10.1.0.200", "10.1.0.207", "10.1.0.193", "10.1.1.200", "10.2.0.200")  # of which some are allowed
SHARED6 = ("fd00::c8", "fd00:0:0:1::c8", "fd00::c1", "fd00::101")
