"""The end of a review: everything assumed, guessed or unknown, its sources, and the words."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from designer.analysis.results import Assumption, FactKind, Results
from designer.model.units import number
from designer.report.blocks import (
    Block,
    Cell,
    Column,
    Facts,
    Heading,
    Paragraph,
    Row,
    Section,
    Table,
)
from designer.report.glossary import GLOSSARY
from designer.report.words import Names, plural

_UNITS: Final = {
    "us": "µs", "ms": "ms", "s": "s", "km": "km", "gbps": "Gb/s", "bytes": "bytes", "kw": "kW",
    "w": "W", "usd": "USD", "gb": "GB", "tb": "TB", "pct": "%",
}  # fmt: skip
"""Units by how the names of fields end."""

_KINDS: Final[tuple[tuple[FactKind, str, str], ...]] = (
    ("unknown", "Unknown", "Figures that need these say “at least”."),
    ("guessed", "Guessed", "Nobody gave these; they are the program's guesses."),
    ("catalogue", "From the catalogue", "Published figures, each with its source."),
    ("derived", "Derived", "Worked out from other values of the design."),
    ("measured", "Measured", "Taken from measurements that the project has imported."),
    ("given", "Given", "Set in the design and worth naming here."),
)


def assumptions(results: Results, names: Names, missing: Sequence[str]) -> Section:
    """Every value that nobody gave, by kind, and the sources; none is left out."""
    return Section("Assumptions, guesses, unknowns", tuple(_assumed(results, names, missing)))


def _assumed(results: Results, names: Names, missing: Sequence[str]) -> Iterable[Block]:
    settings = results.settings
    yield Facts(
        (
            ("Program", results.program),
            ("Design", results.content),
            ("Scenario and year", f"{settings.scenario or 'baseline'}, {settings.year or 'now'}"),
            ("Percentiles", ", ".join(f"p{number(level, 6)}" for level in settings.percentiles)),
            ("Between classes", settings.class_model),
            ("Seed", str(settings.seed)),
        )
    )
    if missing:
        yield Paragraph(
            f"{plural(len(missing), 'character')} of names in this design cannot be set with the "
            "fonts of the program and stand here as a box.",
            "note",
        )
    if not results.assumptions:
        yield Paragraph("Every value that the results rest on was given in the design.")
        return
    for kind, title, remark in _KINDS:
        rows = [each for each in results.assumptions if each.kind == kind]
        if rows:
            yield Heading(f"{title} ({len(rows):,})")
            yield _table(rows, remark, names)
    yield from _sources(results.assumptions)


def _table(rows: Sequence[Assumption], caption: str, names: Names) -> Table:
    return Table(
        caption,
        (
            Column("Of what", share=1.8), Column("Field", share=1.6), Column("Value", "right"),
            Column("Source or reason", share=2.6),
        ),
        tuple(
            Row((Cell(names.several(elements, len(elements))), *map(Cell, words)))
            for words, elements in _alike(rows).items()
        ),
    )  # fmt: skip


def _alike(rows: Sequence[Assumption]) -> Mapping[tuple[str, str, str], list[str]]:
    """Elements by what is assumed of them: field, value and source in words."""
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for each in rows:
        field, unit = field_words(each.field)
        found[field, _value(each, unit), each.source].append(each.element)
    return found


def field_words(field: str) -> tuple[str, str]:
    """A field's name in words, and the unit that its name ends in: "forwarding", "µs"."""
    words = field.replace(".", ", ").replace("_", " ")
    for ending, unit in _UNITS.items():
        if words.endswith(f" {ending}"):
            return words.removesuffix(f" {ending}"), unit
    return words, ""


def _value(each: Assumption, unit: str) -> str:
    if each.value is None:
        return "unknown"
    if isinstance(each.value, bool):
        return "yes" if each.value else "no"
    if isinstance(each.value, int | float):
        return f"{number(each.value, 4)} {unit}".rstrip()
    return each.value


def _sources(found: Sequence[Assumption]) -> Iterable[Block]:
    counts = Counter(each.source for each in found if each.source and each.kind == "catalogue")
    if counts:
        yield Heading("Sources")
        yield Table(
            "Published sources, and how many values rest on each.",
            (Column("Source", share=5), Column("Values", "right")),
            tuple(
                Row((Cell(source), Cell(f"{count:,}"))) for source, count in sorted(counts.items())
            ),
        )


def glossary() -> Section:
    """What the words of a review mean."""
    return Section("Glossary", (Facts(GLOSSARY),), new_page=False)
