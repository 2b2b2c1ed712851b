"""What a port gives, step by step, for each flow; the last step is the effective bandwidth.

1 port speed; 2 less protocol overhead; 3 less load-balancing loss; 4 less oversubscription and
contention (max-min); 5 less background (MODEL section 2). The figures of a flow are those of one
instance of its source, towards all its targets, and of the instance that gets least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from designer.analysis.bandwidth import Flows, Shares
from designer.analysis.classes import ClassRule
from designer.analysis.demand import Stream
from designer.analysis.results import FlowResult
from designer.graph.arrays import Arrays, Floats, Ints
from designer.graph.fabric_patterns import hashing
from designer.graph.shares import usage

ADAPTIVE_SHARE = 0.95
"""What adaptive routing and spraying reach: one vendor's figure, an assumption elsewhere."""

MOST_HASHED = 4096
"""Above so many flows a link, collisions even out and the exact distribution is not needed."""


@dataclass(frozen=True, slots=True)
class _Crossing:
    """Edges that one instance's part of a stream crosses, with its rate on each (Gb/s)."""

    edge: Ints
    used: Floats
    rate: float
    first: Ints


BalancingOf = Callable[[int], str]
"""How the node of a vertex spreads flows: hash, flowlet, adaptive or spraying."""


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
    room = _Room(arrays, flows, shares, streams, rules)
    spread = _Spread(arrays, flows, balancing)
    results = []
    for at, stream in enumerate(streams):
        worst = _worst_instance(arrays, flows, shares, at, room, spread, goodput[at])
        results.append(
            _result(arrays, stream, worst, names, drawn_paths(stream.source, stream.target))
        )
    return tuple(results)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The bars of one instance, payload Gb/s; None where a capacity on the way is not known."""

    port: float | None
    overhead: float | None
    balanced: float | None
    contended: float | None
    effective: float | None
    limits: tuple[int, ...]


class _Room:
    """What is left on each edge for a class beside all that it must not push aside."""

    def __init__(
        self,
        arrays: Arrays,
        flows: Flows,
        shares: Shares,
        streams: Sequence[Stream],
        rules: Mapping[str, ClassRule],
    ) -> None:
        self.capacity = arrays.capacity_gbps
        self.background = arrays.background_gbps
        routes = flows.routes
        urgency = np.array([rules[each.traffic_class].priority for each in streams])
        self._taken: dict[tuple[int, bool], Floats] = {}
        for priority in sorted({int(value) for value in urgency}):
            chosen = (urgency <= priority)[flows.stream]
            for seen, rates in (
                (True, shares.rates_gbps),
                (False, shares.without_background_gbps),
            ):
                mine = np.where(chosen, np.nan_to_num(rates, nan=0.0), 0.0)
                self._taken[priority, seen] = usage(
                    arrays.edges, routes.indptr, routes.edge, routes.share, mine
                )
        self._priority = [int(value) for value in urgency]

    def slack(self, stream: int, edge: Ints, background: bool) -> Floats:
        """(edges given,) Gb/s that no flow of the same or a more urgent class takes."""
        taken = self._taken[self._priority[stream], background][edge]
        free = self.capacity[edge] - taken
        return free - self.background[edge] if background else free


class _Spread:
    """How well each vertex spreads flows over its equal next hops."""

    def __init__(self, arrays: Arrays, flows: Flows, balancing: BalancingOf) -> None:
        self._tail = arrays.network.tail
        self._forwards = arrays.network.transit
        self._balancing = balancing
        self._hashed: dict[tuple[int, int], float] = {}
        count = np.diff(flows.routes.indptr)
        connections = np.repeat(flows.weight, count)
        self._crossing = np.bincount(
            flows.routes.edge, weights=connections * flows.routes.share, minlength=arrays.edges
        )

    def efficiency(self, edge: Ints) -> float:
        """The least share of its ideal that the worst flow gets at a fan-out on the way."""
        worst = 1.0
        tails = self._tail[edge]
        for vertex in np.unique(tails):
            fan = edge[tails == vertex]
            # A terminal's ports are chosen by what runs on it, not by a hash on its way.
            if len(fan) > 1 and self._forwards[vertex]:
                worst = min(worst, self._at(int(vertex), fan))
        return worst

    def _at(self, vertex: int, fan: Ints) -> float:
        how = self._balancing(vertex)
        if how in ("adaptive", "spraying"):
            return ADAPTIVE_SHARE
        flows = max(1, round(float(self._crossing[fan].sum())))
        if how == "flowlet" or flows > MOST_HASHED:
            return 1.0 if flows > MOST_HASHED else ADAPTIVE_SHARE
        if flows == 1:
            return 1.0
        key = (flows, len(fan))
        if key not in self._hashed:
            self._hashed[key] = hashing(*key).worst_mean
        return self._hashed[key]


def _worst_instance(
    arrays: Arrays,
    flows: Flows,
    shares: Shares,
    stream: int,
    room: _Room,
    spread: _Spread,
    goodput: float,
) -> _Steps | None:
    chosen = np.flatnonzero((flows.stream == stream) & flows.routes.reachable)
    worst: _Steps | None = None
    for source in np.unique(flows.source[chosen]):
        mine = chosen[flows.source[chosen] == source]
        steps = _steps(arrays, flows, shares, stream, mine, room, spread, goodput)
        if worst is None or _least(steps) < _least(worst):
            worst = steps
    return worst


def _least(steps: _Steps) -> float:
    return -1.0 if steps.effective is None else steps.effective


def _crossing(arrays: Arrays, flows: Flows, rates: Floats, mine: Ints) -> _Crossing:
    """Edges of some flows of one instance; a flow of no rate counts as one unit."""
    routes = flows.routes
    entries = np.concatenate([np.arange(routes.indptr[k], routes.indptr[k + 1]) for k in mine])
    owner = np.repeat(mine, np.diff(routes.indptr)[mine])
    rate = np.nan_to_num(rates[mine], nan=0.0)
    total = float(rate.sum())
    unit = np.where(total > 0, rates, 1.0)
    edge, place = np.unique(routes.edge[entries], return_inverse=True)
    part = np.nan_to_num(unit[owner]) * routes.share[entries]
    used = np.bincount(place, weights=part).astype(np.float64)
    first = edge[arrays.network.tail[edge] == flows.source[mine[0]]]
    return _Crossing(edge.astype(np.int64), used, total if total > 0 else float(len(mine)), first)


def _steps(
    arrays: Arrays,
    flows: Flows,
    shares: Shares,
    stream: int,
    mine: Ints,
    room: _Room,
    spread: _Spread,
    goodput: float,
) -> _Steps:
    seen = _crossing(arrays, flows, shares.rates_gbps, mine)
    port = _known(float(arrays.capacity_gbps[seen.first].sum()))
    if port is None or np.isnan(arrays.capacity_gbps[seen.edge]).any():
        return _Steps(port, None if port is None else port * goodput, None, None, None, ())
    overhead = port * goodput
    balanced = overhead * spread.efficiency(seen.edge)
    offers = []
    for rates, background in ((shares.without_background_gbps, False), (shares.rates_gbps, True)):
        way = _crossing(arrays, flows, rates, mine)
        carried = np.nan_to_num(rates[mine]).sum() > 0
        held = way.used if carried else np.zeros_like(way.used)
        offer = way.rate * (room.slack(stream, way.edge, background) + held) / way.used
        offers.append((way.edge, np.maximum(offer, 0.0) * goodput))
    contended = min(balanced, float(offers[0][1].min()))
    effective = min(contended, float(offers[1][1].min()))
    return _Steps(
        port, overhead, balanced, contended, effective, _limits(arrays, *offers[1], balanced, seen)
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _limits(
    arrays: Arrays, edge: Ints, offer: Floats, balanced: float, seen: _Crossing
) -> tuple[int, ...]:
    """An edge of each drawn link on the way, tightest first; the port stands for its own loss."""
    least: dict[int, tuple[float, int]] = {}
    ports = set(seen.first.tolist())
    for k, gbps in zip(edge.tolist(), offer.tolist(), strict=True):
        value = min(gbps, balanced) if k in ports else gbps
        drawn = int(arrays.link[k])
        if drawn not in least or value < least[drawn][0]:
            least[drawn] = (value, k)
    return tuple(k for _, k in sorted(least.values()))


def _result(
    arrays: Arrays,
    stream: Stream,
    steps: _Steps | None,
    names: Mapping[str, str],
    path: tuple[str, ...],
) -> FlowResult:
    limits = [arrays.link_of(edge) for edge in steps.limits[:2]] if steps else []
    bottleneck = limits[0] if limits else None
    return FlowResult(
        id=stream.id,
        service=stream.service,
        traffic_class=stream.traffic_class,
        source=stream.source,
        target=stream.target,
        path=path,
        flows=stream.connections,
        demand_gbps=stream.payload_gbps,
        port_gbps=steps.port if steps else None,
        after_overhead_gbps=steps.overhead if steps else None,
        after_balancing_gbps=steps.balanced if steps else None,
        after_contention_gbps=steps.contended if steps else None,
        effective_gbps=steps.effective if steps else None,
        bottleneck=bottleneck,
        bottleneck_name=names.get(bottleneck, bottleneck) if bottleneck else None,
        next_bottleneck=limits[1] if len(limits) > 1 else None,
    )
