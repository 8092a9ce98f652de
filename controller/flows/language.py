"""The one way to write a flow. `flow()` checks the table's contract, so a flow that breaks it cannot be made."""

import hashlib
from functools import cache, lru_cache

from controller.flows.action import (
    Action, Bits, Choose, Commit, DecTtl, Goto, Larger, Load, Meter, Move, Output, OutputBits, Spread, Track, Tunnel,
)  # fmt: skip
from controller.flows.flow import Flow
from controller.flows.match import Match
from controller.pipeline.fields import FIELDS, Field
from controller.pipeline.headers import HEADERS
from controller.pipeline.tables import Pipeline, Table

COOKIE_MARK = 0x0C << 56  # every cookie of ours starts with this byte
_SOUND: dict[object, Table] = {}  # shapes of flows that keep their table's contract


class ContractError(ValueError):
    """A flow matches, writes, goes to or emits what its table does not declare."""


def flow(table: Table, band: str, match: Match, *actions: Action, because: str, rank: int = 0) -> Flow:
    """A flow of `table` with the priority of `band` (plus `rank` within it), on account of the object `because`."""
    range_ = table.band(band)
    if not 0 <= rank < range_.size:
        raise ContractError(f"{table.name}: rank {rank} is outside band {band}")
    _check_once(table, match, actions)
    return Flow(table.number, range_.low + rank, match, actions, cookie(because))


def misses(pipeline: Pipeline) -> tuple[Flow, ...]:
    """The lowest flow of every table: what happens to a packet that nothing matched, with a counter to see it by."""
    return tuple(
        flow(
            table,
            "miss",
            (),
            *(() if table.miss == "drop" else (goto(pipeline.table(table.miss)),)),
            because=miss_reason(pipeline, table),
        )
        for table in pipeline.tables
    )


def miss_reason(pipeline: Pipeline, table: Table) -> str:
    """The object id that stands for a table's miss flow."""
    return f"pipeline/{pipeline.name}/{table.name}/miss"


@lru_cache(maxsize=1 << 17)
def cookie(because: str) -> int:
    """The 64-bit cookie of an object id: our mark and 56 bits of its BLAKE2b hash (RFC 7693)."""
    return COOKIE_MARK | int.from_bytes(hashlib.blake2b(because.encode(), digest_size=7).digest())


@cache
def bits(name: str) -> Bits:
    """All bits of a header or register field."""
    field = FIELDS.get(name)
    return Bits(field.register, field.low, field.width) if field else Bits(name, 0, HEADERS[name].bits)


def load(name: str, value: int) -> Load:
    """Set a header or register field to `value`."""
    target = bits(name)
    if not 0 <= value < 1 << target.width:
        raise ValueError(f"{name}: {value:#x} does not fit {target.width} bits")
    return Load(target, value)


@cache
def move(source: str, target: str) -> Move:
    """Copy a header or field to the low bits of another that is at least as wide."""
    from_bits, to_bits = bits(source), bits(target)
    return Move(from_bits, Bits(to_bits.header, to_bits.low, from_bits.width))


def goto(table: Table) -> Goto:
    return Goto(table.number)


def track(zone: Field, table: Table) -> Track:
    """Look the connection up in the zone that a field holds, and go on in `table` with what is known of it."""
    return Track(bits(zone.name), table.number)


def commit(zone: Field) -> Commit:
    """Remember the connection in the zone that a field holds."""
    return Commit(bits(zone.name))


def _check_once(table: Table, match: Match, actions: tuple[Action, ...]) -> None:
    """`_check`, once for all flows of one shape: the contract speaks of headers and bits, not of values."""
    headers = tuple((header, mask) for header, _, mask in match)
    shape = id(table), headers, tuple([_shape(action) for action in actions])
    if shape not in _SOUND:
        _check(table, match, actions)
        _SOUND[shape] = table  # keeps the table alive, and so its id taken


def _shape(action: Action) -> object:
    match action:
        case (
            Load(bits=target) | Move(target=target) | Spread(target=target) | Choose(target=target)
            | Larger(target=target)
        ):
            return target
        case Goto(table):
            return table
        case Track(table=table):
            return Track, table
    return type(action)


def _check(table: Table, match: Match, actions: tuple[Action, ...]) -> None:
    for header, _, mask in match:
        if not _declared(header, mask, table.matches):
            raise ContractError(f"{table.name} does not match {header}")
    for place, action in enumerate(actions):
        for target in _written(action):
            if not _declared(target.header, ((1 << target.width) - 1) << target.low, table.writes):
                raise ContractError(f"{table.name} does not write {target}")
        if isinstance(action, (Output, OutputBits, Tunnel)) and not table.emits:
            raise ContractError(f"{table.name} does not emit")
        if isinstance(action, Meter) and place:
            raise ContractError(f"{table.name}: a meter comes first")
        if isinstance(action, Track) and action.table <= table.number:
            raise ContractError(f"{table.name}: a connection's packet goes on in a table behind")
        if isinstance(action, Goto) and (place != len(actions) - 1 or action.table <= table.number):
            raise ContractError(f"{table.name}: goto comes last and leads forward")


def _written(action: Action) -> tuple[Bits, ...]:
    match action:
        case (
            Load(bits=target) | Move(target=target) | Spread(target=target) | Choose(target=target)
            | Larger(target=target)
        ):
            return (target,)
        case Tunnel():
            return (bits("tun_dst"),)
        case Output() | OutputBits() | DecTtl() | Track() | Commit() | Meter() | Goto():
            return ()


def _declared(header: str, mask: int | None, names: tuple[str, ...]) -> bool:
    """Whether `names` allow these bits of `header`: the header itself, or fields that cover the bits."""
    if header in names:
        return True
    covered = 0
    for name in names:
        if name in FIELDS and FIELDS[name].register == header:
            covered |= FIELDS[name].mask
    wanted = (1 << HEADERS[header].bits) - 1 if mask is None else mask
    return wanted & ~covered == 0
