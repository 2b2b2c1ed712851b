"""How links are drawn: width by capacity, colour by result, labels where there is room."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from designer.drawing.badges import MARK_PX, mark, pill, pill_width_px
from designer.drawing.boxes import Sheet
from designer.drawing.captions import NAME_PX, TIMES, VALUE_PX, capacity_words
from designer.drawing.display import Line, Point, Primitive, Rect, Stroke, Text
from designer.drawing.labels import Placed, Wish, place_labels
from designer.drawing.layout import HEADER_PX, TITLE_PX
from designer.drawing.overlays import Style
from designer.drawing.routes import Route, capacity_gbps, stroke_width_px
from designer.drawing.space import Box, Space
from designer.drawing.text import width_px
from designer.drawing.theme import dash
from designer.drawing.tree import ROOT

_MESH = 4
"""So many links between the same two kinds of place share one label."""


@dataclass(frozen=True, slots=True)
class _Said:
    """The words of one label: those of a load or those of a capacity."""

    element: str
    words: str
    style: Style | None


def draw_links(
    sheet: Sheet, routes: Sequence[Route]
) -> tuple[tuple[Primitive, ...], tuple[Primitive, ...]]:
    """The lines, and the labels that found a place."""
    lines = tuple(part for route in routes for part in _line(sheet, route))
    space = _space(sheet, routes)
    pills = [part for route in routes for part in _bundle(sheet, route, space)]
    said: dict[str, _Said] = {}
    wishes: list[Wish] = []
    for family in _families(sheet, routes):
        wishes += _wishes(sheet, family, said)
    rules = _rules(sheet)
    for placed in place_labels(wishes, space):
        cuts = next(rules.pieces(placed.box), None) is not None
        pills += _label(sheet, said[placed.key], replace(placed, on_line=placed.on_line or cuts))
    return lines, tuple(pills)


def _style(sheet: Sheet, route: Route) -> Style | None:
    """The most important style of a route's links."""
    styles = [sheet.styles[key] for key in route.links if key in sheet.styles]
    return max(styles, key=lambda style: (style.must, style.importance)) if styles else None


def _width(sheet: Sheet, route: Route) -> float:
    return stroke_width_px(capacity_gbps([sheet.design.links[key] for key in route.links]))


def _line(sheet: Sheet, route: Route) -> Iterator[Primitive]:
    theme, width = sheet.theme, _width(sheet, route)
    element, style = route.links[0], _style(sheet, route)
    unknown = any(sheet.design.links[key].capacity_gbps is None for key in route.links)
    broken = dash("unknown") if unknown else ()
    if style is None or style.colour is None:
        broken = dash("unknown") if style is not None else broken
        stroke = Stroke(theme.colour("link.stroke"), width, broken)
        yield Line(element, "link", route.points, stroke, route.corner_px)
        return
    if not (style.dash or broken):
        casing = Stroke(theme.colour("overlay.casing"), width + 2)
        yield Line(element, "link", route.points, casing, route.corner_px)
    stroke = Stroke(style.colour, width, style.dash or broken)
    yield Line(element, "link", route.points, stroke, route.corner_px)


def _space(sheet: Sheet, routes: Sequence[Route]) -> Space:
    """All that a label must not touch."""
    space = Space()
    arrangement = sheet.arrangement
    for leaf in sheet.tree.lane:
        x, y, width, height = arrangement.boxes[leaf]
        stack = 4.0 if sheet.captions[leaf].pill else 1.0
        space.add_box((x - 1, y - 1, width + stack + 1, height + stack + 1), leaf)
    for group in (key for key in sheet.tree.children if key != ROOT):
        x, y, width, height = arrangement.boxes[group]
        space.add_box((x, y, width, TITLE_PX), group)
        corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y))
        for start, end in pairwise(corners):
            space.add_piece(start, end, 1.0, group)
    for left, right in arrangement.lanes.values():
        space.add_box((left, arrangement.top, right - left, HEADER_PX), "")
    for route in routes:
        half = _width(sheet, route) / 2 + 1
        for start, end in pairwise(route.points):
            space.add_piece(start, end, half, route.links[0])
    return space


def _rules(sheet: Sheet) -> Space:
    """The rules between lanes; a label may interrupt one, with a ground of its own."""
    space = Space()
    for left, _ in list(sheet.arrangement.lanes.values())[1:]:
        for low, high in _bare(sheet, left):
            space.add_piece((left, low), (left, high), 2.0, "")
    return space


def _bare(sheet: Sheet, x: float) -> Iterator[tuple[float, float]]:
    """Where the rule between two lanes is to be seen: not behind a group."""
    arrangement = sheet.arrangement
    groups = [key for key in sheet.tree.children[ROOT] if key in sheet.tree.children]
    boxes = [arrangement.boxes[key] for key in groups]
    y = arrangement.top
    for _, top, _, height in sorted(
        (box for box in boxes if box[0] <= x <= box[0] + box[2]), key=lambda box: box[1]
    ):
        if top > y:
            yield y, top
        y = max(y, top + height)
    yield y, max(y, arrangement.bottom)


def _bundle(sheet: Sheet, route: Route, space: Space) -> Iterator[Primitive]:
    """The number of links that one line stands for, on its middle."""
    if len(route.links) < 2:
        return
    words = f"{TIMES}{len(route.links)}"
    start, end = max(pairwise(route.points), key=lambda piece: _length(*piece))
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    width = pill_width_px(words)
    box = (middle[0] - width / 2, middle[1] - 7, width, 14.0)
    if next(space.boxes(box), None) is not None:
        return
    space.add_box(box, route.links[0])
    theme = sheet.theme
    right = (box[0] + width, box[1])
    yield Rect(
        route.links[0], "label", box[0] - 1, box[1] - 1, width + 2, 16, 8,
        theme.colour("overlay.casing"),
    )  # fmt: skip
    yield from pill(
        route.links[0],
        "label",
        right,
        words,
        theme.colour("surface.raised"),
        theme.colour("text.primary"),
    )


def _length(start: Point, end: Point) -> float:
    return abs(start[0] - end[0]) + abs(start[1] - end[1])


def _families(sheet: Sheet, routes: Sequence[Route]) -> Iterator[tuple[Route, ...]]:
    """Routes that share their labels: a mesh between two sets of equal boxes; others alone."""
    sets: dict[tuple[object, ...], list[Route]] = defaultdict(list)
    for route in routes:
        ends = tuple((sheet.tree.parent[end], _kind(sheet, end)) for end in (route.a, route.b))
        slanted = len(route.points) == 2 and route.points[0][1] != route.points[1][1]
        apart = sheet.arrangement.boxes[route.a][0] != sheet.arrangement.boxes[route.b][0]
        fabric = {sheet.tree.lane[route.a], sheet.tree.lane[route.b]} <= {"fabric", "gpu"}
        key: tuple[object, ...] = ends if slanted and apart and fabric else (route.links,)
        sets[key].append(route)
    for family in sets.values():
        if len(family) >= _MESH:
            yield tuple(family)
        else:
            yield from ((route,) for route in family)


def _kind(sheet: Sheet, leaf: str) -> str:
    return sheet.design.nodes[leaf].kind if leaf in sheet.design.nodes else "group"


def _wishes(sheet: Sheet, family: tuple[Route, ...], said: dict[str, _Said]) -> Iterator[Wish]:
    route = family[0]
    styles = [style for each in family if (style := _style(sheet, each)) is not None]
    spots = _beside_mesh(sheet, family) if len(family) > 1 else None
    if styles:
        top = max(styles, key=lambda style: (style.must, style.importance))
        words = _range([style.label for style in styles]) if spots else top.label
        yield _wish(sheet, route, f"load {route.links[0]}", words, top, spots, said)
    capacities = {_capacity(sheet, each) for each in family}
    if len(capacities) == 1:
        words = f"{min(capacities)} each" if spots else min(capacities)
        yield _wish(sheet, route, f"capacity {route.links[0]}", words, None, spots, said)


def _capacity(sheet: Sheet, route: Route) -> str:
    """What stands beside a line; a capacity that nobody knows is told by the dots of its line."""
    links = [sheet.design.links[key] for key in route.links]
    words = {capacity_words(link) for link in links}
    known = all(link.capacity_gbps is not None for link in links)
    return min(words) if known and len(words) == 1 else ""


def _range(labels: Sequence[str]) -> str:
    """The labels of a mesh as one: their only word, or the lowest and highest number."""
    if len(set(labels)) == 1:
        return labels[0]
    numbers: dict[float, str] = {}
    for label in labels:
        head, _, unit = label.partition(" ")
        if unit != "%" or not head.replace(",", "").isdigit():
            return ""
        numbers[float(head.replace(",", ""))] = head
    return f"{numbers[min(numbers)]}\u2013{numbers[max(numbers)]} %"


def _wish(
    sheet: Sheet,
    route: Route,
    key: str,
    words: str,
    style: Style | None,
    mesh: Mapping[bool, tuple[float, float]] | None,
    said: dict[str, _Said],
) -> Wish:
    said[key] = _Said(route.links[0], words, style)
    marked = MARK_PX + 4 if style and style.mark else 0.0
    if style is not None:
        width = width_px(words, NAME_PX, 600, "tabular") + marked
    else:
        width = width_px(words, VALUE_PX, 400, "tabular")
    height = 14.0 if marked else (NAME_PX if style is not None else VALUE_PX)
    above = style is not None
    spots: tuple[Box, ...] = ()
    if mesh is not None:
        x, y = mesh[above]
        aside = width / 2 + 6
        spots = tuple(
            (x + shift - width / 2, y - height / 2 + (-step if above else step), width, height)
            for step in (0.0, 6.0, 12.0, 18.0)
            for shift in (0.0, -aside, aside)
        )
    importance = 1000.0 + style.importance if style is not None else _width(sheet, route)
    must = style is not None and style.must
    line = _width(sheet, route) + (2 if style is not None else 0)
    return Wish(key, width, height, route.points, line, importance, above, must=must, spots=spots)


def _beside_mesh(sheet: Sheet, family: tuple[Route, ...]) -> Mapping[bool, tuple[float, float]]:
    """Middle of the places over (True) and under (False) a mesh, between its two columns."""
    points = [point for route in family for point in route.points]
    x = (min(p[0] for p in points) + max(p[0] for p in points)) / 2
    return {
        True: (x, min(p[1] for p in points) - 8),
        False: (x, max(p[1] for p in points) + 10),
    }


def _label(sheet: Sheet, said: _Said, placed: Placed) -> Iterator[Primitive]:
    if not said.words:
        return
    theme = sheet.theme
    x, y, width, height = placed.box
    style = said.style
    if placed.on_line:
        ground = theme.colour("surface.canvas")
        yield Rect(said.element, "label", x - 2, y - 1, width + 4, height + 2, 2, ground)
    size = NAME_PX if style is not None else VALUE_PX
    baseline = y + height / 2 + size * 0.36
    if style is None:
        ink = theme.colour("text.secondary")
        yield Text(
            said.element, "label", x, baseline, said.words, size, ink, 400, "start", "tabular"
        )
        return
    if style.mark:
        yield from mark(said.element, (x, y + height / 2 - 7), style.mark, theme)
        x += MARK_PX + 4
    ink = theme.colour("status.error.fg" if style.mark == "error" else "text.primary")
    yield Text(said.element, "label", x, baseline, said.words, size, ink, 600, "start", "tabular")
