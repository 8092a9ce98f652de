"""The extended transport headers of RoCEv2 as scapy layers (InfiniBand Architecture Specification, chapter 9): what
scapy's own BTH, AETH and CNP lack. A packet is dissected header by header as its opcode says.

Reliable and unreliable connections and datagrams are known; reliable datagrams and XRC are not.
"""

from typing import Any

from scapy.contrib.roce import AETH, BTH, CNPPadding
from scapy.fields import BitField, IntField, XByteField, XIntField, XLongField
from scapy.packet import Packet, Raw, bind_layers, split_layers

RC, UC, UD = 0x00, 0x20, 0x60  # upper three bits of an opcode
SEND_ONLY, SEND_ONLY_IMM = 0x04, 0x05
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(0x06, 0x0C)
READ_REQUEST = 0x0C
READ_RESPONSE_FIRST, READ_RESPONSE_MIDDLE, READ_RESPONSE_LAST, READ_RESPONSE_ONLY = range(0x0D, 0x11)
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD = range(0x11, 0x15)
CNP = 0x81


class _Extended(Packet):
    """A header behind the BTH; the opcode says what is behind it."""

    def guess_payload_class(self, payload: bytes) -> Any:
        below, depth = self.underlayer, 1
        while below is not None and not isinstance(below, BTH):
            below, depth = below.underlayer, depth + 1
        chain = CHAINS.get(below.opcode, ()) if below is not None else ()
        return chain[depth] if depth < len(chain) else Raw


class RETH(_Extended):
    """RDMA extended transport header: where in the remote memory, and how much."""

    name = "RETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0), IntField("dmalen", 0)]


class DETH(_Extended):
    """Datagram extended transport header."""

    name = "DETH"
    fields_desc = [XIntField("qkey", 0), XByteField("reserved", 0), BitField("sqpn", 0, 24)]


class ImmDt(_Extended):
    """Immediate data, for the receiver's completion."""

    name = "ImmDt"
    fields_desc = [XIntField("data", 0)]


class AtomicETH(_Extended):
    """Atomic extended transport header: FetchAdd adds `swap`, CompareSwap puts it where `compare` is."""

    name = "AtomicETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0), XLongField("swap", 0), XLongField("compare", 0)]


class AtomicAckETH(_Extended):
    """What was in memory before an atomic operation."""

    name = "AtomicAckETH"
    fields_desc = [XLongField("original", 0)]


class AcknowledgeETH(_Extended, AETH):
    """scapy's AETH, which may have an AtomicAckETH behind it."""

    name = "AETH"
    fields_desc = AETH.fields_desc


_CONNECTED: dict[int, tuple[type[Packet], ...]] = {
    0x03: (ImmDt,), SEND_ONLY_IMM: (ImmDt,),
    WRITE_FIRST: (RETH,), WRITE_ONLY: (RETH,), WRITE_LAST_IMM: (ImmDt,), WRITE_ONLY_IMM: (RETH, ImmDt),
}
_RELIABLE: dict[int, tuple[type[Packet], ...]] = {
    READ_REQUEST: (RETH,), READ_RESPONSE_FIRST: (AcknowledgeETH,), READ_RESPONSE_LAST: (AcknowledgeETH,),
    READ_RESPONSE_ONLY: (AcknowledgeETH,), ACKNOWLEDGE: (AcknowledgeETH,),
    ATOMIC_ACKNOWLEDGE: (AcknowledgeETH, AtomicAckETH), COMPARE_SWAP: (AtomicETH,), FETCH_ADD: (AtomicETH,),
}

# Opcode -> the headers between BTH and payload.
CHAINS: dict[int, tuple[type[Packet], ...]] = {
    **{RC | operation: chain for operation, chain in (_CONNECTED | _RELIABLE).items()},
    **{UC | operation: chain for operation, chain in _CONNECTED.items()},
    UD | SEND_ONLY: (DETH,), UD | SEND_ONLY_IMM: (DETH, ImmDt),
    CNP: (CNPPadding,),
}

split_layers(BTH, AETH, opcode=RC | ACKNOWLEDGE)  # ours goes on behind it
for _opcode, _chain in CHAINS.items():
    if _opcode != CNP:  # scapy binds that itself
        bind_layers(BTH, _chain[0], opcode=_opcode)


def message(opcode: int, dqpn: int, psn: int, *headers: Packet, data: bytes = b"") -> Packet:
    """BTH, these extended headers and the data, filled up to words as the pad count tells; the layers below make the
    ICRC. Raises ValueError when the headers are not those of the opcode."""
    chain = CHAINS.get(opcode, ())
    if tuple(map(type, headers)) != chain:
        wanted = ", ".join(layer.__name__ for layer in chain) or "none"
        raise ValueError(f"opcode {opcode:#04x} has the headers {wanted}, not {[each.name for each in headers]}")
    pad = -len(data) % 4
    built = BTH(opcode=opcode, dqpn=dqpn, psn=psn, padcount=pad, becn=opcode == CNP)
    for header in headers:
        built = built / header
    return built / Raw(data + b"\0" * pad) if data else built
