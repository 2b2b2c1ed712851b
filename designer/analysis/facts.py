"""What a figure rests on: a value with its kind and source, and a list of all assumptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from designer.analysis.results import Assumption, FactKind, Scalar
from designer.model.base import Item

WEAKNESS: dict[FactKind, int] = {
    "given": 0,
    "measured": 1,
    "catalogue": 2,
    "derived": 3,
    "guessed": 4,
    "unknown": 5,
}
"""How weak a ground is; the weakest of several is what a sum of them rests on."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A value in the unit of the field it stands for; None is not known."""

    value: float | None
    kind: FactKind
    source: str = ""


def weakest(kinds: Iterable[FactKind]) -> FactKind:
    """The weakest of some grounds; given where there are none."""
    return max(kinds, key=WEAKNESS.__getitem__, default="given")


def stated(item: Item, path: str, value: float | None) -> Fact:
    """What a design says of one field: given, unless its provenance says otherwise."""
    said = item.provenance.get(path)
    if value is None:
        return Fact(None, "unknown", said.source if said else "")
    if said is None:
        return Fact(value, "given", "design")
    kind: FactKind = said.kind if said.kind in WEAKNESS else "given"
    return Fact(value, kind, said.source or said.note)


@dataclass(slots=True)
class Ledger:
    """Collects, during one analysis, every value that nobody gave: one line for each place."""

    _lines: dict[tuple[str, str], Assumption] = field(default_factory=dict)

    def note(self, element: str, path: str, value: Scalar, kind: FactKind, source: str) -> None:
        """Writes a value down, unless it was simply given. The first entry for a place stays."""
        if kind != "given":
            self._lines.setdefault(
                (element, path),
                Assumption(element=element, field=path, value=value, kind=kind, source=source),
            )

    def fact(self, element: str, path: str, fact: Fact) -> Fact:
        """Writes a fact down and hands it back."""
        self.note(element, path, fact.value, fact.kind, fact.source)
        return fact

    def lines(self) -> tuple[Assumption, ...]:
        """All entries: unknown and guessed ones first, then by element and field."""
        return tuple(
            sorted(
                self._lines.values(),
                key=lambda line: (-WEAKNESS[line.kind], line.element, line.field),
            )
        )
