"""Effective bandwidth: what each flow gets of its port, hot links, oversubscription."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from designer.analysis.results import FlowResult, LinkResult, Oversubscription, Results
from designer.model.topology import Topology
from designer.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    Row,
    Section,
    Step,
    Steps,
    Table,
)
from designer.report.words import (
    UNKNOWN,
    Names,
    load,
    ms,
    percent,
    plural,
    quantity,
    rate,
    tier_name,
)

MOST_CHARTS: Final = 6
MOST_LINKS: Final = 20
LEAST_LINKS: Final = 5
_LEAST_SHOWN: Final = 0.01
_STEPS: Final = (
    ("Port", "port_gbps"),
    ("Less protocol overhead", "after_overhead_gbps"),
    ("Less load balancing", "after_balancing_gbps"),
    ("Less contention", "after_contention_gbps"),
    ("Effective", "effective_gbps"),
)


def section(topology: Topology, results: Results, names: Names) -> Section:
    """Flows, hot links, and the ratios of switches, tiers and cuts."""
    limit = topology.design.settings.utilisation_limit
    blocks: list[Block] = [
        *_flows(results.flows, names),
        *_links(results.links, names, limit),
        *_ratios(results.oversubscription),
    ]
    return Section("Effective bandwidth", tuple(blocks))


@dataclass(frozen=True, slots=True)
class _Stream:
    """Flows of one class between the same ends that get the same: one line for all services."""

    flow: FlowResult
    services: tuple[str, ...]

    def title(self, names: Names) -> str:
        """What flows, and from where to where."""
        ends = f"{names.of(self.flow.source)} to {names.of(self.flow.target)}"
        return f"{names.of(self.flow.traffic_class)}: {ends}"

    def whose(self, names: Names) -> str:
        """The services that it belongs to."""
        return names.several(self.services, 1) if self.services else "all"


def _streams(flows: Sequence[FlowResult]) -> list[_Stream]:
    """Equal flows together, in the order of the first of each."""
    sets: dict[tuple[object, ...], list[FlowResult]] = defaultdict(list)
    for flow in flows:
        rates = tuple(rate(getattr(flow, field)) for _, field in _STEPS)
        key = (flow.traffic_class, flow.source, flow.target, rates, flow.bottleneck)
        sets[key].append(flow)
    return [
        _Stream(same[0], tuple(dict.fromkeys(flow.service for flow in same if flow.service)))
        for same in sets.values()
    ]


def _loss(stream: _Stream) -> float:
    """Share of the port that a flow does not get; flows that nobody knows come last."""
    flow = stream.flow
    if not flow.port_gbps or flow.effective_gbps is None:
        return -1.0
    return 1 - flow.effective_gbps / flow.port_gbps


def _flows(flows: Sequence[FlowResult], names: Names) -> Iterable[Block]:
    yield Heading("What flows get of their ports")
    if not flows:
        yield Paragraph("No traffic crosses the network: there is no demand and no flow.")
        return
    streams = _streams(flows)
    charted = sorted((each for each in streams if each.flow.port_gbps), key=_loss, reverse=True)
    for stream in charted[:MOST_CHARTS]:
        yield _chart(stream, names)
    if len(flows) > MOST_CHARTS:
        yield Paragraph(
            f"Drawn are the {MOST_CHARTS} that lose most; the table has all {len(flows):,} flows, "
            "equal ones of several services in one line.",
            "note",
        )
    yield Table(
        "Effective bandwidth of every flow, after each loss.",
        (
            Column("Flow", share=2.6), Column("Service", share=1.6), Column("Port", "right"),
            Column("overhead", "right"), Column("balancing", "right"),
            Column("contention", "right"), Column("effective", "right", strong=True),
            Column("Bottleneck", share=1.4),
        ),
        tuple(_flow_row(stream, names) for stream in streams),
    )  # fmt: skip


def _flow_row(stream: _Stream, names: Names) -> Row:
    rates = (Cell(rate(getattr(stream.flow, field))) for _, field in _STEPS)
    held = _bottleneck(stream.flow, names) or UNKNOWN
    return Row((Cell(stream.title(names)), Cell(stream.whose(names)), *rates, Cell(held)))


def _bottleneck(flow: FlowResult, names: Names) -> str:
    """What holds a flow back, by the name that the whole report has for it."""
    return names.by_id.get(flow.bottleneck or "") or flow.bottleneck_name or flow.bottleneck or ""


def _chart(stream: _Stream, names: Names) -> Steps:
    flow = stream.flow
    port = flow.port_gbps or 1.0
    steps = []
    for label, field in _STEPS:
        value: float | None = getattr(flow, field)
        share = None if value is None else min(1.0, value / port)
        steps.append(Step(label, share, rate(value), last=field == "effective_gbps"))
    spoken = "; ".join(f"{step.label} {step.value}" for step in steps)
    where = _bottleneck(flow, names)
    limit = f" Held back at {where}." if where else ""
    title = stream.title(names)
    gets = f"{rate(flow.effective_gbps)} of {rate(flow.port_gbps)}"
    return Steps(
        f"{title}: {gets}.{limit}", f"Bar chart of {title}: {spoken}.{limit}", tuple(steps)
    )


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
