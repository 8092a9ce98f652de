"""Drawings of a lab, as text: SVG, Graphviz dot, Mermaid. All show the same `topologies.diagram`."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

import networkx as nx

from topologies.diagram import Diagram, Group, diagram
from topologies.picture import FILLS, svg

__all__ = ["dot", "mermaid", "svg"]


def dot(graph: nx.MultiGraph, servers: Mapping[str, str] | None = None, instances: Iterable[Mapping[str, str]] = (),
        title: str = "") -> str:
    """The lab as a Graphviz graph; arguments as for `svg`."""
    shown = diagram(graph, servers, instances)
    lines = [
        f"graph {_quoted(title or shown.caption)} {{",
        f'  graph [label={_quoted(shown.caption)} labelloc=t ranksep=1.1 fontname="Helvetica"]',
        '  node [shape=box style="rounded,filled" fillcolor=white fontname="Helvetica"]',
        '  edge [color="#94a3b8"]',
    ]
    for number, (card, members) in enumerate(_by_card(shown)):
        nodes = [f"    {_quoted(group.name)} [{_dot_style(shown, group)}]" for group in members]
        if card:
            lines.append(f'  subgraph cluster_{number} {{ label={_quoted(card)} style="rounded,filled" color="#e2e8f0" '
                         'fillcolor="#f1f5f9"')
        lines += [*nodes, "  }"] if card else nodes
    lines += [f"  {_quoted(upper)} -- {_quoted(lower)}" + (f' [label="{count}"]' if count > 1 else "")
              for (lower, upper), count in shown.cables.items()]
    for tenant, key, place, label in _guests(shown):
        colour = shown.colours()[tenant]
        lines.append(f'  {_quoted(key)} [label={_quoted(label)} fillcolor="{colour}" color="{colour}" fontcolor=white]')
        lines.append(f'  {_quoted(place)} -- {_quoted(key)} [color="{colour}" style=dashed]')
    return "\n".join([*lines, "}", ""])


def mermaid(graph: nx.MultiGraph, servers: Mapping[str, str] | None = None, instances: Iterable[Mapping[str, str]] = (),
            title: str = "") -> str:
    """The lab as a Mermaid flowchart; arguments as for `svg`."""
    shown = diagram(graph, servers, instances)
    number = {group.name: f"n{index}" for index, group in enumerate(shown.groups)}
    lines = ["---", f"title: {_quoted(title or shown.caption)}", "---", "flowchart TB"]
    for index, (card, members) in enumerate(_by_card(shown)):
        nodes = [f"    {number[group.name]}[{_quoted(_name(shown, group))}]:::{group.kind}" for group in members]
        lines += [f"  subgraph c{index}[{_quoted(card)}]", *nodes, "  end"] if card else nodes
    lines += [f"  {number[upper]} ---{f'|{count}|' if count > 1 else ''} {number[lower]}"
              for (lower, upper), count in shown.cables.items()]
    tenants = list(shown.colours())
    for index, (tenant, _, place, label) in enumerate(_guests(shown)):
        lines.append(f"  {number[place]} -.- i{index}([{_quoted(label)}]):::t{tenants.index(tenant)}")
    lines += [f"  classDef {kind} fill:{fill},color:#fff" for kind, fill in FILLS.items()]
    lines += ["  classDef host fill:#fff,stroke:#94a3b8,color:#0f172a"]
    lines += [f"  classDef t{index} fill:{colour},color:#fff" for index, colour in enumerate(shown.colours().values())]
    return "\n".join([*lines, ""])


def _by_card(shown: Diagram) -> Iterator[tuple[str | None, list[Group]]]:
    """The groups of each card; those on none first."""
    def card(group: Group) -> str:
        return group.card or ""
    order = {name: place for place, name in enumerate(dict.fromkeys(card(group) for group in shown.groups))}
    for name, members in groupby(sorted(shown.groups, key=lambda group: order[card(group)]), key=card):
        yield name or None, list(members)


def _dot_style(shown: Diagram, group: Group) -> str:
    label = _quoted(_name(shown, group))
    return f'label={label} fillcolor="{FILLS[group.kind]}" fontcolor=white' if group.tier else f"label={label}"


def _name(shown: Diagram, group: Group) -> str:
    return shown.label(group) if group.alone else f"{shown.label(group)} {group.kind}"


def _guests(shown: Diagram) -> Iterator[tuple[str, str, str, str]]:
    """(tenant, key, group, label) of each instance; of each network's instances at a group that stands for many."""
    places = {group.name: group for group in shown.groups}
    for network, at in shown.guests.items():
        whole = ".".join(filter(None, network))
        for place, ids in at.items():
            if places[place].alone:
                yield from ((network.tenant, instance, place, instance) for instance in ids)
            else:
                yield network.tenant, f"{whole}@{place}", place, f"{whole} ×{len(ids)}"


def _quoted(text: str) -> str:
    """A string both languages take, and YAML in Mermaid's front matter."""
    return '"' + "".join("'" if letter in '"\\' else letter for letter in text if letter.isprintable()) + '"'
