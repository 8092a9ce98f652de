"""The notations a user may write, each read by one strict function: canonical value out, or NotationError."""

import ipaddress
import re
from ipaddress import IPv4Address, IPv4Network, IPv6Network

from controller.model.acl import MAX_NUMBER

LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
VPC_ID = rf"{LABEL}\.{LABEL}"
GROUP = rf"{LABEL}(\.{LABEL}\.{LABEL})?"
FURTHER_PORT = r"eth([1-9]|1[0-5])"
ADDRESS = r"[0-9]{1,3}(\.[0-9]{1,3}){3}"
CIDR = ADDRESS + r"/([0-9]|[12][0-9]|3[0-2])"
REMOTE = CIDR + r"|[0-9A-Fa-f:]{2,39}/[0-9]{1,3}"  # IPv4 or IPv6
PORTS = r"[0-9]{1,5}(-[0-9]{1,5})?"
ICMP_TYPE = r"[0-9]{1,3}"
ACL_NUMBER = r"[0-9]{1,5}"
MAC = r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}"

ONLY_IPV4 = "here it is IPv4; an instance has `ip6` for the other, a subnet `cidr6`"
GATEWAY_MAC = "02:00:5e:00:01:01"  # of the gateway of every subnet, on every chassis
SMALLEST_PREFIX = 30  # network, gateway, one instance, broadcast
RESERVED = {
    IPv4Network("0.0.0.0/8"): "'this network', RFC 1122",
    IPv4Network("127.0.0.0/8"): "loopback, RFC 1122",
    IPv4Network("169.254.0.0/16"): "link-local, RFC 3927",
    IPv4Network("224.0.0.0/4"): "multicast, RFC 5771",
    IPv4Network("240.0.0.0/4"): "reserved, RFC 1112",
}


class NotationError(ValueError):
    """The text is not what it should be; `hint` says what to write."""

    def __init__(self, message: str, hint: str) -> None:
        self.message, self.hint = message, hint
        super().__init__(f"{message} ({hint})")


def label(text: str) -> str:
    """A DNS label (RFC 1123, lower case)."""
    if re.fullmatch(LABEL, text):
        return text
    suggestion = re.sub(r"[^a-z0-9-]+", "-", text[:63].lower()).strip("-")
    advice = f"for example {suggestion!r}; " if suggestion else ""
    hint = f"{advice}lower-case letters, digits and '-' inside, 1 to 63 characters"
    raise NotationError(f"{shown(text)} is not a DNS label", hint)


def further_port(text: str) -> str:
    """The name of a port of an instance that is not its first one; also that of the device."""
    if re.fullmatch(FURTHER_PORT, text):
        return text
    raise NotationError(f"{shown(text)} is not that of a further port", "eth1, eth2, ... eth15; eth0 is there already")


def vpc_id(text: str) -> str:
    """The id of a VPC: the names of tenant and VPC, joined by a dot."""
    if not re.fullmatch(VPC_ID, text):
        raise NotationError(f"{shown(text)} is not the id of a VPC", "tenant and VPC, as in blue.shop")
    return text


def group(text: str) -> str:
    """A security group: its name, or its id if it is another VPC's."""
    if not re.fullmatch(GROUP, text):
        hint = "its name, as in web-servers, or across a peering its id, as in blue.shop.web-servers"
        raise NotationError(f"{shown(text)} is not a security group", hint)
    return text


def address(text: str) -> IPv4Address:
    """An IPv4 address in dotted decimal."""
    if _is_ipv6(text):
        raise NotationError(f"{shown(text)} is IPv6", ONLY_IPV4)
    if "/" in text:
        raise NotationError(f"{shown(text)} has a prefix length", "write the address alone, as in 10.1.0.10")
    try:
        return IPv4Address(text)
    except ValueError as error:
        raise NotationError(f"{shown(text)} is not an IPv4 address", "four decimal numbers, as in 10.1.0.10") from error


def cidr(text: str) -> IPv4Network:
    """An IPv4 network that hosts can be numbered from, with its prefix length."""
    if _is_ipv6(text):
        raise NotationError(f"{shown(text)} is IPv6", ONLY_IPV4)
    if not re.fullmatch(CIDR, text):
        raise NotationError(f"{shown(text)} is not a CIDR", "a network and its prefix length, as in 10.1.0.0/24")
    try:
        network = IPv4Network(text, strict=False)
    except ValueError as error:
        raise NotationError(f"{text} is not a CIDR", "four numbers up to 255, as in 10.1.0.0/24") from error
    if str(network) != text:
        raise NotationError(f"{text} has host bits set", f"did you mean {network}?")
    if network.prefixlen > SMALLEST_PREFIX:
        raise NotationError(f"{text} is too small", "a /30 is the smallest: network, gateway, one instance, broadcast")
    for block, name in RESERVED.items():
        if network.overlaps(block):
            raise NotationError(f"{text} overlaps {block}: {name}", "hosts cannot have these; 10.0.0.0/8 is free")
    return network


def destination(text: str) -> IPv4Network:
    """Any IPv4 network with its prefix length: routes lead IPv4 alone."""
    if _is_ipv6(text):
        raise NotationError(f"{shown(text)} is IPv6", "routes lead IPv4 alone")
    network = remote(text)
    assert isinstance(network, IPv4Network)
    return network


def remote(text: str) -> IPv4Network | IPv6Network:
    """Any IPv4 or IPv6 network with its prefix length, from a single address to all of them (/0)."""
    try:
        interface = ipaddress.ip_interface(text) if re.fullmatch(REMOTE, text) else None
    except ValueError:
        interface = None
    if interface is None:
        raise NotationError(f"{shown(text)} is not a CIDR", "a network and its prefix length, as in 10.1.0.0/24")
    if interface.ip != interface.network.network_address:
        raise NotationError(f"{text} has host bits set", f"did you mean {interface.network}?")
    return interface.network


def ports(text: str) -> str:
    """A port, or a range from a lower to a higher one."""
    first, dash, last = text.partition("-")
    if not re.fullmatch(PORTS, text) or max(int(first), int(last or 0)) > 0xFFFF or (dash and int(first) >= int(last)):
        raise NotationError(f"{shown(text)} is neither a port nor a range of ports", "as in 80, or 8000-8100")
    return "-".join(str(int(each)) for each in text.split("-"))


def icmp_type(text: str) -> int:
    """The type of an ICMP message, RFC 792."""
    if not re.fullmatch(ICMP_TYPE, text) or int(text) > 0xFF:
        raise NotationError(f"{shown(text)} is not an ICMP type", "a number up to 255, as in 8 for an echo request")
    return int(text)


def acl_number(text: str) -> int:
    """The number of a rule of a network ACL."""
    if not re.fullmatch(ACL_NUMBER, text) or not 1 <= int(text) <= MAX_NUMBER:
        raise NotationError(f"{shown(text)} is not the number of a rule", f"from 1 to {MAX_NUMBER}, as in 100")
    return int(text)


def gateway(network: IPv4Network) -> IPv4Address:
    """The address of a subnet's gateway: the first usable one."""
    return network.network_address + 1


def mac(text: str) -> str:
    """A unicast MAC, given back in lower case."""
    if not re.fullmatch(MAC, text):
        digits = re.sub(r"[-:.]", "", text)
        rewritten = re.fullmatch(r"[0-9A-Fa-f]{12}", digits)
        example = ":".join(re.findall("..", digits.lower())) if rewritten else "02:00:00:00:00:01"
        raise NotationError(f"{shown(text)} is not a MAC", f"write it as {example}")
    canonical = text.lower()
    if canonical == "00:00:00:00:00:00":
        raise NotationError(f"{text} is the zero MAC", "leave `mac` out to get one")
    if int(canonical[:2], 16) & 1:
        raise NotationError(f"{text} is a group MAC", "an interface needs a unicast MAC: the first byte must be even")
    return canonical


def shown(value: object) -> str:
    """A user's value inside a message: quoted, printable, on one line and not long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return "a huge number"
    return text if len(text) <= 70 else f"{text[:67]}..."


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Interface(text)
    except ValueError:
        return False
    return True
