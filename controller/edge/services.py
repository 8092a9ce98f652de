"""The table of contents of the edge: who answers what."""

from collections.abc import Callable

from controller.edge import dhcp, dhcp6, dns, icmp, router
from controller.edge.datagram import Datagram, datagram
from controller.edge.directory import Directory
from controller.edge.place import Place
from controller.model.ask import Ask

_SERVERS: dict[Ask, Callable[[Datagram, Place], bytes | None]] = {
    Ask.DHCP: dhcp.answer,
    Ask.DHCP6: dhcp6.answer,
    Ask.ROUTER: router.answer,
}
_KNOWN = frozenset(Ask)


def answer(ask: int, frame: bytes, port: str, directory: Directory) -> bytes | None:
    """The frame that answers `frame` of a port (an id), or None. Any bytes may come."""
    asked = datagram(frame)
    place = directory.place(port)
    if asked is None or place is None or ask not in _KNOWN:
        return None
    if ask == Ask.DNS:
        return dns.answer(asked, place, directory.names(place.subnet.vpc))
    server = _SERVERS.get(Ask(ask))
    return server(asked, place) if server else icmp.error(Ask(ask), asked, place)
