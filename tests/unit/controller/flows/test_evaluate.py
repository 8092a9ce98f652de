"""The semantics of flows, case by case; tests/integration judges them against ofproto/trace as well."""

from controller.flows.action import IN_PORT, Bits, DecTtl, Goto, Load, Move, Output, OutputBits, Spread
from controller.flows.evaluate import Switch
from controller.flows.flow import Flow
from controller.flows.match import match

REG = Bits("reg1", 0, 16)


def run(packet, *flows, choose=None):
    switch = Switch(flows, choose) if choose else Switch(flows)
    return switch.evaluate({"in_port": 1, **packet})


def ports(outcome) -> list[int]:
    return [emission.port for emission in outcome.emissions]


def test_the_highest_priority_wins_and_no_match_drops() -> None:
    low, high = Flow(0, 1, (), (Output(2),)), Flow(0, 2, match(eth_type=0x806), (Output(3),))
    assert ports(run({"eth_type": 0x806}, low, high)) == [3]
    assert ports(run({"eth_type": 0x800}, low, high)) == [2]
    assert ports(run({"eth_type": 0x800}, high)) == []


def test_a_header_that_is_absent_matches_nothing_and_metadata_reads_as_zero() -> None:
    assert ports(run({"eth_type": 0x806}, Flow(0, 1, (("ip_dst", 0, None),), (Output(2),)))) == []
    assert ports(run({}, Flow(0, 1, match(network=0, vlan_vid=0), (Output(2),)))) == [2]


def test_a_packet_is_emitted_as_it_is_at_that_moment_and_goes_on() -> None:
    first = Flow(0, 1, (), (Load(REG, 7), Output(2), Move(REG, Bits("reg2", 8, 16)), Goto(1)))
    second = Flow(1, 1, (("reg2", 0x700, None),), (OutputBits(REG),))
    outcome = run({}, first, second)
    assert ports(outcome) == [2, 7]
    assert "reg2" not in outcome.emissions[0].packet
    assert outcome.hits == [first, second]


def test_no_packet_goes_back_where_it_came_from_unless_told() -> None:
    assert ports(run({}, Flow(0, 1, (), (Output(1), Output(2))))) == [2]
    assert ports(run({}, Flow(0, 1, (), (Output(IN_PORT),)))) == [1]


def test_ttl_runs_out() -> None:
    route = Flow(0, 1, (), (DecTtl(), Output(2)))
    assert ports(run({"ip_ttl": 2}, route)) == [2]
    assert ports(run({"ip_ttl": 1}, route)) == []


def test_every_member_of_a_spread_can_be_chosen() -> None:
    spread = Flow(0, 1, (), (Spread(0, (4, 5), REG), OutputBits(REG)))
    assert [ports(run({}, spread, choose=lambda s, n=n: s.members[n])) for n in (0, 1)] == [[4], [5]]
