import pytest

from topologies.probes.tokens import ANSWER, MAX_ID, SIZE, Mint, Token


@pytest.mark.parametrize("number", [0, 1, 0xF64F56, MAX_ID])
@pytest.mark.parametrize("leg", [0, ANSWER])
def test_a_token_is_found_anywhere(number: int, leg: int) -> None:
    mint = Mint()
    token = mint.make(number, leg)
    assert len(token) == SIZE == 16
    for before, after in ((b"", b""), (b"x" * 99, b""), (b"\xf6OVC", b"\0" * 50), (token[:-1], b"")):
        assert mint.find(before + token + after) == {Token(number, leg)}


def test_several_tokens_of_one_frame_are_all_found() -> None:
    mint = Mint()
    assert mint.find(mint.make(1) + b"-" + mint.make(2, ANSWER)) == {Token(1), Token(2, ANSWER)}


def test_noise_is_no_token() -> None:
    mint = Mint(b"abcd")
    token = mint.make(5)
    broken = [token[:-1] + bytes([token[-1] ^ 1]), token[:-1], token[1:], Mint(b"abce").make(5), b"", b"\0" * 1500]
    assert [mint.find(frame) for frame in broken] == [set()] * len(broken)


def test_a_nonce_has_four_bytes() -> None:
    with pytest.raises(ValueError):
        Mint(b"abc")
