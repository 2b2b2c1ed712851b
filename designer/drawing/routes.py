"""How links run from box to box: level or upright where the boxes allow, else with few bends.

A bent way is chosen among a handful by what it would cross: boxes cost most, then lines that it
would cover, then bends, then length. Links between the same two things run apart, or as a bundle.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from designer.drawing.display import Point
from designer.drawing.space import Box, Space
from designer.drawing.titles import title_widths
from designer.drawing.tree import ROOT, Tree
from designer.model.design import Design
from designer.model.layout import Bends, Layout
from designer.model.things import Link

CORNER_PX: Final = 12.0
_APART_PX: Final = 8.0
_MOST_APART: Final = 3
_FAR_PX: Final = 600.0
_MOST_MET: Final = 12
_LEVEL_PX: Final = 8.0
"""In a mesh, boxes further out of line than this get a slanted line, like the others there."""
_MOST_TRIED: Final = 800
"""Beyond so many links, fewer ways are tried for each."""


@dataclass(frozen=True, slots=True)
class Route:
    """One drawn line: the links it stands for, its ends, and its points from a to b."""

    links: tuple[str, ...]
    a: str
    b: str
    points: tuple[Point, ...]
    corner_px: float = CORNER_PX


def route_links(
    design: Design, layout: Layout, tree: Tree, boxes: Mapping[str, Box]
) -> tuple[Route, ...]:
    """Routes of all visible links. A link inside a collapsed group is not drawn."""
    bundles = _bundles(design, tree, boxes)
    router = _Router(tree, boxes, title_widths(design, tree), len(bundles))
    free: list[tuple[tuple[str, ...], str, str]] = []
    made: list[Route] = []
    for links, a, b in bundles:
        bends = layout.bends.get(links[0])
        if bends is not None and bends.points:
            made.append(router.bent(links, a, b, bends))
        elif (level := router.straight(links, a, b)) is not None:
            made.append(level)
        else:
            free.append((links, a, b))
    made += [router.around(*bundle) for bundle in free]
    return tuple(sorted(made, key=lambda route: route.links))


def stroke_width_px(capacity_gbps: float | None) -> float:
    """1 px at 1 Gb/s and one more for each tenfold, in quarters, 1 to 4.5; unknown is thin."""
    if capacity_gbps is None or capacity_gbps <= 0:
        return 1.0
    raw = 1 + math.log10(capacity_gbps)
    return min(4.5, max(1.0, math.floor(raw * 4 + 0.5) / 4))


def capacity_gbps(links: Sequence[Link]) -> float | None:
    """Capacity of all members together; None where one is unknown."""
    total = 0.0
    for link in links:
        if link.capacity_gbps is None:
            return None
        total += link.capacity_gbps * link.members
    return total


def _bundles(
    design: Design, tree: Tree, boxes: Mapping[str, Box]
) -> list[tuple[tuple[str, ...], str, str]]:
    """Links to be drawn as one line, with their ends from left to right."""
    between: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in sorted(design.links):
        link = design.links[key]
        a, b = tree.shown_as.get(link.a), tree.shown_as.get(link.b)
        if a is None or b is None or a == b:
            continue
        first, second = sorted((a, b), key=lambda end: (boxes[end][0], boxes[end][1], end))
        between[first, second].append(key)
    bundles: list[tuple[tuple[str, ...], str, str]] = []
    for (a, b), keys in sorted(between.items()):
        closed = a not in design.nodes or b not in design.nodes
        if closed or len(keys) > _MOST_APART:
            bundles.append((tuple(keys), a, b))
        else:
            bundles += [((key,), a, b) for key in keys]
    return bundles


class _Router:
    """Chooses ways one after the other and remembers what they took."""

    def __init__(
        self,
        tree: Tree,
        boxes: Mapping[str, Box],
        titles: Mapping[str, tuple[float, float]],
        bundles: int,
    ) -> None:
        self._tree = tree
        self._boxes = boxes
        self._few = bundles > _MOST_TRIED
        self._nodes = Space()
        for leaf in tree.lane:
            x, y, width, height = boxes[leaf]
            self._nodes.add_box((x - 6, y - 6, width + 14, height + 14), leaf)
        self._groups = Space()
        self._borders = Space()
        self._titles = Space()
        self._named = Space()
        for group in tree.children:
            if group in boxes:
                x, y, width, _ = boxes[group]
                self._titles.add_box((x, y, width, 24.0), group)
                name, totals = titles.get(group, (0.0, 0.0))
                self._named.add_box((x + 4, y, min(width - 8, name), 24.0), group)
                if totals and name + totals <= width:
                    self._named.add_box((x + width - totals, y, totals, 24.0), group)
                self._groups.add_box(boxes[group], group)
                self._add_border(boxes[group])
        self._lines = Space()
        self._ports: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._parallel: Counter[tuple[str, str]] = Counter()

    def _add_border(self, box: Box) -> None:
        x, y, width, height = box
        for side in (0.0, height):
            self._borders.add_piece((x, y + side), (x + width, y + side), 0.5, "-")
        for side in (0.0, width):
            self._borders.add_piece((x + side, y), (x + side, y + height), 0.5, "|")

    def bent(self, links: tuple[str, ...], a: str, b: str, bends: Bends) -> Route:
        """The way that a person gave. Bends are stored from the link's own a to its b."""
        inner = list(bends.points)
        if _distance(self._boxes[a], inner[0]) > _distance(self._boxes[a], inner[-1]):
            inner.reverse()
        first = _on_edge(self._boxes[a], inner[0])
        last = _on_edge(self._boxes[b], inner[-1])
        corner = CORNER_PX if bends.style == "orthogonal" else 0.0
        return self._take(Route(links, a, b, (first, *inner, last), corner))

    def straight(self, links: tuple[str, ...], a: str, b: str) -> Route | None:
        """A level or upright line if the boxes face each other with nothing between."""
        for axis in (1, 0):
            points = self._facing(a, b, axis)
            if points is not None:
                return self._take(Route(links, a, b, points))
        return None

    def around(self, links: tuple[str, ...], a: str, b: str) -> Route:
        """A slanted line within a mesh, else the bent way that costs least."""
        if self._is_mesh(a, b):
            return self._take(Route(links, a, b, self._slanted(a, b), 0.0))
        ways = list(self._ways(a, b))
        best, least = ways[0], math.inf
        for way in ways:
            cost = self._cost(way, a, b, least)
            if cost < least:
                best, least = way, cost
        return self._take(Route(links, a, b, best))

    def _is_mesh(self, a: str, b: str) -> bool:
        """Links inside one lane of routers, and those between switches and GPUs."""
        lanes = {self._tree.lane[a], self._tree.lane[b]}
        together = self._tree.parent[a] == self._tree.parent[b]
        return (lanes == {"transport"} and together) or lanes <= {"fabric", "gpu"}

    def _facing(self, a: str, b: str, axis: int) -> tuple[Point, ...] | None:
        first, second = self._boxes[a], self._boxes[b]
        if second[1 - axis] < first[1 - axis]:
            a, b, first, second = b, a, second, first
        rims = [box[axis + 2] / 4 if self._is_mesh(a, b) else 6.0 for box in (first, second)]
        low = max(first[axis] + rims[0], second[axis] + rims[1])
        high = min(
            first[axis] + first[axis + 2] - rims[0], second[axis] + second[axis + 2] - rims[1]
        )
        start = first[1 - axis] + first[3 - axis]
        end = second[1 - axis]
        if high < low or end - start < 4:
            return None
        sides = ((a, "RB"[1 - axis]), (b, "LT"[1 - axis]))
        middles = [box[axis] + box[axis + 2] / 2 for box in (first, second)]
        wanted = middles[0] if low <= middles[0] <= high else (low + high) / 2
        if self._is_mesh(a, b) and axis == 1 and abs(middles[0] - middles[1]) > _LEVEL_PX:
            return None
        used = [*self._ports[sides[0]], *self._ports[sides[1]]]
        port = self._port(wanted, low, high, used)
        if axis == 0 and port is not None and self._over_name(port, start, end):
            port = self._beside_name(wanted, low, high, used, (start, end))
        if port is None:
            return None
        points = ((start, port), (end, port)) if axis == 1 else ((port, start), (port, end))
        if self._passes(points[0], points[1], a, b):
            return None
        for side in sides:
            self._ports[side].append(port)
        return points

    def _over_name(self, x: float, start: float, end: float) -> bool:
        """Whether an upright line would strike a group's name out."""
        around = (x - 3, min(start, end), 6.0, abs(end - start))
        return next(self._named.boxes(around), None) is not None

    def _beside_name(
        self,
        wanted: float,
        low: float,
        high: float,
        used: Sequence[float],
        ends: tuple[float, float],
    ) -> float | None:
        """The free place nearest to the wanted one where no name is struck, else the wanted one."""
        steps = int((high - low) // 4.0)
        places = sorted((low + 4.0 * n for n in range(steps + 1)), key=lambda p: abs(p - wanted))
        for place in places:
            apart = all(abs(place - other) >= _APART_PX for other in used)
            if apart and not self._over_name(place, *ends):
                return place
        return self._port(wanted, low, high, used)

    def _passes(self, start: Point, end: Point, a: str, b: str) -> bool:
        """Whether a line would pass behind a box, or through a group that holds neither end."""
        thin = _around(start, end, 1.0)
        if any(owner not in (a, b) for owner in self._nodes.boxes(thin)):
            return True
        own = {*self._tree.chain(a), *self._tree.chain(b)}
        return any(group not in own for group in self._groups.boxes(thin))

    def _port(self, wanted: float, low: float, high: float, used: Sequence[float]) -> float | None:
        """The free place on a side that is nearest to the wanted one."""
        steps = [wanted + sign * 4.0 * n for n in range(12) for sign in ((1, -1) if n else (1,))]
        for place in steps:
            if low <= place <= high and all(abs(place - other) >= _APART_PX for other in used):
                return place
        return None

    def _slanted(self, a: str, b: str) -> tuple[Point, ...]:
        first, second = self._boxes[a], self._boxes[b]
        self._parallel[a, b] += 1
        shift = (self._parallel[a, b] // 2) * _APART_PX * (-1) ** self._parallel[a, b]
        here, there = _centre(first), _centre(second)
        if second[0] - first[0] - first[2] >= 16:
            return (
                (first[0] + first[2], here[1] + shift),
                (second[0], there[1] + shift),
            )
        return (
            _on_edge(first, (there[0] + shift, there[1])),
            _on_edge(second, (here[0] + shift, here[1])),
        )

    def _ways(self, a: str, b: str) -> Iterator[tuple[Point, ...]]:
        first, second = self._boxes[a], self._boxes[b]
        right, left = first[0] + first[2], second[0]
        here = self._side_port(a, "R", _centre(second)[1])
        there = self._side_port(b, "L", _centre(first)[1])
        if left - right >= 16:
            for x in self._middles(right, left):
                yield ((right, here), (x, here), (x, there), (left, there))
            yield from self._corners(first, second, here, there)
            if not self._few:
                yield from self._detours(first, second, here, there)
        else:
            yield from self._hooks(a, b, here)

    def _middles(self, right: float, left: float) -> list[float]:
        """Where an upright piece may stand in the gap between two boxes."""
        near = [left - 16, right + 16, (right + left) / 2]
        if not self._few:
            near += [left - 24, right + 24, left - 32, right + 32]
        return [round(x / 4) * 4.0 for x in near if right + 8 <= x <= left - 8] or [
            (right + left) / 2
        ]

    def _corners(
        self, first: Box, second: Box, here: float, there: float
    ) -> Iterator[tuple[Point, ...]]:
        """One bend only."""
        (ax, ay), (bx, by) = _centre(first), _centre(second)
        top_b = second[1] if ay < by else second[1] + second[3]
        top_a = first[1] + first[3] if ay < by else first[1]
        yield ((first[0] + first[2], here), (bx, here), (bx, top_b))
        yield ((ax, top_a), (ax, there), (second[0], there))

    def _detours(
        self, first: Box, second: Box, here: float, there: float
    ) -> Iterator[tuple[Point, ...]]:
        """Over or under what stands between, with four bends."""
        right, left = first[0] + first[2], second[0]
        for row in self._rows(first, second):
            for out, back in ((right + 16, left - 16), (right + 24, left - 24)):
                if out <= back:
                    over = ((out, here), (out, row), (back, row), (back, there))
                    yield ((right, here), *over, (left, there))

    def _rows(self, first: Box, second: Box) -> list[float]:
        """Heights that are over or under both ends and whatever stands between them."""
        low, high = min(first[1], second[1]), max(first[1] + first[3], second[1] + second[3])
        rows = [first[1] - 12, first[1] + first[3] + 12, second[1] - 12, second[1] + second[3] + 12]
        between = (first[0] + first[2], low, max(1.0, second[0] - first[0] - first[2]), high - low)
        met = [*self._nodes.boxes(between), *self._groups.boxes(between)]
        for owner in sorted(set(met))[:_MOST_MET]:
            _, y, _, height = self._boxes[owner]
            rows += [y - 12, y + height + 8, y + height + 16]
        return sorted({round(row / 4) * 4.0 for row in rows})

    def _hooks(self, a: str, b: str, here: float) -> Iterator[tuple[Point, ...]]:
        """Ways between boxes one above the other: out at a side and back at the same side."""
        first, second = self._boxes[a], self._boxes[b]
        there = self._side_port(b, "R", _centre(first)[1])
        back_a = self._side_port(a, "L", _centre(second)[1])
        back_b = self._side_port(b, "L", _centre(first)[1])
        for reach in (16.0, 24.0, 12.0, 32.0):
            right = max(first[0] + first[2], second[0] + second[2]) + reach
            yield (
                (first[0] + first[2], here),
                (right, here),
                (right, there),
                (second[0] + second[2], there),
            )
            left = min(first[0], second[0]) - reach
            yield ((first[0], back_a), (left, back_a), (left, back_b), (second[0], back_b))
        upper, lower = (first, second) if first[1] <= second[1] else (second, first)
        x, y = _centre(upper)[0], upper[1] + upper[3]
        if lower[1] - y >= 16:
            row = round((y + lower[1]) / 8) * 4.0
            end = _centre(lower)[0]
            way = ((x, y), (x, row), (end, row), (end, lower[1]))
            yield way if upper is first else way[::-1]

    def _side_port(self, leaf: str, side: str, towards: float) -> float:
        box = self._boxes[leaf]
        middle = box[1] + box[3] / 2
        found = self._port(middle, box[1] + 6, box[1] + box[3] - 6, self._ports[leaf, side])
        if found is None or found == middle:
            return middle if found is None else found
        mirrored = 2 * middle - found
        free = all(abs(mirrored - other) >= _APART_PX for other in self._ports[leaf, side])
        return mirrored if free and (towards < middle) != (found < middle) else found

    def _cost(self, points: tuple[Point, ...], a: str, b: str, enough: float) -> float:
        """What a way costs; counting stops once it is dearer than `enough`."""
        pieces = list(pairwise(points))
        cost = 24.0 * (len(points) - 2) + self._outside(points, a, b)
        cost += sum(abs(p[0] - q[0]) + abs(p[1] - q[1]) for p, q in pieces) / 8
        own = {*self._tree.chain(a), *self._tree.chain(b)}
        for start, end in pieces:
            thin = _around(start, end, 1.0)
            met = set(self._nodes.boxes(thin))
            cost += 2000.0 * len(met - {a, b}) + 300.0 * len(set(self._groups.boxes(thin)) - own)
            if met & {a, b} and start != points[0] and end != points[-1]:
                cost += 1500.0
            if cost >= enough:
                return cost
        for start, end in pieces:
            cost += self._beside(start, end)
            if cost >= enough:
                return cost
        return cost

    def _beside(self, start: Point, end: Point) -> float:
        """What it costs to run over titles, along borders, along lines and across them."""
        if self._few and abs(start[0] - end[0]) + abs(start[1] - end[1]) > _FAR_PX:
            return 0.0
        near = _around(start, end, 3.0)
        cost = 60.0 * len(set(self._titles.boxes(_around(start, end, 1.0))))
        cost += 200.0 * len(set(self._named.boxes(near)))
        close, way = _around(start, end, 5.0), _direction(start, end)
        cost += 250.0 if way in self._borders.pieces(close) else 0.0
        return cost + sum(
            400.0 if owner[0] == way else 6.0 for owner in set(self._lines.pieces(close))
        )

    def _outside(self, points: tuple[Point, ...], a: str, b: str) -> float:
        """What it costs to leave the group that holds both ends."""
        around = self._tree.chain(b)
        shared = next(group for group in self._tree.chain(a) if group in around)
        if shared == ROOT:
            return 0.0
        x, y, width, height = self._boxes[shared]
        inside = all(x < px < x + width and y < py < y + height for px, py in points)
        return 0.0 if inside else 200.0

    def _take(self, route: Route) -> Route:
        for start, end in pairwise(route.points):
            self._lines.add_piece(start, end, 0.5, _direction(start, end) + route.links[0])
        for leaf, point in ((route.a, route.points[0]), (route.b, route.points[-1])):
            box = self._boxes[leaf]
            if point[0] in (box[0], box[0] + box[2]):
                side = "L" if point[0] == box[0] else "R"
                self._ports[leaf, side].append(point[1])
        return route


def _direction(start: Point, end: Point) -> str:
    if start[0] == end[0]:
        return "|"
    return "-" if start[1] == end[1] else "/"


def _around(start: Point, end: Point, half: float) -> Box:
    """The box around a line, a little short at its ends so that what it leaves is not in it."""
    x, y = min(start[0], end[0]), min(start[1], end[1])
    width, height = abs(start[0] - end[0]), abs(start[1] - end[1])
    if width >= height:
        return (x + 0.5, y - half, max(width - 1, 0.1), height + 2 * half)
    return (x - half, y + 0.5, width + 2 * half, max(height - 1, 0.1))


def _centre(box: Box) -> Point:
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def _distance(box: Box, point: Point) -> float:
    centre = _centre(box)
    return math.dist(centre, point)


def _on_edge(box: Box, towards: Point) -> Point:
    """Where a line from the middle of a box to a point leaves the box."""
    x, y = _centre(box)
    dx, dy = towards[0] - x, towards[1] - y
    if dx == 0 and dy == 0:
        return x, y
    scale = min(
        box[2] / 2 / abs(dx) if dx else math.inf,
        box[3] / 2 / abs(dy) if dy else math.inf,
    )
    return x + dx * scale, y + dy * scale
