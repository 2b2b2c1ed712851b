"""Tables of what services promise and where their time goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from designer.analysis.results import BudgetRow, Figure, ServiceResult
from designer.cli.table_parts import (
    VERDICT_STYLES,
    change,
    figure,
    heading,
    put,
    row,
    sentence,
    share,
    table,
    time,
)
from designer.model.kinds import TIER_NAMES
from designer.report.words import UNKNOWN, VERDICTS, Names, percentile, tier_name

LEAST_MS: Final = 0.01
"""Segments that stay under this at every percentile are summed as "other"."""
MOST_SEGMENTS: Final = 12
MOST_CHANGES: Final = 4
SHORT: Final[Mapping[str, str]] = MappingProxyType(
    {"ttft": "TTFT", "itl": "ITL", "tpot": "TPOT", "task": "task"}
)

_Column = tuple[float | None, float | None, float | None]


def services(console: Console, found: Sequence[ServiceResult], names: Names) -> None:
    """Verdicts, times, user sites and budgets of all services."""
    heading(console, "Services")
    if not found:
        sentence(console, "The design has no service; draw one with its users to see times.")
        return
    put(console, _verdicts(found, names))
    put(console, _times(found, names))
    put(console, _user_sites(found, names))
    put(console, _scorecards(found))
    if any(service.sensitivity for service in found):
        put(console, _sensitivity(found, names))
    heading(console, "Where the time to first token goes")
    for service in found:
        budget(console, service, names)


def _verdicts(found: Sequence[ServiceResult], names: Names) -> Table:
    made = table(
        "Promises at the worst user site (TTFT: time to first token, ITL: gap between tokens)",
        ("Service", "Promise"),
        ("value\nms", "limit\nms", "headroom\nms", "probability\n%"),
        ("Verdict", "Settled by"),
    )
    for service in found:
        name = service.name or service.id
        if not service.slo:
            row(made, name, "nothing promised", "", "", "", "", "", "")
        for slo in service.slo:
            row(
                made,
                name,
                f"{SHORT.get(slo.metric, slo.metric)} {percentile(slo.percentile)}",
                time(slo.value_ms),
                time(slo.limit_ms),
                time(slo.headroom_ms),
                share(slo.probability, 0),
                Text(VERDICTS[slo.verdict], VERDICT_STYLES[slo.verdict]),
                names.of(slo.settles),
            )
    return made


def _times(found: Sequence[ServiceResult], names: Names) -> Table:
    levels = ("p50", "p95", "p99")
    heads = [f"{what}\n{level}" for what in ("TTFT", "ITL", "task") for level in levels]
    made = table("Times at the worst user site, ms", ("Service",), heads)
    for service in found:
        figures = (service.ttft_ms, service.itl_ms, service.task_ms)
        row(made, service.name or service.id, *(t for each in figures for t in _three(each)))
    return made


def _three(found: Figure) -> tuple[str, str, str]:
    first, second, third = (
        time(each, at_least=found.at_least) for each in (found.p50, found.p95, found.p99)
    )
    return first, second, third


def _user_sites(found: Sequence[ServiceResult], names: Names) -> Table:
    made = table(
        "User sites",
        ("Service", "Users", "Served from"),
        ("asks\n/s", "far\nkm", "TTFT p50\nms", "TTFT p95\nms", "ITL p95\nms", "task p95\nms"),
    )  # fmt: skip
    for service in found:
        for site in service.user_sites:
            worst = " (worst)" if site.users == service.worst_site else ""
            ttft = site.ttft_ms
            row(
                made,
                service.name or service.id,
                f"{names.of(site.users)}{worst}",
                names.several(site.deployments, 3) or "nowhere",
                figure(site.requests_per_s),
                figure(site.distance_km),
                time(ttft.p50, at_least=ttft.at_least),
                time(ttft.p95, at_least=ttft.at_least),
                time(site.itl_ms.p95, at_least=site.itl_ms.at_least),
                time(site.task_ms.p95, at_least=site.task_ms.at_least),
            )
    return made


def _scorecards(found: Sequence[ServiceResult]) -> Table:
    made = table(
        "What a benchmark would collect",
        ("Service",),
        ("queue p95\nms", "GPU busy\n%", "host CPU\n%", "cache hits\n%", "fetch p95\nms",
         "request\nkB", "sent again\nkB", "1M tokens\nUSD"),
    )  # fmt: skip
    for service in found:
        card = service.scorecard
        row(
            made,
            service.name or service.id,
            time(card.queue_wait_ms.p95),
            share(card.gpu_duty_cycle),
            share(card.host_cpu_share),
            share(card.cache_hit_rate),
            time(card.remote_fetch_ms.p95),
            _kilobytes(card.bytes_per_completed_request),
            _kilobytes(card.retransmitted_bytes_per_request),
            figure(card.usd_per_million_tokens),
        )
    return made


def _kilobytes(size_bytes: float | None) -> str:
    return figure(None if size_bytes is None else size_bytes / 1e3)


def _sensitivity(found: Sequence[ServiceResult], names: Names) -> Table:
    made = table(
        "What would change the TTFT p95 most (less is better)",
        ("Service", "Change", "At", "Tier"),
        ("change\nms",),
    )
    for service in found:
        known = [each for each in service.sensitivity if each.gain_ms is not None]
        known.sort(key=lambda each: -abs(each.gain_ms or 0.0))
        for each in known[:MOST_CHANGES]:
            row(
                made,
                service.name or service.id,
                each.change,
                names.of(each.element),
                tier_name(each.tier),
                change(each.gain_ms),
            )
    return made


def budget(console: Console, service: ServiceResult, names: Names) -> None:
    """The budget of one service by tier, and its largest segments; columns add up."""
    if not service.budget:
        sentence(console, f"{service.name or service.id}: nothing is known of its way.")
        return
    where = f" from {names.of(service.worst_site)}" if service.worst_site else ""
    title = f"{service.name or service.id}{where}"
    put(console, _by_tier(title, service))
    put(console, _segments(title, service, names))


def _by_tier(title: str, service: ServiceResult) -> Table:
    made = table(f"{title}: by tier", ("Tier",), ("p50 ms", "p95 ms", "p99 ms", "of p95 %"))
    tiers = defaultdict(list)
    for each in service.budget:
        tiers[each.tier].append(each)
    order = {tier: place for place, tier in enumerate(TIER_NAMES)}
    for tier in sorted(tiers, key=lambda key: order.get(key, len(order))):
        _budget_row(made, (tier_name(tier),), _sum(tiers[tier]), service)
    _total(made, ("Time to first token",), service)
    return made


def _segments(title: str, service: ServiceResult, names: Names) -> Table:
    made = table(
        f"{title}: largest segments",
        ("Segment", "At", "Tier", "Rests on"),
        ("p50 ms", "p95 ms", "p99 ms", "of p95 %"),
    )
    merged: dict[tuple[str, str, str], list[BudgetRow]] = defaultdict(list)
    for each in service.budget:
        merged[each.segment, each.element, each.tier].append(each)
    ordered = sorted(merged.items(), key=lambda pair: -_weight(pair[1]))
    shown = [pair for pair in ordered if _weight(pair[1]) >= LEAST_MS][:MOST_SEGMENTS]
    for (segment, element, tier), rows in shown:
        kinds = "/".join(sorted({each.kind for each in rows}))
        cells = (segment, names.of(element), tier_name(tier), kinds)
        _budget_row(made, cells, _sum(rows), service)
    rest = [each for _, rows in ordered[len(shown) :] for each in rows]
    if rest:
        _budget_row(made, (f"other, {len(rest)} rows", "", "", ""), _sum(rest), service)
    _total(made, ("Time to first token", "", "", ""), service)
    return made


def _weight(rows: Iterable[BudgetRow]) -> float:
    """The largest size of a segment in a percentile; what is unknown comes first."""
    totals = _sum(rows)
    return max(float("inf") if each is None else abs(each) for each in totals)


def _sum(rows: Iterable[BudgetRow]) -> _Column:
    listed = list(rows)
    columns = ([r.p50_ms for r in listed], [r.p95_ms for r in listed], [r.p99_ms for r in listed])
    first, second, third = (
        None if any(each is None for each in column) else sum(each or 0.0 for each in column)
        for column in columns
    )
    return first, second, third


def _budget_row(
    made: Table, cells: Sequence[str], sums: _Column, service: ServiceResult, style: str = ""
) -> None:
    whole = service.ttft_ms.p95
    of_p95 = None if sums[1] is None or not whole else sums[1] / whole
    row(made, *cells, *(time(each, places=2) for each in sums), share(of_p95), style=style)


def _total(made: Table, cells: Sequence[str], service: ServiceResult) -> None:
    made.add_section()
    whole = service.ttft_ms
    times = (
        time(each, at_least=whole.at_least, places=2) for each in (whole.p50, whole.p95, whole.p99)
    )
    all_of_it = UNKNOWN if whole.p95 is None else "100.0"
    row(made, *cells, *times, all_of_it, style="bold")
