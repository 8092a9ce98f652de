from topologies.probes.headers import ArpReply, arp_reply, icmp_answer, payload

ADDRESSES = bytes.fromhex("020000000001 020000000002")
REPLY = bytes.fromhex("0001 0800 06 04 0002 020000000002 0a01000b 020000000001 0a01000a")


def ipv4(proto: int, body: bytes, options: bytes = b"") -> bytes:
    head = bytes([0x45 + len(options) // 4, 0]) + (20 + len(body)).to_bytes(2, "big") + bytes(5) + bytes([proto])
    return ADDRESSES + b"\x08\0" + head + bytes(2) + bytes([10, 1, 0, 11, 10, 1, 0, 10]) + options + body


def test_payload_looks_behind_tags() -> None:
    assert payload(ADDRESSES + b"\x88\xb5xy") == (0x88B5, b"xy")
    assert payload(ADDRESSES + bytes.fromhex("88a8 0001 8100 002a 0806") + b"x") == (0x0806, b"x")
    assert payload(b"short") == (0, b"")


def test_arp_reply_is_read_and_requests_are_not() -> None:
    expected = ArpReply("02:00:00:00:00:02", "10.1.0.11", "02:00:00:00:00:01", "10.1.0.10")
    assert arp_reply(ADDRESSES + b"\x08\x06" + REPLY + bytes(18)) == expected
    assert arp_reply(ADDRESSES + bytes.fromhex("8100 0001 0806") + REPLY) == expected
    assert arp_reply(ADDRESSES + b"\x08\x06" + REPLY[:7] + b"\1" + REPLY[8:]) is None
    assert arp_reply(ADDRESSES + b"\x08\x06" + REPLY[:-1]) is None


def test_icmp_answers_are_replies_and_errors() -> None:
    for kind, answer in ((0, "10.1.0.11"), (3, "10.1.0.11"), (11, "10.1.0.11"), (8, None), (13, None)):
        assert icmp_answer(ipv4(1, bytes([kind]) + bytes(7))) == answer
    assert icmp_answer(ipv4(1, b"\3" + bytes(7), options=bytes(4))) == "10.1.0.11"
    assert icmp_answer(ipv4(17, bytes(8))) is None
    assert icmp_answer(ipv4(1, b"", options=b"")) is None
    assert icmp_answer(ipv4(1, bytes(8)).replace(b"\x45", b"\x4f", 1)) is None
