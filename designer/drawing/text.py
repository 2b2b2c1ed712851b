"""How wide a text is, measured by HarfBuzz on the shipped fonts, so that all outputs agree.

Each character takes the first shipped font that has it. A character that none has is drawn as a
visible box and listed; characters that only steer the layout (direction marks) are left out.
"""

import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

import uharfbuzz as hb

from designer.drawing.display import Figures
from designer.model.resources import assets

FAMILIES: Final = (
    "Inter",
    "Noto Sans",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Armenian",
    "Noto Sans Georgian",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Thai",
)
"""Shipped families in the order in which a character looks for its font."""

WEIGHTS: Final = (400, 500, 600)
"""Weights of Inter; the other families have 400 alone."""

SUBSTITUTE: Final = "\u25a1"
ELLIPSIS: Final = "\u2026"
_INTER: Final = ((400, "Inter-Regular.otf"), (500, "Inter-Medium.otf"), (600, "Inter-SemiBold.otf"))
_JOINERS: Final = frozenset("\u200c\u200d")


def font_file(family: str, weight: int) -> str:
    """File of a shipped family at the weight that is nearest."""
    if family == "Inter":
        return min(_INTER, key=lambda pair: abs(pair[0] - weight))[1]
    return family.replace(" ", "") + "-Regular.ttf"


@cache
def _font(family: str, weight: int) -> tuple[hb.Font, frozenset[int]]:
    blob = hb.Blob.from_file_path(assets().joinpath("fonts", font_file(family, weight)))
    face = hb.Face(blob)
    return hb.Font(face), frozenset(face.unicodes)


def _family_of(character: str) -> str | None:
    code = ord(character)
    return next((name for name in FAMILIES if code in _font(name, 400)[1]), None)


@lru_cache(maxsize=65_536)
def safe(text: str) -> str:
    """The text as it is drawn: one line, with a box for every character that no font has."""
    return "".join(_drawn(character) for character in " ".join(text.split()))


def _drawn(character: str) -> str:
    if character not in _JOINERS and unicodedata.category(character) in ("Cf", "Cc"):
        return ""
    return character if _family_of(character) else SUBSTITUTE


def missing(text: str) -> frozenset[str]:
    """Characters of a text that no shipped font has."""
    return frozenset(
        character
        for character in set(text)
        if not character.isspace() and _drawn(character) == SUBSTITUTE != character
    )


def runs(text: str) -> Iterator[tuple[str, str]]:
    """(family, part) of a safe text, in logical order; a combining mark stays with its base."""
    family, start = FAMILIES[0], 0
    for index, character in enumerate(text):
        stays = unicodedata.combining(character) or character in _JOINERS
        if stays and ord(character) in _font(family, 400)[1]:
            continue
        wanted = _family_of(character) or FAMILIES[0]
        if wanted != family:
            if index > start:
                yield family, text[start:index]
            family, start = wanted, index
    if len(text) > start:
        yield family, text[start:]


@lru_cache(maxsize=65_536)
def width_px(
    text: str, size_px: float, weight: int = 400, figures: Figures = "proportional"
) -> float:
    """Width of one line of text as it is drawn, px at 100 %."""
    return (
        sum(_advance(family, part, weight, figures) for family, part in runs(safe(text))) * size_px
    )


def _advance(family: str, part: str, weight: int, figures: Figures) -> float:
    font, _ = _font(family, weight)
    buffer = hb.Buffer()
    buffer.add_str(part)
    buffer.language = "en"
    buffer.guess_segment_properties()
    hb.shape(font, buffer, {"tnum": figures == "tabular"})
    advance: int = sum(position.x_advance for position in buffer.glyph_positions)
    return advance / float(font.face.upem)


@lru_cache(maxsize=16_384)
def fitted(
    text: str, most_px: float, size_px: float, weight: int = 400, figures: Figures = "proportional"
) -> str:
    """The text, shortened with an ellipsis where it is wider than `most_px`."""
    whole = safe(text)
    if width_px(whole, size_px, weight, figures) <= most_px:
        return whole
    low, high = 0, len(whole)
    while low < high:
        middle = (low + high + 1) // 2
        cut = whole[:middle].rstrip() + ELLIPSIS
        if width_px(cut, size_px, weight, figures) <= most_px:
            low = middle
        else:
            high = middle - 1
    return whole[:low].rstrip() + ELLIPSIS
