"""The plan decides everything before the kernel is touched: names, numbers, addresses; same input, same bytes."""

import json
from itertools import chain

import networkx as nx
import pytest

from topologies.emulator.errors import PlanError
from topologies.emulator.parts import InstanceSpec, LabPlan, Options, PortSpec, plan_from_dict
from topologies.emulator.plan import MOST_SERVERS, plan

LONG = "a" * 62


def leaf(hosts: int = 2, spines: int = 1) -> nx.MultiGraph:
    """A leaf with hosts h1.., and spines above it."""
    graph = nx.MultiGraph()
    graph.add_node("leaf-1", kind="leaf", tier=1, address="10.1.0.1", dpid=0x0A010001, prefix="10.1.0.0/24")
    for number in range(1, hosts + 1):
        address = f"10.1.{(number + 1) // 256}.{(number + 1) % 256}"
        mac = "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))
        graph.add_node(f"h{number}", kind="host", tier=0, address=address, mac=mac)
        graph.add_edge(f"h{number}", "leaf-1", ports={f"h{number}": 1, "leaf-1": number}, tier="server")
    for number in range(1, spines + 1):
        spine = f"spine-{number}"
        graph.add_node(spine, kind="spine", tier=2, address=f"10.255.0.{number}", dpid=0x0AFF0000 + number)
        graph.add_edge("leaf-1", spine, ports={"leaf-1": hosts + number, spine: 1}, tier="spine")
    return graph


def instance(name: str, server: str, number: int = 1, ports: int = 1) -> InstanceSpec:
    return InstanceSpec(name, server, 9166, tuple(
        PortSpec(f"{name}.eth{at}", f"eth{at}", f"02:00:00:00:{at:02x}:{number:02x}", f"10.9.{at}.{number}/24")
        for at in range(ports)))


def two_servers(**options: object) -> LabPlan:
    servers = {f"{LONG}1": "h1", f"{LONG}2": "h2"}
    instances = [instance(f"red.prod.{LONG}{number}", f"{LONG}{number}", number) for number in (1, 2)]
    return plan("lab", leaf(), servers, instances, Options(**options))  # type: ignore[arg-type]


def ends(made: LabPlan) -> list:
    return list(chain.from_iterable((cable.a, cable.b) for cable in made.cables))


def test_device_names_fit_and_are_unique_in_their_namespace() -> None:
    made = two_servers()
    taken = [(end.netns, end.device) for end in ends(made)]
    assert len(set(taken)) == len(taken)
    assert all(len(end.device) <= 15 for end in ends(made))
    assert all(len(end.altname or "") <= 127 for end in ends(made))
    bridges = [(switch.netns, bridge.device) for switch in made.switches for bridge in switch.bridges]
    assert len(set(bridges + taken)) == len(bridges + taken)


def test_full_names_of_63_characters_are_altnames() -> None:
    names = {end.altname for end in ends(two_servers())}
    assert f"{LONG}1-eth1" in names
    assert f"red.prod.{LONG}2.eth0" in names


def test_longest_instance_id_still_fits_a_file_name_and_an_altname() -> None:
    label = "b" * 63
    made = plan("c" * 63, leaf(), {label: "h1"}, [instance(".".join((label, label, label)), label)])
    assert all(len(name) <= 255 for name in made.namespaces())
    assert len(set(made.namespaces())) == len(made.namespaces())
    assert max(len(end.altname or "") for end in ends(made)) == 127


def test_equal_input_gives_equal_bytes() -> None:
    assert two_servers().to_json() == two_servers().to_json()


def test_json_round_trip() -> None:
    made = two_servers(link_rates_mbps={"server": 100})
    assert plan_from_dict(json.loads(made.to_json())) == made


def test_another_versions_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="version"):
        plan_from_dict({"version": 0})


def test_order_of_instances_does_not_matter() -> None:
    instances = [instance("red.prod.b", "s1", 1), instance("red.prod.a", "s1", 2)]
    forward = plan("lab", leaf(), {"s1": "h1", "s2": "h2"}, instances)
    assert forward == plan("lab", leaf(), {"s1": "h1", "s2": "h2"}, instances[::-1])


def test_server_has_underlay_and_overlay_bridges() -> None:
    made = plan("lab", leaf(), {"s1": "h1", "s2": "h2"}, [instance("red.prod.a", "s1", 1, ports=2)])
    switch = made.switch_of("s1")
    phy, inner = switch.bridges
    assert (phy.device, phy.dpid, phy.mac, phy.mtu) == ("br-phy", 0x0001_0000_0A01_0002, "02:00:0a:01:00:02", 9216)
    assert (inner.device, inner.dpid) == ("br-int", 0x0002_0000_0A01_0002)
    assert [port.ofport for port in phy.ports] == [1]
    assert [(port.ofport, port.type) for port in inner.ports] == [(1, "vxlan"), (2, ""), (3, "")]
    assert inner.ports[0].options["key"] == inner.ports[0].options["remote_ip"] == "flow"
    assert inner.ports[1].external_ids == {"iface-id": "red.prod.a.eth0", "attached-mac": "02:00:00:00:00:01"}
    assert switch.vtep and (switch.vtep.address, switch.vtep.bridge) == ("10.1.0.2", "br-phy")
    assert (switch.controller, switch.ovsdb) == ("tcp:172.31.0.1:6653", "172.31.1.1:6640")


def test_several_uplinks_get_ofports_from_one_in_port_order() -> None:
    graph = leaf()
    graph.add_edge("h1", "spine-1", ports={"h1": 2, "spine-1": 9}, tier="server")
    phy = plan("lab", graph, {"s1": "h1"}, []).switch_of("s1").bridges[0]
    assert [(port.ofport, port.external_ids["peer"]) for port in phy.ports] == [(1, "leaf-1"), (2, "spine-1")]


def test_instances_have_no_cable_to_the_management_network() -> None:
    made = two_servers()
    managed = {end.node for cable in made.cables if cable.tier == "management" for end in (cable.a, cable.b)}
    assert managed == {"mgmt", "fabric", f"{LONG}1", f"{LONG}2"}


def test_bare_fabric_has_hosts_with_their_rule_addresses() -> None:
    made = plan("lab", leaf(), {}, [], Options(controller_port=None))
    assert {node.kind for node in made.nodes} == {"fabric", "switch", "host"}
    assert made.management is None and len(made.switches) == 1
    host = next(end for end in ends(made) if end.node == "h1")
    assert (host.device, host.addresses, host.mac) == ("h1-eth1", ("10.1.0.2/8",), "02:00:0a:01:00:02")


def test_position_without_server_has_no_cable() -> None:
    made = plan("lab", leaf(), {"s2": "h2"}, [])
    assert [cable.tier for cable in made.cables].count("server") == 1
    assert {port.ofport for port in made.switch_of("leaf-1").bridges[0].ports} >= {2, 3}


def test_rates_reach_both_ends() -> None:
    made = two_servers(link_rates_mbps={"server": 40})
    shaped = {port.device for switch in made.switches for bridge in switch.bridges for port in bridge.ports
              if port.rate_mbps == 40}
    assert shaped == {end.device for cable in made.cables if cable.tier == "server" for end in (cable.a, cable.b)}
    bare = plan("lab", leaf(), {}, [], Options(link_rates_mbps={"server": 40}, controller_port=None))
    assert next(end for end in ends(bare) if end.node == "h1").rate_mbps == 40


@pytest.mark.parametrize(("servers", "instances", "words"), [
    ({"mgmt": "h1"}, [], "used twice"),
    ({"fabric": "h1"}, [], "used twice"),
    ({"leaf-1": "h1"}, [], "used twice"),
    ({"s1": "h9"}, [], "no host position"),
    ({"s1": "spine-1"}, [], "no host position"),
    ({"s1": "h1", "s2": "h1"}, [], "shares position"),
    ({"s1": "h1"}, [instance("red.prod.a", "s3")], "unknown server"),
    ({"s1": "h1"}, [instance("red.prod.a", "s1"), instance("red.prod.a", "s1")], "used twice"),
])
def test_impossible_labs_are_refused(servers: dict[str, str], instances: list[InstanceSpec], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan("lab", leaf(), servers, instances)


@pytest.mark.parametrize("name", ["", "a.b", "../x", "Lab"])
def test_lab_name_must_be_a_label(name: str) -> None:
    with pytest.raises(PlanError, match="label"):
        plan(name, leaf(), {}, [])


def test_more_servers_than_the_management_network_holds() -> None:
    count = MOST_SERVERS + 1
    with pytest.raises(PlanError, match="holds"):
        plan("lab", leaf(count), {f"s{number}": f"h{number}" for number in range(1, count + 1)}, [])


def test_interface_indexes_are_unique_per_namespace() -> None:
    indexes = [(end.netns, end.index) for end in ends(two_servers())]
    assert len(set(indexes)) == len(indexes)


def test_the_present_numbers_stay_and_newcomers_get_the_lowest_free() -> None:
    servers = {"s1": "h1", "s2": "h2"}
    old = plan("lab", leaf(), servers, [instance(f"red.prod.{name}", "s1", at) for at, name in enumerate("bcd", 1)])
    stays = [instance("red.prod.b", "s1", 1), instance("red.prod.d", "s1", 3)]
    new = plan("lab", leaf(), servers, [*stays, instance("red.prod.a", "s1", 4)], present=old)
    ports = {cable.a.node: cable.b.port for cable in new.cables if cable.tier == "instance"}
    assert ports == {"red.prod.a": 5, "red.prod.b": 2, "red.prod.d": 4}  # c's 3 is not free before it is gone
    assert [port.ofport for port in new.switch_of("s1").bridges[1].ports] == [1, 2, 4, 5]
    newest = plan("lab", leaf(), servers, [*stays, instance("red.prod.a", "s1", 4), instance("red.prod.e", "s1", 5)],
                  present=new)
    assert {cable.b.port for cable in newest.cables if cable.a.node == "red.prod.e"} == {3}


def test_management_addresses_stay() -> None:
    old = plan("lab", leaf(3), {"s1": "h1", "s2": "h2"}, [])
    new = plan("lab", leaf(3), {"s3": "h3", "s2": "h2"}, [], present=old)
    assert {switch.node: switch.ovsdb for switch in new.switches} == {
        "fabric": "172.31.0.2:6640", "s2": "172.31.1.2:6640", "s3": "172.31.1.3:6640"}


def test_planned_again_it_is_the_same() -> None:
    made = two_servers()
    servers = {f"{LONG}1": "h1", f"{LONG}2": "h2"}
    instances = [instance(f"red.prod.{LONG}{number}", f"{LONG}{number}", number) for number in (1, 2)]
    assert plan("lab", leaf(), servers, instances, present=made).to_json() == made.to_json()
