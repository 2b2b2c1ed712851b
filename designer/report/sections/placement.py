"""Placement: where models should live, why every other site lost, and scenarios beside it."""

from collections.abc import Iterable
from typing import Final

from designer.analysis.results import Placement, Results, VerdictWord
from designer.drawing.captions import accelerator_words as device
from designer.report.blocks import Block, Cell, Column, Heading, Paragraph, Row, Section, Table
from designer.report.words import VERDICTS, Names, percent, prose_ms, signed_ms, usd

_OUTCOMES: Final = {
    "chosen": "chosen",
    "out_of_reach": "out of reach",
    "out_of_region": "out of region",
    "no_capacity": "no capacity",
    "does_not_fit": "does not fit",
    "dearer": "dearer",
    "unknown": "unknown",
}
_STATUS: Final = {
    "optimal": "The plan is proven to be the best one.",
    "feasible": "The plan meets every promise; it is not proven to be the best one.",
    "infeasible": "No plan meets every promise.",
    "not_asked": "No placement was computed.",
    "unknown": "Whether a plan exists is unknown.",
}


def section(placement: Placement, names: Names) -> Section:
    """The recommendation and the reasons."""
    return Section("Placement", tuple(_blocks(placement, names)), new_page=False)


def recommendation(placement: Placement, names: Names) -> str:
    """The plan in one or two sentences."""
    if not placement.replicas:
        return " ".join(part for part in (_STATUS[placement.status], placement.message) if part)
    where = names.several((plan.site for plan in placement.replicas), 4)
    gpus = sum(plan.gpus for plan in placement.replicas)
    parts = [f"Host at {where}: {gpus:,} GPUs in all."]
    if placement.objective_usd_per_month is not None:
        parts.append(f"{usd(placement.objective_usd_per_month, 'a month')}.")
    return " ".join(parts)


def _blocks(placement: Placement, names: Names) -> Iterable[Block]:
    said = [recommendation(placement, names)]
    if placement.replicas:
        said += [_STATUS[placement.status], placement.message]
    if placement.proven_gap is not None and placement.proven_gap >= 0.0005:
        said.append(f"Nothing better by more than {percent(placement.proven_gap, 1)} exists.")
    yield Paragraph(" ".join(part for part in said if part))
    if placement.replicas:
        yield _plan(placement, names)
    if placement.reasons:
        yield Heading("Why not elsewhere")
        yield _reasons(placement, names)


def _plan(placement: Placement, names: Names) -> Table:
    return Table(
        "Recommended replicas.",
        (
            Column("Service", share=1.6), Column("Site", share=1.2), Column("Model"),
            Column("GPU"), Column("TP", "right"), Column("Replicas", "right", strong=True),
            Column("GPUs", "right"), Column("USD a month", "right"), Column("Serves", share=1.4),
        ),
        tuple(
            Row(
                (
                    Cell("; ".join(map(names.of, plan.services))),
                    Cell(names.of(plan.site)), Cell(plan.model),
                    Cell(device(plan.accelerator)), Cell(str(plan.tensor_parallel)),
                    Cell(f"{plan.replicas:,}"), Cell(f"{plan.gpus:,}"),
                    Cell(usd(plan.usd_per_month).removeprefix("USD ")),
                    Cell(names.several(plan.users, 3)),
                )
            )
            for plan in placement.replicas
        ),
    )  # fmt: skip


def _reasons(placement: Placement, names: Names) -> Table:
    """Every site and service, the chosen ones first within a service."""
    ordered = sorted(
        placement.reasons, key=lambda r: (names.of(r.service), r.outcome != "chosen", r.site_name)
    )
    return Table(
        "Every candidate site and what came of it.",
        (
            Column("Service", share=1.4), Column("Site", share=1.2), Column("Outcome"),
            Column("Why", share=3),
        ),
        tuple(
            Row(
                (
                    Cell(names.of(reason.service)), Cell(reason.site_name or reason.site),
                    Cell(_OUTCOMES[reason.outcome]), Cell(reason.message),
                ),
                strong=reason.outcome == "chosen",
            )
            for reason in ordered
        ),
    )  # fmt: skip


def scenarios(results: Results, names: Names) -> Section | None:
    """Stresses against the baseline; None where none was computed."""
    if not results.scenarios:
        return None
    rows = [
        Row(
            (
                Cell(found.name or found.id),
                Cell(names.of(found.service)),
                Cell(prose_ms(found.ttft_p95_ms)),
                Cell(signed_ms(found.ttft_p95_change_ms)),
                Cell(prose_ms(found.task_p95_ms)),
                Cell(signed_ms(found.task_p95_change_ms)),
                Cell(_word(found.verdict), status=found.verdict),
                Cell(names.bottleneck(found.bottleneck)),
            )
        )
        for found in results.scenarios
    ]
    table = Table(
        "Scenarios against the baseline: p95 of the time to first token and of the task time.",
        (
            Column("Scenario", share=1.4), Column("Service", share=1.4),
            Column("first token", "right", strong=True), Column("change", "right"),
            Column("task", "right"), Column("change", "right"), Column("Verdict"),
            Column("Bottleneck", share=1.1),
        ),
        tuple(rows),
    )  # fmt: skip
    return Section("Scenarios", (table,), new_page=False)


def _word(word: VerdictWord) -> str:
    return VERDICTS[word]
