import json
import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pytest

from topologies import spec
from topologies.diagram import COLOURS, MOST_BLOCKS, diagram
from topologies.draw import dot, mermaid, svg

CHECKOUT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"
DRAWINGS = [svg, dot, mermaid]


def lab(fabric, *networks, per_network=8, stride=1, names=None):
    """Arguments of a drawing: the fabric with every position a server, and `per_network` instances in each subnet."""
    graph = spec.build(fabric)
    servers = spec.servers(graph, names)
    placed = list(servers)
    instances = []
    for network in networks:
        tenant, vpc, subnet = network.split(".")
        instances += [{"id": f"{tenant}.{vpc}.{subnet}{number}", "tenant": tenant, "subnet": network,
                       "server": placed[(len(instances) + number) * stride % len(placed)]}
                      for number in range(per_network)]
    return graph, servers, instances, "a lab"


def fat_tree(k):
    return {"kind": "fat-tree", "k": k}


def leaf_spine(leaves, spines, servers_per_leaf):
    return {"kind": "leaf-spine", "leaves": leaves, "spines": spines, "servers_per_leaf": servers_per_leaf}


TWO = ("red.prod.web", "blue.prod.web")
LONG = "a" * 63
LABS = {
    "k2": lab(fat_tree(2), *TWO, per_network=1),
    "k4": lab(fat_tree(4), *TWO),
    "k4, four subnets": lab(fat_tree(4), "red.prod.web", "red.prod.db", "blue.dev.all", "blue.train.gpu", stride=3),
    "k4, crowded": lab(fat_tree(4), *TWO, per_network=100),
    "k4, long names": lab(fat_tree(4), f"{LONG}.{LONG}.{LONG}",
                          names={f"gpu-node-{LONG[9:-2]}{number:02}": None for number in range(16)}),
    "k6": lab(fat_tree(6), *TWO),
    "k8": lab(fat_tree(8), *TWO, per_network=64, stride=3),
    "k16": lab(fat_tree(16), *TWO, per_network=300),
    "k48": lab(fat_tree(48), *TWO, per_network=300, stride=71),
    "leaf-spine": lab(leaf_spine(4, 2, 3), *TWO),
    "one leaf": lab(leaf_spine(1, 1, 1), *TWO, per_network=1),
    "many spines": lab(leaf_spine(2, 200, 2), *TWO),
    "many cables": lab(leaf_spine(32, 16, 1), *TWO),
    "many leaves": lab(leaf_spine(100, 4, 30), *TWO, stride=400),
    "rail stripe": (spec.build({"kind": "rail-stripe", "stripes": 2, "servers_per_stripe": 2, "rails": 4, "spines": 2}),
                    None, [], "a stripe"),
    "rail stripe, large": (spec.build({"kind": "rail-stripe", "stripes": 4, "servers_per_stripe": 32, "rails": 8,
                                       "spines": 16}), None, [], ""),
    "scalable units": lab({"kind": "scalable-units", "units": 4, "servers_per_unit": 4, "rails": 1, "planes": 1}, *TWO),
    "three tiers": lab({"kind": "scalable-units", "units": 8, "servers_per_unit": 2, "rails": 1, "planes": 1}, *TWO),
    "scalable units, large": (spec.build({"kind": "scalable-units", "units": 16, "servers_per_unit": 8, "rails": 4,
                                          "planes": 1}), None, [], ""),
    "dual-plane": (spec.build({"kind": "dual-plane", "segments": 2, "servers_per_segment": 2, "rails": 2,
                               "aggs_per_plane": 2}), None, [], "two planes"),
    "dual-plane, large": (spec.build({"kind": "dual-plane", "segments": 15, "servers_per_segment": 4, "rails": 8,
                                      "aggs_per_plane": 20}), None, [], ""),
    "zone": lab({"kind": "zone", "pods": 2, "racks_per_pod": 2, "servers_per_rack": 2, "nics_per_server": 1,
                 "aggregation_switches": 1}, *TWO),
    "rail-only": (spec.build({"kind": "rail-only", "units": 1, "servers_per_unit": 4, "rails": 8,
                              "spines_per_rail": 0}), None, [], ""),
    "bare": (spec.build(fat_tree(4)), None, [], ""),
    "no instances": lab(fat_tree(4)),
}


@pytest.mark.parametrize("arguments", LABS.values(), ids=LABS)
def test_svg_is_xml_with_everything_inside_its_frame(arguments):
    root = ElementTree.fromstring(svg(*arguments))
    assert root.tag == f"{SVG}svg"
    _, _, width, height = map(float, root.get("viewBox").split())
    for rectangle in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rectangle.get(key, 0)) for key in ("x", "y", "width", "height"))
        assert 0 <= x and 0 <= y and w > 0 and h > 0 and x + w <= width and y + h <= height


def extent(text):
    """Where a text is, for an ordinary sans-serif font: (left, top, right, bottom)."""
    size, x, y = (float(text.get(key)) for key in ("font-size", "x", "y"))
    width = len(text.text or "") * size * 0.6
    left = {"start": x, "middle": x - width / 2, "end": x - width}[text.get("text-anchor")]
    return left, y - size * 0.75, left + width, y + size * 0.2


@pytest.mark.parametrize("arguments", LABS.values(), ids=LABS)
def test_no_text_overlaps_another_or_leaves_the_picture(arguments):
    root = ElementTree.fromstring(svg(*arguments))
    _, _, width, height = map(float, root.get("viewBox").split())
    texts = [(text.text, extent(text)) for text in root.iter(f"{SVG}text") if text.text]
    for name, (left, top, right, bottom) in texts:
        assert 0 <= left and 0 <= top and right <= width and bottom <= height, name
    for (one, a), (other, b) in combinations(texts, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (one, other)


def test_svg_shows_every_switch_server_and_instance():
    root = ElementTree.fromstring(svg(*LABS["k4"]))
    titles = {title.text for title in root.iter(f"{SVG}title")}
    graph, servers, instances, _ = LABS["k4"]
    assert {name for name in graph if graph.nodes[name]["tier"]} <= titles
    assert {f"{server} at {position}" for server, position in servers.items()} <= titles
    assert {instance["id"] for instance in instances} <= titles
    assert len(root.findall(f".//{SVG}path")) == 48


def test_tenants_named_after_colours_have_them():
    shown = diagram(*lab(fat_tree(4), "acme.a.a", "red.a.a", "blue.a.a", "zoo.a.a")[:3])
    assert shown.colours() == {"acme": COLOURS["green"], "red": COLOURS["red"], "blue": COLOURS["blue"],
                               "zoo": COLOURS["purple"]}


def test_tenants_never_run_out_of_colours():
    tenants = [*(f"t{number}" for number in range(40)), *COLOURS]
    shown = diagram(*lab(fat_tree(4), *(f"{tenant}.a.a" for tenant in tenants))[:3])
    assert list(shown.colours()) == tenants


def test_instances_without_subnet_are_drawn_by_vpc():
    graph, servers, *_ = LABS["k4"]
    instances = [{"id": f"red.{vpc}.web", "tenant": "red", "server": "server-1"} for vpc in ("prod", "dev", "prod")]
    assert [network.name for network in diagram(graph, servers, instances).guests] == ["prod", "dev"]


@pytest.mark.parametrize("name, groups", [
    ("k4", 36),                                  # everything by itself
    ("k8", 16 + 32 + 32 + 32),                   # the servers of a switch are one
    ("k16", 1 + 3 * 16),                         # and the switches of a pod, and the core
    ("k48", 1 + 3 * MOST_BLOCKS),                # and the pods in the middle
    ("many leaves", 4 + 2 * MOST_BLOCKS),
    ("many spines", 1 + 2 + 4),
])
def test_what_is_too_much_to_see_is_merged(name, groups):
    graph, servers, instances, _ = LABS[name]
    shown = diagram(graph, servers, instances)
    assert len(shown.groups) == groups
    assert sorted(member for group in shown.groups for member in group.members) == sorted(graph)
    assert sum(shown.cables.values()) == graph.number_of_edges()
    assert sum(len(ids) for at in shown.guests.values() for ids in at.values()) == len(instances)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_awkward_titles_do_no_harm(draw):
    graph, servers, instances, _ = LABS["k2"]
    drawn = draw(graph, servers, instances, 'a "b" <c> & \\ \x00 \x1b\ud800 : # ]] -->')
    drawn.encode()
    if draw is svg:
        ElementTree.fromstring(drawn)
    else:
        assert "\x00" not in drawn and '\\"' not in drawn and drawn.count('"') % 2 == 0


@pytest.mark.parametrize("arguments", LABS.values(), ids=LABS)
def test_dot_names_every_node_it_joins(arguments):
    drawn = dot(*arguments)
    declared = set(re.findall(r'^ *"([^"]+)" \[label', drawn, re.M))
    joined = set(re.findall(r'^ *"([^"]+)" -- "([^"]+)"', drawn, re.M))
    assert {end for ends in joined for end in ends} == declared
    assert drawn.count("{") == drawn.count("}")


@pytest.mark.parametrize("arguments", LABS.values(), ids=LABS)
def test_mermaid_names_every_node_it_joins_and_is_small_enough_for_its_renderers(arguments):
    drawn = mermaid(*arguments)
    nodes = set(re.findall(r"^ *(n\d+)\[", drawn, re.M))
    cables = re.findall(r"^ *(n\d+) ---(?:\|\d+\|)? (n\d+)$", drawn, re.M)
    guests = re.findall(r'^ *(n\d+) -\.- i\d+\(\["[^"]+"\]\):::t\d+$', drawn, re.M)
    assert {end for ends in cables for end in ends} == nodes >= set(guests)
    assert len(cables) + len(guests) <= 500, "Mermaid's limit of edges"


@pytest.mark.parametrize("draw", DRAWINGS)
def test_the_number_of_merged_cables_is_written(draw):
    drawn = draw(*LABS["k16"])
    if draw is not svg:
        assert re.search(r'\|64\||label="64"', drawn)


def test_two_processes_draw_the_same():
    script = (
        "import json, networkx as nx; from topologies import spec; from topologies.draw import dot, mermaid, svg\n"
        "graph = spec.build({'kind': 'fat-tree', 'k': 4}); servers = spec.servers(graph)\n"
        "instances = [{'id': f't{n}.v.i', 'tenant': f't{n}', 'server': f'server-{n}'} for n in range(1, 9)]\n"
        "print(json.dumps(nx.node_link_data(graph, edges='links')), json.dumps(servers), json.dumps(spec.schema()))\n"
        "print(*(draw(graph, servers, instances, 'x') for draw in (svg, dot, mermaid)))\n")
    runs = [subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")]
    assert runs[0] == runs[1] and len(runs[0]) > 10_000


def test_a_graph_is_plain_data():
    """Fabrics can be stored and handed over as JSON."""
    graph = spec.build(fat_tree(4))
    data = json.loads(json.dumps(nx.node_link_data(graph, edges="links")))
    again = nx.node_link_graph(data, edges="links", multigraph=True)
    assert svg(again) == svg(graph)
