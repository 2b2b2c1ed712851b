"""The bandwidth that is really there: link loads by class, and what each flow gets of its port.

Streams between drawn nodes become flows between instances, evenly over all pairs of the two ends.
Flows share by max-min: strict priority between classes, within one priority by the class weights
of each link (MODEL section 2). A connection rides one member of a bundle and one of equal next
hops unless the node sprays. A link's background is traffic of the class background: more urgent
classes lose nothing to it, and all others find it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.analysis.classes import ClassRule
from designer.analysis.demand import Stream
from designer.graph.arrays import Arrays, Flags, Floats, Ints
from designer.graph.expand import TooLarge
from designer.graph.routing import Incidence, incidence
from designer.graph.shares import two_level

BalancingOf = Callable[[int], str]
"""How the node of a vertex spreads flows: hash, flowlet, adaptive or spraying."""

SPREAD: Final = ("adaptive", "spraying")
"""Ways of balancing under which one connection uses all next hops and members."""

MOST_PAIRS: Final = 400_000
HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows between instances and the edges that each crosses.

    stream, source, target: (flows,) position of the stream and the two instances.
    offered_gbps: (flows,) on the wire of the way's heaviest link, as all rates of a flow; inf for
    elastic, nan where not known. weight: (flows,) connections. wire: (entries,) bits on that edge
    for one on the heaviest link. most_gbps: (entries,) rate at which the connections on the edge
    fill the members that they ride; inf where the edge is the one cable, or its node sprays.
    """

    stream: Ints
    source: Ints
    target: Ints
    offered_gbps: Floats
    weight: Floats
    routes: Incidence
    wire: Floats
    most_gbps: Floats

    @property
    def load_share(self) -> Floats:
        """(entries,) load of the edge for a rate of 1."""
        return self.routes.share * self.wire


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

    by_class: class id to (edges,); background_gbps: (edges,) what elastic traffic of more urgent
    classes leaves of the background; offered_gbps: (edges,) what inelastic traffic and the
    background ask for; total_gbps: (edges,) all classes and background_gbps; hour: (edges,) the
    busiest, UTC.
    """

    by_class: Mapping[str, Floats]
    background_gbps: Floats
    offered_gbps: Floats
    total_gbps: Floats
    hour: Ints


def flows_of(
    arrays: Arrays,
    streams: Sequence[Stream],
    goodput: Sequence[float],
    wire: Floats,
    balancing: BalancingOf,
    down: Flags,
) -> Flows:
    """Spreads streams over all pairs of instances and routes them.

    goodput: (streams,) payload share of the bytes on the heaviest link. wire: (streams, drawn
    links) bits there for one on the heaviest. Raises TooLarge beyond 400,000 pairs.
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
    weight = connections[stream] * np.where(part > 0, part, 1.0)
    on_edge = wire[np.repeat(stream, np.diff(routes.indptr)), arrays.link[routes.edge]]
    return Flows(
        stream,
        source,
        target,
        np.where(np.isinf(asked), asked, asked * part),
        weight,
        routes,
        on_edge,
        _ridden(arrays, source, weight, routes, balancing) / on_edge,
    )


def _ridden(
    arrays: Arrays, source: Ints, weight: Floats, routes: Incidence, balancing: BalancingOf
) -> Floats:
    """(entries,) Gb/s of a flow whose connections each fill one member of the edge.

    Two instances have one connection at least, and one on each port that the source uses: its own
    ports are chosen by what runs on it.
    """
    owner = np.repeat(np.arange(len(source)), np.diff(routes.indptr))
    tail = arrays.network.tail[routes.edge]
    ports = np.bincount(owner, tail == source[owner], len(source))
    connections = np.maximum(weight, np.maximum(ports, 1.0))
    whole = {
        int(v): balancing(int(v)) in (SPREAD if arrays.network.transit[v] else ("spraying",))
        for v in np.unique(tail)
    }
    sprayed = np.zeros(arrays.network.n, dtype=bool)
    sprayed[[v for v, free in whole.items() if free]] = True
    member = arrays.capacity_gbps / arrays.members
    made: Floats = connections[owner] * np.nan_to_num(member[routes.edge], nan=np.inf)
    alone = (arrays.members[routes.edge] == 1) & (routes.share == 1.0)
    return np.where(sprayed[tail] | alone, np.inf, made)


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

    Background is served before what yields to it, and after all that is more urgent.
    A link of unknown capacity limits nothing here; who crosses one is told so elsewhere. A flow of
    unknown rate asks for nothing.
    """
    order = list(rules)
    member = np.array([order.index(each.traffic_class) for each in streams], dtype=np.int64)
    member = member[flows.stream] if len(member) else np.empty(0, dtype=np.int64)
    full = np.where(np.isnan(arrays.capacity_gbps), np.inf, arrays.capacity_gbps)
    demand = np.where(
        flows.routes.reachable, np.nan_to_num(flows.offered_gbps, nan=0.0, posinf=np.inf), 0.0
    )
    demand = np.minimum(demand, _most(flows))
    busy = np.flatnonzero(arrays.background_gbps > 0)
    results = []
    for background in (busy, busy[:0]):
        more = len(background)
        results.append(
            two_level(
                full,
                np.append(flows.routes.indptr, flows.routes.indptr[-1] + np.arange(1, more + 1)),
                np.append(flows.routes.edge, background),
                np.append(flows.load_share, np.ones(more)),
                np.append(flows.weight, np.ones(more)),
                np.append(demand, arrays.background_gbps[background]),
                np.append(member, np.full(more, len(order))),
                # Between two priorities there is room for the links' own load.
                np.array([2 * rules[key].priority for key in order] + [2 * backdrop(rules) - 1]),
                np.array([rules[key].weight for key in order] + [1.0]),
            )
        )
    unlimited = [
        np.where(np.isfinite(result.rates), result.rates, np.nan)[: len(demand)]
        for result in results
    ]
    return Shares(unlimited[0], unlimited[1], all(result.settled for result in results))


def backdrop(rules: Mapping[str, ClassRule]) -> int:
    """The priority of the links' background load: that of the class background."""
    return rules["background"].priority if "background" in rules else 0


def _most(flows: Flows) -> Floats:
    """(flows,) the rate at which a flow's connections fill the members that they ride."""
    most = np.full(len(flows.stream), np.inf)
    np.minimum.at(
        most, np.repeat(np.arange(len(most)), np.diff(flows.routes.indptr)), flows.most_gbps
    )
    return most


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
    asked, most = offered.max(axis=0) + arrays.background_gbps, total.max(axis=0)
    # Elastic traffic fills no link beyond its capacity: what is above it was pushed aside.
    above = most + arrays.background_gbps - np.maximum(arrays.capacity_gbps, asked)
    pushed = np.clip(np.nan_to_num(above, nan=0.0), 0.0, arrays.background_gbps)
    return LinkLoads(
        by_class,
        arrays.background_gbps - pushed,
        asked,
        most + arrays.background_gbps - pushed,
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
    carried = np.repeat(rates, np.diff(routes.indptr)) * flows.load_share
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
