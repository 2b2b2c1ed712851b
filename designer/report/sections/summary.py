"""The one page that everybody reads: verdicts, the findings that matter, the recommendation."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from designer.analysis.results import Results, ServiceResult, SloResult
from designer.drawing.captions import accelerator_words
from designer.drawing.text import fitted
from designer.report.blocks import Block, Cell, Column, Heading, Paragraph, Row, Section, Table
from designer.report.sections.findings import callout, worst_first
from designer.report.sections.placement import recommendation
from designer.report.words import (
    VERDICTS,
    WORST_FIRST,
    Names,
    capital,
    chance,
    percent,
    plural,
    promise,
    prose_ms,
    signed_ms,
    usd,
)

TITLE: Final = "Summary"
MOST_VERDICTS: Final = 10
MOST_FINDINGS: Final = 3
MOST_STRESSES: Final = 3
MOST_ROWS: Final = 12
"""Of both tables together; the plan gives way to the verdicts."""
_NAME_PX: Final = 240.0
_LINE_PX: Final = 1000.0
"""Room for two lines, so that the summary keeps to its page; the sections have the whole text."""


def section(results: Results, names: Names) -> Section:
    """One page: the worst verdicts first, three findings, and what to do."""
    return Section(
        TITLE,
        (
            *_verdicts(results),
            *_stress(results, names),
            *_findings(results, names),
            *_advice(results, names),
        ),
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
    yield from _room(pairs)
    rest = ordered[MOST_VERDICTS:]
    if rest:
        words = sorted({VERDICTS[slo.verdict].lower() for _, slo in rest})
        yield Paragraph(f"{len(rest)} more in the latency budget: {', '.join(words)}.", "note")


def _room(pairs: list[tuple[ServiceResult, SloResult]]) -> Iterable[Block]:
    """The promise with the least room left, of those whose time is known."""
    known = [pair for pair in pairs if pair[1].headroom_ms is not None]
    if known:
        service, slo = min(known, key=lambda pair: (pair[1].headroom_ms or 0.0) / pair[1].limit_ms)
        left = slo.headroom_ms or 0.0
        share = percent(abs(left) / slo.limit_ms)
        side = "left" if left >= 0 else "too much"
        name = _short(service.name or service.id, _NAME_PX)
        yield Paragraph(
            f"Least room: {name}, {promise(slo)}, {prose_ms(abs(left))} {side} ({share})."
        )


def _stress(results: Results, names: Names) -> Iterable[Block]:
    """The scenarios under which promises are in doubt, the worst first."""
    doubt = [found for found in results.scenarios if found.verdict not in ("meets", "likely")]
    doubt.sort(key=lambda found: WORST_FIRST.index(found.verdict))
    by_name: dict[str, list[str]] = {}
    for found in doubt:
        said = f"{names.of(found.service)} {VERDICTS[found.verdict].lower()}"
        by_name.setdefault(found.name or found.id, []).append(said)
    for name, words in list(by_name.items())[:MOST_STRESSES]:
        yield Paragraph(_short(f"Under “{name}”: {', '.join(words)}.", _LINE_PX))
    if results.scenarios and not doubt:
        count = plural(len({found.id for found in results.scenarios}), "scenario")
        yield Paragraph(f"Every promise holds, or is likely to, in {count}.")


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
    excluded = sum(1 for finding in results.findings if finding.excluded is not None)
    if not ordered:
        accepted = (
            f" beyond {plural(excluded, 'finding')} excluded with a reason" if excluded else ""
        )
        yield Paragraph(f"The rule check has nothing to object{accepted}.")
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
    judged = sum(len(service.slo) for service in results.services)
    room = MOST_ROWS - min(judged, MOST_VERDICTS)
    if results.placement.replicas and room > 2:
        yield _plan(results, names, room)
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
        yield Paragraph(f"{name}: {_short(capital(change.change), _LINE_PX)} ({gain} at p95).")
    unknown = sum(1 for each in results.assumptions if each.kind == "unknown")
    if unknown:
        yield Paragraph(
            f"Find out what is unknown first: {plural(unknown, 'value')}, all listed at the end."
        )
    elif results.placement.status == "not_asked" and not best:
        yield Paragraph("Nothing to change was found.")


def _plan(results: Results, names: Names, room: int) -> Table:
    """Where each service should be hosted, beside where the design serves it from."""
    today = {service.id: service.served_from for service in results.services}
    plans = results.placement.replicas
    rest = len(plans) - room
    return Table(
        "What to host where, and where the design serves it from now."
        + (f" {rest} more in the section on placement." if rest > 0 else ""),
        (
            Column("Service", share=1.5), Column("Host at", share=1.5, strong=True),
            Column("GPUs", "right"), Column("USD a month", "right"),
            Column("Served from now", share=2.0),
        ),
        tuple(
            Row(
                (
                    Cell("; ".join(_short(names.of(each), _NAME_PX) for each in plan.services)),
                    Cell(_short(names.of(plan.site), _NAME_PX)),
                    Cell(f"{plan.gpus:,} × {accelerator_words(plan.accelerator)}"),
                    Cell(usd(plan.usd_per_month).removeprefix("USD ")),
                    Cell(
                        "; ".join(
                            dict.fromkeys(
                                _short(names.several(today.get(each, ()), 1), _NAME_PX)
                                for each in plan.services
                            )
                        )
                    ),
                )
            )
            for plan in plans[:room]
        ),
    )  # fmt: skip
