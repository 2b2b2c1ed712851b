"""Findings of the rule check, and those that the project has accepted, with reason and owner."""

from collections.abc import Iterable, Sequence
from typing import Final

from designer.analysis.results import Finding, Severity
from designer.report.blocks import (
    Block,
    Callout,
    Cell,
    Column,
    Heading,
    Paragraph,
    Row,
    Section,
    Table,
)
from designer.report.words import Names, plural

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
WORDS: Final = {"error": "Error", "warning": "Warning", "info": "Info"}


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Findings that nobody has accepted, errors first, in the order of the rule check."""
    open_ones = [finding for finding in findings if finding.excluded is None]
    return sorted(open_ones, key=lambda finding: SEVERITIES.index(finding.severity))


def callout(finding: Finding, names: Names) -> Callout:
    """A finding as a box: what is wrong, where, and what to do."""
    where = names.several(finding.elements, 8)
    parts = (finding.remedy, f"At {where}." if where else "", f"Rule {finding.rule}.")
    text = " ".join(part for part in parts if part)
    return Callout(finding.severity, finding.message, text, WORDS[finding.severity], "bar")


def section(findings: Sequence[Finding], names: Names) -> Section:
    """All findings, then the excluded ones."""
    return Section("Findings", tuple(_blocks(findings, names)))


def _blocks(findings: Sequence[Finding], names: Names) -> Iterable[Block]:
    ordered = worst_first(findings)
    excluded = [finding for finding in findings if finding.excluded is not None]
    if not ordered:
        yield Paragraph("The rule check has nothing to object.")
    for severity in SEVERITIES:
        group = [finding for finding in ordered if finding.severity == severity]
        if group:
            yield Heading(plural(len(group), WORDS[severity].lower(), _many(severity)).capitalize())
        for finding in group:
            yield callout(finding, names)
    yield Heading("Excluded findings")
    if not excluded:
        yield Paragraph("None: every objection of the rule check stands above.")
        return
    yield Table(
        "Accepted by the project, with reason and owner.",
        (
            Column("Rule"), Column("Severity"), Column("Finding", share=2.6),
            Column("Where", share=1.4), Column("Reason and owner", share=2.2),
        ),
        tuple(
            Row(
                (
                    Cell(f.rule), Cell(WORDS[f.severity], status=f.severity), Cell(f.message),
                    Cell(names.several(f.elements, 4)), Cell(f.excluded or ""),
                )
            )
            for f in excluded
        ),
    )  # fmt: skip


def _many(severity: Severity) -> str:
    return "remarks" if severity == "info" else f"{WORDS[severity].lower()}s"
