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
from designer.graph.shares import two_level

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

    by_class: class id to (edges,); offered_gbps: (edges,) what inelastic traffic asks for;
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
    routes = incidence(arrays.network, source, target, down)
    part = _parts(stream, source, routes.reachable, counts)
    asked = offered[stream]
    return Flows(
        stream,
        source,
        target,
        np.where(np.isinf(asked), asked, asked * part),
        connections[stream] * np.where(part > 0, part, 1.0),
        routes,
    )


def _parts(stream: Ints, source: Ints, reachable: Flags, counts: Ints) -> Floats:
    """(flows,) part of the stream's traffic: even over its sources, then over what each reaches.

    A source that reaches nobody asks for nothing, as in separate copies of one drawing; only where
    no source reaches anybody the stream is spread over all pairs, and finds no way.
    """
    if not len(stream):
        return np.zeros(0)
    starts = np.ones(len(stream), dtype=bool)
    starts[1:] = (np.diff(stream) != 0) | (np.diff(source) != 0)
    group = np.cumsum(starts) - 1
    reached = np.bincount(group, reachable)
    live = np.bincount(stream[starts], reached > 0, len(counts))[stream]
    shared = np.maximum(live * reached[group], 1.0)
    part: Floats = np.where(live > 0, reachable / shared, 1.0 / counts[stream])
    return part


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
    """Loads by class in each edge's busiest hour: inelastic as offered, elastic as it gets.

    Elastic is a stream that names no rate, and all of an elastic class.

    The busiest hour is that of the sum of all classes, not of each (TOPOLOGY: demand).
    """
    profiles, profile_of = _profiles(streams)
    order = list(rules)
    yields = np.array([each.elastic or rules[each.traffic_class].elastic for each in streams], bool)
    rates = np.where(yields[flows.stream], shares.rates_gbps, flows.offered_gbps)
    rates = np.where(flows.routes.reachable, np.nan_to_num(rates, nan=0.0), 0.0)
    kinds = [
        (order.index(each.traffic_class), profile_of[k], bool(yields[k]))
        for k, each in enumerate(streams)
    ]
    by_kind = _by_kind(arrays, flows, rates, kinds)
    total = np.zeros((profiles.shape[1], arrays.edges))
    offered = np.zeros_like(total)
    for (_, day, elastic), load in by_kind.items():
        shaped = profiles[day][:, None] * load
        total += shaped
        if not elastic:
            offered += shaped
    hour = np.argmax(total, axis=0)
    by_class = {key: np.zeros(arrays.edges) for key in order}
    for (cls, day, _), load in by_kind.items():
        by_class[order[cls]] += profiles[day][hour] * load
    return LinkLoads(
        by_class,
        offered.max(axis=0) + arrays.background_gbps,
        total.max(axis=0) + arrays.background_gbps,
        hour.astype(np.int64),
    )


Kind = tuple[int, int, bool]


def _by_kind(
    arrays: Arrays, flows: Flows, rates: Floats, kinds: Sequence[Kind]
) -> dict[Kind, Floats]:
    """Loads, (edges,), of the streams of each kind: class, day, whether they take what is left."""
    routes = flows.routes
    number = {kind: at for at, kind in enumerate(sorted(set(kinds)))}
    if not number:
        return {}
    of_stream = np.array([number[kind] for kind in kinds], dtype=np.int64)
    of_entry = np.repeat(of_stream[flows.stream], np.diff(routes.indptr))
    carried = np.repeat(rates, np.diff(routes.indptr)) * routes.share
    order = np.argsort(of_entry, kind="stable")
    bounds = np.searchsorted(of_entry[order], np.arange(len(number) + 1))
    made = {}
    for kind, at in number.items():
        mine = order[bounds[at] : bounds[at + 1]]
        load = np.bincount(routes.edge[mine], carried[mine], arrays.edges)
        made[kind] = load.astype(np.float64)
    return made


def _profiles(streams: Sequence[Stream]) -> tuple[Floats, list[int]]:
    """Distinct days, (profiles, 24) relative to their largest hour, and each stream's.

    Only one hour, (1, 1), where no stream has a day.
    """
    days: dict[tuple[float, ...], int] = {(): 0}
    for stream in streams:
        days.setdefault(stream.day, len(days))
    table = np.ones((len(days), HOURS if len(days) > 1 else 1))
    for day, at in days.items():
        if day:
            table[at] = np.array(day) / max(day)
    return table, [days[stream.day] for stream in streams]
