"""Colours, widths and sizes of the drawing, read from the design tokens; nothing is set in code."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from designer.model.resources import assets

ThemeName = Literal["light", "dark", "high_contrast"]


@cache
def tokens() -> Mapping[str, Any]:
    """The whole token file, read once."""
    read: dict[str, Any] = json.loads(assets().joinpath("theme", "tokens.json").read_text("utf-8"))
    return MappingProxyType(read)


@dataclass(frozen=True, slots=True)
class Hue:
    """The colours of one lane: sRGB hex."""

    name: str
    stroke: str
    fill: str
    band: str
    on_fill: str
    on_stroke: str


@dataclass(frozen=True, slots=True)
class Theme:
    """One of the three themes: lanes in their order, overlay steps from the smallest value up."""

    name: ThemeName
    lanes: Mapping[str, Hue]
    sequential: tuple[str, ...]
    diverging: tuple[str, ...]
    _tree: Mapping[str, Any]

    def colour(self, path: str) -> str:
        """The colour at a dotted path of the theme, such as "text.primary".

        Raises KeyError where the tokens have no such colour.
        """
        found: Any = self._tree
        for part in path.split("."):
            found = found[part]
        return str(found)

    def lane(self, tier: str) -> Hue:
        """The hue of a tier; what no tier knows stands in Services."""
        return self.lanes.get(tier, self.lanes["services"])


@cache
def load_theme(name: ThemeName = "light") -> Theme:
    """The theme of that name."""
    tree = tokens()["theme"][name]
    hues = {**tree["tier"], **tree["lane"]}
    lanes = {tier: Hue(**hues[tier]) for tier in tokens()["lane_order"]}
    return Theme(
        name,
        MappingProxyType(lanes),
        tuple(tree["overlay"]["sequential"]),
        tuple(tree["overlay"]["diverging"]),
        MappingProxyType(tree),
    )


def dash(name: str) -> tuple[float, ...]:
    """A dash pattern of the tokens: over_capacity, failed, guess, unknown or band_rule; px."""
    return tuple(float(step) for step in tokens()["stroke"]["dash"][name])


def blend(steps: Sequence[str], share: float) -> str:
    """The colour at a share of the scale (0 first step, 1 last), linear in sRGB between steps."""
    place = min(1.0, max(0.0, share)) * (len(steps) - 1)
    low = min(int(place), len(steps) - 2)
    rest = place - low
    first, second = _channels(steps[low]), _channels(steps[low + 1])
    mixed = (round(a + (b - a) * rest) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def ink_on(ground: str, theme: Theme) -> str:
    """The more legible of the theme's two text colours on a ground."""
    inks = (theme.colour("text.primary"), theme.colour("text.on_accent"))
    return max(inks, key=lambda ink: contrast(ink, ground))


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in _channels(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
