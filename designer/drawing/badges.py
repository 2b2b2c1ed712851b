"""Small drawn things: pills with a word, warning marks, the legend."""

from collections.abc import Iterator
from typing import Final

from designer.drawing.captions import NAME_PX, VALUE_PX
from designer.drawing.display import Line, Path, Point, Primitive, Rect, Stroke, Text
from designer.drawing.overlays import Legend, Mark, Overlay
from designer.drawing.routes import stroke_width_px
from designer.drawing.symbols import parse_path
from designer.drawing.text import width_px
from designer.drawing.theme import Theme, blend, dash

PILL_HEIGHT_PX: Final = 14.0
MARK_PX: Final = 14.0
LEGEND_HEIGHT_PX: Final = 76.0
_LEGEND: Final = "legend"
_SLICES: Final = 38
_SCALE_PX: Final = 115.0
_WIDTHS: Final = ((1.0, "1G"), (10.0, "10G"), (100.0, "100G"), (400.0, "400G"), (3200.0, "3.2T"))
_UNKNOWN: Final = "unknown"

_TRIANGLE: Final = parse_path("M7 1L13.4 13H.6Z")
_BAR: Final = parse_path("M7 5.2V8.8M7 11V11.01")
_OCTAGON: Final = parse_path("M4.4 .8H9.6L13.2 4.4V9.6L9.6 13.2H4.4L.8 9.6V4.4Z")
_CROSS: Final = parse_path("M4.8 4.8L9.2 9.2M9.2 4.8L4.8 9.2")
_NECK: Final = parse_path("M1.5 1.5L5.6 5.6V8.4L1.5 12.5ZM12.5 1.5L8.4 5.6V8.4L12.5 12.5Z")


def pill_width_px(words: str) -> float:
    """Width of a pill with a word in it."""
    return width_px(words, VALUE_PX, 600, "tabular") + 12


def pill(
    element: str, layer: str, right: Point, words: str, fill: str, ink: str
) -> Iterator[Primitive]:
    """A pill whose top right corner is there."""
    width = pill_width_px(words)
    x, y = right[0] - width, right[1]
    yield Rect(element, layer, x, y, width, PILL_HEIGHT_PX, PILL_HEIGHT_PX / 2, fill)
    yield Text(
        element,
        layer,
        x + width / 2,
        y + 10.6,
        words,
        VALUE_PX,
        ink,
        600,
        "middle",
        "tabular",
    )


def mark(element: str, corner: Point, kind: Mark, theme: Theme) -> Iterator[Primitive]:
    """A warning's triangle, an error's octagon or a bottleneck's neck, 14 px wide."""
    if kind == "bottleneck":
        ink = theme.colour("text.primary")
        yield Path(element, "label", *corner, 1.0, _NECK, ink)
    elif kind:
        fill, on = theme.colour(f"status.{kind}.fg"), theme.colour(f"status.{kind}.on_fg")
        body, inner = (_TRIANGLE, _BAR) if kind == "warning" else (_OCTAGON, _CROSS)
        yield Path(element, "label", *corner, 1.0, body, fill, Stroke(fill, 1.0))
        yield Path(element, "label", *corner, 1.0, inner, None, Stroke(on, 1.6))


def legend_width_px(overlay: Overlay | None, unknown: int = 0) -> float:
    """Width of the legend's box; `unknown` links have no known capacity."""
    widths = 24.0 + sum(_step_px(words) for _, words in _WIDTHS)
    least = max(240.0, widths + (_step_px(_UNKNOWN) if unknown else 0.0))
    if overlay is None:
        return least
    legend = overlay.legend
    top = (
        width_px(legend.title, NAME_PX, 600)
        + 16
        + width_px(overlay_note(overlay), VALUE_PX, 400, "tabular")
    )
    scale = _SCALE_PX + 28 + max(60.0, width_px(legend.dashed or legend.marked, VALUE_PX) + 20)
    return max(least, top + 24, scale + 24)


def draw_legend(
    overlay: Overlay | None, corner: Point, theme: Theme, unknown: int = 0
) -> Iterator[Primitive]:
    """The legend's box: the overlay's scale, and always what the widths of links mean.

    unknown: how many links have no known capacity; their dots are explained.
    """
    x, y = corner
    width = legend_width_px(overlay, unknown)
    height = LEGEND_HEIGHT_PX if overlay else 48.0
    border = Stroke(theme.colour("border.default"))
    ground = theme.colour("surface.raised")
    yield Rect(_LEGEND, _LEGEND, x + 0.5, y + 0.5, width - 1, height - 1, 6, ground, border)
    first, second = theme.colour("text.primary"), theme.colour("text.secondary")
    title = overlay.legend.title if overlay else "Links"
    note = overlay_note(overlay) if overlay else "width by capacity, b/s"
    yield Text(_LEGEND, _LEGEND, x + 12, y + 18, title, NAME_PX, first, 600)
    right = x + width - 12
    yield Text(_LEGEND, _LEGEND, right, y + 18, note, VALUE_PX, second, 400, "end", "tabular")
    if overlay:
        yield from _scale(overlay.legend, (x + 12, y + 28), theme)
    yield from _widths((x + 12, y + height - 12), theme, unknown)


def overlay_note(overlay: Overlay) -> str:
    """What the overlay rests on; the revision where it has a number."""
    return (
        f"{overlay.legend.note}, revision {overlay.revision}"
        if overlay.revision
        else overlay.legend.note
    )


def _scale(legend: Legend, corner: Point, theme: Theme) -> Iterator[Primitive]:
    x, y = corner
    ink = theme.colour("text.secondary")
    step = _SCALE_PX / _SLICES
    for n in range(_SLICES) if legend.ticks else ():
        colour = blend(legend.steps, n / (_SLICES - 1))
        wide = step + 0.5 if n + 1 < _SLICES else step
        yield Rect(_LEGEND, _LEGEND, x + n * step, y, wide, 7, 0, colour)
    if legend.ticks:
        edge = Stroke(theme.colour("overlay.casing"))
        yield Rect(_LEGEND, _LEGEND, x, y, _SCALE_PX, 7, 0, None, edge)
    for share, words in legend.ticks:
        at = x + share * _SCALE_PX
        yield Text(_LEGEND, _LEGEND, at, y + 19, words, VALUE_PX, ink, 400, "middle", "tabular")
    left = x + _SCALE_PX + 28
    if legend.dashed:
        stroke = Stroke(legend.steps[-1], 3.5, dash("over_capacity"))
        yield Line(_LEGEND, _LEGEND, ((left, y + 3.5), (left + 52, y + 3.5)), stroke)
        yield Text(_LEGEND, _LEGEND, left, y + 19, legend.dashed, VALUE_PX, ink, 400)
    if legend.marked:
        yield from mark(_LEGEND, (left, y - 3), "bottleneck", theme)
        yield Text(_LEGEND, _LEGEND, left + 18, y + 8, legend.marked, VALUE_PX, ink, 400)


def _step_px(words: str) -> float:
    """From one width of the legend to the next: its line, its word, a gap."""
    return 15 + width_px(words, VALUE_PX, 400, "tabular") + 9


def _widths(left: Point, theme: Theme, unknown: int) -> Iterator[Primitive]:
    x, y = left
    ink, colour = theme.colour("text.secondary"), theme.colour("link.stroke")
    for gbps, words in (*_WIDTHS, *([(None, _UNKNOWN)] if unknown else [])):
        stroke = Stroke(colour, stroke_width_px(gbps), dash("unknown") if gbps is None else ())
        yield Line(_LEGEND, _LEGEND, ((x, y - 3.5), (x + 12, y - 3.5)), stroke)
        yield Text(_LEGEND, _LEGEND, x + 15, y, words, VALUE_PX, ink, 400, "start", "tabular")
        x += _step_px(words)
