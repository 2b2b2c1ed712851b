"""What a port gives, step by step, for each flow; the last step is the effective bandwidth.

1 port speed; 2 less protocol overhead; 3 less load-balancing loss; 4 less oversubscription and
contention (max-min); 5 less background (MODEL section 2). Balancing is hashing over next hops and
members of bundles, and that a connection is no faster than the member that it rides. Background is
traffic of the class background: more urgent classes lose nothing in step 5. The figures of a flow
are those of one instance of its source, towards all its targets, and of the instance that gets
least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from designer.analysis.bandwidth import BalancingOf, Flows, Shares, backdrop
from designer.analysis.classes import ClassRule
from designer.analysis.demand import Stream
from designer.analysis.fanout import FanOuts, fan_outs
from designer.analysis.results import FlowResult
from designer.graph.arrays import Arrays, Flags, Floats, Ints
from designer.graph.shares import usage

_SAME = "%.9g"
"""Offers that agree to so many digits are equal: rounding must not choose the bottleneck."""


def waterfalls(
    arrays: Arrays,
    flows: Flows,
    shares: Shares,
    streams: Sequence[Stream],
    goodput: Sequence[float],
    rules: Mapping[str, ClassRule],
    balancing: BalancingOf,
    names: Mapping[str, str],
    drawn_paths: Callable[[str, str], tuple[str, ...]],
) -> tuple[FlowResult, ...]:
    """One result a stream. `names` maps link ids to what people call them."""
    ways = _ways(arrays, flows)
    steps = _steps(arrays, flows, shares, streams, goodput, rules, balancing, ways)
    worst = _worst_instances(ways, steps.effective)
    return tuple(
        _result(arrays, stream, steps, ways, worst.get(at), names, drawn_paths)
        for at, stream in enumerate(streams)
    )


@dataclass(frozen=True, slots=True)
class _Ways:
    """What each instance of a source crosses with its part of a stream.

    A group is one instance's part of one stream; a pair is a group and an edge that it crosses,
    in order of the groups.

    flow: (kept,) flows that have a way; group: (kept,) theirs. stream, source, size: (groups,)
    position of the stream, the instance, and how many flows. entry_pair: (entries,).
    pair_group, edge: (pairs,). first: (groups,) first pair of each group. port: (pairs,) whether
    the pair's edge leaves the source.
    """

    flow: Ints
    group: Ints
    stream: Ints
    source: Ints
    size: Ints
    entry_pair: Ints
    pair_group: Ints
    edge: Ints
    first: Ints
    port: Flags


def _ways(arrays: Arrays, flows: Flows) -> _Ways:
    flow = np.flatnonzero(flows.routes.reachable)
    stream, source = flows.stream[flow], flows.source[flow]
    starts = np.ones(len(flow), dtype=bool)
    starts[1:] = (np.diff(stream) != 0) | (np.diff(source) != 0)
    group = np.cumsum(starts) - 1
    group_of_flow = np.zeros(len(flows.stream), dtype=np.int64)
    group_of_flow[flow] = group
    routes = flows.routes
    entry_group = np.repeat(group_of_flow, np.diff(routes.indptr))
    width = max(arrays.edges, 1)
    keys, entry_pair = np.unique(entry_group * width + routes.edge, return_inverse=True)
    pair_group, edge = keys // width, keys % width
    return _Ways(
        flow,
        group,
        stream[starts],
        source[starts],
        np.bincount(group).astype(np.int64),
        entry_pair.astype(np.int64),
        pair_group,
        edge,
        np.searchsorted(pair_group, np.arange(int(starts.sum()))).astype(np.int64),
        arrays.network.tail[edge] == source[starts][pair_group],
    )


@dataclass(frozen=True, slots=True)
class _Steps:
    """The bars of each group, payload Gb/s; nan where a capacity on the way is not known.

    offer: (pairs,) what the group could send if this edge alone held it back. slowest: what the
    flow of one pair of instances gets that gets least: a collective is as slow as that one.
    """

    port: Floats
    overhead: Floats
    balanced: Floats
    contended: Floats
    effective: Floats
    offer: Floats
    slowest: Floats


def _steps(
    arrays: Arrays,
    flows: Flows,
    shares: Shares,
    streams: Sequence[Stream],
    goodput: Sequence[float],
    rules: Mapping[str, ClassRule],
    balancing: BalancingOf,
    ways: _Ways,
) -> _Steps:
    groups = len(ways.stream)
    capacity = arrays.capacity_gbps[ways.edge]
    payload = np.array(goodput, dtype=float)[ways.stream]
    wire, allowed = _by_pair(flows, ways)
    ports = np.where(ways.port, capacity, 0.0)
    port: Floats = np.bincount(ways.pair_group, ports, groups).astype(np.float64)
    overhead = np.bincount(ways.pair_group, ports / wire, groups) * payload
    fans = fan_outs(arrays, flows, balancing)
    efficiency, spread = _spread(fans, flows, ways, port)
    urgency = np.array([rules[each.traffic_class].priority for each in streams], dtype=np.int64)
    yields = (urgency >= backdrop(rules))[ways.stream][ways.pair_group]
    background = np.where(yields, arrays.background_gbps[ways.edge], 0.0)
    offers = []
    for rates, busy in ((shares.without_background_gbps, 0.0), (shares.rates_gbps, background)):
        taken = _taken(arrays, flows, rates, urgency, ways)
        offered = _offers(flows, rates, ways, capacity - taken - busy, allowed)
        offers.append(offered * efficiency * payload[ways.pair_group])
    ridden = _offers(flows, shares.without_background_gbps, ways, np.inf, allowed)
    known = ~np.isnan(_least(ways, capacity))
    balanced = np.minimum(overhead * _least(ways, spread), _least(ways, ridden) * payload)
    balanced = np.where(known, balanced, np.nan)
    contended = np.minimum(balanced, _least(ways, offers[0]))
    effective = np.minimum(contended, _least(ways, offers[1]))
    held = np.minimum(offers[1], overhead[ways.pair_group] * spread)
    return _Steps(
        port,
        overhead,
        balanced,
        contended,
        effective,
        np.where(spread < 1.0, held, offers[1]),
        np.where(known, _slowest(shares.rates_gbps, ways) * payload, np.nan),
    )


def _slowest(rates: Floats, ways: _Ways) -> Floats:
    """(groups,) the least rate of the group's flows, Gb/s on the wire."""
    least = np.full(len(ways.stream), np.inf)
    np.fmin.at(least, ways.group, rates[ways.flow])
    return least


def _spread(fans: FanOuts, flows: Flows, ways: _Ways, port: Floats) -> tuple[Floats, Floats]:
    """Losses by pair: of what spraying gives there, and of the whole port's rate.

    Collisions on a fan-out cost nothing while its fullest edge still has room for all that the
    ports send: a connection then gets its part of the port.
    """
    efficiency, worst = np.ones(len(ways.edge)), np.full(len(ways.edge), np.inf)
    np.minimum.at(efficiency, ways.entry_pair, fans.efficiency)
    np.minimum.at(worst, ways.entry_pair, fans.worst_gbps)
    connections = np.bincount(ways.group, flows.weight[ways.flow], len(ways.stream))
    part = port / np.maximum(connections, 1.0)
    with np.errstate(invalid="ignore"):
        spread = np.maximum(efficiency, np.minimum(worst / part[ways.pair_group], 1.0))
    return efficiency, spread


def _taken(arrays: Arrays, flows: Flows, rates: Floats, urgency: Ints, ways: _Ways) -> Floats:
    """(pairs,) Gb/s that flows of the same and more urgent classes take of the edge."""
    routes = flows.routes
    taken = np.zeros(len(ways.edge))
    own = urgency[ways.stream][ways.pair_group]
    got = np.nan_to_num(rates, nan=0.0)
    for priority in np.unique(own):
        chosen = np.where((urgency <= priority)[flows.stream], got, 0.0)
        used = usage(arrays.edges, routes.indptr, routes.edge, flows.load_share, chosen)
        mine = own == priority
        taken[mine] = used[ways.edge[mine]]
    return taken


def _by_pair(flows: Flows, ways: _Ways) -> tuple[Floats, Floats]:
    """(pairs,) bits there for one on the heaviest link, and Gb/s that its connections can carry."""
    wire = np.ones(len(ways.edge))
    wire[ways.entry_pair] = flows.wire
    carried = flows.most_gbps * flows.load_share
    return wire, np.bincount(ways.entry_pair, carried, len(ways.edge)).astype(np.float64)


def _offers(
    flows: Flows, rates: Floats, ways: _Ways, free: Floats | float, allowed: Floats
) -> Floats:
    """(pairs,) Gb/s of the whole group until the edge is full; one of no rate spreads evenly.

    free: (pairs,) what is left of the edge beside the group's own and all that it must not push
    aside. allowed: (pairs,) what the group's connections can carry there.
    """
    groups = len(ways.stream)
    rate = np.nan_to_num(rates, nan=0.0)
    total = np.bincount(ways.group, rate[ways.flow], groups)
    has_rate = np.zeros(len(rates), dtype=bool)
    has_rate[ways.flow] = total[ways.group] > 0
    unit = np.where(has_rate, rate, 1.0)
    whole = np.where(total > 0, total, ways.size)[ways.pair_group]
    entries = np.repeat(unit, np.diff(flows.routes.indptr)) * flows.load_share
    used = np.bincount(ways.entry_pair, entries, len(ways.edge))
    held = np.where(total[ways.pair_group] > 0, used, 0.0)
    room = np.minimum(np.maximum(free + held, 0.0), allowed)
    with np.errstate(divide="ignore"):
        # Where none of the group's rate goes, the edge does not hold it back.
        return np.where(used > 0, whole * room / used, np.inf)


def _least(ways: _Ways, by_pair: Floats) -> Floats:
    """(groups,) the least of the group's pairs; nan where one is."""
    if not len(ways.first):
        return np.zeros(0)
    least: Floats = np.minimum.reduceat(by_pair, ways.first)
    return least


def _worst_instances(ways: _Ways, effective: Floats) -> dict[int, int]:
    """Stream to the group that gets least; one that is not known comes before all others."""
    rank = np.where(np.isnan(effective), -1.0, effective)
    order = np.lexsort((rank, ways.stream))
    streams, first = np.unique(ways.stream[order], return_index=True)
    return dict(zip(streams.tolist(), order[first].tolist(), strict=True))


def _limits(
    arrays: Arrays, steps: _Steps, ways: _Ways, group: int, path: tuple[str, ...]
) -> list[str]:
    """The drawn links that a group crosses, tightest first; of equal ones the first on the way."""
    if np.isnan(steps.effective[group]):
        return []
    place = {key: at for at, key in enumerate(path)}
    mine = slice(*np.searchsorted(ways.pair_group, (group, group + 1)))
    least: dict[str, float] = {}
    for edge, gbps in zip(ways.edge[mine].tolist(), steps.offer[mine].tolist(), strict=True):
        key = arrays.link_of(edge)
        least[key] = min(gbps, least.get(key, np.inf))
    return sorted(
        least, key=lambda key: (float(_SAME % least[key]), place.get(key, len(path)), key)
    )


def _result(
    arrays: Arrays,
    stream: Stream,
    steps: _Steps,
    ways: _Ways,
    group: int | None,
    names: Mapping[str, str],
    drawn_paths: Callable[[str, str], tuple[str, ...]],
) -> FlowResult:
    path = drawn_paths(stream.source, stream.target)
    limits = [] if group is None else _limits(arrays, steps, ways, group, path)
    bottleneck = limits[0] if limits else None

    def bar(gbps: Floats) -> float | None:
        return None if group is None or np.isnan(gbps[group]) else float(gbps[group])

    return FlowResult(
        id=stream.id,
        service=stream.service,
        traffic_class=stream.traffic_class,
        source=stream.source,
        target=stream.target,
        path=path,
        flows=stream.connections,
        demand_gbps=stream.payload_gbps,
        port_gbps=bar(steps.port),
        after_overhead_gbps=bar(steps.overhead),
        after_balancing_gbps=bar(steps.balanced),
        after_contention_gbps=bar(steps.contended),
        effective_gbps=bar(steps.effective),
        slowest_pair_gbps=bar(steps.slowest) if stream.payload_gbps is None else None,
        bottleneck=bottleneck,
        bottleneck_name=names.get(bottleneck, bottleneck) if bottleneck else None,
        next_bottleneck=limits[1] if len(limits) > 1 else None,
    )
