"""What the edge answers, asked by real clients: addresses, routers, names, and why a packet went no further."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_fixture import command_output, running, write
from pings_fixture import nothing_lost, pinging
from scripts.overclos import intent, ready
from talk_fixture import ping
from topologies.emulator.lab import Lab

pytestmark = pytest.mark.root

SERVED = """\
lab: {name}
fabric: {{kind: leaf-spine, leaves: 2, spines: 1, servers_per_leaf: 1}}
tenants:
  red:
    vpcs:
      prod:
        subnets:
          web: {{cidr: 10.1.0.0/24, cidr6: "fd00:1::/64", resolvers: [10.1.1.53, "fd00:2::53"]}}
          db: {{cidr: 10.1.1.0/24, cidr6: "fd00:2::/64"}}
        security_groups:
          default: {{rules: {{}}}}
          all: {{rules: {{in: {{direction: to-port}}, out: {{direction: from-port}}}}}}
        instances:
          a: {{subnet: web, ip: 10.1.0.10, server: server-1, groups: [all]}}
          fixed: {{subnet: web, ip: 10.1.0.11, ip6: "fd00:1::f", server: server-2, groups: [all]}}
          made: {{subnet: web, ip: 10.1.0.13, server: server-2, groups: [all]}}
          mute: {{subnet: web, ip: 10.1.0.12, server: server-1, groups: [default]}}
          d: {{subnet: db, ip: 10.1.1.10, ip6: "fd00:2::d", server: server-2, groups: [all]}}
  blue:
    vpcs:
      prod:
        subnets: {{web: {{cidr: 10.1.0.0/24}}}}
        instances: {{a: {{subnet: web, ip: 10.1.0.10, server: server-1}}, secret: {{subnet: web, server: server-1}}}}
"""
A, FIXED, MADE, MUTE, BLUE = "red.prod.a", "red.prod.fixed", "red.prod.made", "red.prod.mute", "blue.prod.a"
LEASE = """#!/bin/sh
[ "$1" = bound ] || exit 0
for name in ip mask router dns domain hostname mtu staticroutes lease serverid; do eval echo "$name=\\$$name"; done
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(write(tmp_path_factory.mktemp("lab"), SERVED, "services")) as lab:
        yield lab


def leased(lab: Lab, instance: str, script: Path, *options: str) -> dict[str, str]:
    """What udhcpc is told."""
    asked = (f"-O{name}" for name in ("mtu", "staticroutes", "domain", "dns", "hostname"))
    argv = ["udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "3", "-T", "1", "-s", str(script), *asked, *options]
    said = command_output(lab, instance, argv)
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def dig(lab: Lab, instance: str, *query: str) -> str:
    return command_output(lab, instance, ["dig", "+time=2", "+tries=1", *query], None)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "lease"
    file.write_text(LEASE)
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(("instance", "address"), [(A, "10.1.0.10"), (MUTE, "10.1.0.12"), (BLUE, "10.1.0.10")])
def test_udhcpc_gets_the_address_of_its_port(lab: Lab, script: Path, instance: str, address: str) -> None:
    told = leased(lab, instance, script)
    tenant = instance.split(".")[0]
    assert told["ip"] == address and told["mask"] == "24" and told["serverid"] == told["router"] == "10.1.0.1"
    assert told["domain"] == f"prod.{tenant}.internal" and told["hostname"] == instance.rpartition(".")[2]
    assert told["mtu"] == "9166"  # of the fabric's 9216
    assert told["dns"] == ("10.1.0.1 10.1.1.53" if tenant == "red" else "10.1.0.1")
    assert told["staticroutes"] == "0.0.0.0/0 10.1.0.1"


def dhclient(lab: Lab, instance: str, directory: Path, version: str) -> str:
    """What dhclient says while it gets an address, or has the last one confirmed; it configures nothing."""
    files = ["-lf", str(directory / "leases"), "-pf", str(directory / "pid"), "-sf", "/bin/true"]
    said = command_output(lab, instance, ["sh", "-c", f"dhclient {version} -1 -v {' '.join(files)} eth0 2>&1"])
    command_output(lab, instance, ["dhclient", version, "-x", *files, "eth0"])
    return said


def test_dhclient_is_confirmed_the_address_that_it_had(lab: Lab, tmp_path: Path) -> None:
    assert "DHCPOFFER of 10.1.0.10 from 10.1.0.1" in dhclient(lab, A, tmp_path, "-4")
    again = dhclient(lab, A, tmp_path, "-4")
    assert "DHCPACK of 10.1.0.10 from 10.1.0.1" in again and "DHCPDISCOVER" not in again


def test_dhclient_gets_the_ipv6_address_of_its_port(lab: Lab, tmp_path: Path) -> None:
    dhclient(lab, FIXED, tmp_path, "-6")
    text = (tmp_path / "leases").read_text()
    assert "iaaddr fd00:1::f {" in text
    assert "option dhcp6.name-servers fd00:1::1,fd00:2::53;" in text
    assert 'option dhcp6.domain-search "prod.red.internal.";' in text


def test_the_kernel_makes_its_address_of_what_the_router_says(lab: Lab) -> None:
    """Of SLAAC the client is the kernel: with its interface up again it solicits."""
    address = re.search(r"fd00:1::[0-9a-f:]+", command_output(lab, MADE, ["ip", "-6", "addr", "show", "dev", "eth0"]))
    assert address is not None
    forget = "ip -6 route flush dev eth0; ip -6 addr flush dev eth0 scope global"
    heed = "sysctl -qw net.ipv6.conf.eth0.accept_ra=2 net.ipv6.conf.eth0.autoconf=1"
    command_output(lab, MADE, ["sh", "-c", f"{forget}; {heed}; ip link set eth0 down; ip link set eth0 up"])
    watch = "timeout 10 sh -c 'until ip -6 route | grep -q ^default; do sleep 0.1; done'; ip -6 addr; ip -6 route"
    found = command_output(lab, MADE, ["sh", "-c", watch])
    assert f"{address[0]}/64" in found, found
    assert "default via fe80::5eff:fe00:101 dev eth0 proto ra" in found and "mtu 9166" in found
    ping(lab, MADE, "fd00:2::d")


@pytest.mark.parametrize("server", ["10.1.0.1", "fd00:1::1"])
def test_names_of_the_vpc_are_known(lab: Lab, server: str) -> None:
    zone = "prod.red.internal"
    assert dig(lab, A, "+short", f"@{server}", f"d.{zone}").split() == ["10.1.1.10"]
    assert dig(lab, A, "+short", f"@{server}", f"D.{zone}", "AAAA").split() == ["fd00:2::d"]
    assert dig(lab, A, "+short", f"@{server}", "-x", "10.1.1.10").split() == [f"d.{zone}."]
    assert dig(lab, A, "+short", f"@{server}", "-x", "fd00:2::d").split() == [f"d.{zone}."]
    for absent in (f"secret.{zone}", f"x.d.{zone}"):
        assert "status: NXDOMAIN" in dig(lab, A, f"@{server}", absent)
    assert "status: NXDOMAIN" in dig(lab, A, f"@{server}", "-x", "10.1.0.99")
    nothing = dig(lab, A, f"@{server}", f"d.{zone}", "MX")
    assert "status: NOERROR" in nothing and "ANSWER: 0" in nothing and "SOA" in nothing


@pytest.mark.parametrize("name", ["www.example.com", "secret.prod.blue.internal", "1.0.0.10.in-addr.arpa"])
def test_other_names_are_other_resolvers_business(lab: Lab, name: str) -> None:
    assert "status: REFUSED" in dig(lab, A, "@10.1.0.1", name)


def test_a_port_that_may_send_nothing_may_ask_for_names(lab: Lab) -> None:
    ping(lab, MUTE, "10.1.0.10", status=1)
    assert dig(lab, MUTE, "+short", "@10.1.0.1", "a.prod.red.internal").split() == ["10.1.0.10"]


def hops(lab: Lab, target: str, *options: str) -> list[str]:
    """What traceroute shows: an address, with a ! and a letter behind it if it says why it ends there."""
    said = command_output(lab, A, ["traceroute", "-n", "-q", "1", "-w", "2", "-m", "4", *options, target])
    return [re.sub(r" +[0-9.]+ ms", "", line[4:]).strip() for line in said.splitlines()[1:]]


@pytest.mark.parametrize("options", [(), ("-I",), ("-T", "-p", "7000")])
def test_traceroute_sees_the_gateway_and_the_target(lab: Lab, options: tuple[str, ...]) -> None:
    assert hops(lab, "10.1.1.10", *options) == ["10.1.0.1", "10.1.1.10"]
    assert hops(lab, "fd00:2::d", *options) == ["fd00:1::1", "fd00:2::d"]
    assert hops(lab, "10.1.0.11", *options) == ["10.1.0.11"]


@pytest.mark.parametrize(
    ("target", "said"),
    [("10.1.1.99", "!H"), ("10.9.9.9", "!N"), ("fd00:2::99", "!H"), ("fd00:9::9", "!N"), ("10.1.0.1", ""),
     ("10.1.1.1", ""), ("fd00:1::1", "")],
)  # fmt: skip
def test_a_gateway_says_why_it_sends_nothing_on(lab: Lab, target: str, said: str) -> None:
    gateway = "fd00:1::1" if ":" in target else "10.1.0.1"
    assert hops(lab, target)[-1].split() == [gateway if said else target, said][: 2 if said else 1]


def test_questions_in_a_flood_cost_the_others_nothing(lab: Lab) -> None:
    """One port asks without end; another is answered, and nobody loses a packet."""
    flood = (
        "import socket, time\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "end = time.monotonic() + 3\n"
        "while time.monotonic() < end: s.sendto(b'x' * 1000, ('10.1.0.1', 53))\n"
    )
    with pinging(lab, (A, "10.1.1.10")) as pings:
        before = ready.status(intent.status_socket(lab))["counters"]["packet_ins"]
        asking = lab.spawn(BLUE, ["python3", "-c", flood])
        for _ in range(5):
            assert dig(lab, A, "+short", "@10.1.0.1", "d.prod.red.internal").split() == ["10.1.1.10"]
        asking.wait()
    nothing_lost(pings)
    heard = ready.status(intent.status_socket(lab))["counters"]["packet_ins"] - before
    assert 100 < heard < 300, heard  # of hundreds of thousands: a burst of 100, then 20 a second
