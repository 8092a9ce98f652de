"""Whatever passes the table of messages, Ryu's parsers come to an end with it, and soon."""

import gc
import random
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ryu.ofproto import ofproto_protocol, ofproto_v1_4_parser

from controller.southbound import messages, oxm, wire
from controller.southbound.layouts import Malformed
from controller.southbound.switch_messages import HELLO, Phase, admit, check, offered

CORPUS = [
    bytes.fromhex(line)
    for line in (Path(__file__).parents[3] / "golden" / "switch-messages.txt").read_text().splitlines()
]
NAMES = [f"{place}-type{message[1]}" for place, message in enumerate(CORPUS)]
RYU_MAY_TAKE_S = 0.05
DATAPATH = ofproto_protocol.ProtocolDesc(wire.VERSION)
# What a hostile length may be: nothing, too short, too long, just beside.
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 24, 32, 0x7FFF, 0x8000, 0xFFF8, 0xFFFF)


class Hangs(Exception):
    pass


@contextmanager
def watchdog(seconds: float = RYU_MAY_TAKE_S) -> Iterator[None]:
    """Interrupts what uses more processor time; that of other processes does not count."""

    def bark(*_: Any) -> None:
        raise Hangs

    before = signal.signal(signal.SIGVTALRM, bark)
    gc.disable()  # a collection takes longer than the parser may
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.01)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
        signal.signal(signal.SIGVTALRM, before)


def ryu(message: bytes) -> Any:
    xid = int.from_bytes(message[4:8], "big")
    return ofproto_v1_4_parser.msg_parser(DATAPATH, message[0], message[1], len(message), xid, message)


def passes(message: bytes) -> bool:
    """Whether the message would be given to Ryu in any phase."""
    for phase in Phase:
        try:
            if len(message) < 8 or admit(message, phase).length != len(message):
                return False
            check(message)
        except Malformed:
            continue
        return True
    return False


def survives(message: bytes) -> bool:
    """Whether the message passes; then Ryu must end with it."""
    if not passes(message):
        return False
    for _ in range(3):  # the machine may have had something better to do, a hang stays one
        try:
            with watchdog():
                ryu(message)
        except Hangs:
            continue
        except Exception:
            pass  # the guard drops what Ryu does not understand
        return True
    raise Hangs(message.hex())


def resized(message: bytes) -> bytes:
    return message[:2] + struct.pack("!H", len(message)) + message[4:]


def two_byte_mutants(message: bytes) -> Iterator[bytes]:
    for at in range(0, len(message) - 1):
        for number in NUMBERS:
            yield message[:at] + struct.pack("!H", number) + message[at + 2 :]


def test_the_watchdog_bites() -> None:
    poisoned = bytes([5, 0, 0, 16, 0, 0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0])
    with pytest.raises(Hangs), watchdog():
        ryu(poisoned)
    assert not passes(poisoned)


@pytest.mark.parametrize("message", CORPUS, ids=NAMES)
def test_what_open_vswitch_says_passes_and_is_understood(message: bytes) -> None:
    assert survives(message)
    ryu(message)


@pytest.mark.parametrize("message", CORPUS, ids=NAMES)
def test_two_byte_mutants_and_cuts_end_in_ryu(message: bytes) -> None:
    mutants = list(two_byte_mutants(message))
    if len(mutants) > 1500:
        mutants = random.Random(len(message)).sample(mutants, 1500)
    passed = sum(survives(mutant) for mutant in mutants)
    cuts = [message[:size] for size in range(8, len(message), max(1, len(message) // 300))]
    passed += sum(survives(resized(cut)) for cut in cuts)
    assert not any(passes(cut) for cut in cuts), "a message that is shorter than it says"
    assert passed < len(mutants) + len(cuts)


def both_lengths(message: bytes, random_source: random.Random) -> bytes:
    """Two changes at once: a length, and something else."""
    data = bytearray(message)
    for _ in range(random_source.randrange(1, 5)):
        at = random_source.randrange(4, max(5, len(data) - 1))
        data[at : at + 2] = struct.pack("!H", random_source.choice(NUMBERS))
    size = random_source.randrange(8, len(data) + 1) if random_source.random() < 0.3 else len(data)
    return resized(bytes(data[:size]))


def test_many_changes_at_once_end_in_ryu() -> None:
    source = random.Random(7)
    passed = sum(survives(both_lengths(source.choice(CORPUS), source)) for _ in range(20_000))
    assert passed > 100


def test_nested_repeats_end_in_ryu() -> None:
    """One good entry many times, up to the longest message there is: time grows with size only."""
    for message in CORPUS:
        if message[1] == messages.MULTIPART_REPLY and (body := message[16:]):
            many = message[:16] + body * ((0xFFFF - 16) // len(body))
            if passes(resized(many)):
                with watchdog(1.0):  # such a one comes only as the answer to a question
                    ryu(resized(many))


@given(st.binary(max_size=200))
@settings(max_examples=2000, deadline=None)
def test_random_bytes_end_in_ryu(data: bytes) -> None:
    survives(data)


@given(st.sampled_from(CORPUS), st.binary(max_size=120))
@settings(max_examples=3000, deadline=None)
def test_random_bodies_end_in_ryu(message: bytes, body: bytes) -> None:
    survives(resized(message[: 16 if message[1] == messages.MULTIPART_REPLY else 8] + body))


@given(st.binary(max_size=248))
@settings(max_examples=1000, deadline=None)
def test_a_hello_that_passes_ends_in_ryu_and_offers_what_it_says(body: bytes) -> None:
    hello = resized(bytes([5, HELLO, 0, 0, 0, 0, 0, 1]) + body)
    if survives(hello):
        elements = [version for element in ryu(hello).elements for version in element.versions if version < 31]
        assert offered(hello) - {31} == set(elements or range(1, 6))


# ---- our own codec, which takes the answers to our own questions


def codec(message: bytes) -> None:
    messages.more_follows(message)
    if message[8:10] == b"\0\1":
        list(wire.decode_flow_stats(message[16:]))
    else:
        messages.table_names([message])
        messages.rename_tables([message], {0: "x"}, 1)


@pytest.mark.parametrize("read, kind", [(codec, 19), (messages.switch_error, 1)], ids=["answers", "errors"])
def test_our_codec_refuses_mutants_in_its_own_words(read: Callable[[bytes], Any], kind: int) -> None:
    source = random.Random(3)
    corpus = [message for message in CORPUS if message[1] == kind and (kind == 1 or message[9] in (1, 12))]
    tried = 0
    for message in corpus:
        mutants = list(two_byte_mutants(message))
        changed = source.sample(mutants, min(len(mutants), 600)) + [message[:size] for size in range(len(message))]
        for mutant in changed + [both_lengths(message, source) for _ in range(300)]:
            tried += 1
            with watchdog(1.0):
                try:
                    read(mutant)
                except oxm.WireError:
                    pass
    assert tried > 1000


# ---- when


@pytest.mark.parametrize(
    "kind", [4, 5, 7, 9, 13, 14, 15, 16, 17, 18, 20, 22, 23, 24, 26, 28, 29, 32, 34, 35, 99, 255],
)  # fmt: skip
def test_what_only_a_controller_says_or_nobody_asked_for_is_refused_by_its_header(kind: int) -> None:
    for phase in Phase:
        with pytest.raises(Malformed, match="nobody asked"):
            admit(struct.pack("!BBHI", 5, kind, 8, 0), phase)


@pytest.mark.parametrize(
    "phase, version, kind, length",
    [
        (Phase.GREETING, 5, 6, 32),  # features before the HELLO
        (Phase.GREETING, 5, 2, 8),
        (Phase.GREETING, 7, 0, 8),
        (Phase.GREETING, 0, 0, 8),
        (Phase.GREETING, 5, 0, 7),  # shorter than its header
        (Phase.GREETING, 5, 0, 0),
        (Phase.GREETING, 5, 0, 257),
        (Phase.SETUP, 5, 0, 8),  # a second HELLO
        (Phase.SETUP, 4, 6, 32),  # not in the version agreed on
        (Phase.READY, 5, 6, 32),
        (Phase.READY, 6, 2, 8),
        (Phase.READY, 5, 2, 1025),
    ],
)
def test_a_header_out_of_place_is_refused(phase: Phase, version: int, kind: int, length: int) -> None:
    with pytest.raises(Malformed):
        admit(struct.pack("!BBHI", version, kind, length, 0), phase)


def test_versions_offered() -> None:
    assert offered(bytes.fromhex("0600000800000001")) == {1, 2, 3, 4, 5, 6}
    assert offered(bytes.fromhex("0600001000000001000100080000007e")) == {1, 2, 3, 4, 5, 6}
    assert offered(bytes.fromhex("04000010000000010001000800000010")) == {4}
