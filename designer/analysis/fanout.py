"""What hashing costs where a flow has several equal next hops: the worst flow's share.

A fan-out is a vertex and the cables over which it spreads one flow, members of a bundle each for
itself. F connections on U equal cables give the worst one (F/U)/max-load of what ideal spraying
gives it (MODEL section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.analysis.bandwidth import SPREAD, BalancingOf, Flows
from designer.graph.arrays import Arrays, Floats, Ints
from designer.graph.fabric_patterns import hashing
from designer.graph.shares import usage

ADAPTIVE_SHARE: Final = 0.95
"""What adaptive routing and spraying reach: one vendor's figure, an assumption elsewhere."""

MOST_HASHED: Final = 4096
"""Above so many flows a fan-out, collisions even out and the exact distribution is not needed."""


@dataclass(frozen=True, slots=True)
class FanOuts:
    """By entry of the flows' routes; 1 and inf for an edge that is the only next hop.

    efficiency: (entries,) the worst connection's share of what ideal spraying gives it.
    worst_gbps: (entries,) what that is where all connections use the fan-out's edges alike.
    """

    efficiency: Floats
    worst_gbps: Floats


def fan_outs(arrays: Arrays, flows: Flows, balancing: BalancingOf) -> FanOuts:
    """Judges every place at which a flow is spread by a node on its way.

    A terminal's own ports are chosen by what runs on it, not by a hash; they are no fan-out.
    """
    routes, net = flows.routes, arrays.network
    made = FanOuts(np.ones(len(routes.edge)), np.full(len(routes.edge), np.inf))
    tail = net.tail[routes.edge]
    members = arrays.members[routes.edge]
    some = np.flatnonzero(((routes.share < 1.0) | (members > 1)) & net.transit[tail])
    if not len(some):
        return made
    owner = np.repeat(np.arange(len(flows.stream)), np.diff(routes.indptr))[some]
    _, fan = np.unique(owner * net.n + tail[some], return_inverse=True)
    size = np.rint(np.bincount(fan, members[some])).astype(np.int64)
    edge = routes.edge[some]
    crossing = usage(arrays.edges, routes.indptr, routes.edge, routes.share, flows.weight)
    connections = np.maximum(np.rint(np.bincount(fan, crossing[edge])), 1.0)
    # Who crosses an edge of unknown capacity is given no figure at all; here it has room.
    room = np.bincount(fan, np.nan_to_num(arrays.capacity_gbps[edge], nan=np.inf))
    vertex = np.zeros(len(size), dtype=np.int64)
    vertex[fan] = tail[some]
    share = np.where(size > 1, _shares(vertex, _rounded(connections), size, balancing), 1.0)
    made.efficiency[some] = share[fan]
    made.worst_gbps[some] = np.where(size > 1, share * room / connections, np.inf)[fan]
    return made


def unequal_hops(arrays: Arrays, flows: Flows) -> Mapping[str, tuple[float, ...]]:
    """Nodes that send one flow over edges of unequal capacity alike, and these capacities, Gb/s."""
    routes = flows.routes
    owner = np.repeat(np.arange(len(flows.stream)), np.diff(routes.indptr))
    tail, capacity = arrays.network.tail[routes.edge], arrays.capacity_gbps[routes.edge]
    some = np.flatnonzero((routes.share < 1.0) & ~np.isnan(capacity))
    if not len(some):
        return {}
    _, fan = np.unique(owner[some] * arrays.network.n + tail[some], return_inverse=True)
    least, most = np.full(fan.max() + 1, np.inf), np.zeros(fan.max() + 1)
    np.minimum.at(least, fan, capacity[some])
    np.maximum.at(most, fan, capacity[some])
    found: dict[str, set[float]] = {}
    for at in np.flatnonzero(least[fan] < most[fan]).tolist():
        entry = int(some[at])
        found.setdefault(arrays.node_of(int(tail[entry])), set()).add(float(capacity[entry]))
    return {key: tuple(sorted(values)) for key, values in found.items()}


def _rounded(connections: Floats) -> Ints:
    """To two digits from 100 on, where one more changes a share by less than a percent."""
    unit = 10.0 ** np.maximum(np.floor(np.log10(connections)) - 1.0, 0.0)
    return (np.rint(connections / unit) * unit).astype(np.int64)


def _shares(vertex: Ints, connections: Ints, size: Ints, balancing: BalancingOf) -> Floats:
    """The worst connection's share, by fan-out."""
    how = {int(v): balancing(int(v)) for v in np.unique(vertex)}
    keys = [
        (how[v], f, u)
        for v, f, u in zip(*map(np.ndarray.tolist, (vertex, connections, size)), strict=True)
    ]
    known = {key: _share(*key) for key in set(keys)}
    return np.array([known[key] for key in keys])


def _share(how: str, connections: int, edges: int) -> float:
    if how in SPREAD:
        return ADAPTIVE_SHARE
    if connections == 1 or connections > MOST_HASHED:
        return 1.0
    return ADAPTIVE_SHARE if how == "flowlet" else hashing(connections, edges).worst_mean
