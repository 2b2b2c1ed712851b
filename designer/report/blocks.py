"""What a design review is made of: cover, sections, and a small vocabulary of blocks.

Everything is text and numbers that are ready to be set; the template adds looks and no meaning.
Lengths on charts are shares of the axis, from 0 to 1.
"""

from dataclasses import dataclass
from typing import Literal

from designer.analysis.results import FactKind, Severity, VerdictWord
from designer.drawing.display import Picture

Status = Severity | VerdictWord
Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; a note is set small and grey, for what a table or figure rests on."""

    text: str
    style: Literal["body", "note"] = "body"
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the section's own; level 2 is numbered, level 3 is not."""

    text: str
    level: Literal[2, 3] = 2
    new_page: bool = False
    kind: Literal["heading"] = "heading"


@dataclass(frozen=True, slots=True)
class Callout:
    """A box with a shape, a sentence and an explanation: a verdict, or a finding with its word."""

    status: Status
    title: str
    text: str
    word: str = ""
    frame: Literal["box", "bar"] = "box"
    kind: Literal["callout"] = "callout"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table. `bar` draws a share of the column; `status` or `fact` a shape."""

    text: str
    bar: float | None = None
    status: Status | None = None
    fact: FactKind | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its share of the free width, or 0 for as wide as its content."""

    title: str
    align: Align = "left"
    share: float = 0.0
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row; `tier` puts that tier's mark at its start, a strong row is a total."""

    cells: tuple[Cell, ...]
    tier: str | None = None
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A captioned table; its head is repeated on every page that it runs over.

    type_size: small for a table that is looked up and not read.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    type_size: Literal["normal", "small"] = "normal"
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Tick:
    """A rule of the axis; without a label where another label stands too near."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Span:
    """A bar from start to end."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of the waterfall: the middle bar carries the label; None is not known."""

    label: str
    tier: str | None
    p50: Span | None
    p95: Span | None
    p99: Span | None
    value: str
    total: bool = False


@dataclass(frozen=True, slots=True)
class LimitLine:
    """A promise across all rows; `row` lifts its label above those of its neighbours."""

    at: float
    label: str
    row: int


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Where the time goes: bars that start where the one before ended, and the limits."""

    caption: str
    alternative: str
    ticks: tuple[Tick, ...]
    bars: tuple[Bar, ...]
    limits: tuple[LimitLine, ...]
    kind: Literal["waterfall"] = "waterfall"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of what is left of a port's rate."""

    label: str
    share: float | None
    value: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class Steps:
    """What a flow gets of its port, step by step."""

    caption: str
    alternative: str
    steps: tuple[Step, ...]
    kind: Literal["steps"] = "steps"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of the design, fitted to a page of its own where it is large."""

    caption: str
    picture: Picture
    kind: Literal["drawing"] = "drawing"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one pair a line."""

    pairs: tuple[tuple[str, str], ...]
    kind: Literal["facts"] = "facts"


Block = Paragraph | Heading | Callout | Table | Waterfall | Steps | Drawing | Facts


@dataclass(frozen=True, slots=True)
class Section:
    """A numbered part of the review, on a page of its own or right after the one before."""

    title: str
    blocks: tuple[Block, ...]
    new_page: bool = True


@dataclass(frozen=True, slots=True)
class Cover:
    """The title page."""

    title: str
    subtitle: str
    status: str
    story: str
    facts: tuple[tuple[str, str], ...]
    approvals: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Review:
    """A whole design review. `date` is the title block's (year, month, day), never the clock's."""

    title: str
    header: str
    footer_strong: str
    footer: str
    author: str
    date: tuple[int, int, int] | None
    cover: Cover
    sections: tuple[Section, ...]
