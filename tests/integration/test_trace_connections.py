"""Oracle 4 for security groups: the rules judge as Open vSwitch does, whatever state conntrack finds.

A trace is told the state of a connection but knows nothing of the packet that opened it, so these rules are about peers
and directions; protocols and ports are tried with real packets (tests/isolation/test_security_groups.py).
"""

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.compiler import program
from controller.compiler.address import ipv6
from controller.flows.connections import Connections
from controller.flows.evaluate import Switch
from controller.flows.text import states_text
from controller.model.addresses import GATEWAY_MAC
from controller.model.allocate import allocate
from controller.model.tenancy import Port
from ovs_fixture import Namespace, PrivateOvs
from trace_fixture import hits, install, matched, outputs, trace
from worlds import CHASSIS, plug_all, snapshot

pytestmark = pytest.mark.root

GROUPS = {
    "web": {
        "rules": {
            "near": {"direction": "to-port", "cidr": "10.1.0.0/24"},
            "far": {"direction": "to-port", "cidr": "fd00:2::/64"},
            "http": {"direction": "to-port", "protocol": "tcp", "ports": "80-82"},
            "queries": {"direction": "from-port", "peers": "sql"},
        },
        "established": "keep",
    },
    "sql": {"rules": {"in": {"direction": "to-port", "peers": "web"}, "out": {"direction": "from-port"}}},
}
MEMBERS = {
    name: {"subnet": subnet, "server": server, "groups": groups}
    for name, subnet, server, groups in (
        ("a", "front", "server-0", ["web"]), ("b", "front", "server-0", ["web", "sql"]),
        ("c", "back", "server-0", ["sql"]), ("d", "back", "server-1", ["web"]),
    )
}  # fmt: skip
SUBNETS = {
    "front": {"cidr": "10.1.0.0/24", "cidr6": "fd00:1::/64"}, "back": {"cidr": "10.1.1.0/24", "cidr6": "fd00:2::/64"},
}  # fmt: skip
VPC = {"subnets": SUBNETS, "security_groups": GROUPS, "instances": MEMBERS}
INTENT = allocate({"red": {"vpcs": {"v": VPC}}}, ["server-0", "server-1"])
WORLD, SEEN = snapshot(INTENT), plug_all(INTENT)
OVERLAY = CHASSIS[0].int_dpid
FLOWS = list(program.compile(WORLD, SEEN).flows[OVERLAY].flows.values())
NEW, ESTABLISHED, REPLY, RELATED, INVALID = 0x21, 0x22, 0x2A, 0x24, 0x30


class Scripted(Connections):
    """Conntrack finds what it is told to find, look-up after look-up."""

    def __init__(self, states: list[int]) -> None:
        super().__init__()
        self._states = iter(states)

    def track(self, zone: int, packet: Mapping[str, int]) -> dict[str, int]:
        return {"ct_state": next(self._states), "ct_nw_proto": 0, "ct_tp_src": 0, "ct_tp_dst": 0}

    def commit(self, zone: int, packet: Mapping[str, int]) -> None:
        """Nothing is remembered."""


@pytest.fixture(scope="module")
def ovs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateOvs]:
    namespace = Namespace()
    switch = PrivateOvs(namespace, tmp_path_factory.mktemp("ovs"))
    switch.add_bridge("overlay", OVERLAY, ports=4, controller="ptcp:0:127.0.0.1")
    install(switch, "overlay", FLOWS)
    yield switch
    switch.close()
    namespace.close()


def number(text: str) -> int:
    """Of a MAC or an IPv4 address."""
    return int(text.replace(":", ""), 16) if ":" in text else int.from_bytes(bytes(map(int, text.split("."))))


def ends(draw: st.DrawFn, sender: Port, receiver: Port) -> dict[str, int]:
    """The addresses of a packet, in either version of IP."""
    if draw(st.booleans()):
        return {"eth_type": 0x0800, "ip_src": number(sender.address), "ip_dst": number(receiver.address)}
    return {"eth_type": 0x86DD, "ipv6_src": ipv6(sender.address6), "ipv6_dst": ipv6(receiver.address6)}


@st.composite
def packets(draw: st.DrawFn) -> dict[str, int]:
    """Honest packets between members, from a local port or out of the tunnel."""
    sender: Port = draw(st.sampled_from(INTENT.ports))
    receiver: Port = draw(st.sampled_from([port for port in INTENT.ports if port is not sender]))
    local = SEEN.plugged.get((CHASSIS[0].name, sender.id))
    routed = sender.subnet != receiver.subnet
    mac = GATEWAY_MAC if routed and local else receiver.mac
    if draw(st.integers(0, 5)) == 0:
        mac = "ff:ff:ff:ff:ff:ff"
    packet = {
        "in_port": local or CHASSIS[0].tunnel_port, "eth_src": number(sender.mac), "eth_dst": number(mac),
        **ends(draw, sender, receiver), "ip_ttl": 64,
    }  # fmt: skip
    if not local:
        vni = next(subnet.vni for subnet in INTENT.subnets if subnet.id == receiver.subnet)
        packet |= {"tun_id": vni, "tun_src": number(CHASSIS[1].vtep)}
    kind = draw(st.sampled_from(["tcp", "udp", "icmp"]))
    if kind == "icmp" and packet["eth_type"] == 0x86DD:
        return packet | {"ip_proto": 58, "icmpv6_type": 128}
    if kind == "icmp":
        return packet | {"ip_proto": 1, "icmp_type": draw(st.sampled_from([8, 13]))}
    ports = st.sampled_from([79, 80, 81, 82, 83, 90, 91])
    return packet | {"ip_proto": {"tcp": 6, "udp": 17}[kind], f"{kind}_src": draw(ports), f"{kind}_dst": draw(ports)}


STATES = st.lists(st.sampled_from([NEW, NEW, NEW, ESTABLISHED, REPLY, RELATED, INVALID]), min_size=8, max_size=8)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(packets(), STATES)
def test_rules_judge_as_open_vswitch_does(ovs: PrivateOvs, packet: dict[str, int], states: list[int]) -> None:
    told = (("--ct-next", states_text(state, state).replace("+", ",").strip(",")) for state in states)
    text = trace(ovs, "overlay", packet, *(word for option in told for word in option))
    outcome = Switch(FLOWS, connections=Scripted(states)).evaluate(packet)
    # Two rules that both allow a packet may be hit in either's place: they do the same.
    assert sorted(each[:2] for each in matched(text)) == sorted(each[:2] for each in hits(outcome)), text
    assert outputs(text) == len(outcome.emissions), text
