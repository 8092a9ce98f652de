"""Route tables as they are edited, and next hops as they come and go: the flows end as from scratch, and each change is
looked at where it is made and nowhere else."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controller.compiler.program import Compiler
from controller.model.placement import Observed
from controller.model.routing import Route, RouteTable
from controller.model.snapshot import Intent
from controller.pipeline.tables import GATEWAY, NEXT_HOP_INSTANCE
from edits_fixture import Edits, assert_ends_as_from_scratch, looked_at, sequences
from worlds import plug_all, routed, routes, snapshot, two_tenants, with_routes


def add_route(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """Or another one in the place of one with its name; no two of a table have one destination."""
    drawn = data.draw(routes(data.draw(st.sampled_from(tables_of(intent, vpc))), intent))
    clash = drawn.id, (drawn.table, drawn.destination)
    others = tuple(one for one in intent.routes if one.id != clash[0] and (one.table, one.destination) != clash[1])
    return replace(intent, routes=(*others, drawn))


def drop_route(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    gone = data.draw(st.sampled_from([one for one in intent.routes if one.table.startswith(f"{vpc}.")] or [None]))
    return replace(intent, routes=tuple(route for route in intent.routes if route is not gone))


def use_table(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """A subnet uses another table, or none."""
    chosen = data.draw(st.sampled_from([one for one in intent.subnets if one.vpc == vpc]))
    table = data.draw(st.none() | st.sampled_from(tables_of(intent, vpc)))
    return replace(intent, subnets=tuple(
        replace(one, route_table=table) if one is chosen else one for one in intent.subnets
    ))  # fmt: skip


def add_table(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    name = next(name for name in map("more{}".format, range(64)) if f"{vpc}.{name}" not in tables_of(intent, vpc))
    return replace(intent, route_tables=(*intent.route_tables, RouteTable(vpc, name)))


def drop_instance(data: st.DataObject, intent: Intent, vpc: str) -> Intent:
    """Routes to it stay."""
    own = [port for port in intent.ports if port.subnet.startswith(f"{vpc}.")]
    if len(own) < 2:
        return intent
    gone = data.draw(st.sampled_from(own))
    instances = tuple(one for one in intent.instances if one.id != gone.instance)
    return replace(intent, instances=instances, ports=tuple(port for port in intent.ports if port is not gone))


EDITS = (add_route, drop_route, use_table, add_table, drop_instance)


def tables_of(intent: Intent, vpc: str) -> list[str]:
    return [table.id for table in intent.route_tables if table.vpc == vpc]


def some(data: st.DataObject, intent: Intent) -> Observed:
    """Most ports plugged."""
    return Observed({key: port for key, port in plug_all(intent).plugged.items() if data.draw(st.integers(0, 4))})


@given(routed(), sequences(EDITS, 6), st.data())
def test_any_edits_end_as_from_scratch(intent: Intent, edits: Edits, data: st.DataObject) -> None:
    assert_ends_as_from_scratch(intent, edits, data, lambda now: some(data, now))


@given(routed(), sequences(EDITS, 6), st.data())
def test_an_edit_is_looked_at_in_its_own_vpc_alone(intent: Intent, edits: Edits, data: st.DataObject) -> None:
    for edit, vpc, scopes in looked_at(intent, edits, data):
        assert all(key == vpc or key.startswith((f"{vpc}.", f"{vpc}/")) for key in scopes)
        if edit in (add_route, drop_route, add_table):
            assert scopes <= {f"{vpc}/routes"}


def test_a_table_that_nobody_uses_is_no_flow_and_a_route_more_is_one_or_four_where_its_subnet_is() -> None:
    """One where it drops; where it leads to one instance also one to there, and two for what has no TTL left."""
    compiler, used = Compiler(), with_routes(two_tenants())
    plain = replace(used, routes=())
    before = {dpid: set(table.flows) for dpid, table in compiler.update(snapshot(plain), plug_all(plain)).flows.items()}
    idle = RouteTable("red.prod", "idle")
    unused = replace(plain, route_tables=(*plain.route_tables, idle), routes=(Route(idle.id, "any", "0.0.0.0/0"),))
    after = compiler.update(snapshot(unused, 2), plug_all(unused)).flows
    assert {dpid: set(table.flows) for dpid, table in after.items()} == before
    for number, hops in enumerate(((), ("red.prod.w1.eth0",)), 1):
        one = replace(plain, routes=(Route("red.prod.edge", "any", "0.0.0.0/0", hops),))
        after = compiler.update(snapshot(one, 2 + number), plug_all(one)).flows
        more = {dpid: [key[0] for key in table.flows.keys() - before[dpid]] for dpid, table in after.items()}
        wanted = [GATEWAY.number, *[NEXT_HOP_INSTANCE.number] * 3 * len(hops)]
        assert {dpid: sorted(found) for dpid, found in more.items() if found} == {0x20000: wanted}
