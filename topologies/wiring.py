"""What every fabric has in common: how nodes are numbered and cabled, and how stock Mininet is handed the result.

A fabric is an undirected `networkx.MultiGraph`.

Node attributes: `kind` (host, or what the field calls the switch: edge, agg, core, leaf, spine, tor, ...), `tier` (0
host, 1 its switch, 2, 3), `address` (IPv4 string), `pod` (int, where there are pods, units, segments); hosts also have
`mac`, switches `dpid` (int), and switches with hosts `prefix` (the CIDR that holds the switch and its hosts). MACs and
datapath ids follow from the address, so the same parameters always give the same numbers. Hosts are named h1..hN in
position order.

A host position is one NIC. Where servers have several, `server` (int, from 1) and `nic` (int, from 0) say whose it is
and which; a NIC of two ports has two edges and one address. Switches of one rail or one plane have `rail` or `plane`
(int, from 0).

Edge attributes: `ports` ({node: port number}, from 1 on both sides), `tier` (the link tier that rates are set for) and,
where a rate is set, `rate_mbps` (Mbit/s).

Graph attributes: `kind` and the parameters it was built from.
"""

from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Address
from typing import Any, NamedTuple

import networkx as nx

INTERFACE_NAME_LENGTH = 15  # IFNAMSIZ of Linux, less the terminating zero
MOST_LEAVES = 254 * 256 - 1  # 10.0.1.0/24 to 10.253.255.0/24
MOST_UPPER = 256 * 256 - 2   # 10.255.0.1 to 10.255.255.254
MOST_HOSTS = 252             # .2 to .253; .1 and .254 are the switches'


class FabricError(ValueError):
    """A fabric that cannot exist. `parameter` is the one at fault, `hint` says what would do."""

    def __init__(self, parameter: str, message: str, hint: str) -> None:
        super().__init__(f"{parameter}: {message} ({hint})")
        self.parameter = parameter
        self.message = message
        self.hint = hint


class Parameter(NamedTuple):
    """A size that a kind of fabric is built from: a whole number in lowest..highest, perhaps an even one, or a power of
    two."""

    name: str
    meaning: str
    lowest: int
    highest: int
    even: bool = False
    power_of_two: bool = False

    @property
    def allowed(self) -> str:
        """What to use, as a hint."""
        what = "a power of two" if self.power_of_two else "an even number" if self.even else "a whole number"
        return f"use {what} from {self.lowest} to {self.highest}"

    def require(self, value: object) -> None:
        """Raise FabricError unless `value` will do (True and False are no numbers here)."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise FabricError(self.name, f"must be a whole number, not {value!r}", self.allowed)
        if not self.lowest <= value <= self.highest:
            raise FabricError(self.name, f"{value} is out of range", self.allowed)
        if self.even and value % 2:
            raise FabricError(self.name, f"{value} is odd", f"{self.allowed}, such as {value - 1} or {value + 1}")
        if self.power_of_two and value & (value - 1):
            raise FabricError(self.name, f"{value} is no power of two", self.allowed)


def require(parameters: tuple[Parameter, ...], values: Mapping[str, object]) -> None:
    """Raise FabricError for the first parameter whose value will not do."""
    for parameter in parameters:
        parameter.require(values[parameter.name])


def mac_of(address: str) -> str:
    """The MAC of the host with this IPv4 address: 02:00 (locally administered), then the four bytes."""
    return ":".join(f"{byte:02x}" for byte in b"\x02\x00" + IPv4Address(address).packed)


def dpid_of(address: str) -> int:
    """The datapath id of the switch with this IPv4 address: the address as a number, below 2**32."""
    return int(IPv4Address(address))


def leaf_network(number: int) -> str:
    """The first three bytes of the addresses at tier-1 switch `number`, from 1 to MOST_LEAVES: a /24 of its own
    whatever the size of the fabric, so that a larger fabric does not renumber a smaller one."""
    return f"10.{number // 256}.{number % 256}"


def upper_address(tier: int, number: int) -> str:
    """The address of switch `number` (from 1 to MOST_UPPER) of tier 2 or 3, from the two /16 at the top."""
    return f"10.{257 - tier}.{number // 256}.{number % 256}"


def add_switch(graph: nx.MultiGraph, name: str, address: str, **attributes: object) -> None:
    """Add a switch; `attributes` are its kind and tier, and its pod and prefix if it has them."""
    graph.add_node(name, address=address, dpid=dpid_of(address), **attributes)


def add_host(graph: nx.MultiGraph, name: str, address: str, **attributes: object) -> None:
    """Add a host position; `attributes` may name its pod."""
    graph.add_node(name, kind="host", tier=0, address=address, mac=mac_of(address), **attributes)


def add_link(graph: nx.MultiGraph, tier: str, lower: tuple[str, int], upper: tuple[str, int]) -> None:
    """Cable two (node, port) ends together."""
    graph.add_edge(lower[0], upper[0], tier=tier, ports={lower[0]: lower[1], upper[0]: upper[1]})


def hosts(graph: nx.MultiGraph) -> list[str]:
    """The host positions, h1 first."""
    return [name for name, kind in graph.nodes(data="kind") if kind == "host"]


def server_nics(graph: nx.MultiGraph) -> dict[str, list[str]]:
    """The positions of each server, NIC by NIC, by the server's name: `server-N`, or that of its only position where
    NICs are not told apart."""
    found: dict[str, list[str]] = {}
    for position in hosts(graph):
        number = graph.nodes[position].get("server")
        found.setdefault(position if number is None else f"server-{number}", []).append(position)
    return found


def switches(graph: nx.MultiGraph) -> list[str]:
    """The switches, top tier first."""
    return [name for name, kind in graph.nodes(data="kind") if kind != "host"]


def links(graph: nx.MultiGraph) -> Iterator[tuple[tuple[str, int], tuple[str, int], str]]:
    """Each cable once, as ((lower node, port), (upper node, port), link tier)."""
    for a, b, attributes in graph.edges(data=True):
        lower, upper = sorted((a, b), key=lambda name: int(graph.nodes[name]["tier"]))
        ports = attributes["ports"]
        yield (lower, ports[lower]), (upper, ports[upper]), attributes["tier"]


def with_servers(graph: nx.MultiGraph, servers: Mapping[str, str] | None) -> nx.MultiGraph:
    """A copy in which the host positions in use are called by their servers' names (name -> position) and tell their
    own in `position`."""
    names = {position: name for name, position in (servers or {}).items()}
    named = nx.MultiGraph(**graph.graph)
    for name, about in graph.nodes(data=True):
        named.add_node(names.get(name, name), **about, **({"position": name} if name in names else {}))
    for lower, upper, cable in graph.edges(data=True):
        ports = {names.get(node, node): port for node, port in cable["ports"].items()}
        named.add_edge(names.get(lower, lower), names.get(upper, upper), **{**cable, "ports": ports})
    return named


def mininet_topo(graph: nx.MultiGraph) -> Any:
    """The fabric as a stock `mininet.topo.Topo`, with explicit addresses, MACs, datapath ids and port numbers.

    Host interfaces count from eth0, as Mininet's users expect; switch interfaces carry their OpenFlow port number. A
    host is a NIC: its second port has the same MAC, and no address until the user bonds the two.
    """
    from mininet.topo import Topo  # only Mininet's users have Mininet

    topo = Topo()
    for name in switches(graph):
        topo.addSwitch(name, dpid=f"{graph.nodes[name]['dpid']:016x}")
    for name in hosts(graph):
        topo.addHost(name, ip=f"{graph.nodes[name]['address']}/8", mac=graph.nodes[name]["mac"])
    for lower, upper, _ in links(graph):
        at_host = graph.nodes[lower[0]]["kind"] == "host"
        lower_port = lower[1] - 1 if at_host else lower[1]
        options = {"addr1": graph.nodes[lower[0]]["mac"]} if at_host and lower_port else {}
        topo.addLink(lower[0], upper[0], port1=lower_port, port2=upper[1], intfName1=_interface(lower[0], lower_port),
                     intfName2=_interface(upper[0], upper[1]), **options)
    return topo


def stock(build: Callable[..., nx.MultiGraph], *sizes: object) -> Any:
    """The `mn --topo` entry of a fabric: a `mininet.topo.Topo`, or a clean exit that says which size will not do.

    It must be an exit: after any exception `mn` deletes every Open vSwitch bridge of the machine.
    """
    try:
        return mininet_topo(build(*sizes))
    except FabricError as error:
        raise SystemExit(f"mn: {error}") from error


def _interface(node: str, port: int) -> str:
    """Mininet's name for an interface; without the "eth" where Linux could not hold it (k >= 20)."""
    name = f"{node}-eth{port}"
    return name if len(name) <= INTERFACE_NAME_LENGTH else f"{node}-{port}"
