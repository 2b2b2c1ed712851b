"""How every table of the command line looks, and how its cells are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from designer.cli.printable import printable
from designer.model.units import number
from designer.report.words import UNKNOWN, Names

Cell = str | Text

VERDICT_STYLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "meets": "green", "likely": "green", "open": "yellow", "unlikely": "red",
        "breaks": "bold red", "cannot_be_served": "bold red", "unknown": "magenta",
    }
)  # fmt: skip
SEVERITY_STYLES: Final[Mapping[str, str]] = MappingProxyType(
    {"error": "bold red", "warning": "yellow", "info": "cyan"}
)

LONGEST_WORD: Final = 16
"""Where room is short a column of text keeps its words whole up to this length."""


def heading(console: Console, title: str) -> None:
    """A chapter of the output."""
    console.print()
    console.rule(Text(printable(title), "bold"), align="left", characters="─")


def sentence(console: Console, text: str, style: str = "") -> None:
    """Text on its own; brackets in names are no markup."""
    console.print(Text(printable(text), style))


def table(
    title: str, texts: Iterable[str], numbers: Iterable[str], last: Iterable[str] = ()
) -> Table:
    """An empty table: columns of text, then of numbers on the right, then of text again.

    Numbers never wrap; where room is short, texts do, at a space.
    """
    made = Table(
        title=Text(printable(title), "bold"), box=box.SIMPLE_HEAD, pad_edge=False,
        padding=(0, 1, 0, 0), show_edge=False,
    )  # fmt: skip
    for name in texts:
        made.add_column(name, overflow="fold", vertical="top")
    for name in numbers:
        made.add_column(name, justify="right", no_wrap=True, vertical="top")
    for name in last:
        made.add_column(name, overflow="fold", vertical="top")
    return made


def put(console: Console, made: Table) -> None:
    """Prints a table with its title on a line of its own, which may be wider than the table."""
    for column in made.columns:
        words = (word for cell in column.cells for word in str(cell).split())
        column.min_width = min(LONGEST_WORD, max(map(len, words), default=0))
    title, made.title = made.title, None
    console.print()
    if title:
        console.print(title)
    console.print(made)


def row(made: Table, *cells: Cell, style: str = "") -> None:
    """Adds a row of texts; brackets in names are no markup."""
    made.add_row(*map(_safe, cells), style=style)


def _safe(cell: Cell) -> Text:
    if isinstance(cell, str):
        return Text(printable(cell))
    written = printable(cell.plain)
    return cell if written == cell.plain else Text(written, cell.style)


def time(value: float | None, *, at_least: bool = False, places: int = 1) -> str:
    """A time without its unit: thousands set apart, no decimals above 10,000."""
    if value is None:
        return UNKNOWN
    shown = f"{value:,.{0 if abs(value) >= 1e4 else places}f}"
    return f"{'≥ ' if at_least else ''}{minus(shown)}"


def change(value: float | None) -> str:
    """A change of a time with its sign; 0 where it rounds to nothing."""
    if value is None:
        return UNKNOWN
    shown = time(value)
    return "0" if shown.strip("\u2212") == "0.0" else f"+{shown}" if value > 0 else shown


def figure(value: float | None, digits: int = 3) -> str:
    """A number to some significant digits, whole thousands set apart."""
    if value is None:
        return UNKNOWN
    return minus(f"{value:,.0f}") if abs(value) >= 10**digits else number(value, digits)


def share(value: float | None, places: int = 1) -> str:
    """A share in percent without its sign."""
    if value is None:
        return UNKNOWN
    return "< 0.1" if 0 < value < 0.0005 and places == 1 else minus(f"{100 * value:,.{places}f}")


def minus(text: str) -> str:
    """With a true minus sign."""
    return text.replace("-", "\u2212")


def cut(text: str, most: int) -> str:
    """A text that takes no more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def renamed(text: str, names: Names) -> str:
    """A sentence of the engine with the last word's id as the name: "prefill at <id>"."""
    head, _, last = text.rpartition(" ")
    return f"{head} {names.of(last)}".strip()
