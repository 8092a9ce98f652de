"""The plan of a probe run as it arrives on standard input: who is where, what to send, who may receive it.

The plan is data made by whoever knows the policy; this package knows none. It is the same shape that
`controller.verify.matrix` writes, but the two never import each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Any

from topologies.probes.tokens import MAX_ID

MAX_VNI = (1 << 24) - 1
_TCP = 6


class PlanError(ValueError):
    """The plan cannot be read. `path` leads to the place, such as ``probes[3].packet.ip_src``."""

    def __init__(self, path: str, message: str, hint: str = "") -> None:
        super().__init__(f"{path or 'plan'}: {message}" + (f" ({hint})" if hint else ""))
        self.path, self.message, self.hint = path, message, hint


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A tenant's port: `device` inside the network namespace pinned at the file `netns`."""

    name: str
    netns: str
    device: str
    mac: str
    ip: str


@dataclass(frozen=True, slots=True)
class Tap:
    """A device of the fabric to listen on, in both directions."""

    name: str
    netns: str
    device: str


@dataclass(frozen=True, slots=True)
class Packet:
    """The headers of a frame. None: the header or field is not there. `port` is the sender and not on the wire."""

    port: str | None = None
    eth_src: str | None = None
    eth_dst: str | None = None
    eth_type: int | None = None
    ip_src: str | None = None
    ip_dst: str | None = None
    ip_proto: int | None = None
    l4_src: int | None = None
    l4_dst: int | None = None
    arp_op: int | None = None
    arp_sha: str | None = None
    arp_spa: str | None = None
    arp_tpa: str | None = None
    vlan: int | None = None
    icmp_type: int | None = None
    ip_ttl: int | None = None
    nd_target: str | None = None
    nd_sll: str | None = None


@dataclass(frozen=True, slots=True)
class Inner:
    """The frame that a forged VXLAN packet carries, and the network it claims."""

    vni: int
    packet: Packet


@dataclass(frozen=True, slots=True)
class Expect:
    """Who has to get the frame (and nobody else), which MAC has to answer it in the network's own name (ARP,
    echo to a gateway), and why, in words. `carried`: it may cross the fabric though nobody may get it. `spread`: it
    goes to one only of so many, which are receivers unless they may not get it. `one_way`: what the target sends back
    goes elsewhere. `told_by`: addresses of gateways that may tell the sender by an ICMP error why nobody gets it."""

    receivers: frozenset[str]
    answer_mac: str | None
    reason: str
    carried: bool = False
    spread: int = 0
    one_way: bool = False
    told_by: frozenset[str] = frozenset()

    @property
    def least(self) -> int:
        """How many receivers must get the frame."""
        return int(len(self.receivers) == self.spread) if self.spread else len(self.receivers)

    @property
    def silent(self) -> bool:
        """The network must swallow the frame."""
        return not self.receivers and self.answer_mac is None


@dataclass(frozen=True, slots=True)
class Probe:
    id: int
    kind: str
    source: str
    target: str
    packet: Packet
    inner: Inner | None
    expect: Expect

    @property
    def handshake(self) -> bool:
        """TCP that must get through is done by the two kernels; only what must not get through is sent as a frame,
        because a kernel would pick the destination MAC by its own neighbour table."""
        expect = self.expect
        return self.packet.ip_proto == _TCP and self.target in expect.receivers and not expect.one_way


@dataclass(frozen=True, slots=True)
class Plan:
    lab: str
    endpoints: Mapping[str, Endpoint]
    taps: tuple[Tap, ...]
    known_vnis: frozenset[int]
    deadline_s: float
    probes: tuple[Probe, ...]


def parse(data: object) -> Plan:
    """The plan of a decoded JSON document; raises PlanError at the first thing that is wrong."""
    top = _mapping(data, "")
    endpoints = {name: _record(Endpoint, {"name": name, **_mapping(value, f"endpoints.{name}")}, f"endpoints.{name}")
                 for name, value in _mapping(top.get("endpoints", {}), "endpoints").items()}
    taps = tuple(_record(Tap, value, f"taps[{place}]")
                 for place, value in enumerate(_list(top.get("taps", []), "taps")))
    probes = tuple(_probe(value, f"probes[{place}]", endpoints)
                   for place, value in enumerate(_list(top.get("probes", []), "probes")))
    if len({probe.id for probe in probes}) != len(probes):
        raise PlanError("probes", "two probes have the same id")
    vnis = _list(top.get("known_vnis", []), "known_vnis")
    deadline_s = _typed(top.get("deadline_s", 30), int | float, "deadline_s")
    return Plan(lab=_typed(top.get("lab", ""), str, "lab"), endpoints=endpoints, taps=taps,
                known_vnis=frozenset(_typed(vni, int, "known_vnis") for vni in vnis),
                deadline_s=float(deadline_s), probes=probes)


def _probe(value: object, path: str, endpoints: Mapping[str, Endpoint]) -> Probe:
    given = _mapping(value, path)
    number = _typed(given.get("id"), int, f"{path}.id")
    if not 0 <= number <= MAX_ID:
        raise PlanError(f"{path}.id", f"{number} is outside 0..{MAX_ID}")
    source, target = (_typed(given.get(end), str, f"{path}.{end}") for end in ("source", "target"))
    expect = _expect(given.get("expect"), f"{path}.expect")
    for name in (source, target, *sorted(expect.receivers)):
        if name not in endpoints:
            raise PlanError(path, f"no such endpoint: {name}", "every port that is named must be under endpoints")
    return Probe(number, _typed(given.get("kind"), str, f"{path}.kind"), source, target,
                 packet=_record(Packet, given.get("packet"), f"{path}.packet"),
                 inner=_inner(given.get("inner"), f"{path}.inner"), expect=expect)


def _expect(value: object, path: str) -> Expect:
    given = _mapping(value, path)
    receivers = _list(given.get("receivers", []), f"{path}.receivers")
    told_by = _list(given.get("told_by", []), f"{path}.told_by")
    return Expect(frozenset(_typed(name, str, f"{path}.receivers") for name in receivers),
                  _typed(given.get("answer_mac"), str | None, f"{path}.answer_mac"),
                  _typed(given.get("reason", ""), str, f"{path}.reason"), given.get("carried") is True,
                  _typed(given.get("spread", 0), int, f"{path}.spread"), given.get("one_way") is True,
                  frozenset(_typed(name, str, f"{path}.told_by") for name in told_by))


def _inner(value: object, path: str) -> Inner | None:
    if value is None:
        return None
    given = dict(_mapping(value, path))
    vni = _typed(given.pop("vni", None), int, f"{path}.vni")
    if not 0 <= vni <= MAX_VNI:
        raise PlanError(f"{path}.vni", f"{vni} does not fit 24 bits")
    return Inner(vni, _record(Packet, given, path))


def _record(kind: type, value: object, path: str) -> Any:
    """A dataclass from a mapping with exactly its fields (those with a default may be absent)."""
    given = _mapping(value, path)
    types = {field.name: field.type for field in fields(kind)}
    for name in given:
        if name not in types:
            raise PlanError(f"{path}.{name}", "unknown field", f"known: {', '.join(types)}")
    checked = {name: _typed(item, types[name], f"{path}.{name}") for name, item in given.items()}
    try:
        return kind(**checked)
    except TypeError as error:
        raise PlanError(path, str(error).partition(" ")[2]) from error


def _mapping(value: object, path: str) -> Mapping[str, Any]:
    checked: Mapping[str, Any] = _typed(value, dict, path)
    return checked


def _list(value: object, path: str) -> list[Any]:
    checked: list[Any] = _typed(value, list, path)
    return checked


def _typed(value: Any, kind: Any, path: str) -> Any:
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    kinds = kind.__args__ if isinstance(kind, UnionType) else (kind,)
    names = [part.__name__ for part in kinds if part is not NoneType]
    raise PlanError(path, f"expected {' or '.join(names)}, got {type(value).__name__}")
