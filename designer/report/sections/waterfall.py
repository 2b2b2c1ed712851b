"""The waterfall of a latency budget: bars by tier, an axis with round steps, the limits."""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from designer.analysis.results import BudgetRow, ServiceResult, SloResult
from designer.model.kinds import TIERS
from designer.report.blocks import Bar, LimitLine, Span, Tick, Waterfall
from designer.report.words import decimals, ms, percentile, prose_ms, tier_name

PERCENTILE_COLUMNS: Final = ("p50_ms", "p95_ms", "p99_ms")


def by_tier(budget: Sequence[BudgetRow]) -> list[tuple[str, list[BudgetRow]]]:
    """The rows of a budget by tier, in the order of the drawing."""
    present = dict.fromkeys(row.tier for row in budget)
    order: list[str] = [tier for tier in TIERS if tier in present]
    order += [tier for tier in present if tier not in TIERS]
    return [(tier, [row for row in budget if row.tier == tier]) for tier in order]


def parted(rows: Sequence[BudgetRow], least_ms: float) -> tuple[list[BudgetRow], list[BudgetRow]]:
    """The rows that a page shows, and those that round to nothing at every percentile.

    One small row alone is shown: "other" would take its place.
    """
    small = [
        row
        for row in rows
        if all(
            (value := getattr(row, c)) is not None and value < least_ms for c in PERCENTILE_COLUMNS
        )
    ]
    if len(small) < 2:
        return list(rows), []
    return [row for row in rows if row not in small], small


def known_sum(rows: Sequence[BudgetRow], column: str) -> tuple[float | None, bool]:
    """The sum of one column over the rows that know it, and whether some do not."""
    values = [getattr(row, column) for row in rows]
    known = [value for value in values if value is not None]
    return (math.fsum(known) if known else None), len(known) < len(values)


def nice_axis(most: float) -> tuple[float, float]:
    """(end, step) of an axis from 0 that holds `most`: 4 to 9 steps of 1, 2 or 5 times 10^n."""
    if most <= 0:
        return 1.0, 0.25
    power = 10.0 ** math.floor(math.log10(most / 4))
    step = next(
        (size * power for size in (1.0, 2.0, 5.0, 10.0) if most / (size * power) <= 8), power * 20
    )
    return math.ceil(most / step - 1e-9) * step, step


def waterfall(service: ServiceResult) -> Waterfall:
    """Where a service's time to first token goes, with every limit set on it."""
    figure = service.ttft_ms
    slos = [slo for slo in service.slo if slo.metric == "ttft"]
    tiers = by_tier(service.budget)
    columns = PERCENTILE_COLUMNS
    sums = {column: [known_sum(rows, column) for _, rows in tiers] for column in columns}
    ends = {c: list(accumulate(value or 0.0 for value, _ in sums[c])) for c in columns}
    most = max([*(ends[c][-1] for c in columns), *(slo.limit_ms for slo in slos)])
    end, step = nice_axis(most * 1.02)
    limits = _limits(slos, end)
    spans = {c: _spans([v for v, _ in sums[c]], ends[c], end) for c in columns}
    places = decimals(value for value, _ in sums["p95_ms"])
    bars = []
    for index, (tier, _) in enumerate(tiers):
        value, low = sums["p95_ms"][index]
        p50, p95, p99 = (spans[c][index] for c in columns)
        bars.append(Bar(tier_name(tier), tier, p50, p95, p99, ms(value, places, at_least=low)))
    p50, p95, p99 = (Span(0.0, ends[c][-1] / end) if ends[c][-1] > 0 else None for c in columns)
    total = ms(figure.p95, places, at_least=figure.at_least)
    bars.append(Bar("Total", None, p50, p95, p99, total, total=True))
    return Waterfall(
        "Where the time goes, tier by tier; each bar starts where the one before it ends.",
        _spoken(service, bars, slos),
        _ticks(end, step, limits),
        tuple(bars),
        limits,
    )


def _spans(values: Sequence[float | None], ends: Sequence[float], axis: float) -> list[Span | None]:
    return [
        None if value is None else Span(max(0.0, end - value) / axis, end / axis)
        for value, end in zip(values, ends, strict=True)
    ]


def _limits(slos: Sequence[SloResult], axis: float) -> tuple[LimitLine, ...]:
    """Limits from left to right; labels that would touch are lifted to the next row."""
    lines: list[LimitLine] = []
    ends: list[float] = []
    for slo in sorted(slos, key=lambda each: each.limit_ms):
        place = slo.limit_ms / axis
        level = "" if slo.percentile == 95 else f"{percentile(slo.percentile)} "
        row = next((r for r, taken in enumerate(ends) if place - taken > 0.24), len(ends))
        ends[row : row + 1] = [place]
        lines.append(LimitLine(place, f"SLO {level}{prose_ms(slo.limit_ms)}", row))
    return tuple(lines)


def _ticks(end: float, step: float, limits: Sequence[LimitLine]) -> tuple[Tick, ...]:
    count = round(end / step)
    ticks = []
    for index in range(count + 1):
        place = index / count
        hidden = any(
            line.row == 0 and abs(line.at - place) < 0.035 + 0.0055 * len(line.label)
            for line in limits
        )
        label = f"{index * step:g}" + (" ms" if index == count else "")
        ticks.append(Tick(place, "" if hidden else label))
    return tuple(ticks)


def _spoken(service: ServiceResult, bars: Sequence[Bar], slos: Sequence[SloResult]) -> str:
    shares = "; ".join(f"{bar.label} {bar.value} ms" for bar in bars)
    limits = "".join(f" The limit is {prose_ms(slo.limit_ms)}." for slo in slos)
    name = service.name or service.id
    return f"Bar chart of the p95 time to first token of {name}: {shares}.{limits}"
