"""Checks of what operators say about the physical network, and the network without it or with it. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from controller.model.encapsulation import MIN_TENANT_MTU, OVERHEAD_BYTES, tenant_mtu
from controller.model.fabric import Attachment, Fabric, Link, Switch
from controller.model.order import natural
from controller.model.placement import Chassis
from controller.model.problem import Path, Problem
from controller.model.snapshot import Snapshot
from controller.northbound.api.models import ChassisBody, FabricBody
from controller.northbound.api.problems import conflict, invalid, not_found
from controller.northbound.store import Contents


def fabric(body: FabricBody) -> Fabric:
    """The model's fabric of a body."""
    return Fabric(
        body.mtu,
        tuple(Switch(**one.model_dump()) for one in body.switches),
        tuple(Attachment(**one.model_dump()) for one in body.attachments),
        tuple(_link(**one.model_dump()) for one in body.links),
        body.router_mac,
    )


def chassis(name: str, body: ChassisBody) -> Chassis:
    """The model's chassis of a body."""
    fields = body.model_dump(exclude={"name"})
    return Chassis(name, **{**fields, "uplinks": tuple(sorted(set(fields["uplinks"])))})


def with_chassis(contents: Contents, one: Chassis) -> Snapshot:
    """The network with this chassis, new or in place of the one of that name."""
    others = (each for each in contents.snapshot.chassis if each.name != one.name)
    everyone = tuple(sorted((*others, one), key=lambda each: natural(each.name)))
    snapshot = replace(contents.snapshot, chassis=everyone)
    number = everyone.index(one)
    problems = [problem._replace(path=problem.path[1:]) for problem in chassis_problems(everyone)]
    problems += [each._replace(path=each.path[2:]) for each in shared_dpids(snapshot) if each.path[1] == number]
    if problems:
        raise invalid(problems)
    return snapshot


def without_chassis(contents: Contents, name: str) -> Snapshot:
    left = tuple(each for each in contents.snapshot.chassis if each.name != name)
    if len(left) == len(contents.snapshot.chassis):
        raise not_found("such chassis")
    users = [one.id for one in contents.snapshot.intent.instances if one.server == name]
    if users:
        raise conflict(f"{len(users)} instances run on {name}: {', '.join(users[:5])}", "move or remove them first")
    return replace(contents.snapshot, chassis=left)


def with_fabric(contents: Contents, wanted: Fabric) -> Snapshot:
    """The network with this fabric in place of the present one."""
    snapshot = replace(contents.snapshot, fabric=wanted)
    problems = shared_dpids(snapshot)
    if problems:
        raise invalid(problems)
    return snapshot


def fabric_problems(wanted: Fabric) -> list[Problem]:
    """What is wrong inside a fabric."""
    problems = [*_doubled("switches", wanted.switches, "name"), *_doubled("switches", wanted.switches, "dpid")]
    for key in ("name", "address", "mac"):
        problems += _doubled("attachments", wanted.attachments, key)
    if tenant_mtu(wanted.mtu) < MIN_TENANT_MTU:
        message = f"an MTU of {wanted.mtu} leaves tenants {tenant_mtu(wanted.mtu)} bytes behind VXLAN"
        problems.append(Problem(("mtu",), message, f"at least {MIN_TENANT_MTU + OVERHEAD_BYTES}"))
    return [*problems, *_ends(wanted), *_prefixes(wanted)]


def chassis_problems(everyone: Iterable[Chassis]) -> list[Problem]:
    """What is wrong between chassis; a path begins with the number of the chassis."""
    things = tuple(everyone)
    problems = [problem for key in ("name", "vtep", "vtep_mac") for problem in _doubled(None, things, key)]
    owners: dict[int, str] = {}
    for number, one in enumerate(things):
        for key in ("phy_dpid", "int_dpid"):
            dpid = getattr(one, key)
            if dpid in owners:
                problems.append(_taken((number, key), f"{dpid:#x}", owners[dpid]))
            owners.setdefault(dpid, one.name)
    return problems


def shared_dpids(wanted: Snapshot) -> list[Problem]:
    """Chassis that have the datapath id of a fabric switch."""
    dpids = {switch.dpid: switch.name for switch in wanted.fabric.switches}
    return [
        _taken(("chassis", number, key), f"{getattr(one, key):#x}", dpids[getattr(one, key)])
        for number, one in enumerate(wanted.chassis)
        for key in ("phy_dpid", "int_dpid")
        if getattr(one, key) in dpids
    ]


def homeless(wanted: Snapshot) -> Iterator[Problem]:
    """Instances on chassis that are not there."""
    names = {chassis.name for chassis in wanted.chassis}
    for instance in wanted.intent.instances:
        if instance.server not in names:
            message = f"instance {instance.id} runs on {instance.server}, which is none of the chassis"
            yield Problem(("chassis",), message, "move or remove it in the same document")


def _link(a: str, a_port: int, b: str, b_port: int) -> Link:
    (first, first_port), (second, second_port) = sorted([(a, a_port), (b, b_port)])
    return Link(first, first_port, second, second_port)


def _doubled(section: str | None, things: tuple[Any, ...], key: str) -> Iterator[Problem]:
    owners: dict[Any, Any] = {}
    for number, one in enumerate(things):
        value = getattr(one, key)
        owner = owners.setdefault(value, one)
        if owner is not one:
            path: Path = (number, key) if section is None else (section, number, key)
            yield _taken(path, str(value), owner.name)


def _taken(path: Path, value: str, owner: str) -> Problem:
    return Problem(path, f"{value} is already that of {owner}", f"every {str(path[-1])} is used once")


def _ends(wanted: Fabric) -> Iterator[Problem]:
    """Every cable ends at a switch that is there, in a port of its own."""
    switches = {switch.name for switch in wanted.switches}
    used: dict[tuple[str, int], Path] = {}
    ends: list[tuple[Path, str, int]] = [
        (("attachments", number), one.switch, one.port) for number, one in enumerate(wanted.attachments)
    ]
    for number, link in enumerate(wanted.links):
        ends += [(("links", number), link.a, link.a_port), (("links", number), link.b, link.b_port)]
    for path, switch, port in ends:
        if switch not in switches:
            yield Problem(path, f"there is no switch {switch!r}", "see `switches`")
        elif (switch, port) in used:
            where = ".".join(map(str, used[switch, port]))
            yield Problem(path, f"port {port} of {switch} is already used by {where}", "one cable per port")
        used.setdefault((switch, port), path)


def _prefixes(wanted: Fabric) -> Iterator[Problem]:
    prefixes = {switch.name: switch.prefix for switch in wanted.switches}
    for number, one in enumerate(wanted.attachments):
        prefix = prefixes.get(one.switch)
        if one.switch in prefixes and (prefix is None or IPv4Address(one.address) not in IPv4Network(prefix)):
            message = f"{one.address} is not of the prefix {prefix} of {one.switch}"
            yield Problem(("attachments", number, "address"), message, "attachments are numbered from it")
