"""What lies where: boxes and line pieces in a grid of cells, to ask what a box would touch."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from designer.drawing.display import Point

Box = tuple[float, float, float, float]
"""x, y, width, height; px."""

_CELL_PX: Final = 96.0


class Space:
    """Occupied places. Boxes that only touch at an edge are apart."""

    def __init__(self) -> None:
        self._boxes: dict[tuple[int, int], list[tuple[Box, str]]] = defaultdict(list)
        self._pieces: dict[tuple[int, int], list[tuple[Point, Point, float, str]]] = defaultdict(
            list
        )

    def add_box(self, box: Box, owner: str) -> None:
        """Takes a box."""
        for cell in _cells(box):
            self._boxes[cell].append((box, owner))

    def add_piece(self, start: Point, end: Point, half_px: float, owner: str) -> None:
        """Takes a straight line of that half width."""
        for cell in _cells_along(start, end, half_px):
            self._pieces[cell].append((start, end, half_px, owner))

    def boxes(self, box: Box) -> Iterator[str]:
        """Owners of the boxes that a box overlaps; one may come more than once."""
        for cell in _cells(box):
            for other, owner in self._boxes.get(cell, ()):
                if overlap(box, other):
                    yield owner

    def pieces(self, box: Box) -> Iterator[str]:
        """Owners of the lines that a box touches; one may come more than once."""
        for cell in _cells(box):
            for start, end, half, owner in self._pieces.get(cell, ()):
                left, top = box[0] - half, box[1] - half
                right, bottom = box[0] + box[2] + half, box[1] + box[3] + half
                # Most lines lie wholly on one side of the box.
                if (start[1] <= top and end[1] <= top) or (start[1] >= bottom and end[1] >= bottom):
                    continue
                if (start[0] <= left and end[0] <= left) or (start[0] >= right and end[0] >= right):
                    continue
                if _touches(start, end, (left, top, right - left, bottom - top)):
                    yield owner

    def free(self, box: Box) -> bool:
        """Whether nothing lies in a box."""
        return next(self.boxes(box), None) is None and next(self.pieces(box), None) is None


def overlap(first: Box, second: Box) -> bool:
    """Whether two boxes share an area."""
    return (
        first[0] < second[0] + second[2]
        and second[0] < first[0] + first[2]
        and first[1] < second[1] + second[3]
        and second[1] < first[1] + first[3]
    )


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    last = int((box[1] + box[3]) // _CELL_PX)
    for column in range(int(box[0] // _CELL_PX), int((box[0] + box[2]) // _CELL_PX) + 1):
        for row in range(int(box[1] // _CELL_PX), last + 1):
            yield column, row


def _cells_along(start: Point, end: Point, half: float) -> Iterator[tuple[int, int]]:
    """Cells that a line of some width may touch, column by column."""
    left, right = sorted((start, end))
    slope = (right[1] - left[1]) / (right[0] - left[0]) if right[0] > left[0] else 0.0
    low, high = sorted((left[1], right[1]))
    first, last = int((left[0] - half) // _CELL_PX), int((right[0] + half) // _CELL_PX)
    for column in range(first, last + 1):
        top, bottom = low, high
        if last > first:
            ends = (column * _CELL_PX - half, (column + 1) * _CELL_PX + half)
            at = sorted(left[1] + slope * (min(max(x, left[0]), right[0]) - left[0]) for x in ends)
            top, bottom = max(low, at[0]), min(high, at[1])
        if left[0] == right[0]:
            top, bottom = low, high
        for row in range(int((top - half) // _CELL_PX), int((bottom + half) // _CELL_PX) + 1):
            yield column, row


def _touches(start: Point, end: Point, box: Box) -> bool:
    """Whether a line passes the inside of a box (Liang and Barsky 1984)."""
    low, high = 0.0, 1.0
    for axis in (0, 1):
        edge, far = box[axis], box[axis] + box[axis + 2]
        step = end[axis] - start[axis]
        if step == 0:
            if not edge < start[axis] < far:
                return False
            continue
        near, away = (edge - start[axis]) / step, (far - start[axis]) / step
        low, high = max(low, min(near, away)), min(high, max(near, away))
    return low < high
