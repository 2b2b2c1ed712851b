"""What flows get of their ports: there and back on one line in the text, each alone at the end."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from designer.analysis.results import FlowResult
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
from designer.report.words import UNKNOWN, Names, rate

MOST_CHARTS: Final = 6
APPENDIX: Final = "Every flow"
_STEPS: Final = (
    ("Port", "port_gbps"),
    ("Less protocol overhead", "after_overhead_gbps"),
    ("Less load balancing", "after_balancing_gbps"),
    ("Less contention", "after_contention_gbps"),
    ("Effective", "effective_gbps"),
)


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


def legs(flows: Sequence[FlowResult], names: Names) -> Iterable[Block]:
    """The flows that lose most as charts, and all of them by their ends."""
    yield Heading("What flows get of their ports")
    if not flows:
        yield Paragraph("No traffic crosses the network: there is no demand and no flow.")
        return
    streams = _streams(flows)
    charted = sorted((each for each in streams if each.flow.port_gbps), key=_loss, reverse=True)
    for stream in charted[:MOST_CHARTS]:
        yield _chart(stream, names)
    if len(charted) > MOST_CHARTS:
        yield Paragraph(
            f"Drawn are the {MOST_CHARTS} that lose most of their port; each of the {len(flows):,} "
            f"flows stands alone under \u201c{APPENDIX}\u201d at the end.",
            "note",
        )
    yield _leg_table(flows, names)


def appendix(flows: Sequence[FlowResult], names: Names) -> Section | None:
    """Every flow with each loss, in small type; None where there is none."""
    if not flows:
        return None
    table = Table(
        "Effective bandwidth of every flow, after each loss; equal flows of several services in "
        "one line.",
        (
            Column("Flow", share=3.0), Column("Service", share=1.7), Column("Port", "right"),
            Column("overhead", "right"), Column("balancing", "right"),
            Column("contention", "right"), Column("effective", "right", strong=True),
            Column("Bottleneck", share=1.7),
        ),
        tuple(_flow_row(stream, names) for stream in _streams(flows)),
        "small",
    )  # fmt: skip
    return Section(APPENDIX, (table,))


def _leg_table(flows: Sequence[FlowResult], names: Names) -> Table:
    """A line for each two ends and class: the least that any flow of it gets, there and back."""
    sets: dict[tuple[str, frozenset[str]], list[FlowResult]] = defaultdict(list)
    for flow in flows:
        sets[flow.traffic_class, frozenset((flow.source, flow.target))].append(flow)
    return Table(
        "Effective of port between two ends, there and back: of the flow that gets least.",
        (
            Column("Between", share=2.2), Column("Traffic", share=1.9),
            Column("Service", share=1.8), Column("there", "right", strong=True),
            Column("back", "right", strong=True), Column("Bottleneck", share=2.0),
        ),
        tuple(_leg_row(same, names) for same in sets.values()),
    )  # fmt: skip


def _leg_row(same: Sequence[FlowResult], names: Names) -> Row:
    first = same[0]
    there = [flow for flow in same if flow.source == first.source]
    back = [flow for flow in same if flow.source != first.source]
    whose = tuple(dict.fromkeys(flow.service for flow in same if flow.service))
    held = dict.fromkeys(_bottleneck(flow, names) for flow in (_least(there), _least(back)) if flow)
    return Row(
        (
            Cell(f"{names.of(first.source)} and {names.of(first.target)}"),
            Cell(names.of(first.traffic_class)),
            Cell(names.several(whose, 1) if whose else "all"),
            Cell(_of_port(_least(there))),
            Cell(_of_port(_least(back))),
            Cell(", ".join(where for where in held if where) or UNKNOWN),
        )
    )


def _least(flows: Sequence[FlowResult]) -> FlowResult | None:
    """The flow that gets least; one that nobody knows counts as least."""
    return min(flows, key=lambda flow: (flow.effective_gbps or 0.0, flow.id), default=None)


def _of_port(flow: FlowResult | None) -> str:
    """What a flow gets of its port, in one unit where that is short."""
    if flow is None:
        return ""
    gets, port = rate(flow.effective_gbps), rate(flow.port_gbps)
    number, _, unit = gets.partition(" ")
    return f"{number} of {port}" if unit and port.endswith(f" {unit}") else f"{gets} of {port}"


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
