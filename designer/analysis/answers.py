"""What a service's users see: TTFT, ITL, task time, their budget, the verdict on each SLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from immutables import Map

from designer.analysis.clock import Clock
from designer.analysis.facts import Ledger
from designer.analysis.judging import Bands, slo_result
from designer.analysis.objections import called
from designer.analysis.results import (
    BudgetRow,
    ErrorBandResult,
    Figure,
    ServiceResult,
    UserSite,
)
from designer.analysis.timed import Timed
from designer.analysis.times import Times
from designer.model.geodesy import distance_km
from designer.model.kinds import PERCENTILES
from designer.model.references import position_of
from designer.model.services import Service

WORST: Final = 0.95
"""The percentile by which the worst user site is chosen."""


def figure(timed: Timed | None, levels: Sequence[float]) -> Figure:
    """Percentiles and mean of a latency; all null where there is none."""
    if timed is None:
        return Figure()
    latency = timed.latency
    return Figure(
        p50=latency.percentile(0.50),
        p95=latency.percentile(0.95),
        p99=latency.percentile(0.99),
        mean=latency.mean_ms,
        at_least=bool(timed.missing),
        others=Map({_label(level): latency.percentile(level / 100) for level in levels}),
    )


def _label(level: float) -> str:
    return f"p{level:g}"


def budget(clock: Clock, timed: Timed | None) -> tuple[BudgetRow, ...]:
    """Each segment's share of p50, p95 and p99; the columns add up to the figures."""
    if timed is None:
        return ()
    columns = [timed.latency.shares(level) for level in (0.50, 0.95, 0.99)]
    rows = []
    for name, segment in clock.names.segments.items():
        values = [column.get(name, 0.0) for column in columns]
        if not any(values):
            continue
        rows.append(
            BudgetRow(
                segment=segment.name,
                tier=segment.tier,
                element=segment.element,
                kind=segment.kind,
                source=segment.source,
                p50_ms=values[0],
                p95_ms=values[1],
                p99_ms=values[2],
            )
        )
    return tuple(rows)


def service_result(
    clock: Clock,
    service: Service,
    all_times: Sequence[Times],
    bands: Bands,
    percentiles: Sequence[float],
    ledger: Ledger,
) -> ServiceResult:
    """A service's answers; its figures are those of the worst user site."""
    levels = tuple(
        sorted({*percentiles, *(slo.percentile for slo in service.slos)} - set(PERCENTILES))
    )
    for times in all_times:
        if times.refused:
            users = called(clock.design, times.users)
            ledger.note(service.id, f"served to {users}", None, "unknown", times.refused)
    worst = max(all_times, key=_badness) if all_times else None
    first = worst.first.timed() if worst and worst.first else None
    whole = worst.whole.timed() if worst and worst.whole else None
    _note_missing(service, all_times, ledger)
    return ServiceResult(
        id=service.id,
        name=service.name or service.id,
        slo=tuple(slo_result(slo, all_times, bands) for slo in service.slos),
        ttft_ms=figure(first, levels),
        itl_ms=worst.gaps.figure(levels) if worst and worst.gaps else Figure(),
        task_ms=figure(whole, levels),
        worst_site=worst.users if worst else None,
        served_from=tuple(sorted({key for times in all_times for key in times.deployments})),
        user_sites=tuple(_user_site(clock, times, levels) for times in all_times),
        budget=budget(clock, first),
        task_budget=budget(clock, whole),
        stall_probability=(
            worst.gaps.beyond(service.stall_limit_ms)
            if worst and worst.gaps and service.stall_limit_ms
            else None
        ),
        error_bands=_bands(worst, bands),
    )


def _badness(times: Times) -> tuple[bool, float]:
    """Sites without a figure are worst, then the highest p95 to the first token, or of the task."""
    mixture = times.first or times.whole
    if mixture is None:
        return True, times.per_s
    return False, mixture.timed().latency.percentile(WORST)


def _note_missing(service: Service, all_times: Sequence[Times], ledger: Ledger) -> None:
    for times in all_times:
        for mixture in filter(None, (times.first, times.whole)):
            for name in mixture.timed().missing:
                ledger.note(
                    service.id, name, None, "unknown", "left out, so the figures say at least"
                )


def _user_site(clock: Clock, times: Times, levels: Sequence[float]) -> UserSite:
    return UserSite(
        users=times.users,
        requests_per_s=times.per_s,
        deployments=times.deployments,
        distance_km=_distance_km(clock, times),
        ttft_ms=figure(times.first.timed() if times.first else None, levels),
        itl_ms=times.gaps.figure(levels) if times.gaps else Figure(),
        task_ms=figure(times.whole.timed() if times.whole else None, levels),
    )


def _distance_km(clock: Clock, times: Times) -> float | None:
    """Great circle from the users to the farthest pool that serves them; None where unplaced."""
    design = clock.design
    here = position_of(design, times.users)
    homes = [position_of(design, design.deployments[key].node) for key in times.deployments]
    known = [distance_km(*here, *home) for home in homes if here and home]
    return max(known) if known and len(known) == len(homes) else None


def _bands(worst: Times | None, bands: Bands) -> tuple[ErrorBandResult, ...]:
    if worst is None:
        return ()
    found = []
    for engine in worst.engines:
        for metric in ("ttft", "itl"):
            band = bands(engine, metric)
            values = {f"p{level}": band.quantile(level / 100) for level in (5, 25, 50, 75, 95)}
            found.append(ErrorBandResult(metric=metric, engine=engine, **values))
    return tuple(found)
