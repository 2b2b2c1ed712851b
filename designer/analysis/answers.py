"""What a service's users see: TTFT, ITL, task time, their budget, the verdict on each SLO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from immutables import Map

from designer.analysis.clock import Clock
from designer.analysis.demand import Plan
from designer.analysis.facts import Ledger
from designer.analysis.gaps import Gaps, gaps_of
from designer.analysis.latency_algebra import either
from designer.analysis.results import (
    BudgetRow,
    ErrorBandResult,
    Figure,
    ServiceResult,
    SloResult,
    UserSite,
    VerdictWord,
)
from designer.analysis.timed import CannotTime, Timed
from designer.analysis.verdict import Band, probability_of_meeting, verdict
from designer.analysis.workflow import Generate, Part, leaves
from designer.model.kinds import PERCENTILES
from designer.model.services import Service, Slo

WORST: Final = 0.95
"""The percentile by which the worst user site is chosen."""

BAND_FACTORS: Final = (0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.2, 3.5, 6.0)
"""GPU errors at which the whole is computed; between them it is interpolated."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Requests that are alike but for the part that each of them takes; shares add up to 1."""

    clock: Clock
    ways: tuple[tuple[float, Part], ...]

    def timed(self) -> Timed:
        """The latency of one of them, divided among segments. Raises CannotTime."""
        each = [(share, self.clock.time(part)) for share, part in self.ways]
        if len(each) == 1:
            return each[0][1]
        missing = tuple({name: None for _, one in each for name in one.missing})
        return Timed(either([(share, one.latency) for share, one in each]), missing)

    def percentile(self, level: float, gpu_factor: float) -> float:
        """A percentile in ms when GPU times are off by that factor. Raises CannotTime."""
        each = [(share, self.clock.plain(part, gpu_factor)) for share, part in self.ways]
        latency = each[0][1] if len(each) == 1 else either(each)
        return latency.percentile(level)


@dataclass(frozen=True, slots=True)
class Times:
    """One population's times. None with a reason in `refused`: there is no figure."""

    users: str
    per_s: float
    deployments: tuple[str, ...]
    first: Mixture | None
    whole: Mixture | None
    gaps: Gaps | None
    engines: tuple[str, ...]
    refused: str


def times_of(clock: Clock, plans: Sequence[Plan]) -> Times:
    """The times of one service for one population, over the pools that serve it."""
    users = plans[0].users
    per_s = sum(plan.requests_per_s for plan in plans)
    deployments = tuple(sorted({plan.deployment for plan in plans if plan.deployment}))
    refused = next((plan.refused for plan in plans if plan.request is None), "")
    engines = tuple(sorted({clock.design.deployments[key].engine for key in deployments}))
    if refused:
        return Times(users, per_s, deployments, None, None, None, engines, refused)
    try:
        first = _mixed(
            clock, [(plan.share, plan.request.to_first_token) for plan in plans if plan.request]
        )
        whole = _mixed(clock, [(plan.share, plan.request.whole) for plan in plans if plan.request])
        for mixture in filter(None, (first, whole)):
            mixture.timed()
    except CannotTime as error:
        return Times(users, per_s, deployments, None, None, None, engines, str(error))
    return Times(
        users, per_s, deployments, first, whole, gaps_of(clock, users, _pools(plans)), engines, ""
    )


def _pools(plans: Sequence[Plan]) -> list[tuple[float, str]]:
    """Deployments whose tokens the users see, with their share of the requests."""
    seen: dict[str, float] = {}
    for plan in plans:
        if plan.request is None:
            continue
        last = [leaf for leaf, _ in leaves(plan.request.whole) if isinstance(leaf, Generate)]
        if last:
            seen[last[-1].deployment] = seen.get(last[-1].deployment, 0.0) + plan.share
    return [(share, key) for key, share in sorted(seen.items())]


def _mixed(clock: Clock, ways: Sequence[tuple[float, Part | None]]) -> Mixture | None:
    known = [(share, part) for share, part in ways if part is not None]
    total = sum(share for share, _ in known)
    return Mixture(clock, tuple((share / total, part) for share, part in known)) if known else None


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
    bands: Callable[[str, str], Band],
    percentiles: Sequence[float],
    ledger: Ledger,
) -> ServiceResult:
    """A service's answers; its figures are those of the worst user site."""
    levels = tuple(
        sorted({*percentiles, *(slo.percentile for slo in service.slos)} - set(PERCENTILES))
    )
    for times in all_times:
        if times.refused:
            ledger.note(service.id, f"served to {times.users}", None, "unknown", times.refused)
    worst = max(all_times, key=_badness) if all_times else None
    first = worst.first.timed() if worst and worst.first else None
    whole = worst.whole.timed() if worst and worst.whole else None
    _note_missing(service, all_times, ledger)
    return ServiceResult(
        id=service.id,
        name=service.name or service.id,
        slo=tuple(_slo(slo, all_times, bands) for slo in service.slos),
        ttft_ms=figure(first, levels),
        itl_ms=worst.gaps.figure(levels) if worst and worst.gaps else Figure(),
        task_ms=figure(whole, levels),
        worst_site=worst.users if worst else None,
        served_from=tuple(sorted({key for times in all_times for key in times.deployments})),
        user_sites=tuple(_user_site(times, levels) for times in all_times),
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


def _user_site(times: Times, levels: Sequence[float]) -> UserSite:
    return UserSite(
        users=times.users,
        requests_per_s=times.per_s,
        deployments=times.deployments,
        distance_km=None,
        ttft_ms=figure(times.first.timed() if times.first else None, levels),
        itl_ms=times.gaps.figure(levels) if times.gaps else Figure(),
        task_ms=figure(times.whole.timed() if times.whole else None, levels),
    )


def _bands(worst: Times | None, bands: Callable[[str, str], Band]) -> tuple[ErrorBandResult, ...]:
    if worst is None:
        return ()
    found = []
    for engine in worst.engines:
        for metric in ("ttft", "itl"):
            band = bands(engine, metric)
            values = {f"p{level}": band.quantile(level / 100) for level in (5, 25, 50, 75, 95)}
            found.append(ErrorBandResult(metric=metric, engine=engine, **values))
    return tuple(found)


def _slo(slo: Slo, all_times: Sequence[Times], bands: Callable[[str, str], Band]) -> SloResult:
    """The verdict on one SLO: for the worst site, or for all requests together."""
    judged = [_judged(slo, times, bands) for times in all_times]
    refused = [
        each
        for each in judged
        if each.word in ("cannot_be_served", "breaks") and each.value is None
    ]
    if not judged:
        return _slo_result(slo, _Judged(None, None, "unknown", ""))
    if refused:
        return _slo_result(slo, refused[0])
    if slo.whose == "all_requests":
        return _slo_result(slo, _together(slo, all_times, bands))
    worst = max(judged, key=lambda each: (each.word == "unknown", each.value or 0.0))
    return _slo_result(slo, worst)


@dataclass(frozen=True, slots=True)
class _Judged:
    value: float | None
    probability: float | None
    word: VerdictWord
    settles: str


def _slo_result(slo: Slo, judged: _Judged) -> SloResult:
    return SloResult(
        metric=slo.metric,
        percentile=slo.percentile,
        limit_ms=slo.limit_ms,
        whose=slo.whose,
        value_ms=judged.value,
        verdict=judged.word,
        probability=judged.probability,
        headroom_ms=None if judged.value is None else slo.limit_ms - judged.value,
        settles=judged.settles,
    )


def _judged(slo: Slo, times: Times, bands: Callable[[str, str], Band]) -> _Judged:
    if times.refused:
        return _refusal(times)
    level = slo.percentile / 100
    if slo.metric in ("itl", "tpot"):
        return _judged_gaps(slo, times, bands, level)
    mixture = times.first if slo.metric == "ttft" else times.whole
    if mixture is None:
        return _Judged(None, None, "unknown", "")
    return _weighed(
        slo, mixture, level, bands(times.engines[0] if times.engines else "any", "ttft")
    )


def _refusal(times: Times) -> _Judged:
    """No steady state breaks every limit; no way or pool cannot be served at all."""
    grows = "grows" in times.refused
    unknown = "not known" in times.refused
    word: VerdictWord = "breaks" if grows else "unknown" if unknown else "cannot_be_served"
    return _Judged(None, 0.0 if grows else None, word, "")


def _judged_gaps(
    slo: Slo, times: Times, bands: Callable[[str, str], Band], level: float
) -> _Judged:
    if times.gaps is None:
        return _Judged(None, None, "unknown", "")
    gaps = times.gaps if slo.metric == "itl" else times.gaps.per_request()
    value = gaps.percentile(level)
    band = bands(times.engines[0] if times.engines else "any", "itl")
    probability = probability_of_meeting(
        slo.limit_ms, lambda factor: gaps.percentile(level, factor), band
    )
    return _Judged(value, probability, verdict(probability), _settles(probability))


def _weighed(slo: Slo, mixture: Mixture, level: float, band: Band) -> _Judged:
    nominal = mixture.timed()
    value = nominal.latency.percentile(level)
    points = [mixture.percentile(level, factor) for factor in BAND_FACTORS]

    def percentile(factor: float) -> float:
        low = points[0] + (points[1] - points[0]) / (BAND_FACTORS[1] - BAND_FACTORS[0]) * (
            factor - BAND_FACTORS[0]
        )
        high = points[-1] + (points[-1] - points[-2]) / (BAND_FACTORS[-1] - BAND_FACTORS[-2]) * (
            factor - BAND_FACTORS[-1]
        )
        if factor < BAND_FACTORS[0]:
            return max(0.0, low)
        return high if factor > BAND_FACTORS[-1] else float(np.interp(factor, BAND_FACTORS, points))

    probability = probability_of_meeting(slo.limit_ms, percentile, band)
    if nominal.missing:
        # What is missing can only add time: a limit already broken stays broken.
        word = verdict(probability)
        broken = word in ("unlikely", "breaks")
        return _Judged(
            value,
            probability if broken else None,
            word if broken else "unknown",
            nominal.missing[0],
        )
    return _Judged(value, probability, verdict(probability), _settles(probability))


def _settles(probability: float) -> str:
    """An open verdict is settled by measuring what its band is about."""
    return "GPU times measured on the service's own engine" if 0.05 < probability < 0.95 else ""


def _together(slo: Slo, all_times: Sequence[Times], bands: Callable[[str, str], Band]) -> _Judged:
    """One distribution over all requests, each population by its rate."""
    total = sum(times.per_s for times in all_times)
    engine = next((engine for times in all_times for engine in times.engines), "any")
    if slo.metric in ("itl", "tpot") or total <= 0:
        judged = [_judged(slo, times, bands) for times in all_times]
        return max(judged, key=lambda each: each.value or 0.0)
    mixtures = [
        (times.per_s / total, times.first if slo.metric == "ttft" else times.whole)
        for times in all_times
    ]
    ways = [
        (share * part_share, part)
        for share, mixture in mixtures
        if mixture is not None
        for part_share, part in mixture.ways
    ]
    if any(mixture is None for _, mixture in mixtures):
        return _Judged(None, None, "unknown", "")
    clock = next(mixture.clock for _, mixture in mixtures if mixture is not None)
    return _weighed(slo, Mixture(clock, tuple(ways)), slo.percentile / 100, bands(engine, "ttft"))
