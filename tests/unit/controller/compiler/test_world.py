"""The scopes follow a snapshot: only what changed is looked at, and by whatever way, the result is the same."""

from dataclasses import replace

from controller.compiler.world import MemberScope, World, member_key
from controller.model.placement import Observed
from controller.model.tenancy import Instance

from worlds import snapshot, two_tenants

SNAPSHOT = snapshot(two_tenants())
PORT = SNAPSHOT.intent.ports[0]
HOME = next(one.server for one in SNAPSHOT.intent.instances if one.id == PORT.instance)
MEMBER, LOCAL = member_key(PORT.id), f"{PORT.subnet}/{HOME}"


def test_an_update_gives_only_the_scopes_that_are_other_than_before() -> None:
    world = World()
    plugged = Observed({(HOME, PORT.id): 7})
    assert {"fabric", "chassis/server-0", PORT.subnet, MEMBER, LOCAL} < world.update(SNAPSHOT, plugged).keys()
    assert world.update(SNAPSHOT, plugged) == {}
    more = replace(PORT, name="eth9", address="10.1.0.99", mac="02:00:00:00:00:99")
    intent = replace(SNAPSHOT.intent, ports=(*SNAPSHOT.intent.ports, more))
    (key, scope), = world.update(replace(SNAPSHOT, intent=intent), plugged).items()
    assert key == member_key(more.id) and isinstance(scope, MemberScope) and scope.port is more


def test_a_subnet_that_comes_to_a_chassis_is_another_for_all_its_members() -> None:
    world = World()
    world.update(SNAPSHOT, Observed())
    instance = Instance(PORT.instance.rpartition(".")[0], "more", "server-3")
    port = replace(PORT, instance=instance.id, address="10.1.0.99", mac="02:00:00:00:00:99")
    parts = SNAPSHOT.intent
    intent = replace(parts, ports=(*parts.ports, port), instances=(*parts.instances, instance))
    changed = world.update(replace(SNAPSHOT, intent=intent), Observed())
    assert "server-3" in [chassis.name for chassis in changed[PORT.subnet].present]
    assert {member_key(one.id) for one in intent.ports if one.subnet == PORT.subnet} < changed.keys()


def test_a_port_that_is_plugged_changes_itself_and_its_chassis_alone() -> None:
    world = World()
    world.update(SNAPSHOT, Observed())
    assert PORT.id in world.waiting[HOME]
    assert world.update(SNAPSHOT, Observed({(HOME, PORT.id): 7})).keys() == {MEMBER, LOCAL}
    assert PORT.id not in world.waiting[HOME]
    assert world.update(SNAPSHOT, Observed({("elsewhere", PORT.id): 7})).keys() == {MEMBER, LOCAL}
    assert PORT.id in world.waiting[HOME]


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
    assert {PORT.subnet, MEMBER} < changed.keys() and all(key.startswith("red.prod") for key in changed)
    assert PORT.id in world.waiting[to] and PORT.id not in world.waiting[instance.server]


def test_a_nic_may_be_attached_twice() -> None:
    """With two cables to two switches, in a dual-plane fabric: one name, one address."""
    fabric = replace(SNAPSHOT.fabric, attachments=SNAPSHOT.fabric.attachments * 2)
    world = World()
    world.update(SNAPSHOT, Observed())
    assert list(world.update(replace(SNAPSHOT, fabric=fabric), Observed())) == ["fabric"]
