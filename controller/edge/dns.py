"""The names of a VPC (RFC 1035): `INSTANCE.VPC.TENANT.internal`, answered at the gateway's address.

Other names are refused, which makes a client go on to the next resolver that it was told of. Nothing is forwarded: what
tenants ask of the world goes to their own resolvers, through their own VPC. Codes are compared by value, for Eventlet
has dnspython loaded a second time.
"""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import NamedTuple

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.reversename
import dns.rrset

from controller.edge.datagram import Address, Datagram, frame, udp, udp_payload
from controller.edge.place import ROUTER_MAC, Place
from controller.model.services import DNS_SERVER
from controller.model.verdict import UDP

TTL_S = 5  # an instance may be gone, or be another, at any moment
_PLAIN_SIZE, _LARGEST = 512, 1232  # bytes of an answer: RFC 1035, 4.2.1; what crosses any link in one piece
_MAIL = "nobody"
_TYPES = {4: dns.rdatatype.A, 6: dns.rdatatype.AAAA}
Record = tuple[dns.rdatatype.RdataType, str]


class Names(NamedTuple):
    """The names of one VPC. addresses: of an instance by its name, none if there is no such; name: of the instance that
    has an address; has: whether an address is in one of its subnets."""

    addresses: Callable[[str], tuple[Address, ...]]
    name: Callable[[Address], str | None]
    has: Callable[[Address], bool]


def answer(asked: Datagram, place: Place, names: Names) -> bytes | None:
    """The frame that answers a query, or None to what is none."""
    datagram = udp(asked)
    if datagram is None:
        return None
    data = respond(datagram.data, dns.name.from_text(place.domain), names)
    if data is None:
        return None
    payload = udp_payload((asked.target, DNS_SERVER), (asked.source, datagram.source), data)
    return frame((ROUTER_MAC, place.mac), asked.target, asked.source, UDP, payload)


def respond(data: bytes, zone: dns.name.Name, names: Names) -> bytes | None:
    """The response to a query, both as on the wire."""
    try:
        query = dns.message.from_wire(data)
    except (dns.exception.DNSException, ValueError):
        return None
    if query.flags & dns.flags.QR:
        return None
    response = dns.message.make_response(query, our_payload=_LARGEST)
    response.set_rcode(_resolve(query, response, zone, names))
    if response.rcode() in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        response.flags |= dns.flags.AA
    most = min(max(query.payload, _PLAIN_SIZE), _LARGEST) if query.edns >= 0 else _PLAIN_SIZE
    try:
        return response.to_wire(max_size=most)
    except dns.exception.TooBig:
        response.flags |= dns.flags.TC
        response.answer.clear()
        return response.to_wire()


def _resolve(
    query: dns.message.Message, response: dns.message.Message, zone: dns.name.Name, names: Names
) -> dns.rcode.Rcode:
    """Puts what is known into the response: records of the type that is asked for or else, so that this is remembered,
    that there are none (RFC 2308)."""
    if query.opcode() != dns.opcode.QUERY:
        return dns.rcode.NOTIMP
    if len(query.question) != 1:
        return dns.rcode.FORMERR
    (asked,) = query.question
    found = _known(asked.name, zone, names) if asked.rdclass == dns.rdataclass.IN else dns.rcode.REFUSED
    if found == dns.rcode.REFUSED:
        return found
    records = () if isinstance(found, int) else found
    told = [text for kind, text in records if kind == asked.rdtype]
    if told:
        response.answer.append(dns.rrset.from_text_list(asked.name, TTL_S, dns.rdataclass.IN, asked.rdtype, told))
        return dns.rcode.NOERROR
    soa = f"{zone} {_MAIL}.{zone} 1 3600 600 86400 {TTL_S}"
    response.authority.append(dns.rrset.from_text(zone, TTL_S, dns.rdataclass.IN, dns.rdatatype.SOA, soa))
    return found if isinstance(found, int) else dns.rcode.NOERROR


def _known(name: dns.name.Name, zone: dns.name.Name, names: Names) -> Iterable[Record] | dns.rcode.Rcode:
    """Type and text of every record that a name has, or why there are none."""
    if name == zone:
        return ()
    if name.is_subdomain(zone):
        label = name.relativize(zone).to_text().lower()
        return [(_TYPES[one.version], str(one)) for one in names.addresses(label)] or dns.rcode.NXDOMAIN
    try:
        address = ip_address(dns.reversename.to_address(name))
    except (dns.exception.DNSException, ValueError):
        return dns.rcode.REFUSED
    if not names.has(address):
        return dns.rcode.REFUSED
    owner = names.name(address)
    return dns.rcode.NXDOMAIN if owner is None else [(dns.rdatatype.PTR, f"{owner}.{zone}")]
