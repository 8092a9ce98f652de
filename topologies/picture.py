"""The lab as one SVG picture: the fabric by tiers, pods on cards, and below the servers one lane per subnet of a
tenant, where its instances sit under their servers, joined by the subnet's VXLAN overlay.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

import networkx as nx

from topologies.diagram import MOST_BLOCKS, Diagram, Group, Network, diagram

MARGIN, HEADER, GUTTER = 28, 84, 122   # around everything, above the fabric, left of it for the tiers' names
WIDTH, LEAST_WIDTH = 1090, 560         # of the fabric, unless its columns need more
NARROW, WIDE = 34, 88                  # of a column
CARD_GAP, CARD_PAD, RACK_GAP = 16, 10, 8
TIER_HEIGHT, SWITCH, SERVER = 106, 28, 36
LANE_GAP, CHIP, CHIP_GAP, LANE_PAD = 12, 20, 4, 9
CARD_FOOT = 24                         # of a card, for its name
LEGEND = 156                           # of an entry of the legend, right of the header
GLYPH = 0.67                           # average width of a bold letter, in font sizes
CHIPS = 4                              # instances of one tenant at one server drawn one by one

FILLS = {**dict.fromkeys(("core", "spine", "atsw"), "#1e293b"), **dict.fromkeys(("agg", "ctsw"), "#3b4a63"),
         **dict.fromkeys(("edge", "leaf", "tor", "rtsw"), "#5b6b85")}
TIER_NAMES = {"agg": "aggregation", "atsw": "aggregation", "ctsw": "cluster", "rtsw": "rack", "tor": "ToR",
              "host": "servers"}
INK, MUTED, CABLE, CARD, EDGE = "#0f172a", "#64748b", "#94a3b8", "#f1f5f9", "#e2e8f0"
FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its centre line and top."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


class Lettering(NamedTuple):
    """How a text is set; `halo` is the colour that keeps what is behind it off the letters."""

    size: float
    fill: str = INK
    weight: int = 400
    anchor: str = "middle"
    halo: str = ""


def svg(graph: nx.MultiGraph, servers: Mapping[str, str] | None = None, instances: Iterable[Mapping[str, str]] = (),
        title: str = "") -> str:
    """The picture, as a whole SVG document. `servers` is server name -> host position (None: a bare fabric); an
    instance has `id`, `tenant` and `server`, and perhaps the id of its `subnet`; without, its VPC is taken for one."""
    shown = diagram(graph, servers, instances)
    boxes = _place(shown)
    lanes = _lanes(shown, boxes)
    caption = MARGIN + len(shown.caption) * 12 * GLYPH + (0 if title else LEGEND)  # without title it is in its line
    right = max(_span(boxes.values())[1] + CARD_PAD, caption)
    bottom = max(box.bottom for box in [*boxes.values(), *lanes.values()])
    width, height = math.ceil(right + MARGIN), math.ceil(bottom + CARD_PAD + MARGIN)
    body = [
        *_header(shown, title, right),
        *_tier_names(shown, boxes),
        *_cards(shown, boxes),
        *_cables(shown, boxes),
        *_plugs(shown, boxes, lanes),
        *_card_names(shown, boxes),
        *_lane_bands(shown, boxes, lanes),
        *(part for group in shown.groups for part in _node(shown, group, boxes[group.name])),
        *(part for network in lanes for part in _guests(shown, network, boxes, lanes[network])),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="{FONT}" role="img">',
        f"<title>{_text(title or shown.caption)}</title>",
        f'<rect width="{width}" height="{height}" rx="14" fill="#ffffff"/>',
        *body, "</svg>", ""])


def _place(shown: Diagram) -> dict[str, Box]:
    """Where each group is, by name: hosts side by side, tier 1 over its hosts, higher tiers spread over their card or,
    without one, over everything."""
    columns = shown.tier(0)
    top_tier = max(group.tier for group in shown.groups)
    tops = {tier: HEADER + (top_tier - tier) * TIER_HEIGHT for tier in range(top_tier + 1)}
    boxes = _place_columns(shown, columns, tops[0] - (TIER_HEIGHT - SWITCH) / 4)
    cards = {card: _span(boxes[group.name] for group in members)
             for card, members in groupby(columns, key=lambda group: group.card)}
    whole = _span(boxes.values())
    for (tier, card), members in groupby(sorted((group for group in shown.groups if group.tier), key=_row), key=_row):
        row = list(members)
        left, right = cards[card] if card else whole
        step = (right - left) / len(row)
        size = min(96 if step > 100 else 74, step - 6)
        for number, group in enumerate(row):
            boxes[group.name] = Box(left + step * (number + 0.5), tops[tier], size, SWITCH)
    return boxes


def _row(group: Group) -> tuple[int, str]:
    return group.tier, group.card or ""


def _place_columns(shown: Diagram, columns: Sequence[Group], y: float) -> dict[str, Box]:
    """The hosts, or groups of them, with gaps between the switches and the cards they belong to."""
    above = {lower: upper for lower, upper in shown.cables}
    gaps = len({group.card for group in columns}) * (CARD_GAP + 2 * CARD_PAD)
    words = [part for group in columns for part in _two_lines(shown, group)]
    words += [chip for at in shown.guests.values() for group in columns if group.name in at
              for chip, _ in _chips(shown, group, at[group.name])]
    wanted = max(map(len, words)) * 10 * GLYPH + 12 if len(columns) <= MOST_BLOCKS else NARROW
    width = max(min(max((WIDTH - gaps) / len(columns), wanted), WIDE), (LEAST_WIDTH - gaps) / len(columns))
    boxes: dict[str, Box] = {}
    left, previous = float(MARGIN + GUTTER + CARD_PAD), columns[0]
    for group in columns:
        if group.card != previous.card:
            left += CARD_GAP + 2 * CARD_PAD
        elif above[group.name] != above[previous.name]:
            left += RACK_GAP
        boxes[group.name] = Box(left + width / 2, y, min(width, WIDE) - 6, SERVER)
        left, previous = left + width, group
    return boxes


def _span(boxes: Iterable[Box]) -> tuple[float, float]:
    edges = [(box.left, box.left + box.width) for box in boxes]
    return min(left for left, _ in edges), max(right for _, right in edges)


def _lanes(shown: Diagram, boxes: Mapping[str, Box]) -> dict[Network, Box]:
    """The lane of each network, high enough for its most crowded server; those of one tenant are close together."""
    lanes: dict[Network, Box] = {}
    left, right = _span(boxes.values())
    y, previous = max(box.bottom for box in boxes.values()) + CARD_FOOT + 16.0, ""
    for network, at in shown.guests.items():
        if lanes:
            y += LANE_GAP if network.tenant != previous else LANE_GAP / 3
        rows = max(len(_chips(shown, group, at.get(group.name, ()))) for group in shown.tier(0))
        height = rows * (CHIP + CHIP_GAP) - CHIP_GAP + 2 * LANE_PAD
        lanes[network] = Box((left + right) / 2, y, right - left, height)
        y, previous = y + height, network.tenant
    return lanes


def _chips(shown: Diagram, group: Group, ids: Sequence[str]) -> list[tuple[str, str]]:
    """(label, tooltip) of the chips for these instances of one tenant at one group."""
    if ids and not group.alone:
        return [(f"×{len(ids)}", ", ".join(ids))]
    shown_ids = ids if len(ids) <= CHIPS else ids[:CHIPS - 1]
    chips = [(name.rsplit(".", 1)[-1], name) for name in shown_ids]
    rest = ids[len(shown_ids):]
    return [*chips, (f"+{len(rest)}", ", ".join(rest))] if rest else chips


def _header(shown: Diagram, title: str, right: float) -> Iterator[str]:
    if title:
        yield _label(_fit(title, right - MARGIN - 370, 19), MARGIN, MARGIN + 14, Lettering(19, INK, 700, "start"))
    yield _label(shown.caption, MARGIN, MARGIN + (35 if title else 16), Lettering(12, MUTED, anchor="start"))
    x = right
    if shown.guests:
        colour = next(iter(shown.colours().values()))
        yield _line((x - 28, MARGIN + 10), (x, MARGIN + 10), f'stroke="{colour}" stroke-width="3"')
        yield _label("VXLAN overlay", x - 38, MARGIN + 14, Lettering(11, MUTED, anchor="end"))
        x -= LEGEND
    yield _line((x - 28, MARGIN + 10), (x, MARGIN + 10), f'stroke="{CABLE}" stroke-width="1.6"')
    yield _label("fabric link", x - 38, MARGIN + 14, Lettering(11, MUTED, anchor="end"))


def _tier_names(shown: Diagram, boxes: Mapping[str, Box]) -> Iterator[str]:
    for tier, members in groupby(sorted(shown.groups, key=lambda group: -group.tier), key=lambda group: group.tier):
        first = next(members)
        name = "hosts" if not tier and shown.servers is None else TIER_NAMES.get(first.kind, first.kind)
        box = boxes[first.name]
        yield _label(name, MARGIN, box.y + box.height / 2 + 4, Lettering(12, MUTED, 600, "start"))


def _cards(shown: Diagram, boxes: Mapping[str, Box]) -> Iterator[str]:
    for card in dict.fromkeys(group.card for group in shown.groups if group.card):
        members = [group for group in shown.groups if group.card == card]
        left, right = _span(boxes[group.name] for group in members)
        top = min(boxes[group.name].y for group in members) - CARD_PAD
        bottom = max(boxes[group.name].bottom for group in members) + CARD_FOOT
        yield (f'<rect x="{left - CARD_PAD:.1f}" y="{top:.1f}" width="{right - left + 2 * CARD_PAD:.1f}" '
               f'height="{bottom - top:.1f}" rx="12" fill="{CARD}" stroke="{EDGE}"/>')


def _card_names(shown: Diagram, boxes: Mapping[str, Box]) -> Iterator[str]:
    """Pods have a name below their servers; a leaf's card has the leaf."""
    for card in dict.fromkeys(group.card for group in shown.groups if group.card and group.tier == 2):
        columns = [boxes[group.name] for group in shown.tier(0) if group.card == card]
        left, right = _span(columns)
        yield _label(_fit(card, right - left + 2 * CARD_PAD, 10), (left + right) / 2,
                     columns[0].bottom + CARD_FOOT - 7, Lettering(11, MUTED, 600, halo=CARD))


def _cables(shown: Diagram, boxes: Mapping[str, Box]) -> Iterator[str]:
    """Links as curves that leave and enter upright; drawn thinner where there are many."""
    width = 1.6 if len(shown.cables) <= 80 else 0.9
    yield f'<g fill="none" stroke="{CABLE}" stroke-width="{width}" stroke-opacity="0.8">'
    for (lower, upper), count in shown.cables.items():
        start, end = boxes[upper], boxes[lower]
        bend = (end.y - start.bottom) * 0.4
        yield (f'<path d="M{start.x:.1f} {start.bottom:.1f}C{start.x:.1f} {start.bottom + bend:.1f} '
               f'{end.x:.1f} {end.y - bend:.1f} {end.x:.1f} {end.y:.1f}"'
               + (f"><title>{count} cables</title></path>" if count > 1 else "/>"))
    yield "</g>"


def _plugs(shown: Diagram, boxes: Mapping[str, Box], lanes: Mapping[Network, Box]) -> Iterator[str]:
    """From each server down to its lowest instance, behind the lanes."""
    for group in shown.tier(0):
        guests = [network for network, at in shown.guests.items() if group.name in at]
        if guests:
            box, lane = boxes[group.name], lanes[guests[-1]]
            yield _line((box.x, box.bottom), (box.x, lane.y + LANE_PAD),
                        f'stroke="{CABLE}" stroke-width="1.2" stroke-dasharray="1.5 3.5" stroke-linecap="round"')


def _lane_bands(shown: Diagram, boxes: Mapping[str, Box], lanes: Mapping[Network, Box]) -> Iterator[str]:
    """Each network's lane with its name at the left, and the overlay that joins its instances."""
    for network, lane in lanes.items():
        colour, at = shown.colours()[network.tenant], shown.guests[network]
        band = Box(lane.x, lane.y, lane.width + 2 * CARD_PAD, lane.height)
        yield _rect(band, 10, f'fill="{colour}" fill-opacity="0.09" stroke="{colour}" stroke-opacity="0.35"')
        y = lane.y + lane.height / 2
        detail = f"{network.name} ×{sum(map(len, at.values()))}".strip()
        yield _label(_fit(network.tenant, GUTTER - CARD_PAD, 13), MARGIN, y - 2, Lettering(13, colour, 700, "start"))
        yield _label(_fit(detail, GUTTER - CARD_PAD, 10), MARGIN, y + 12, Lettering(10, MUTED, anchor="start"))
        row = lane.y + LANE_PAD + CHIP / 2
        ends = [boxes[name].x for name in at]
        yield _line((min(ends), row), (max(ends), row), f'stroke="{colour}" stroke-width="3"')


def _node(shown: Diagram, group: Group, box: Box) -> Iterator[str]:
    """A switch or a server, or a stack of them."""
    empty = not group.tier and not shown.count(group)
    style = f'fill="{FILLS[group.kind]}"' if group.tier else f'fill="#ffffff" stroke="{CABLE}"'
    if not group.alone:
        yield _rect(Box(box.x + 3, box.y + 3, box.width, box.height), 6, f'{style} opacity="0.5"')
    yield "<g>"
    yield f"<title>{_text(_tooltip(shown, group))}</title>"
    yield _rect(box, 6, style + (' stroke-dasharray="3 3"' if empty else ""))
    if group.tier:
        name, size = shown.label(group), 11 if box.width > 60 else 10
        fits = _fit(name, box.width - 4, size) == name
        yield _label(name if fits else name.partition("-")[2], box.x, box.y + box.height / 2 + 4,
                     Lettering(size, "#ffffff", 600))
    else:
        yield from _server(shown, group, box, empty)
    yield "</g>"


def _server(shown: Diagram, group: Group, box: Box, empty: bool) -> Iterator[str]:
    """A server's name on two lines; on one where there is no room or no more to say."""
    above, below = _two_lines(shown, group)
    if above and box.width >= NARROW:
        yield _label(_fit(above, box.width - 4, 9), box.x, box.y + 13, Lettering(9, MUTED))
        yield _label(_fit(below, box.width - 4, 12), box.x, box.y + 28, Lettering(12, weight=700))
    else:
        yield _label(_fit(below, box.width - 4, 10), box.x, box.y + box.height / 2 + 4,
                     Lettering(10, MUTED) if empty else Lettering(10, weight=600))


def _two_lines(shown: Diagram, group: Group) -> tuple[str, str]:
    """A server's name, split before its number: `gpu-node`, `0001`; or what a group is and how many it has."""
    if not group.alone:
        return "hosts" if shown.servers is None else "servers", shown.label(group)
    above, _, below = shown.label(group).rpartition("-")
    return above, below


def _tooltip(shown: Diagram, group: Group) -> str:
    if group.tier or not shown.servers:
        return ", ".join(group.members)
    return ", ".join(f"{shown.servers.get(host, 'free')} at {host}" for host in group.members)


def _guests(shown: Diagram, network: Network, boxes: Mapping[str, Box], lane: Box) -> Iterator[str]:
    """A network's instances as chips under their servers."""
    colour, at = shown.colours()[network.tenant], shown.guests[network]
    for group in shown.tier(0):
        for row, (label, tooltip) in enumerate(_chips(shown, group, at.get(group.name, ()))):
            column = boxes[group.name]
            chip = Box(column.x, lane.y + LANE_PAD + row * (CHIP + CHIP_GAP), column.width, CHIP)
            yield "<g>"
            yield f"<title>{_text(tooltip)}</title>"
            yield _rect(chip, CHIP / 2, f'fill="{colour}" stroke="#ffffff" stroke-width="1.5"')
            yield _label(_fit(label, chip.width - 4, 10), chip.x, chip.y + 14, Lettering(10, "#ffffff", 600))
            yield "</g>"


def _rect(box: Box, radius: float, style: str) -> str:
    return (f'<rect x="{box.left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
            f'rx="{radius:g}" {style}/>')


def _line(start: tuple[float, float], end: tuple[float, float], style: str) -> str:
    return f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" {style}/>'


def _label(text: str, x: float, y: float, letters: Lettering) -> str:
    halo = f' stroke="{letters.halo}" stroke-width="5" paint-order="stroke"' if letters.halo else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{letters.size:g}" font-weight="{letters.weight}" '
            f'text-anchor="{letters.anchor}" fill="{letters.fill}"{halo}>{_text(text)}</text>')


def _fit(text: str, width: float, size: float) -> str:
    """The text, or as much of its beginning and end as `width` holds; nothing if that is next to nothing."""
    room = int(width / (size * GLYPH))
    if len(text) <= room:
        return text
    if room < 3:
        return ""
    return f"{text[:(room - 1) // 2]}…{text[len(text) - room // 2:]}"


def _text(text: str) -> str:
    return escape(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))
