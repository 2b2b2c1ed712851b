"""Places for the labels of links: none touches a box, a line or another label.

They give way by importance: the most important take their best place first, and what finds none is
left out. A label that must not be left out takes, at worst, a place on its own line.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from designer.drawing.display import Point
from designer.drawing.space import Box, Space

CLEAR_PX: Final = 4.0
_ALONG: Final = (0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.22, 0.78)

_STEPS_OFF: Final = 40


@dataclass(frozen=True, slots=True)
class Wish:
    """A label that wants a place along a line.

    importance: higher comes first. must: never left out. above: stands above the line or right of
    it if there is room, else on the other side.
    """

    key: str
    width: float
    height: float
    points: tuple[Point, ...]
    line_px: float
    importance: float
    above: bool
    must: bool = False
    spots: tuple[Box, ...] = ()
    """Places to take before those along the line."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a label stands. on_line: it lies on lines and needs a ground to be legible."""

    key: str
    box: Box
    on_line: bool


def place_labels(wishes: Sequence[Wish], space: Space) -> tuple[Placed, ...]:
    """Places labels and takes their room in `space`; those left out are missing in the answer."""
    placed: list[Placed] = []
    for wish in sorted(wishes, key=lambda wish: (-wish.must, -wish.importance, wish.key)):
        found = _place(wish, space)
        if found is not None:
            space.add_box(found.box, wish.key)
            placed.append(found)
    return tuple(placed)


def _place(wish: Wish, space: Space) -> Placed | None:
    for box in (*wish.spots, *_beside(wish)):
        if space.free(_grown(box)):
            return Placed(wish.key, box, on_line=False)
    if not wish.must:
        return None
    for box in (*_upon(wish), *_off(wish)):
        if next(space.boxes(_grown(box)), None) is None:
            return Placed(wish.key, box, on_line=True)
    return None


def _grown(box: Box) -> Box:
    return (box[0] - 2, box[1] - 1, box[2] + 4, box[3] + 2)


def _segments(points: Sequence[Point]) -> list[tuple[Point, Point]]:
    """Pieces of a line, level ones first, the longest of each first."""
    pieces = list(pairwise(points))
    return sorted(
        pieces, key=lambda piece: (abs(piece[0][1] - piece[1][1]) > 1, -math.dist(*piece), piece)
    )


def _beside(wish: Wish) -> Iterator[Box]:
    sides = (wish.above, not wish.above)
    for above in sides:
        for start, end in _segments(wish.points):
            for share in _ALONG:
                yield _at(wish, start, end, share, above)


def _at(wish: Wish, start: Point, end: Point, share: float, above: bool) -> Box:
    """The box beside a piece at a share of its length: above or right of it, or below or left."""
    x = start[0] + (end[0] - start[0]) * share
    y = start[1] + (end[1] - start[1]) * share
    away = wish.line_px / 2 + CLEAR_PX
    length = math.dist(start, end) or 1.0
    # The normal that points up, or right where the line is upright.
    nx, ny = (end[1] - start[1]) / length, -(end[0] - start[0]) / length
    if ny > 1e-9 or (abs(ny) <= 1e-9 and nx < 0):
        nx, ny = -nx, -ny
    if not above:
        nx, ny = -nx, -ny
    reach = away + abs(nx) * wish.width / 2 + abs(ny) * wish.height / 2
    return (
        x + nx * reach - wish.width / 2,
        y + ny * reach - wish.height / 2,
        wish.width,
        wish.height,
    )


def _off(wish: Wish) -> Iterator[Box]:
    """Places further and further from the middle of the line, above, below, right and left."""
    start, end = _segments(wish.points)[0]
    x = (start[0] + end[0] - wish.width) / 2
    y = (start[1] + end[1] - wish.height) / 2
    for step in range(1, _STEPS_OFF + 1):
        away = step * wish.height / 2
        for dx, dy in ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1)):
            yield (x + dx * away * 2, y + dy * away, wish.width, wish.height)


def _upon(wish: Wish) -> Iterator[Box]:
    for start, end in _segments(wish.points):
        for share in (*_ALONG, 0.1, 0.9):
            x = start[0] + (end[0] - start[0]) * share
            y = start[1] + (end[1] - start[1]) * share
            yield (x - wish.width / 2, y - wish.height / 2, wish.width, wish.height)
