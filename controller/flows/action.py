"""The actions our flows use, as values. Each names the Open vSwitch action (ovs-actions(7)) it stands for."""

from dataclasses import dataclass

LOCAL = 0xFFFFFFFE  # OFPP_LOCAL
IN_PORT = 0xFFFFFFF8  # OFPP_IN_PORT
CONTROLLER = 0xFFFFFFFD  # OFPP_CONTROLLER


@dataclass(frozen=True, slots=True)
class Bits:
    """A run of bits of a header or register: `header[low..low+width-1]`."""

    header: str
    low: int
    width: int


@dataclass(frozen=True, slots=True)
class Load:
    """`load:value->bits` (set_field where the bits are a whole header)."""

    bits: Bits
    value: int


@dataclass(frozen=True, slots=True)
class Move:
    """`move:source->target`, equal widths."""

    source: Bits
    target: Bits


@dataclass(frozen=True, slots=True)
class Output:
    """`output:port`; LOCAL, IN_PORT and CONTROLLER are reserved ports. The controller gets whole packets."""

    port: int


@dataclass(frozen=True, slots=True)
class Tunnel:
    """`set_field:VTEP->tun_dst,output:port` for each VTEP in turn: a copy to each. One value and not a list of them,
    because a subnet on n chassis has n flows with n - 1 copies. Nothing else of ours writes tun_dst and then emits."""

    vteps: tuple[int, ...]
    port: int


@dataclass(frozen=True, slots=True)
class OutputBits:
    """`output:bits`: the port number is read from a register."""

    bits: Bits


@dataclass(frozen=True, slots=True)
class Spread:
    """`bundle_load(symmetric_l3l4+udp,basis,hrw,ofport,target,members:...)`: chooses by the packet's addresses and L4
    ports one member that has carrier, and moves only the flows of a member that lost it."""

    basis: int
    members: tuple[int, ...]
    target: Bits


@dataclass(frozen=True, slots=True)
class Choose:
    """`multipath(symmetric_l3l4+udp,basis,modulo_n,size,0,target)`: a number below `size` by the packet's addresses and
    L4 ports, the same for both directions of a connection."""

    basis: int
    size: int
    target: Bits


@dataclass(frozen=True, slots=True)
class Larger:
    """`check_pkt_larger(size)->target`: one bit, whether the frame is larger, in bytes with its Ethernet header."""

    size: int
    target: Bits


@dataclass(frozen=True, slots=True)
class DecTtl:
    """`dec_ttl`: a packet whose TTL runs out is dropped."""


@dataclass(frozen=True, slots=True)
class Track:
    """`ct(zone=zone,table=table)`: a copy of the packet, with the state of its connection, goes on in a table with a
    higher number; the actions behind are for the packet itself."""

    zone: Bits
    table: int


@dataclass(frozen=True, slots=True)
class Commit:
    """`ct(commit,zone=zone)`: the packet's connection is remembered."""

    zone: Bits


@dataclass(frozen=True, slots=True)
class Meter:
    """`meter:number`, the first action: drops what comes faster than the switch's meter of that number lets pass. The
    meter is a part of the action. rate, burst: in packets/s and packets if `packets`, else in kbit/s and kbit."""

    number: int
    rate: int
    burst: int
    packets: bool


@dataclass(frozen=True, slots=True)
class Goto:
    """`goto_table`: the last action, to a table with a higher number."""

    table: int


Action = Load | Move | Output | Tunnel | OutputBits | Spread | Choose | Larger | DecTtl | Track | Commit | Meter | Goto
