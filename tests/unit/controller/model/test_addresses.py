"""Notations: what is taken, in which canonical form, and what is refused in which words."""

from collections.abc import Callable

import pytest

from controller.model import addresses
from controller.model.addresses import NotationError


@pytest.mark.parametrize("text", ["a", "web1", "1", "gpu-node-0001", "x" * 63, "a--b", "null", "no"])
def test_labels(text: str) -> None:
    assert addresses.label(text) == text


@pytest.mark.parametrize("text", ["", "-a", "a-", "Web", "a.b", "a_b", "a b", "a\n", "x" * 64, "é", "１", "\ud800"])
def test_no_labels(text: str) -> None:
    with pytest.raises(NotationError, match="is not a DNS label") as caught:
        addresses.label(text)
    assert "\n" not in str(caught.value)


def test_a_bad_label_comes_with_a_good_one() -> None:
    with pytest.raises(NotationError, match="for example 'web-server'"):
        addresses.label("Web Server")


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (addresses.cidr, "10.1.0.1/24", r"10.1.0.1/24 has host bits set \(did you mean 10.1.0.0/24\?\)"),
        (addresses.cidr, "10.1.0.0", "is not a CIDR"),
        (addresses.cidr, "10.1.0.0/255.255.255.0", "is not a CIDR"),
        (addresses.cidr, "10.1.0.0/024", "is not a CIDR"),
        (addresses.cidr, "10.1.0.0/33", "is not a CIDR"),
        (addresses.cidr, "10.1.0.256/24", "is not a CIDR"),
        (addresses.cidr, "010.1.0.0/24", "is not a CIDR"),
        (addresses.cidr, "10.1.0.0/24\n", "is not a CIDR"),
        (addresses.cidr, "１0.1.0.0/24", "is not a CIDR"),
        (addresses.cidr, "10.1.0.0/31", "is too small"),
        (addresses.cidr, "10.1.0.0/32", "is too small"),
        (addresses.cidr, "fd00::/64", "is IPv6 .here it is IPv4"),
        (addresses.cidr, "127.1.0.0/16", "loopback"),
        (addresses.cidr, "0.0.0.0/0", "this network"),
        (addresses.cidr, "169.254.1.0/24", "link-local"),
        (addresses.cidr, "224.0.1.0/24", "multicast"),
        (addresses.cidr, "240.0.0.0/8", "reserved"),
        (addresses.address, "10.1.0.10/24", "has a prefix length"),
        (addresses.address, "10.1.0", "is not an IPv4 address"),
        (addresses.address, "10.1.0.010", "is not an IPv4 address"),
        (addresses.address, "10.1.0.10 ", "is not an IPv4 address"),
        (addresses.address, "", "is not an IPv4 address"),
        (addresses.address, "fd00::1", "is IPv6"),
        (addresses.address, "fe80::1%\n", "IPv6|not an IPv4 address"),
        (addresses.mac, "02-00-00-00-00-0A", "write it as 02:00:00:00:00:0a"),
        (addresses.mac, "0200.0000.000A", "write it as 02:00:00:00:00:0a"),
        (addresses.mac, "02:00:00:00:00", "is not a MAC"),
        (addresses.mac, "02:00:00:00:00:01\n", "is not a MAC"),
        (addresses.mac, "00:00:00:00:00:00", "is the zero MAC"),
        (addresses.mac, "01:00:5e:00:00:01", "is a group MAC"),
        (addresses.mac, "ff:ff:ff:ff:ff:ff", "is a group MAC"),
    ],
)
def test_refused(read: Callable[[str], object], text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message) as caught:
        read(text)
    assert caught.value.hint
    assert "\n" not in str(caught.value)


def test_canonical_forms() -> None:
    assert str(addresses.cidr("10.1.0.0/30")) == "10.1.0.0/30"
    assert str(addresses.address("10.1.0.10")) == "10.1.0.10"
    assert addresses.mac("0A:BC:00:00:00:0F") == "0a:bc:00:00:00:0f"
    assert str(addresses.gateway(addresses.cidr("10.1.0.64/26"))) == "10.1.0.65"


def test_shown_values_are_short_and_on_one_line() -> None:
    assert addresses.shown("a\nb") == r"'a\nb'"
    assert len(addresses.shown("x" * 1000)) == 70
    assert addresses.shown(10**5000) == "a huge number"
