"""The bandwidth that is really there: link loads by class, and what each flow gets of its port.

Streams between drawn nodes become flows between instances, evenly over all pairs of the two ends.
Flows share by max-min: strict priority between classes, within one priority by the class weights
of each link (MODEL section 2). Background load is taken off last, so that its cost is seen alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.analysis.classes import ClassRule
from designer.analysis.demand import Stream
from designer.graph.arrays import Arrays, Flags, Floats, Ints
from designer.graph.expand import TooLarge
from designer.graph.routing import Incidence, incidence
from designer.graph.shares import two_level, usage

MOST_PAIRS: Final = 400_000
HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows between instances and the edges that each crosses.

    stream, source, target: (flows,) position of the stream and the two instances.
    offered_gbps: (flows,) on the wire; inf for elastic, nan where not known. weight: (flows,).
    """

    stream: Ints
    source: Ints
    target: Ints
    offered_gbps: Floats
    weight: Floats
    routes: Incidence


@dataclass(frozen=True, slots=True)
class Shares:
    """What the flows get. rates_gbps: (flows,) with the background there; without it as if not.

    settled: whether the shares of weighted classes found their fixed point.
    """

    rates_gbps: Floats
    without_background_gbps: Floats
    settled: bool


@dataclass(frozen=True, slots=True)
class LinkLoads:
    """Load of each directed edge in its busiest hour, Gb/s on the wire.

    by_class: class id to (edges,); offered_gbps: (edges,) what inelastic classes ask for;
    total_gbps: (edges,) all classes and the background; hour: (edges,) the busiest, UTC.
    """

    by_class: Mapping[str, Floats]
    offered_gbps: Floats
    total_gbps: Floats
    hour: Ints


def flows_of(
    arrays: Arrays, streams: Sequence[Stream], goodput: Sequence[float], down: Flags
) -> Flows:
    """Spreads streams over all pairs of instances and routes them.

    goodput: (streams,) payload share of the bytes on the wire. Raises TooLarge beyond 400,000
    pairs.
    """
    ends = [_pairs(arrays, stream) for stream in streams]
    total = sum(len(source) for source, _ in ends)
    if total > MOST_PAIRS:
        raise TooLarge(
            f"the flows make {total:,} pairs of instances, and at most {MOST_PAIRS:,} can be "
            "analysed one by one; lower a count, or draw a part of the design"
        )
    counts = np.array([len(source) for source, _ in ends], dtype=np.int64)
    stream = np.repeat(np.arange(len(streams)), counts)
    source = np.concatenate([pair[0] for pair in ends]) if ends else np.empty(0, np.int64)
    target = np.concatenate([pair[1] for pair in ends]) if ends else np.empty(0, np.int64)
    offered = np.array(
        [_wire_gbps(each, share) for each, share in zip(streams, goodput, strict=True)], dtype=float
    )
    connections = np.array([each.connections for each in streams], dtype=float)
    many = np.maximum(counts, 1)
    return Flows(
        stream,
        source,
        target,
        (offered / many)[stream],
        (connections / many)[stream],
        incidence(arrays.network, source, target, down),
    )


def _wire_gbps(stream: Stream, goodput: float) -> float:
    if stream.payload_gbps is None:
        return np.inf if stream.elastic else np.nan
    return stream.payload_gbps / goodput


def _pairs(arrays: Arrays, stream: Stream) -> tuple[Ints, Ints]:
    """Every instance of one end with every instance of the other, itself left out."""
    here = arrays.expansion.instances(arrays.node_position(stream.source))
    there = arrays.expansion.instances(arrays.node_position(stream.target))
    if len(here) * len(there) > MOST_PAIRS:
        raise TooLarge(
            f"flow {stream.id} joins {len(here) * len(there):,} pairs of instances, and at most "
            f"{MOST_PAIRS:,} can be analysed one by one; lower a count"
        )
    source, target = np.repeat(here, len(there)), np.tile(there, len(here))
    apart = source != target
    return source[apart], target[apart]


def share(
    arrays: Arrays, flows: Flows, streams: Sequence[Stream], rules: Mapping[str, ClassRule]
) -> Shares:
    """Max-min rates of all flows, with and without the links' background load.

    A link of unknown capacity limits nothing here; who crosses one is told so elsewhere. A flow of
    unknown rate asks for nothing.
    """
    order = list(rules)
    member = np.array([order.index(each.traffic_class) for each in streams], dtype=np.int64)
    full = np.where(np.isnan(arrays.capacity_gbps), np.inf, arrays.capacity_gbps)
    demand = np.where(
        flows.routes.reachable, np.nan_to_num(flows.offered_gbps, nan=0.0, posinf=np.inf), 0.0
    )
    results = [
        two_level(
            capacity,
            flows.routes.indptr,
            flows.routes.edge,
            flows.routes.share,
            flows.weight,
            demand,
            member[flows.stream],
            np.array([rules[key].priority for key in order]),
            np.array([rules[key].weight for key in order]),
        )
        for capacity in (np.maximum(full - arrays.background_gbps, 0.0), full)
    ]
    unlimited = [np.where(np.isfinite(result.rates), result.rates, np.nan) for result in results]
    return Shares(unlimited[0], unlimited[1], all(result.settled for result in results))


def loads(
    arrays: Arrays,
    flows: Flows,
    shares: Shares,
    streams: Sequence[Stream],
    rules: Mapping[str, ClassRule],
) -> LinkLoads:
    """Loads by class in each edge's busiest hour: inelastic as offered, elastic as they get.

    The busiest hour is that of the sum of all classes, not of each (TOPOLOGY: demand).
    """
    profiles, profile_of = _profiles(streams)
    order = list(rules)
    hourly = np.zeros((len(order), HOURS, arrays.edges))
    offered = np.zeros((HOURS, arrays.edges))
    rates = np.where(np.isinf(flows.offered_gbps), shares.rates_gbps, flows.offered_gbps)
    rates = np.where(flows.routes.reachable, np.nan_to_num(rates, nan=0.0), 0.0)
    for cls_at, profile_at in sorted(
        {(order.index(each.traffic_class), profile_of[k]) for k, each in enumerate(streams)}
    ):
        chosen = np.array(
            [
                order.index(each.traffic_class) == cls_at and profile_of[k] == profile_at
                for k, each in enumerate(streams)
            ]
        )
        load = _on_edges(arrays, flows, np.where(chosen[flows.stream], rates, 0.0))
        shaped = profiles[profile_at][:, None] * load[None, :]
        hourly[cls_at] += shaped
        if not rules[order[cls_at]].elastic:
            offered += shaped
    total = hourly.sum(axis=0)
    hour = np.argmax(total, axis=0) if arrays.edges else np.empty(0, np.int64)
    every = np.arange(arrays.edges)
    return LinkLoads(
        {key: hourly[at][hour, every] for at, key in enumerate(order)},
        offered.max(axis=0) + arrays.background_gbps,
        total[hour, every] + arrays.background_gbps,
        hour.astype(np.int64),
    )


def _profiles(streams: Sequence[Stream]) -> tuple[Floats, list[int]]:
    """Distinct days, (profiles, 24) relative to their largest hour, and each stream's."""
    days: dict[tuple[float, ...], int] = {(): 0}
    for stream in streams:
        days.setdefault(stream.day, len(days))
    table = np.ones((len(days), HOURS))
    for day, at in days.items():
        if day:
            table[at] = np.array(day) / max(day)
    return table, [days[stream.day] for stream in streams]


def _on_edges(arrays: Arrays, flows: Flows, rates: Floats) -> Floats:
    routes = flows.routes
    return usage(arrays.edges, routes.indptr, routes.edge, routes.share, rates)
