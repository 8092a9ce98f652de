"""The `fabric` and `servers` sections of a lab file: which keys there are, what is wrong with a section, and the graph
and placement it describes. Input is plain data, as YAML or JSON yields it; everything here is pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

import networkx as nx

from topologies.kinds import KINDS, Kind
from topologies.wiring import FabricError, Parameter, hosts, server_nics

DEFAULT_MTU = 9216
DATAPATHS = ("auto", "user", "kernel")
DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1123, in lower case
RESERVED_NAMES = frozenset({"fabric", "mgmt"})                   # the emulator's own nodes
NO_SERVERS: Mapping[str, str] = MappingProxyType({})

MTU = Parameter("mtu", "largest IP packet in bytes that every fabric link carries", 68, 65535)
LINK_RATE = Parameter("rate", "rate of each link of this tier, in Mbit/s", 1, 1_000_000)


class Problem(NamedTuple):
    """Something wrong in a lab file: where (keys and indices from the top), what, and what to do about it."""

    path: tuple[str | int, ...]
    message: str
    hint: str


def validate(fabric: object, servers: object = None) -> list[Problem]:
    """Every problem of the two sections, of any type whatsoever, at once; `None` is an absent section."""
    problems = list(_fabric_problems(fabric))
    if servers is not None:
        problems += _server_problems(servers, fabric)
    return problems


def build(fabric: Mapping[str, Any]) -> nx.MultiGraph:
    """The graph of a valid `fabric` section. Raises FabricError where `validate` would have found a problem."""
    kind = _kind(fabric)
    if kind is None:
        raise FabricError("kind", f"there is no fabric {fabric.get('kind')!r}", f"use {_alternatives(KINDS)}")
    graph = kind.build(**_sizes(kind, fabric))
    rates = fabric.get("link_rates_mbps") or {}
    for _, _, cable in graph.edges(data=True):
        if cable["tier"] in rates:
            cable["rate_mbps"] = rates[cable["tier"]]
    return graph


def servers(graph: nx.MultiGraph, section: Mapping[str, Any] | None = None,
            present: Mapping[str, str] = NO_SERVERS) -> dict[str, str]:
    """Server name -> host position, in the section's order, of a valid `servers` section.

    Without a section every position has a server, `server-1` at h1 and so on. A server that names no position gets the
    next one that is free, in position order; one that is `present` (name -> its address in the running fabric) stays
    where it is.
    """
    positions = hosts(graph)
    if section is None:
        section = {f"server-{number}": None for number in range(1, len(positions) + 1)}
    fixed = {name: entry["position"] for name, entry in section.items() if entry and "position" in entry}
    by_address = {graph.nodes[position]["address"]: position for position in positions}
    taken = set(fixed.values())
    for name, address in present.items():
        position = by_address.get(address)
        if name in section and name not in fixed and position and position not in taken:
            fixed[name] = position
            taken.add(position)
    free = (position for position in positions if position not in taken)
    return {name: fixed[name] if name in fixed else next(free) for name in section}


def lab_obstacle(graph: nx.MultiGraph) -> Problem | None:
    """Why no lab can be made of a fabric, if so: a server has one VTEP with one address on one cable so far."""
    ways = "look at it with `overclos graph` and `overclos cables`, or run it under `mn`"
    for server, nics in server_nics(graph).items():
        if len(nics) > 1:
            return Problem(("fabric",), f"{server} has {len(nics)} NICs, and in a lab a server has one", ways)
        if graph.degree(nics[0]) > 1:
            message = f"the NIC of {server} has {graph.degree(nics[0])} ports, and in a lab a server has one cable"
            return Problem(("fabric",), message, ways)
    return None


def mtu(fabric: Mapping[str, Any]) -> int:
    """The IP MTU in bytes of the links of a valid `fabric` section."""
    return int(fabric.get("mtu", DEFAULT_MTU))


def schema() -> dict[str, dict[str, Any]]:
    """JSON Schema (2020-12) of the two sections, by section name."""
    label = {"pattern": f"^{DNS_LABEL.pattern}$", "not": {"enum": sorted(RESERVED_NAMES)}}
    position = {"type": "string", "pattern": "^h[1-9][0-9]*$",
                "description": "host position; the next free one if absent"}
    server = {"type": ["object", "null"], "properties": {"position": position}, "additionalProperties": False}
    return {
        "fabric": {"oneOf": [_kind_schema(name, kind) for name, kind in KINDS.items()]},
        "servers": {"type": ["object", "null"], "minProperties": 1, "propertyNames": label,
                    "additionalProperties": server},
    }


def _kind_schema(name: str, kind: Kind) -> dict[str, Any]:
    rates = {"type": "object", "additionalProperties": False,
             "description": "absent: links are as fast as the machine",
             "properties": {tier: _number_schema(LINK_RATE) for tier in kind.link_tiers}}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["kind", *(parameter.name for parameter in kind.parameters)],
        "properties": {
            "kind": {"const": name},
            **{parameter.name: _number_schema(parameter) for parameter in kind.parameters},
            "mtu": {**_number_schema(MTU), "default": DEFAULT_MTU},
            "link_rates_mbps": rates,
            "datapath": {"enum": list(DATAPATHS), "default": "auto", "description": "which Open vSwitch datapath"},
        },
    }


def _number_schema(parameter: Parameter) -> dict[str, Any]:
    limits: dict[str, Any] = {"type": "integer", "minimum": parameter.lowest, "maximum": parameter.highest}
    if parameter.even:
        limits["multipleOf"] = 2
    if parameter.power_of_two:
        powers = (1 << shift for shift in range(parameter.highest.bit_length()))
        limits["enum"] = [power for power in powers if parameter.lowest <= power <= parameter.highest]
    return {**limits, "description": parameter.meaning}


def _fabric_problems(fabric: object) -> Iterator[Problem]:
    path = ("fabric",)
    if fabric is None:
        yield Problem(path, "is missing", "add for example `fabric: {kind: fat-tree, k: 4}`")
        return
    if not isinstance(fabric, Mapping):
        yield Problem(path, f"must be a mapping, not {_type(fabric)}", "for example `fabric: {kind: fat-tree, k: 4}`")
        return
    kind = _kind(fabric)
    if kind is None:
        yield _unknown_kind(fabric)
        return
    known = ["kind", *(parameter.name for parameter in kind.parameters), "mtu", "link_rates_mbps", "datapath"]
    yield from _unknown_keys(path, fabric, known)
    yield from _size_problems(path, kind, fabric)
    if "mtu" in fabric:
        yield from _number_problems(path, MTU, fabric["mtu"])
    if fabric.get("datapath", "auto") not in DATAPATHS:
        yield Problem((*path, "datapath"), f"there is no datapath {fabric['datapath']!r}",
                      f"use {_alternatives(DATAPATHS)}")
    if "link_rates_mbps" in fabric:
        yield from _rate_problems((*path, "link_rates_mbps"), kind, fabric["link_rates_mbps"])


def _size_problems(path: tuple[str | int, ...], kind: Kind, fabric: Mapping[Any, Any]) -> Iterator[Problem]:
    """Of each parameter by itself; where these are right, of all of them together."""
    problems: list[Problem] = []
    for parameter in kind.parameters:
        if parameter.name in fabric:
            problems += _number_problems(path, parameter, fabric[parameter.name])
        else:
            problems.append(Problem((*path, parameter.name), "is missing", f"{parameter.meaning}; {parameter.allowed}"))
    yield from problems
    if not problems:
        try:
            kind.check(**_sizes(kind, fabric))
        except FabricError as error:
            yield Problem((*path, error.parameter), error.message, error.hint)


def _sizes(kind: Kind, fabric: Mapping[Any, Any]) -> dict[str, Any]:
    return {parameter.name: fabric.get(parameter.name) for parameter in kind.parameters}


def _kind(fabric: Mapping[Any, Any]) -> Kind | None:
    name = fabric.get("kind")
    return KINDS.get(name) if isinstance(name, str) else None


def _unknown_kind(fabric: Mapping[Any, Any]) -> Problem:
    if "kind" not in fabric:
        return Problem(("fabric", "kind"), "is missing", f"use {_alternatives(KINDS)}")
    name = fabric["kind"]
    return Problem(("fabric", "kind"), f"there is no fabric {name!r}", _did_you_mean(name, KINDS))


def _rate_problems(path: tuple[str | int, ...], kind: Kind, rates: object) -> Iterator[Problem]:
    if not isinstance(rates, Mapping):
        yield Problem(path, f"must be a mapping, not {_type(rates)}",
                      f"from link tier ({_alternatives(kind.link_tiers)}) to Mbit/s")
        return
    yield from _unknown_keys(path, rates, kind.link_tiers)
    for tier in kind.link_tiers:
        if tier in rates:
            yield from _number_problems(path, LINK_RATE._replace(name=tier), rates[tier])


def _number_problems(path: tuple[str | int, ...], parameter: Parameter, value: object) -> Iterator[Problem]:
    try:
        parameter.require(value)
    except FabricError as error:
        yield Problem((*path, error.parameter), error.message, error.hint)


def _server_problems(section: object, fabric: object) -> Iterator[Problem]:
    path = ("servers",)
    if not isinstance(section, Mapping):
        yield Problem(path, f"must be a mapping, not {_type(section)}",
                      "for example `servers: {server-1: {position: h1}}`")
        return
    if not section:
        yield Problem(path, "is empty", "name a server, or leave the section out to have one at every host position")
    count = _host_count(fabric)
    if count is not None and len(section) > count:
        yield Problem(path, f"{len(section)} servers do not fit the fabric's {count} host positions",
                      "take servers away, or make the fabric larger")
    taken: dict[str, str] = {}
    for name, entry in section.items():
        yield from _server_name_problems(name, fabric)
        yield from _server_entry_problems(name, entry, count, taken)


def _server_name_problems(name: object, fabric: object) -> Iterator[Problem]:
    path = ("servers", name if isinstance(name, str | int) else str(name))
    kind = _kind(fabric) if isinstance(fabric, Mapping) else None
    if not isinstance(name, str) or not DNS_LABEL.fullmatch(name):
        yield Problem(path, f"{name!r} is not a DNS label",
                      "use 1 to 63 lower-case letters, digits and '-', with a letter or digit at both ends")
    elif name in RESERVED_NAMES:
        yield Problem(path, f"{name} is the name of a node of every lab", "choose another name")
    elif kind and re.fullmatch(kind.switch_name, name):
        yield Problem(path, f"{name} is a name for the fabric's switches", "choose another name")


def _server_entry_problems(name: str, entry: object, count: int | None, taken: dict[str, str]) -> Iterator[Problem]:
    """Problems of one server; `taken` (position -> server) grows with each call."""
    path: tuple[str | int, ...] = ("servers", name)
    if entry is None:
        return
    if not isinstance(entry, Mapping):
        yield Problem(path, f"must be a mapping, not {_type(entry)}", "for example `{position: h1}`, or `{}`")
        return
    yield from _unknown_keys(path, entry, ["position"])
    if "position" not in entry:
        return
    position, path = entry["position"], (*path, "position")
    if not isinstance(position, str) or not re.fullmatch(r"h[1-9][0-9]{0,8}", position):
        yield Problem(path, f"{position!r} is not a host position", f"use h1 to h{count or 'N'}")
    elif count is not None and int(position[1:]) > count:
        yield Problem(path, f"the fabric has no host position {position}", f"use h1 to h{count}")
    elif taken.setdefault(position, name) != name:
        yield Problem(path, f"{position} is taken by {taken[position]}", "give each server a position of its own")


def _host_count(fabric: object) -> int | None:
    """How many host positions there are, if the fabric section is good enough to tell."""
    kind = _kind(fabric) if isinstance(fabric, Mapping) else None
    if not isinstance(fabric, Mapping) or kind is None:
        return None
    sizes = _sizes(kind, fabric)
    try:
        kind.require(sizes)
    except FabricError:
        return None
    return kind.host_count(**sizes)


def _unknown_keys(path: tuple[str | int, ...], mapping: Mapping[Any, Any], known: Iterable[str]) -> Iterator[Problem]:
    for key in mapping:
        if key not in known:
            yield Problem((*path, key if isinstance(key, str | int) else str(key)), "is not a known key",
                          _did_you_mean(key, known))


def _did_you_mean(word: object, known: Iterable[str]) -> str:
    close = get_close_matches(str(word), known, 1)
    return f"did you mean {close[0]}?" if close else f"use {_alternatives(known)}"


def _alternatives(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _type(value: object) -> str:
    return {"list": "a list", "str": "a string", "int": "a number", "float": "a number", "bool": "true or false",
            "NoneType": "nothing"}.get(type(value).__name__, type(value).__name__)
