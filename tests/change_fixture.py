"""A running lab that becomes another one, and what it must be then."""

import os
import subprocess
from collections.abc import Sequence

from lab_fixture import lab_name

from topologies.emulator import journal, namespaces
from topologies.emulator.growth import addresses, settled
from topologies.emulator.lab import Lab
from topologies.emulator.netlink import devices
from topologies.emulator.parts import Cable, InstanceSpec, LabPlan, Options, PortSpec
from topologies.emulator.plan import plan
from topologies.leafspine import leaf_spine
from topologies.spec import servers


def instance(number: int, server: str, address: int | None = None) -> InstanceSpec:
    return InstanceSpec(f"red.prod.w{number}", server, 9166, (PortSpec(
        f"red.prod.w{number}.eth0", "eth0", f"02:00:00:00:00:{number:02x}", f"10.9.0.{address or number}/24"),))


W1, W2 = instance(1, "server-1"), instance(2, "server-2")


def wanted(sizes: tuple[int, int, int], instances: Sequence[InstanceSpec], names: Sequence[str] | None = None,
           present: LabPlan | None = None, **options: object) -> LabPlan:
    """A leaf-spine of (leaves, spines, servers per leaf) with servers at all positions, or those that are named."""
    graph = leaf_spine(*sizes)
    graph = settled(graph, present) if present else graph
    section = {name: None for name in names} if names else None
    at = servers(graph, section, addresses(present) if present else {})
    options.setdefault("datapath", "user")
    name = present.lab if present else lab_name("change")   # of another process, perhaps
    return plan(name, graph, at, instances, Options(**options), present=present)  # type: ignore[arg-type]


def created(sizes: tuple[int, int, int] = (1, 1, 2), instances: Sequence[InstanceSpec] = (W1, W2), **more: object,
            ) -> Lab:
    return Lab.create(wanted(sizes, instances, **more))  # type: ignore[arg-type]


def connect(lab: Lab) -> None:
    """Static flows in the controller's place: one network of w1 and w2, through VXLAN and the leaf."""
    vtep = {number: lab.plan.switch_of(f"server-{number}") for number in (1, 2)}
    rules = [("leaf-1", "leaf-1", f"ip,nw_dst={vtep[at].vtep.address},actions=set_field:{vtep[at].bridges[0].mac}->"
              f"eth_dst,output:{at}") for at in (1, 2)]
    for here, there in ((1, 2), (2, 1)):
        rules += [(f"server-{here}", bridge, rule) for bridge, rule in (
            ("br-phy", "in_port=LOCAL,actions=output:1"), ("br-phy", "in_port=1,actions=LOCAL"),
            ("br-int", f"in_port=2,actions=set_field:5->tun_id,set_field:{vtep[there].vtep.address}->tun_dst,output:1"),
            ("br-int", "in_port=1,tun_id=5,actions=output:2"))]
    for node, bridge, rule in rules:
        assert lab.exec(node, ["ovs-ofctl", "-O", "OpenFlow14", "add-flow", bridge, rule]) == 0


PAIR = ("red.prod.w1", "10.9.0.2")  # w1 and w2


def ours(lab: Lab) -> dict[str, set[tuple[str, int]]]:
    """(device, index) of each of our devices, per namespace."""
    found = {}
    for name in lab.plan.namespaces():
        namespace = namespaces.open_existing(name)
        found[name] = {(each.name, each.index) for each in devices(namespace.channel).values() if each.index > 100_000}
        namespace.close()
    return found


def assert_as_planned(lab: Lab) -> None:
    """No more and no less than the plan says."""
    assert lab.status()["problems"] == []
    there = ours(lab)
    planned: dict[str, set[tuple[str, int]]] = {name: set() for name in lab.plan.namespaces()}
    for cable in lab.plan.cables:
        for end in (cable.a, cable.b):
            planned[end.netns].add((end.device, end.index))
    assert there == planned
    prefix = f"oc.{lab.name}."
    assert {entry for entry in os.listdir(namespaces.DIRECTORY) if entry.startswith(prefix)} == set(planned)
    assert {entry.name for entry in (lab.directory / "ovs").iterdir()} == {each.directory for each in lab.plan.switches}
    record = journal.read(lab.name)
    assert record and (record.state, set(record.namespaces), record.unfinished) == ("up", set(planned), [])
    for switch in lab.plan.switches:
        for bridge in switch.bridges:
            listed = lab.spawn(switch.node, ["ovs-vsctl", "list-ports", bridge.device], stdout=subprocess.PIPE,
                               text=True).communicate()[0].split()
            assert set(listed) == {port.device for port in bridge.ports}


def between(cables: Sequence[Cable]) -> set[str]:
    return {f"{cable.a.node} {cable.b.node}" for cable in cables}


def output(lab: Lab, node: str, *argv: str) -> str:
    return str(lab.spawn(node, argv, stdout=subprocess.PIPE, text=True).communicate()[0])


def another(present: LabPlan) -> LabPlan:
    instances = [W1, W2, instance(4, "server-1"), instance(5, "server-3"), instance(6, "server-4")]
    return wanted((2, 2, 2), instances, present=present)
