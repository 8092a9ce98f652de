"""The world of the benches: chassis and VPCs, and so many ports dealt out among them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from controller.model.fabric import Fabric
from controller.model.placement import Chassis, Observed
from controller.model.security import DEFAULT, FROM_PORT, TCP, TO_PORT, SecurityGroup, SecurityRule
from controller.model.snapshot import Intent, Snapshot
from controller.model.tenancy import Instance, Port, Subnet, Tenant, Vpc

CHASSIS, VPCS = 64, 50
PHY, INT = 0x10000, 0x20000  # datapath ids of the first chassis' br-phy and br-int
_FIRST_PORT = 2  # OpenFlow ports of br-int below are the tunnel's


@dataclass(frozen=True, slots=True)
class Member:
    """One port: on which chassis it is, and as which OpenFlow port of br-int."""

    chassis: int
    ofport: int
    instance: Instance
    port: Port


@dataclass(frozen=True, slots=True)
class Cluster:
    """So many servers, and VPCs of one subnet each. Members are numbered, so that all of them need not be kept.

    groups: whether every VPC has two security groups, the default one, in which all are, and one for every third.
    """

    chassis: int = CHASSIS
    vpcs: int = VPCS
    groups: bool = False

    def snapshot(self, ports: int, databases: tuple[str, ...] = ()) -> Snapshot:
        """The first `ports` members, round the VPCs and the chassis in turn. `databases`: each chassis' remote."""
        vpcs = tuple(Vpc(f"t{number}", "v") for number in range(self.vpcs))
        subnets = (Subnet(vpc.id, "n", "10.1.0.0/16", "10.1.0.1", 1000 + n) for n, vpc in enumerate(vpcs))
        empty = Intent(tuple(Tenant(vpc.tenant) for vpc in vpcs), vpcs, tuple(subnets))
        if self.groups:
            empty = replace(empty, security_groups=_groups(vpcs), security_rules=_rules(vpcs))
        intent = with_members(empty, *map(self.member, range(ports)))
        return Snapshot(0, Fabric(9216), tuple(self._chassis(databases)), intent)

    def member(self, number: int) -> Member:
        place, vpc = divmod(number, self.vpcs)
        server = (number * 7 + place) % self.chassis
        instance = Instance(f"t{vpc}.v", f"i{place}", f"s{server}")
        mac = f"02:80:{vpc:02x}:00:{place >> 8:02x}:{place & 255:02x}"
        groups = (f"t{vpc}.v.{DEFAULT}", f"t{vpc}.v.web")[: 1 if place % 3 else 2] if self.groups else ()
        address = f"10.1.{place // 250}.{place % 250 + 2}"
        port = Port(instance.id, "eth0", f"t{vpc}.v.n", address, mac, groups, number + 1 if self.groups else 0)
        return Member(server, _FIRST_PORT + number, instance, port)

    def observed(self, ports: int) -> Observed:
        """The first `ports` members plugged."""
        members = map(self.member, range(ports))
        return Observed({(f"s{member.chassis}", member.port.id): member.ofport for member in members})

    def _chassis(self, databases: tuple[str, ...]) -> list[Chassis]:
        plain = [
            Chassis(f"s{n}", f"10.0.0.{n + 2}", f"02:00:0a:00:00:{n + 2:02x}", PHY + n, INT + n)
            for n in range(self.chassis)
        ]
        if not databases:
            return plain
        return [replace(one, ovsdb=remote) for one, remote in zip(plain, databases, strict=True)]


def _groups(vpcs: Iterable[Vpc]) -> tuple[SecurityGroup, ...]:
    return tuple(SecurityGroup(vpc.id, name, bit) for vpc in vpcs for bit, name in enumerate((DEFAULT, "web")))


def _rules(vpcs: Iterable[Vpc]) -> tuple[SecurityRule, ...]:
    """The members of the default group talk to one another and to everybody, those of `web` serve everybody."""
    found = []
    for vpc in vpcs:
        default, web = f"{vpc.id}.{DEFAULT}", f"{vpc.id}.web"
        found += [SecurityRule(default, "members", TO_PORT, peers=default), SecurityRule(default, "out", FROM_PORT)]
        found += [SecurityRule(web, "http", TO_PORT, TCP, "80"), SecurityRule(web, "more", TO_PORT, TCP, "8000-8100")]
    return tuple(found)


def with_members(intent: Intent, *members: Member) -> Intent:
    return replace(
        intent, instances=(*intent.instances, *(member.instance for member in members)),
        ports=(*intent.ports, *(member.port for member in members)),
    )  # fmt: skip


def without_member(intent: Intent, member: Member) -> Intent:
    return replace(
        intent, instances=tuple(one for one in intent.instances if one.id != member.instance.id),
        ports=tuple(one for one in intent.ports if one.id != member.port.id),
    )  # fmt: skip
