"""The one page that everybody reads: verdicts, the findings that matter, the recommendation."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from designer.analysis.results import Results, ServiceResult, SloResult
from designer.drawing.text import fitted
from designer.report.blocks import Block, Cell, Column, Heading, Paragraph, Row, Section, Table
from designer.report.sections.findings import callout, worst_first
from designer.report.sections.placement import recommendation
from designer.report.words import (
    VERDICTS,
    WORST_FIRST,
    Names,
    chance,
    plural,
    promise,
    prose_ms,
    signed_ms,
)

TITLE: Final = "Summary"
MOST_VERDICTS: Final = 10
MOST_FINDINGS: Final = 3
_NAME_PX: Final = 240.0
_LINE_PX: Final = 1000.0
"""Room for two lines, so that the summary keeps to its page; the sections have the whole text."""


def section(results: Results, names: Names) -> Section:
    """One page: the worst verdicts first, three findings, and what to do."""
    return Section(
        TITLE, (*_verdicts(results), *_findings(results, names), *_advice(results, names))
    )


def _verdicts(results: Results) -> Iterable[Block]:
    pairs = [(service, slo) for service in results.services for slo in service.slo]
    if not results.services:
        yield Paragraph("The design has no service, so there is no promise to judge yet.")
        return
    if not pairs:
        yield Paragraph(
            f"{plural(len(results.services), 'service')}, and no SLO is set for any of them."
        )
        return
    ordered = sorted(pairs, key=lambda pair: WORST_FIRST.index(pair[1].verdict))
    yield Paragraph(_count(ordered))
    yield Table(
        "Each promise and how likely it is kept, the least likely first.",
        (
            Column("Service", share=1.5), Column("Promise", share=2.2),
            Column("Predicted", "right", strong=True), Column("Verdict"),
            Column("Probability", "right"),
        ),
        tuple(_row(service, slo) for service, slo in ordered[:MOST_VERDICTS]),
    )  # fmt: skip
    rest = ordered[MOST_VERDICTS:]
    if rest:
        words = sorted({VERDICTS[slo.verdict].lower() for _, slo in rest})
        yield Paragraph(f"{len(rest)} more in the latency budget: {', '.join(words)}.", "note")


def _count(pairs: list[tuple[ServiceResult, SloResult]]) -> str:
    kept = sum(1 for _, slo in pairs if slo.verdict in ("meets", "likely"))
    unknown = sum(1 for _, slo in pairs if slo.verdict == "unknown")
    text = f"{kept} of {plural(len(pairs), 'promise')} met or likely to be met"
    return f"{text}, {unknown} unknown." if unknown else f"{text}."


def _row(service: ServiceResult, slo: SloResult) -> Row:
    figure = {"ttft": service.ttft_ms, "itl": service.itl_ms, "task": service.task_ms}.get(
        slo.metric
    )
    low = figure is not None and figure.at_least
    value = prose_ms(slo.value_ms)
    return Row(
        (
            Cell(_short(service.name or service.id, _NAME_PX)),
            Cell(promise(slo)),
            Cell(f"≥ {value}" if low and slo.value_ms is not None else value),
            Cell(VERDICTS[slo.verdict], status=slo.verdict),
            Cell("" if slo.probability is None else chance(slo.probability)),
        )
    )


def _findings(results: Results, names: Names) -> Iterable[Block]:
    ordered = worst_first(results.findings)
    yield Heading("Findings that matter")
    if not ordered:
        yield Paragraph("The rule check has nothing to object.")
        return
    for finding in ordered[:MOST_FINDINGS]:
        whole = callout(finding, names)
        title, text = _short(whole.title, _LINE_PX), _short(whole.text, _LINE_PX)
        yield replace(whole, title=title, text=text)
    rest = len(ordered) - MOST_FINDINGS
    if rest > 0:
        yield Paragraph(f"{plural(rest, 'more finding')} in the section on findings.", "note")


def _short(text: str, most_px: float) -> str:
    """The text as far as it goes into that width of 12 px type."""
    return fitted(text, most_px, 12.0, 600)


def _advice(results: Results, names: Names) -> Iterable[Block]:
    yield Heading("Recommendation")
    if results.placement.status != "not_asked":
        yield Paragraph(_short(recommendation(results.placement, names), 2 * _LINE_PX))
    best = [
        (service, change)
        for service in results.services
        for change in service.sensitivity
        if not change.settles and change.gain_ms is not None and change.gain_ms < 0
    ]
    best.sort(key=lambda pair: pair[1].gain_ms or 0.0)
    for service, change in best[:2]:
        name = _short(service.name or service.id, _NAME_PX)
        gain = signed_ms(change.gain_ms)
        yield Paragraph(f"{name}: {_short(change.change, _LINE_PX)} ({gain} at p95).")
    unknown = sum(1 for each in results.assumptions if each.kind == "unknown")
    if unknown:
        yield Paragraph(
            f"Find out what is unknown first: {plural(unknown, 'value')}, all listed at the end."
        )
    elif results.placement.status == "not_asked" and not best:
        yield Paragraph("Nothing to change was found.")
