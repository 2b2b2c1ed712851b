"""Effective bandwidth: what flows get of their ports, hot links, oversubscription."""

from collections.abc import Iterable, Sequence
from typing import Final

from designer.analysis.results import LinkResult, Oversubscription, Results
from designer.model.topology import Topology
from designer.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    Row,
    Section,
    Table,
)
from designer.report.sections.flows import legs
from designer.report.words import (
    Names,
    load,
    ms,
    percent,
    plural,
    quantity,
    rate,
    tier_name,
)

MOST_LINKS: Final = 20
LEAST_LINKS: Final = 5
_LEAST_SHOWN: Final = 0.01


def section(topology: Topology, results: Results, names: Names) -> Section:
    """Flows, hot links, and the ratios of switches, tiers and cuts."""
    limit = topology.design.settings.utilisation_limit
    blocks: list[Block] = [
        *legs(results.flows, names),
        *_links(results.links, names, limit),
        *_ratios(results.oversubscription),
    ]
    return Section("Effective bandwidth", tuple(blocks))


def _links(links: Sequence[LinkResult], names: Names, limit: float) -> Iterable[Block]:
    yield Heading("Hot links")
    known = sorted(
        (link for link in links if link.utilisation is not None),
        key=lambda link: (-(link.utilisation or 0.0), link.id, link.direction),
    )
    unknown = len(links) - len(known)
    hot = sum(1 for link in known if (link.utilisation or 0.0) > limit)
    if not links:
        yield Paragraph("The design has no link.")
        return
    said = f"{plural(hot, 'direction')} of {len(links):,} above the limit of {percent(limit)}."
    if unknown:
        said += f" The load share of {unknown:,} is unknown: capacity or demand is missing."
    yield Paragraph(said)
    busy = sum(1 for link in known if (link.utilisation or 0.0) >= _LEAST_SHOWN)
    shown = min(MOST_LINKS, max(busy, LEAST_LINKS))
    if known:
        yield _link_table(known[:shown], names)
    rest = known[shown:]
    if rest:
        yield Paragraph(
            f"The other {len(rest):,} known directions carry {load(rest[0].utilisation)} or less.",
            "note",
        )


def _link_table(links: Sequence[LinkResult], names: Names) -> Table:
    """Waits have a column where one is known."""
    timed = any(link.queue_wait_p95_us is not None for link in links)
    caption = "The most loaded directions in the busiest hour"
    waits = (Column("wait", "right"),) if timed else ()
    return Table(
        f"{caption}; wait is the p95 of the queue in µs." if timed else f"{caption}.",
        (
            Column("Link", share=1.5), Column("Direction", share=1.9), Column("Capacity", "right"),
            Column("Load", "right", strong=True), Column("", share=0.7), *waits,
            Column("Mostly", share=1.9),
        ),
        tuple(_link_row(link, names, timed) for link in links),
    )  # fmt: skip


def _link_row(link: LinkResult, names: Names, timed: bool) -> Row:
    share = link.utilisation or 0.0
    classes = sorted(link.load_gbps.items(), key=lambda pair: (-pair[1], pair[0]))
    carries = ", ".join(f"{names.of(name)} {rate(gbps)}" for name, gbps in classes[:2] if gbps)
    return Row(
        (
            Cell(names.by_id.get(link.id) or link.name or link.id),
            Cell(f"{names.of(link.source)} to {names.of(link.target)}"),
            Cell(rate(link.capacity_gbps)),
            Cell(load(share)),
            Cell("", bar=min(1.0, share)),
            *([Cell(ms(link.queue_wait_p95_us))] if timed else []),
            Cell(carries),
        )
    )


def _ratios(found: Oversubscription) -> Iterable[Block]:
    yield Heading("Oversubscription")
    if not (found.switches or found.tiers or found.cuts):
        yield Paragraph("No switch has downlinks and uplinks, and no group has a boundary to cut.")
        return
    if found.tiers:
        worst = "; ".join(f"{tier_name(t.tier)} {_ratio(t.ratio)}" for t in found.tiers)
        yield Paragraph(f"Worst ratio by tier: {worst}.")
    if found.switches:
        yield Table(
            "Downlink over uplink capacity of each switch.",
            (
                Column("Switch", share=2), Column("Tier", share=1), Column("Down", "right"),
                Column("Up", "right"), Column("Ratio", "right", strong=True),
                Column("Limit", "right"),
            ),
            tuple(
                Row(
                    (
                        Cell(s.name or s.id), Cell(tier_name(s.tier)), Cell(rate(s.downlink_gbps)),
                        Cell(rate(s.uplink_gbps)), Cell(_ratio(s.ratio)),
                        Cell("none set" if s.limit is None else _ratio(s.limit)),
                    ),
                    s.tier,
                )
                for s in sorted(found.switches, key=lambda s: (-s.ratio, s.id))
            ),
        )  # fmt: skip
    if found.cuts:
        yield Table(
            "What a group could send over what its boundary carries.",
            (
                Column("Group", share=2), Column("Inside", "right"), Column("Boundary", "right"),
                Column("Ratio", "right", strong=True),
            ),
            tuple(
                Row(
                    (
                        Cell(c.name or c.group), Cell(rate(c.inside_gbps)), Cell(rate(c.cut_gbps)),
                        Cell(_ratio(c.ratio)),
                    )
                )
                for c in sorted(found.cuts, key=lambda c: (-c.ratio, c.group))
            ),
        )  # fmt: skip


def _ratio(value: float) -> str:
    return f"{value:,.0f}:1" if value >= 1000 else f"{quantity(value, '')}:1"
