"""Short, stable, unique."""

from hypothesis import given
from hypothesis import strategies as st

from topologies.emulator import names

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)


@given(st.sets(LABEL, min_size=1, max_size=50))
def test_devices_are_short_and_distinct(labels: set[str]) -> None:
    taken: set[str] = set()
    for label in sorted(labels):
        chosen = names.device(f"{label}-eth1", taken)
        assert len(chosen) <= 15 and chosen not in taken
        assert names.altname(f"{label}-eth1", chosen) in (None, f"{label}-eth1")
        taken.add(chosen)


def test_device_keeps_a_name_that_fits() -> None:
    assert names.device("edge-0-1-eth1") == "edge-0-1-eth1"


def test_device_avoids_what_the_kernel_or_open_vswitch_uses() -> None:
    assert all(names.device(name) != name for name in ("lo", "all", "default", "mgmt0", "ovs-netdev", "br-int", "a.b"))


def test_device_avoids_taken_names() -> None:
    first = names.device("gpu-node-0001-eth0")
    assert names.device("gpu-node-0001-eth0", {first}) != first


@given(LABEL, LABEL, LABEL, LABEL)
def test_two_labs_never_share_a_namespace(lab: str, node: str, other_lab: str, other: str) -> None:
    if (lab, node) != (other_lab, other):
        assert names.netns(lab, node) != names.netns(other_lab, other)


@given(LABEL)
def test_mac_is_local_and_unicast(label: str) -> None:
    assert int(names.mac(label)[:2], 16) & 3 == 2


def test_address_mac_is_the_fabrics_rule() -> None:
    assert names.address_mac("10.0.1.2") == "02:00:0a:00:01:02"
