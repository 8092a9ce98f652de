"""The scopes follow a snapshot: only what changed is looked at, and by whatever way, the result is the same."""

from dataclasses import replace

from controller.compiler.world import SubnetScope, World
from controller.model.placement import Observed
from worlds import snapshot, two_tenants

SNAPSHOT = snapshot(two_tenants())
PORT = SNAPSHOT.intent.ports[0]


def test_an_update_gives_only_the_scopes_that_are_other_than_before() -> None:
    world = World()
    assert {"fabric", "chassis/server-0", PORT.subnet} < world.update(SNAPSHOT, Observed()).keys()
    assert world.update(SNAPSHOT, Observed()) == {}
    intent = replace(SNAPSHOT.intent, ports=SNAPSHOT.intent.ports[1:])
    (key, scope), = world.update(replace(SNAPSHOT, intent=intent), Observed()).items()
    assert key == PORT.subnet and isinstance(scope, SubnetScope)
    assert PORT.id not in [member.port.id for member in scope.members]


def test_a_port_that_is_plugged_changes_its_subnet_alone() -> None:
    world = World()
    world.update(SNAPSHOT, Observed())
    server = next(one.server for one in SNAPSHOT.intent.instances if one.id == PORT.instance)
    assert PORT.id in world.waiting[server]
    assert list(world.update(SNAPSHOT, Observed({(server, PORT.id): 7}))) == [PORT.subnet]
    assert PORT.id not in world.waiting[server]
    assert list(world.update(SNAPSHOT, Observed({("elsewhere", PORT.id): 7}))) == [PORT.subnet]
    assert PORT.id in world.waiting[server]


def test_what_goes_takes_its_scope_with_it() -> None:
    world = World()
    before = world.update(SNAPSHOT, Observed())
    nothing = replace(SNAPSHOT, chassis=(), intent=type(SNAPSHOT.intent)())
    after = world.update(nothing, Observed())
    assert after.keys() == before.keys() - {"fabric"} and set(after.values()) == {None}
    assert not any(world.waiting.values())
    assert world.update(SNAPSHOT, Observed()).keys() == after.keys()


def test_an_instance_that_moves_takes_its_ports_along() -> None:
    world = World()
    world.update(SNAPSHOT, Observed())
    instance = next(one for one in SNAPSHOT.intent.instances if one.id == PORT.instance)
    to = next(chassis.name for chassis in SNAPSHOT.chassis if chassis.name != instance.server)
    moved = tuple(replace(one, server=to) if one is instance else one for one in SNAPSHOT.intent.instances)
    changed = world.update(replace(SNAPSHOT, intent=replace(SNAPSHOT.intent, instances=moved)), Observed())
    assert PORT.subnet in changed and all(key.startswith("red.prod") for key in changed)
    assert PORT.id in world.waiting[to] and PORT.id not in world.waiting[instance.server]


def test_a_nic_may_be_attached_twice() -> None:
    """With two cables to two switches, in a dual-plane fabric: one name, one address."""
    fabric = replace(SNAPSHOT.fabric, attachments=SNAPSHOT.fabric.attachments * 2)
    world = World()
    world.update(SNAPSHOT, Observed())
    assert list(world.update(replace(SNAPSHOT, fabric=fabric), Observed())) == ["fabric"]
