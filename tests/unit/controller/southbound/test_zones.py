"""Conntrack zones are emptied when flows begin to name them and when none does any more, and never in between."""

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openflow_fixture import FakeSwitch, error
from worlds import grouped, plug_all, snapshot

from controller.compiler import program
from controller.flows.action import Output
from controller.flows.flow import Flow
from controller.flows.language import load, track
from controller.flows.match import match
from controller.flows.table import FlowTable
from controller.model.snapshot import Intent
from controller.pipeline.fields import ZONE
from controller.pipeline.tables import FROM_PEER
from controller.southbound import messages
from controller.southbound.reconciler import Counters, Session, Target
from controller.southbound.named import Named, names_of

BAD_EXP_TYPE = (1, 4)  # OFPET_BAD_REQUEST, OFPBRC_BAD_EXP_TYPE
LOOK = Flow(2, 1, (), (Output(1),))


def flow(port: int, *zones: int) -> Flow:
    """What a port sends is looked up in these zones; without one it is put out."""
    looked_up = [action for zone in zones for action in (load(ZONE.name, zone), track(ZONE, FROM_PEER))]
    return Flow(1, 1, match(in_port=port), tuple(looked_up) or (Output(1),), port)


class Tracking(FakeSwitch):
    """`done`: the zones that it emptied, the bundles that it committed ("+") or discarded ("-"), and its confirmations
    ("ok"), in order."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[int | str] = []
        self.empties = True

    def _answers(self, message: bytes) -> Iterator[bytes]:
        if message[1] == messages.BUNDLE_CONTROL and message[13] in (4, 6):
            self.done.append("+" if message[13] == 4 else "-")
        if message[1] == messages.BARRIER_REQUEST and self.done:
            self.done.append("ok")
        if message[1] == messages.EXPERIMENTER and self.empties:
            self.done.append(int.from_bytes(message[22:24]))
        elif message[1] == messages.EXPERIMENTER:
            yield error(messages.header(message).xid, BAD_EXP_TYPE)
        yield from super()._answers(message)


class Talk:
    """A session that follows a table, and its switch."""

    def __init__(self, *held: Flow) -> None:
        self.switch, self.table = Tracking(), FlowTable(held)
        self.connect()
        self.want()

    def connect(self) -> None:
        xids = count(100)
        self.session = Session(lambda size: [next(xids) for _ in range(size)][0], Counters())

    def want(self, *flows: Flow) -> list[int | str]:
        """Nothing but these flows; returns what the switch then does."""
        self.switch.done.clear()
        self.table.replace(tuple(self.table.flows.values()), flows)
        self.session.aim(Target(self.table.version, self.table, self.table.version))
        while data := b"".join(self.session.advance()):
            for answer in self.switch.take(data):
                self.session.receive(answer)
        return self.switch.done


@given(grouped())
def test_flows_name_the_zones_of_the_judged_ports_of_their_switch(intent: Intent) -> None:
    world = snapshot(intent)
    servers = {one.id: one.server for one in intent.instances}
    flows = program.compile(world, plug_all(intent)).flows
    for chassis in world.chassis:
        named = {name for name in Named(flows[chassis.int_dpid].flows.values()).all() if isinstance(name, int)}
        ports = (port for port in intent.ports if port.groups and servers[port.instance] == chassis.name)
        assert named == {port.zone for port in ports}
        assert not any(map(names_of, flows[chassis.phy_dpid].flows.values()))


TABLES = st.dictionaries(st.integers(1, 4), st.sets(st.integers(1, 4), max_size=2)).map(
    lambda ports: {flow(port, *sorted(zones)) for port, zones in ports.items()}
)


@given(TABLES, TABLES)
def test_what_begins_and_what_ends_is_what_only_one_side_names(before: set[Flow], after: set[Flow]) -> None:
    delta = FlowTable(after).compared_with({one.key: one for one in before})
    zones, then = Named(before), Named(after)
    old, new = (frozenset().union(*map(names_of, flows)) for flows in (before, after))
    turnover = zones.turnover(*delta)
    assert (turnover.begun, turnover.ended) == (new - old, old - new)
    zones.take(turnover)
    gone = zones.turnover((), tuple(after))
    assert gone == then.turnover((), tuple(after)) and (gone.begun, gone.ended) == (frozenset(), new)


def test_a_zone_is_emptied_before_its_first_flow_and_after_its_last() -> None:
    talk = Talk()
    assert talk.want(flow(1, 7), flow(2, 8)) == [7, 8, "+", "ok"]
    assert talk.want(flow(1, 7), flow(2, 7)) == ["+", "ok", 8, "ok"]  # replaced, and 7 goes on
    assert talk.want(flow(1, 7), flow(3, 9)) == [9, "+", "ok"]
    assert talk.want(flow(3), flow(4, 7)) == ["+", "ok", 9, "ok"]
    assert talk.want() == ["+", "ok", 7, "ok"]
    assert talk.session.realized == talk.table.version


def test_known_shapes_are_sent_with_what_is_to_be_emptied() -> None:
    talk = Talk()
    talk.want(flow(1, 7), LOOK)
    talk.switch.seen.clear()
    assert talk.want(flow(1, 7), flow(2, 8), LOOK) == [8, "+", "ok"]  # one round trip
    assert talk.want(flow(2, 8), LOOK) == ["+", "ok", 7, "ok"]


def test_what_another_controller_left_counts() -> None:
    talk = Talk()
    talk.want(flow(1, 7), flow(2, 8))
    talk.connect()
    assert talk.want(flow(1, 7)) == ["+", "ok", 8, "ok"]
    talk.connect()
    assert talk.want(flow(1, 7)) == [] and talk.session.confirmed


def test_nothing_is_emptied_for_what_the_switch_refused() -> None:
    talk = Talk()
    talk.want(flow(1, 7))
    talk.switch.refuses_on_add = lambda flow: 9 in names_of(flow)
    assert talk.want(flow(2, 9), flow(3)) == ["-", "ok", "ok", "+", "ok", 7, "ok"]
    assert talk.session.confirmed and set(talk.session.refused) == {flow(2, 9)}


@pytest.mark.parametrize("wanted", [(), (flow(1, 7), flow(2, 8))])
def test_a_zone_that_was_not_emptied_is_not_taken_for_empty(wanted: tuple[Flow, ...]) -> None:
    talk = Talk()
    talk.want(flow(1, 7))
    generation, talk.switch.empties = talk.session.realized, False
    talk.want(*wanted)
    assert talk.session.failure == "OFPET_BAD_REQUEST: OFPBRC_BAD_EXP_TYPE"
    assert talk.session.realized == generation and not talk.session.confirmed
