"""How lanes, groups and nodes are drawn: the boxes of the picture, and what is written in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from designer.drawing.badges import mark, pill, pill_width_px
from designer.drawing.captions import (
    NAME_PX,
    TEXT_X_PX,
    VALUE_PX,
    Caption,
    Totals,
    group_totals_words,
    pill_of,
)
from designer.drawing.display import Line, Path, Primitive, Rect, Stroke, Text
from designer.drawing.layout import HEADER_PX, Arrangement, Box
from designer.drawing.overlays import Style
from designer.drawing.symbols import SYMBOL_OF_GROUP, draw_symbol, parse_path
from designer.drawing.text import fitted, width_px
from designer.drawing.theme import Hue, Theme, dash, ink_on
from designer.drawing.tree import ROOT, Tree
from designer.model.design import Design

_OPEN: Final = parse_path("M0 0H7L3.5 4.02Z")
_CLOSED: Final = parse_path("M0 0V7L4.02 3.5Z")
_STACK_PX: Final = 3.0


@dataclass(frozen=True, slots=True)
class Sheet:
    """What every part of a picture is drawn from."""

    design: Design
    tree: Tree
    arrangement: Arrangement
    captions: Mapping[str, Caption]
    totals: Mapping[str, Totals]
    lane_totals: Mapping[str, Totals]
    styles: Mapping[str, Style]
    theme: Theme


def draw_lanes(sheet: Sheet) -> Iterator[Primitive]:
    """Lane headers with their totals, and the dotted rules between lanes."""
    top, bottom = sheet.arrangement.top, sheet.arrangement.bottom
    theme = sheet.theme
    first, second = theme.colour("text.primary"), theme.colour("text.secondary")
    for n, (tier, (left, right)) in enumerate(sheet.arrangement.lanes.items()):
        hue, width = theme.lane(tier), right - left
        name = fitted(hue.name, width - 16, NAME_PX, 600)
        yield Rect(tier, "ground", left, top, width, HEADER_PX, 0, hue.band)
        yield Rect(tier, "ground", left, top, width, 3, 0, hue.stroke)
        x = left + min(12.0, max(4.0, (width - width_px(name, NAME_PX, 600)) / 2))
        yield Text(tier, "ground", x, top + 19, name, NAME_PX, first, 600)
        words = sheet.lane_totals[tier].words() if tier in sheet.lane_totals else ""
        needed = width_px(name, NAME_PX, 600) + width_px(words, VALUE_PX, 400, "tabular") + 40
        if words and needed <= width:
            yield Text(
                tier, "ground", right - 12, top + 19, words, VALUE_PX, second, 400, "end", "tabular"
            )
        if n:
            rule = Stroke(theme.colour("grid.band_rule"), 1, dash("band_rule"))
            under = (left + 0.5, top + HEADER_PX)
            yield Line(tier, "ground", (under, (left + 0.5, bottom)), rule)


def draw_groups(sheet: Sheet) -> Iterator[Primitive]:
    """Open groups, the outer ones first."""
    for group in sorted(
        (key for key in sheet.tree.children if key != ROOT),
        key=lambda key: (len(sheet.tree.chain(key)), key),
    ):
        yield from _open_group(sheet, group)


def draw_leaves(sheet: Sheet) -> Iterator[Primitive]:
    """Nodes and closed groups."""
    for leaf in sorted(sheet.tree.lane):
        box = sheet.arrangement.boxes[leaf]
        if leaf in sheet.design.nodes:
            yield from _node(sheet, leaf, box)
        else:
            yield from _closed_group(sheet, leaf, box)


def _open_group(sheet: Sheet, key: str) -> Iterator[Primitive]:
    theme, group = sheet.theme, sheet.design.groups[key]
    x, y, width, height = sheet.arrangement.boxes[key]
    nested = sheet.tree.parent[key] != ROOT
    ground = theme.colour("surface.group_nested" if nested else "surface.group")
    stroke = Stroke(theme.colour("border.group"))
    if group.count > 1:
        yield from _stack(key, "group", (x, y, width, height), 6, stroke, sheet)
    yield Rect(key, "group", x + 0.5, y + 0.5, width - 1, height - 1, 6, ground, stroke)
    second = theme.colour("text.secondary")
    yield Path(key, "group", x + 9, y + 10, 1.0, _OPEN, second)
    symbol = SYMBOL_OF_GROUP.get(group.kind, "ui-group")
    yield from draw_symbol(symbol, key, "group", (x + 22, y + 5), 14, second)
    words = pill_of(group.count)
    room = width - 50 - (pill_width_px(words) + 8 if words else 0.0)
    name = fitted(group.name or key, room, NAME_PX, 600)
    named = width_px(name, NAME_PX, 600)
    yield Text(key, "group", x + 41, y + 16, name, NAME_PX, theme.colour("text.primary"), 600)
    if words:
        at = (x + 41 + named + 8 + pill_width_px(words), y + 5)
        yield from pill(key, "group", at, words, theme.colour("border.strong"), _paper(theme))
        named += pill_width_px(words) + 8
    style = sheet.styles.get(key)
    said = style.label if style else group_totals_words(group, sheet.totals[key])
    said = f"{said} each" if words and said and not style else said
    if said and named + width_px(said, VALUE_PX, 400, "tabular") + 41 + 24 <= width:
        yield Text(
            key, "group", x + width - 8, y + 16, said, VALUE_PX, second, 400, "end", "tabular"
        )


def _closed_group(sheet: Sheet, key: str, box: Box) -> Iterator[Primitive]:
    theme = sheet.theme
    hue = theme.lane(sheet.tree.tinted[key]) if key in sheet.tree.tinted else _neutral(theme)
    yield from _box(sheet, key, box, hue, 6)
    x, y, _, height = box
    yield Path(
        key, "node", x + 2.5, y + height / 2 - 3.5, 1.0, _CLOSED, theme.colour("text.secondary")
    )


def _node(sheet: Sheet, key: str, box: Box) -> Iterator[Primitive]:
    node = sheet.design.nodes[key]
    yield from _box(sheet, key, box, sheet.theme.lane(node.tier or sheet.tree.lane[key]), 4)


def _box(sheet: Sheet, key: str, box: Box, hue: Hue, radius: float) -> Iterator[Primitive]:
    theme, caption = sheet.theme, sheet.captions[key]
    x, y, width, height = box
    states = {"known": (), "guessed": dash("guess"), "unknown": dash("unknown")}
    stroke = Stroke(hue.stroke, 1, states[caption.state])
    if caption.pill:
        yield from _stack(key, "node", box, radius, Stroke(hue.stroke), sheet)
    yield Rect(key, "node", x + 0.5, y + 0.5, width - 1, height - 1, radius, hue.fill, stroke)
    at = (x + 8, y + height / 2 - 8)
    yield from draw_symbol(caption.symbol, key, "node", at, 16, hue.stroke)
    style = sheet.styles.get(key)
    two_lines = bool(caption.value) or style is not None
    lift = 2.5 if two_lines else -4
    room = width - TEXT_X_PX - 6 - (pill_width_px(caption.pill) + 4 if caption.pill else 0.0)
    name = fitted(caption.name, room, NAME_PX, 600)
    baseline = y + height / 2 - lift
    yield Text(key, "node", x + TEXT_X_PX, baseline, name, NAME_PX, hue.on_fill, 600)
    if caption.pill:
        right = (x + width - 5, y + 5)
        yield from pill(key, "node", right, caption.pill, hue.stroke, hue.on_stroke)
    if style is not None:
        yield from _badge(key, (x + TEXT_X_PX, y + height / 2), width - TEXT_X_PX, style, theme)
    elif caption.value:
        under = fitted(caption.value, width - TEXT_X_PX - 4, VALUE_PX, 400, "tabular")
        ink = theme.colour("text.secondary")
        yield Text(
            key, "node", x + TEXT_X_PX, y + height / 2 + 10.5, under, VALUE_PX, ink, 400,
            "start", "tabular",
        )  # fmt: skip


def _badge(
    key: str, left: tuple[float, float], room: float, style: Style, theme: Theme
) -> Iterator[Primitive]:
    """The result of a node in place of its value, on the overlay's colour."""
    words = fitted(style.label, room - 12, VALUE_PX, 600, "tabular")
    fill = style.colour or theme.colour("surface.raised")
    end = (left[0] - 2 + pill_width_px(words), left[1] + 1)
    yield from pill(key, "label", end, words, fill, ink_on(fill, theme))
    if style.mark and pill_width_px(words) + 18 <= room:
        yield from mark(key, (end[0] + 3, end[1]), style.mark, theme)


def _stack(
    key: str, layer: str, box: Box, radius: float, stroke: Stroke, sheet: Sheet
) -> Iterator[Primitive]:
    """The edge of a second box behind the first: there are several."""
    x, y, width, height = box
    back = sheet.theme.colour("surface.canvas")
    near = Rect(key, layer, x + 0.5, y + 0.5, width - 1, height - 1, radius, back, stroke)
    yield replace(near, x=near.x + _STACK_PX, y=near.y + _STACK_PX)


def _neutral(theme: Theme) -> Hue:
    """A closed group of several tiers: no hue."""
    ink = theme.colour("text.primary")
    edge, ground = theme.colour("border.group"), theme.colour("surface.group")
    return Hue("", edge, ground, ground, ink, _paper(theme))


def _paper(theme: Theme) -> str:
    return theme.colour("surface.canvas")
