"""Latency budget: for each service where its time to first token goes, and what would help."""

from collections.abc import Iterator, Sequence
from typing import Final

from designer.analysis.results import (
    BudgetRow,
    FactKind,
    Results,
    Scorecard,
    Sensitivity,
    ServiceResult,
    SloResult,
)
from designer.drawing.text import fitted
from designer.report.blocks import (
    Block,
    Callout,
    Cell,
    Column,
    Facts,
    Heading,
    Paragraph,
    Row,
    Section,
    Table,
)
from designer.report.sections.waterfall import (
    PERCENTILE_COLUMNS,
    by_tier,
    known_sum,
    parted,
    waterfall,
)
from designer.report.words import (
    FACTS_WEAKEST_FIRST,
    METRICS,
    Names,
    capital,
    decimals,
    ms,
    percent,
    percentile,
    plural,
    prose_ms,
    quantity,
    signed_ms,
    size,
    tier_name,
    usd,
    verdict,
)

_SOURCE_PX: Final = 150.0
"""One line of the column; the whole source stands among the assumptions."""


def section(results: Results, names: Names) -> Section:
    """One part a service; a sentence where there is none."""
    blocks: list[Block] = []
    for service in results.services:
        blocks += _service(service, results, names)
    if not blocks:
        blocks.append(
            Paragraph("The design has no service yet: add one to see where its time goes.")
        )
    return Section("Latency budget", tuple(blocks))


def _service(service: ServiceResult, results: Results, names: Names) -> list[Block]:
    name = service.name or service.id
    blocks: list[Block] = [Heading(f"{name}, time to first token", new_page=True)]
    blocks += [verdict_callout(slo, service) for slo in service.slo]
    if not service.slo:
        blocks.append(
            Paragraph("No SLO is set for this service, so there is nothing to meet or to break.")
        )
    if service.budget:
        blocks += [waterfall(service), _by_tier(service)]
    else:
        blocks.append(
            Paragraph("Its time to first token is unknown: no segment could be computed.")
        )
    blocks.append(Heading("Scorecard", 3))
    blocks.append(Facts(_scorecard(service, service.scorecard)))
    blocks.append(Paragraph(_rests_on(service, results, names), "note"))
    if service.budget:
        blocks.append(_segments(service, names))
    if service.user_sites:
        blocks.append(_user_sites(service, names))
    worth = [c for c in service.sensitivity if c.settles or abs(c.gain_ms or 0.05) >= 0.05]
    if worth:
        blocks.append(_helps(worth, names))
    return blocks


def verdict_callout(slo: SloResult, service: ServiceResult) -> Callout:
    """The verdict on one SLO in a sentence, and what decides it."""
    figure = {"ttft": service.ttft_ms, "itl": service.itl_ms, "task": service.task_ms}.get(
        slo.metric
    )
    low = figure is not None and figure.at_least
    level = percentile(slo.percentile)
    what = (
        level if slo.metric == "ttft" else f"{level} of the {METRICS.get(slo.metric, slo.metric)}"
    )
    value = prose_ms(slo.value_ms, at_least=low)
    title = f"{verdict(slo)}: {what} is {value} against an SLO of {prose_ms(slo.limit_ms)}"
    parts = []
    if slo.headroom_ms is not None:
        side = "left" if slo.headroom_ms >= 0 else "too much"
        parts.append(f"{prose_ms(abs(slo.headroom_ms))} {side}.")
    whose = "the worst user site" if slo.whose == "worst_site" else "all requests"
    parts.append(f"Promised for {whose}.")
    if slo.settles:
        parts.append(f"Worth measuring first: {slo.settles}.")
    return Callout(slo.verdict, title, " ".join(parts))


def _by_tier(service: ServiceResult) -> Table:
    figure = service.ttft_ms
    tiers = by_tier(service.budget)
    columns = ("p50_ms", "p95_ms", "p99_ms")
    places = [decimals(getattr(row, c) for row in service.budget) for c in columns]
    rows = []
    for tier, members in tiers:
        sums = [known_sum(members, c) for c in columns]
        share = sums[1][0] / figure.p95 if sums[1][0] is not None and figure.p95 else None
        cells = [Cell(tier_name(tier))]
        cells += [Cell(ms(v, p, at_least=low)) for (v, low), p in zip(sums, places, strict=True)]
        kind, source = _weakest(members)
        rows.append(
            Row((*cells, Cell(percent(share, 1)), Cell(kind, fact=kind), Cell(source)), tier)
        )
    totals = (figure.p50, figure.p95, figure.p99)
    known = [Cell(ms(v, p, at_least=figure.at_least)) for v, p in zip(totals, places, strict=True)]
    whole = "" if figure.p95 is None or figure.at_least else "100.0 %"
    rows.append(Row((Cell("Total"), *known, Cell(whole), Cell(""), Cell("")), strong=True))
    return Table(
        "Percentiles by tier, in ms. Each percentile is of the whole request; a tier's share adds "
        "up to it exactly.",
        (
            Column("Tier", share=1.4), Column("p50", "right"), Column("p95", "right", strong=True),
            Column("p99", "right"), Column("share of p95", "right"), Column("Rests on"),
            Column("", share=2.0),
        ),
        tuple(rows),
    )  # fmt: skip


def _weakest(rows: Sequence[BudgetRow]) -> tuple[FactKind, str]:
    """The weakest kind of fact among rows, and the largest segments that rest on it."""
    kind = next(kind for kind in FACTS_WEAKEST_FIRST if any(row.kind == kind for row in rows))
    weak = sorted((r for r in rows if r.kind == kind), key=lambda r: -(r.p95_ms or 0.0))
    more = f" and {len(weak) - 1} more" if len(weak) > 1 else ""
    return kind, f"{weak[0].segment}{more}"


def _segments(service: ServiceResult, names: Names) -> Table:
    places = [decimals(getattr(row, c) for row in service.budget) for c in PERCENTILE_COLUMNS]
    least = 10.0 ** -max(places) / 2
    rows = []
    for tier, members in by_tier(service.budget):
        shown, small = parted(members, least)
        for row in shown:
            where = (Cell(row.segment), Cell(names.of(row.element)))
            cells = (Cell(row.kind, fact=row.kind), Cell(fitted(row.source, _SOURCE_PX, 11.0)))
            rows.append(Row((*where, *_times([row], places), *cells), tier))
        if small:
            kind, _ = _weakest(small)
            cells = (Cell(kind, fact=kind), Cell(""))
            count = f"{plural(len(small), 'segment')} under {least:g} ms"
            rows.append(Row((Cell("other"), Cell(count), *_times(small, places), *cells), tier))
    return Table(
        "The same by segment, in ms, in the order of the path; every source stands whole among "
        "the assumptions.",
        (
            Column("Segment", share=1.2), Column("Where", share=1.9), Column("p50", "right"),
            Column("p95", "right", strong=True), Column("p99", "right"), Column("Rests on"),
            Column("Source", share=2.0),
        ),
        tuple(rows),
    )  # fmt: skip


def _times(rows: Sequence[BudgetRow], places: Sequence[int]) -> Iterator[Cell]:
    """The sum of some rows in each column."""
    for column, digits in zip(PERCENTILE_COLUMNS, places, strict=True):
        value, low = known_sum(rows, column)
        yield Cell(ms(value, digits, at_least=low and value is not None))


def _user_sites(service: ServiceResult, names: Names) -> Table:
    sites = service.user_sites
    places = [decimals(getattr(s.ttft_ms, p) for s in sites) for p in ("p50", "p95", "p99")]
    gap = decimals(s.itl_ms.p95 for s in sites)
    rows = []
    for site in sites:
        first = site.ttft_ms
        times = zip((first.p50, first.p95, first.p99), places, strict=True)
        rows.append(
            Row(
                (
                    Cell(names.of(site.users)),
                    Cell(quantity(site.requests_per_s, "")),
                    Cell(names.several(site.deployments, 3) or "nowhere"),
                    Cell(quantity(site.distance_km, "")),
                    *(Cell(ms(v, p, at_least=first.at_least)) for v, p in times),
                    Cell(ms(site.itl_ms.p95, gap, at_least=site.itl_ms.at_least)),
                )
            )
        )
    return Table(
        "Users, where they are served, and their times in ms: time to first token, and p95 of the "
        "gap between tokens.",
        (
            Column("Users", share=1.6), Column("req/s", "right"), Column("Served from", share=1.6),
            Column("km", "right"), Column("p50", "right"), Column("p95", "right", strong=True),
            Column("p99", "right"), Column("gap p95", "right"),
        ),
        tuple(rows),
    )  # fmt: skip


def _helps(changes: Sequence[Sensitivity], names: Names) -> Table:
    ordered = sorted(changes, key=lambda c: (not c.settles, c.gain_ms is None, c.gain_ms or 0.0))
    most = max((abs(c.gain_ms) for c in changes if c.gain_ms is not None), default=0.0)
    rows = []
    for change in ordered:
        gain, bar = signed_ms(change.gain_ms), None
        if change.settles:
            gain = "settles it"
        elif change.gain_ms is not None and most > 0:
            bar = max(0.0, -change.gain_ms) / most
        place = names.of(change.element) if change.element else ""
        cells = (Cell(capital(change.change)), Cell(place), Cell(gain), Cell("", bar=bar))
        rows.append(Row(cells, change.tier, strong=change.settles))
    return Table(
        "What would help most: change of the p95 time to first token.",
        (
            Column("Change", share=2.4), Column("Where", share=1.5),
            Column("Gain", "right"), Column("", share=1.0),
        ),
        tuple(rows),
    )  # fmt: skip


def _scorecard(service: ServiceResult, card: Scorecard) -> tuple[tuple[str, str], ...]:
    gap, task = service.itl_ms, service.task_ms
    return (
        ("Gap between tokens, p95", prose_ms(gap.p95, at_least=gap.at_least)),
        ("Task time, p95", prose_ms(task.p95, at_least=task.at_least)),
        ("Probability of a stall", percent(service.stall_probability, 2)),
        ("Queue before execution, p95", prose_ms(card.queue_wait_ms.p95)),
        ("GPU duty cycle", percent(card.gpu_duty_cycle)),
        ("Host CPU on network and storage", percent(card.host_cpu_share)),
        ("Cache hit rate", percent(card.cache_hit_rate)),
        ("Remote fetch, p95", prose_ms(card.remote_fetch_ms.p95)),
        ("Bytes a completed request", size(card.bytes_per_completed_request)),
        ("Retransmitted bytes a request", size(card.retransmitted_bytes_per_request)),
        ("Cost of 1,000 requests", _of_thousand(card.usd_per_request)),
        ("Cost a million tokens", usd(card.usd_per_million_tokens)),
    )


def _of_thousand(usd_each: float | None) -> str:
    return usd(None if usd_each is None else usd_each * 1000)


def _rests_on(service: ServiceResult, results: Results, names: Names) -> str:
    kinds = [row.kind for row in service.budget]
    unknown, guessed = kinds.count("unknown"), kinds.count("guessed")
    where = names.several(service.served_from, 4) or "nowhere yet"
    worst = f", worst users {names.of(service.worst_site)}" if service.worst_site else ""
    parts = [
        f"{plural(guessed, 'segment')} guessed, {unknown} unknown.",
        f"Served from {where}{worst}, {results.settings.scenario or 'baseline'}, "
        f"seed {results.settings.seed}.",
    ]
    parts += [
        f"{band.metric} of {band.engine}, measured over predicted: {band.p5:.2f} to "
        f"{band.p95:.2f} (5 to 95 %)."
        for band in service.error_bands
    ]
    return " ".join(parts)
