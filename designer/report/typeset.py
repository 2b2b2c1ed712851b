"""Sets a design review as PDF/UA-1 with Typst. Data goes in as JSON, never as markup.

Only the shipped fonts are used and no clock is read: one review gives one sequence of bytes.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

import typst

from designer.drawing.display import Picture
from designer.drawing.text import FAMILIES, safe
from designer.drawing.theme import load_theme
from designer.report.blocks import Review
from designer.report.pictures import TEMPLATES, figure_data, shipped_fonts

_LONG_WORD: Final = 60
_BREAK: Final = "\u200b"


class ReportFailed(RuntimeError):
    """The review cannot be set; `str()` is one sentence."""


def pdf(review: Review) -> bytes:
    """The review as the bytes of a PDF/UA-1 file: vector, tagged, searchable, with bookmarks.

    Raises ReportFailed where Typst refuses.
    """
    body = _plain(review)
    body |= {"colours": _colours(), "fonts": list(FAMILIES)}
    try:
        made = typst.compile(
            str(TEMPLATES / "review.typ"),
            root=str(TEMPLATES),
            font_paths=shipped_fonts(),
            ignore_system_fonts=True,
            format="pdf",
            pdf_standards="ua-1",
            sys_inputs={"review": json.dumps(body, ensure_ascii=False, allow_nan=False)},
        )
    except typst.TypstError as error:
        first = str(error).splitlines()[0]
        raise ReportFailed(f"the report cannot be set ({first}); please report this") from error
    return bytes(made)


def _plain(value: Any) -> Any:
    """Frozen values as JSON ones; texts are made fit to be set."""
    if isinstance(value, str):
        return settable(value)
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Picture):
        return figure_data(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def settable(text: str) -> str:
    """One line of characters that the shipped fonts have; a word as long as a line may break."""
    words = safe(text).split(" ")
    return " ".join(word if len(word) <= _LONG_WORD else _breakable(word) for word in words)


def _breakable(word: str) -> str:
    return _BREAK.join(word[start : start + 8] for start in range(0, len(word), 8))


def _colours() -> Mapping[str, Any]:
    """The colours of the light theme that a page uses."""
    theme = load_theme("light")
    statuses = ("ok", "warning", "error", "info")
    verdicts = (
        "meets", "likely", "open", "unlikely", "breaks", "unknown", "cannot_be_served",
    )  # fmt: skip
    places = {name: f"status.{name}" for name in statuses}
    places |= {name: f"verdict.{name}" for name in verdicts}
    return {
        "paper": theme.colour("surface.raised"),
        "head": theme.colour("surface.panel"),
        "sunken": theme.colour("surface.sunken"),
        "accent": theme.colour("accent.fill"),
        "text": {k: theme.colour(f"text.{k}") for k in ("primary", "secondary", "tertiary")},
        "border": {k: theme.colour(f"border.{k}") for k in ("subtle", "default", "group")},
        "tiers": {
            tier: {"stroke": hue.stroke, "on_stroke": hue.on_stroke}
            for tier, hue in theme.lanes.items()
        },
        "status": {
            name: {"fg": theme.colour(f"{place}.fg"), "bg": theme.colour(f"{place}.bg")}
            for name, place in places.items()
        },
    }
