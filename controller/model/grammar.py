"""What a user may write under `tenants:`, as data: the one place that knows keys, notations and what is optional.

`validate` and `allocate` read a user's data through it, and the JSON Schema of the lab file is generated from it.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller.model import acl, addresses, allowed, ipv6, qos, routing, security
from controller.model.addresses import NotationError, shown
from controller.model.problem import Path, Problem


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text in some notation. `pattern` is a regular expression that every good text matches; `read` decides.
    `number`: a whole number is taken for its text."""

    about: str
    pattern: str
    read: Callable[[str], object]
    example: str
    number: bool = False


NAME = Scalar("A name: a DNS label.", addresses.LABEL, addresses.label, "web1")


@dataclass(frozen=True, slots=True)
class Several:
    """A list of scalars, each at most once."""

    about: str
    item: Scalar


@dataclass(frozen=True, slots=True)
class Names:
    """A mapping from names the user chooses (DNS labels, unless `name` says less) to things of one kind."""

    about: str
    item: "Record"
    name: Scalar = NAME


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with known keys. Those not in `required` may be left out."""

    about: str
    keys: Mapping[str, "Shape"]
    required: frozenset[str] = frozenset()


Shape = Scalar | Several | Names | Record


def choice(about: str, *words: str) -> Scalar:
    """One of some words."""

    def read_word(text: str) -> str:
        if text in words:
            return text
        meant = closest(text, words)
        raise NotationError(f"there is no {shown(text)}", f"did you mean {meant!r}?" if meant else " or ".join(words))

    return Scalar(f"{about}: {' or '.join(words)}.", "|".join(words), read_word, words[0])


def _limit(about: str, example: str) -> Scalar:
    return Scalar(about, qos.NUMBER, qos.limit, example, number=True)


SUBNET = Record(
    "A broadcast domain. Its first usable address is the gateway's.",
    {
        "cidr": Scalar("IPv4 network, unique within the VPC.", addresses.CIDR, addresses.cidr, "10.1.0.0/24"),
        "cidr6": Scalar("IPv6 network (/64), if it has IPv6, too.", ipv6.CIDR6, ipv6.cidr6, "fd00:1::/64"),
        "route_table": Scalar("Name of its route table; default: none.", addresses.LABEL, addresses.label, "edge"),
        "network_acl": Scalar("Name of its network ACL; default: none.", addresses.LABEL, addresses.label, "guard"),
        "resolvers": Several(
            "Who is asked for names that are not of the VPC.",
            Scalar("Address of a DNS server, IPv4 or IPv6.", ipv6.ANY_ADDRESS, ipv6.any_address, "10.1.0.53"),
        ),
    },
    frozenset({"cidr"}),
)
QOS = Record(
    "What its port may send and get, and how that is marked (the operator's to say; left out: as it is).",
    {
        "from_port_kbps": _limit("Most kbit/s that it sends; default: no limit.", "10000"),
        "to_port_kbps": _limit("Most kbit/s that it gets; default: no limit.", "10000"),
        "from_port_pps": _limit("Most packets/s that it sends; default: no limit.", "5000"),
        "to_port_pps": _limit("Most packets/s that it gets; default: no limit.", "5000"),
        "burst_kbit": Scalar(
            "What may pass at once after a pause; default: what comes in 0.3 s.", qos.NUMBER, qos.burst, "5000",
            number=True,
        ),
        "dscp": Scalar("DSCP of what it sends; default: as it is.", qos.NUMBER, qos.dscp, "26", number=True),
    },
)  # fmt: skip
PORT = Record(
    "A network interface of an instance.",
    {
        "subnet": Scalar("Name of a subnet of the same VPC.", addresses.LABEL, addresses.label, "web"),
        "ip": Scalar("Fixed address; default: lowest free one.", addresses.ADDRESS, addresses.address, "10.1.0.10"),
        "ip6": Scalar("Fixed IPv6 address; default: by the MAC.", ipv6.ADDRESS6, ipv6.address6, "fd00:1::10"),
        "mac": Scalar("Fixed MAC; default: made from the name.", addresses.MAC, addresses.mac, "02:00:00:00:00:01"),
        "anti_spoofing": choice("Whether its source addresses are checked (the operator's to say)", *security.SWITCH),
        "qos": QOS,
        "groups": Several(
            "Its security groups; default: the group `default`, if the VPC has groups.",
            Scalar("Name of a security group of the VPC.", addresses.LABEL, addresses.label, "web-servers"),
        ),
        "allowed_addresses": Several(
            "What it may send from, too: addresses of its subnet that are nobody's.",
            Scalar("An address, or a network of at most 256.", allowed.ALLOWED, allowed.allowed, "10.1.0.100"),
        ),
    },
    frozenset({"subnet"}),
)
PORT_NAME = Scalar("Name of a further interface.", addresses.FURTHER_PORT, addresses.further_port, "eth1")
INSTANCE = Record(
    "A machine of the tenant; its first port `eth0` is what is said of the instance itself.",
    {
        **PORT.keys,
        "server": Scalar("Where it runs; default: least loaded.", addresses.LABEL, addresses.label, "server-1"),
        "ports": Names("Further ports by name: eth1, eth2, ...", PORT, PORT_NAME),
    },
    PORT.required,
)
RULE = Record(
    "What a security group allows: connections of a kind with some peers, with any if neither is named.",
    {
        "direction": choice("Who opens the connection, the member or its peer", security.FROM_PORT, security.TO_PORT),
        "protocol": choice("What the packets are", security.ANY, *security.PROTOCOLS),
        "ports": Scalar("Destination ports of TCP or UDP.", addresses.PORTS, addresses.ports, "8000-8100", number=True),
        "icmp_type": Scalar("Type of the ICMP request.", addresses.ICMP_TYPE, addresses.icmp_type, "8", number=True),
        "cidr": Scalar("Network of the peers.", addresses.REMOTE, addresses.remote, "0.0.0.0/0"),
        "peers": Scalar("Security group of the peers.", addresses.GROUP, addresses.group, "web-servers"),
    },
    frozenset({"direction"}),
)
SECURITY_GROUP = Record(
    "Its members may open and take the connections that a rule of any of their groups allows, and no others.",
    {
        "rules": Names("What is allowed, by name.", RULE),
        "established": choice("Open connections that are allowed no more", security.CUT, security.KEEP),
    },
)
ROUTE = Record(
    "Where what is for some addresses goes: to instances, to a peer, or nowhere. The longest prefix decides.",
    {
        "destination": Scalar("Network of the addresses.", addresses.CIDR, addresses.destination, "0.0.0.0/0"),
        "next_hops": Several(
            "Instances; each connection goes to one of those that are there.",
            Scalar("Name of an instance of the VPC.", addresses.LABEL, addresses.label, "router"),
        ),
        "peering": Scalar("Name of a peering of the VPC.", addresses.LABEL, addresses.label, "to-shop"),
        "target": choice("What else becomes of it", routing.BLACKHOLE),
    },
    frozenset({"destination"}),
)
ROUTE_TABLE = Record(
    "Where the gateways of the subnets that name it send what is not for the VPC's own subnets.",
    {"routes": Names("Its routes by name.", ROUTE)},
)
ACL_RULE = Record(
    "What becomes of packets of a kind that leave the subnet, or come into it. The lowest number decides.",
    {
        "number": Scalar("Its place among the others.", addresses.ACL_NUMBER, addresses.acl_number, "100", number=True),
        "direction": choice("Which way the packets go", acl.FROM_SUBNET, acl.TO_SUBNET),
        "action": choice("What becomes of them", acl.ALLOW, acl.DENY),
        **{name: RULE.keys[name] for name in ("protocol", "ports", "icmp_type")},
        "cidr": Scalar("Network of the other side.", addresses.REMOTE, addresses.remote, "10.1.0.0/24"),
    },
    frozenset({"number", "direction", "action"}),
)
NETWORK_ACL = Record(
    "What may leave the subnets that name it, and come in; each packet by itself. What no rule is about is denied.",
    {"rules": Names("Its rules by name.", ACL_RULE)},
)
PEERING = Record(
    "Consent to be peered with another VPC, which must consent, too. Then routes may lead there.",
    {"peer": Scalar("The other VPC: tenant and name.", addresses.VPC_ID, addresses.vpc_id, "blue.shop")},
    frozenset({"peer"}),
)
VPC = Record(
    "A private network; its addresses mean nothing outside it.",
    {
        "subnets": Names("The VPC's subnets by name.", SUBNET),
        "security_groups": Names("Its security groups by name; without any, all of the VPC is open.", SECURITY_GROUP),
        "route_tables": Names("Its route tables by name.", ROUTE_TABLE),
        "network_acls": Names("Its network ACLs by name.", NETWORK_ACL),
        "peerings": Names("With which VPCs it is peered, by names of its own.", PEERING),
        "instances": Names("Its instances by name.", INSTANCE),
    },
)
TENANT = Record("A customer.", {"vpcs": Names("The tenant's VPCs by name.", VPC)})
TENANTS = Names("Who uses the fabric, by name.", TENANT)


def read(shape: Shape, data: object, path: Path, problems: list[Problem]) -> object:
    """What is well-formed in `data`: scalars become values (IPv4Network, canonical MAC, ...), bad ones become None.

    Every deviation from `shape` is appended to `problems`. Nothing (null) is an empty mapping.
    """
    if isinstance(shape, Scalar):
        return _read_scalar(shape, data, path, problems)
    if isinstance(shape, Several):
        return _read_several(shape, data, path, problems)
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        problems.append(Problem(path, f"must be a mapping, not {kind(data)}", _advice(shape)))
        return {}
    if isinstance(shape, Names):
        return _read_names(shape, data, path, problems)
    return _read_record(shape, data, path, problems)


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, if any is close."""
    close = difflib.get_close_matches(word[:100], list(known), n=1)
    return close[0] if close else None


def choose(word: str, known: Sequence[str]) -> str:
    """The advice for a word that is none of the known ones."""
    if not known:
        return "there are none"
    meant = closest(word, known)
    if meant:
        return f"did you mean {meant!r}?"
    return f"there are: {', '.join(known) if len(known) <= 4 else f'{known[0]}, {known[1]}, ..., {known[-1]}'}"


def unknown_key(path: Path, known: Iterable[str]) -> Problem:
    """The problem of a key (the last one of `path`) that is none of the known ones."""
    meant = closest(str(path[-1]), known)
    return Problem(path, "unknown key", f"did you mean {meant!r}?" if meant else f"known keys: {', '.join(known)}")


def kind(data: object) -> str:
    """The type of plain data in a user's words."""
    if isinstance(data, (str, bool, int, float)):
        name = "text" if isinstance(data, str) else "true or false" if isinstance(data, bool) else "a number"
        return f"{name} ({shown(data)})"
    names = {dict: "a mapping", list: "a list", type(None): "nothing"}
    return names.get(type(data), f"a {type(data).__name__}")


def _read_several(shape: Several, data: object, path: Path, problems: list[Problem]) -> object:
    """Bad items are left out."""
    if not isinstance(data, list):
        problems.append(Problem(path, f"must be a list, not {kind(data)}", f"for example [{shape.item.example}]"))
        return None
    result: list[object] = []
    for place, each in enumerate(data):
        value = _read_scalar(shape.item, each, (*path, place), problems)
        if value in result:
            problems.append(Problem((*path, place), f"{shown(value)} is in the list twice", "each once"))
        elif value is not None:
            result.append(value)
    return result


def _read_scalar(shape: Scalar, data: object, path: Path, problems: list[Problem]) -> object:
    if shape.number and type(data) is int and 0 <= data < 1 << 32:
        data = str(data)
    if not isinstance(data, str):
        problems.append(Problem(path, f"must be text, not {kind(data)}", f"for example {shape.example!r}"))
        return None
    try:
        return shape.read(data)
    except NotationError as error:
        problems.append(Problem(path, error.message, error.hint))
        return None


def _read_names(shape: Names, data: Mapping[object, object], path: Path, problems: list[Problem]) -> object:
    """What is under a bad name is checked all the same."""
    result = {}
    for name, value in _text_keys(data, path, problems):
        try:
            shape.name.read(name)
        except NotationError as error:
            problems.append(Problem((*path, name), f"the name {error.message}", error.hint))
        result[name] = read(shape.item, value, (*path, name), problems)
    return result


def _read_record(shape: Record, data: Mapping[object, object], path: Path, problems: list[Problem]) -> object:
    result = {}
    misspelt = set()
    for name, value in _text_keys(data, path, problems):
        if name in shape.keys:
            result[name] = read(shape.keys[name], value, (*path, name), problems)
        else:
            problems.append(unknown_key((*path, name), shape.keys))
            misspelt.add(closest(name, shape.keys))
    for name in sorted(shape.required - result.keys() - misspelt):
        problems.append(Problem((*path, name), "is missing", _missing(name, shape.keys[name])))
    return result


def _text_keys(data: Mapping[object, object], path: Path, problems: list[Problem]) -> Iterable[tuple[str, object]]:
    for name, value in data.items():
        if isinstance(name, str):
            yield name, value
        else:
            problems.append(Problem(path, f"keys must be text, not {kind(name)}", "put it in quotes"))


def _advice(shape: Shape) -> str:
    if isinstance(shape, Record):
        return f"known keys: {', '.join(shape.keys)}"
    return "a name and a colon, and what it has below, indented"


def _missing(name: str, shape: Shape) -> str:
    return f"add `{name}: {shape.example}`" if isinstance(shape, Scalar) else f"add `{name}:`"
