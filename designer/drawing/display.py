"""The display list: what canvas, SVG, PNG and PDF all draw, so that they cannot disagree.

Lengths are px at 100 %, y grows downwards, colours are sRGB hex without transparency. Primitives
stand in drawing order: later ones lie on top. A text is placed by its baseline.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from immutables import Map

Anchor = Literal["start", "middle", "end"]
Figures = Literal["proportional", "tabular"]
Point = tuple[float, float]
Outline = tuple[tuple[str, tuple[float, ...]], ...]
"""Steps of a path: ("M", (x, y)), ("L", (x, y)), ("C", (x1, y1, x2, y2, x, y)), ("Z", ())."""

LAYERS: Final = ("ground", "group", "link", "node", "label", "legend")
"""Layers from the back to the front."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line's colour, width in px, and dash (on, off, …) in px; no dash is solid."""

    colour: str
    width_px: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Rect:
    """A box with its top left corner, size and corner radius."""

    element: str
    layer: str
    x: float
    y: float
    width: float
    height: float
    radius: float = 0.0
    fill: str | None = None
    stroke: Stroke | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A polyline; inner corners are rounded by `corner_px`."""

    element: str
    layer: str
    points: tuple[Point, ...]
    stroke: Stroke
    corner_px: float = 0.0


@dataclass(frozen=True, slots=True)
class Path:
    """A free shape: its outline scaled, then moved to (x, y). Stroke widths are not scaled."""

    element: str
    layer: str
    x: float
    y: float
    scale: float
    outline: Outline
    fill: str | None = None
    stroke: Stroke | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text at the baseline point (x, y)."""

    element: str
    layer: str
    x: float
    y: float
    string: str
    size_px: float
    colour: str
    weight: int = 400
    anchor: Anchor = "start"
    figures: Figures = "proportional"


Primitive = Rect | Line | Path | Text


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished drawing.

    substituted: characters that no shipped font has, and that are drawn as a visible box.
    anchors: by id of node or group, its box (x, y, width, height). (left, top): the coordinates of
    the picture's corner; the canvas keeps those of the layout. overlay: its name, if one is drawn.
    """

    width: float
    height: float
    background: str
    primitives: tuple[Primitive, ...]
    title: str
    alternative: str
    substituted: tuple[str, ...] = ()
    anchors: Mapping[str, tuple[float, float, float, float]] = Map()
    left: float = 0.0
    top: float = 0.0
    overlay: str = ""


def outline_of(line: Line) -> Outline:
    """The path of a polyline with its rounded corners, as cubic curves."""
    points = line.points
    steps: list[tuple[str, tuple[float, ...]]] = [("M", points[0])]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        reach = min(line.corner_px, math.dist(before, here) / 2, math.dist(here, after) / 2)
        if reach < 0.5:
            steps.append(("L", here))
            continue
        start, end = _towards(here, before, reach), _towards(here, after, reach)
        # A quadratic curve with its control point in the corner, raised to a cubic.
        first, second = _towards(start, here, reach * 2 / 3), _towards(end, here, reach * 2 / 3)
        steps += [("L", start), ("C", (*first, *second, *end))]
    steps.append(("L", points[-1]))
    return tuple(steps)


def _towards(origin: Point, target: Point, distance: float) -> Point:
    length = math.dist(origin, target) or 1.0
    return (
        origin[0] + (target[0] - origin[0]) * distance / length,
        origin[1] + (target[1] - origin[1]) * distance / length,
    )
