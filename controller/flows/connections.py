"""Connection tracking as `controller.flows.evaluate` needs it: per zone, which connections are remembered, and which
state a packet has among them. Judged against the real one in the tests; ICMP errors (related) are left to those.
"""

from collections.abc import Mapping

from controller.pipeline.headers import ESTABLISHED, ICMP, ICMPV6, INVALID, IPV4, IPV6, NEW, REPLY, TCP, TRACKED, UDP

Tuple = tuple[int, int, int, int, int]  # protocol, addresses of source and destination, then their ports
_ICMP = {IPV4: (ICMP, "icmp_type"), IPV6: (ICMPV6, "icmpv6_type")}
_REQUESTS = {IPV4: {8: 0, 13: 14, 15: 16}, IPV6: {128: 129}}  # ICMP type -> type of its answer
_ADDRESSES = {IPV4: ("ip_src", "ip_dst"), IPV6: ("ipv6_src", "ipv6_dst")}
_PORTS = {TCP: ("tcp_src", "tcp_dst"), UDP: ("udp_src", "udp_dst")}


class Connections:
    """What one switch remembers."""

    def __init__(self) -> None:
        self._known: set[tuple[int, Tuple]] = set()

    def track(self, zone: int, packet: Mapping[str, int]) -> dict[str, int]:
        """The ct_ headers of a packet in a zone."""
        version = packet.get("eth_type", 0)
        if version not in _ADDRESSES:
            return {"ct_state": 0}
        own, back = _ways(packet)
        if (zone, own) in self._known:
            return _headers(ESTABLISHED, own)
        if (zone, back) in self._known:
            return _headers(ESTABLISHED | REPLY, back)
        protocol, kind = _ICMP[version]
        if packet.get("ip_proto") == protocol and packet.get(kind, 0) not in _REQUESTS[version]:
            return {"ct_state": TRACKED | INVALID}
        return _headers(NEW, own)

    def commit(self, zone: int, packet: Mapping[str, int]) -> None:
        """Remember the connection that the packet opens."""
        self._known.add((zone, _ways(packet)[0]))


def _ways(packet: Mapping[str, int]) -> tuple[Tuple, Tuple]:
    """The packet as the one that opened its connection, and as an answer in it: what opened that, then."""
    protocol, version = packet.get("ip_proto", 0), packet.get("eth_type", 0)
    source, target = (packet.get(name, 0) for name in _ADDRESSES[version])
    icmp, name = _ICMP[version]
    if protocol == icmp:
        kind = packet.get(name, 0)
        asked = next((request for request, answer in _REQUESTS[version].items() if answer == kind), -1)
        return (protocol, source, target, kind, 0), (protocol, target, source, asked, 0)
    ports = [packet.get(name, 0) for name in _PORTS.get(protocol, ())] or [0, 0]
    return (protocol, source, target, ports[0], ports[1]), (protocol, target, source, ports[1], ports[0])


def _headers(state: int, opened: Tuple) -> dict[str, int]:
    return {
        "ct_state": TRACKED | state,
        "ct_nw_proto": opened[0],
        "ct_tp_src": opened[3],
        "ct_tp_dst": opened[4],
    }
