"""Shortest-path routing with equal-cost multipath: one search a destination, split at each hop.

Parallel edges are separate next hops. A volume is split equally over the next-hop edges of each
vertex that it passes, per destination, as routers do (not per path).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from designer.graph import kernel_routes
from designer.graph.compiled import Floats, Ints, Mask, SmallInts

_FARTHEST = 2**62


class BadNetwork(ValueError):
    """The edges do not make a network that can be routed on; the message says why."""


@dataclass(frozen=True, slots=True)
class Network:
    """A directed graph with a routing metric.

    n: number of vertices. tail, head, cost: (edges,); cost at least 1.
    transit: (vertices,) whether a vertex forwards traffic of others (a host does not).
    out_ptr, out_edge and in_ptr, in_edge: edges that leave and enter each vertex, lowest first.
    hangs_on: (vertices,) the only vertex that has edges into it, if that one forwards; else itself.
    Paths to such a vertex are those to the one that it hangs on, and one hop.
    """

    n: int
    tail: Ints
    head: Ints
    cost: Ints
    transit: Mask
    out_ptr: Ints
    out_edge: Ints
    in_ptr: Ints
    in_edge: Ints
    hangs_on: Ints


@dataclass(frozen=True, slots=True)
class Routes:
    """Shortest paths to each of some targets.

    targets: (targets,) distinct, ascending.
    dist: (targets, vertices) least cost to the target; -1 where there is no way.
    hops: (targets, vertices) number of next-hop edges; 0 at the target and where there is no way.
    order: (targets, vertices) vertices as they settled, nearest first; -1 beyond `settled`.
    settled: (targets,) how many vertices reach the target, itself included.
    """

    targets: Ints
    dist: Ints
    hops: Ints
    order: Ints
    settled: Ints


@dataclass(frozen=True, slots=True)
class Incidence:
    """Which edges each demand crosses: row d is indptr[d]:indptr[d + 1].

    share: the fraction of the demand's volume on that edge. reachable: (demands,) whether there is
    a way; a row is empty where there is none, and where a demand stays at its vertex.
    """

    indptr: Ints
    edge: SmallInts
    share: Floats
    reachable: Mask


def network(
    n: int, tail: ArrayLike, head: ArrayLike, cost: ArrayLike, transit: ArrayLike | None = None
) -> Network:
    """Builds a network; without `transit` every vertex forwards.

    Raises BadNetwork for ends outside 0..n-1, unequal lengths, a cost below 1, or costs so large
    that a path would overflow 62 bits.
    """
    tails, heads = np.array(tail, dtype=np.int64), np.array(head, dtype=np.int64)
    costs = np.array(cost, dtype=np.int64)
    forwards = np.ones(n, bool) if transit is None else np.array(transit, dtype=bool)
    if not (tails.shape == heads.shape == costs.shape and tails.ndim == 1):
        raise BadNetwork("tail, head and cost must have one entry for each edge")
    if forwards.shape != (n,):
        raise BadNetwork(f"transit must have one entry for each of the {n} vertices")
    if len(tails) and (min(tails.min(), heads.min()) < 0 or max(tails.max(), heads.max()) >= n):
        raise BadNetwork(f"an edge ends at a vertex outside 0 to {n - 1}")
    if len(costs) and costs.min() < 1:
        edge = int(np.argmin(costs))
        raise BadNetwork(f"edge {edge} has metric {costs[edge]}; a metric is at least 1")
    if len(costs) and int(costs.max()) * n >= _FARTHEST:
        raise BadNetwork(f"metric {costs.max()} is too large for {n} vertices")
    out_ptr, out_edge = _by_vertex(n, tails)
    in_ptr, in_edge = _by_vertex(n, heads)
    hangs_on = _hangs_on(n, tails[in_edge], in_ptr, forwards)
    return Network(n, tails, heads, costs, forwards, out_ptr, out_edge, in_ptr, in_edge, hangs_on)


def route(net: Network, targets: ArrayLike, down: Mask | None = None) -> Routes:
    """Shortest paths to each distinct target, without the edges that are `down`."""
    roots = np.unique(np.asarray(targets, dtype=np.int64))
    shape = (len(roots), net.n)
    dist, hops = np.empty(shape, np.int64), np.empty(shape, np.int64)
    order = np.full(shape, -1, np.int64)
    settled = np.zeros(len(roots), np.int64)
    heap, place = np.empty(net.n, np.int64), np.empty(net.n, np.int64)
    everyone = np.ones(net.n, bool)
    for i, root in enumerate(roots):
        settled[i] = kernel_routes.search(
            root, net.n, everyone, net.in_ptr, net.in_edge, net.tail, net.cost, net.transit,
            _mask(net, down), dist[i], hops[i], order[i], heap, place,
        )  # fmt: skip
    return Routes(roots, dist, hops, order, settled)


def loads(
    net: Network,
    source: ArrayLike,
    target: ArrayLike,
    volume: ArrayLike,
    down: Mask | None = None,
) -> tuple[Floats, Floats]:
    """Load of each edge and the volume that finds no way.

    volume: (demands,) or (demands, columns), in any unit. Returns load, (edges,) or
    (edges, columns), and unrouted, (columns,) with one column for a flat volume.
    """
    volumes = np.asarray(volume, dtype=np.float64)
    table = volumes[:, np.newaxis] if volumes.ndim == 1 else volumes
    row, roots, group_ptr, sources, targets = _by_root(net, source, target)
    load = np.zeros((len(net.tail), table.shape[1]))
    unrouted = np.zeros(load.shape[1])
    if len(row):
        kernel_routes.load_groups(
            roots, group_ptr, sources, targets, np.ascontiguousarray(table[row]), net.out_ptr,
            net.out_edge, net.in_ptr, net.in_edge, net.tail, net.head, net.cost, net.transit,
            _mask(net, down), load, unrouted,
        )  # fmt: skip
    return (load[:, 0] if volumes.ndim == 1 else load), unrouted


def incidence(
    net: Network, source: ArrayLike, target: ArrayLike, down: Mask | None = None
) -> Incidence:
    """The edges that each demand crosses, with the fraction of its volume on each."""
    order, roots, group_ptr, sources, targets = _by_root(net, source, target)
    row_ptr = np.zeros(len(order) + 1, np.int64)
    reached = np.zeros(len(order), bool)
    edge, share = kernel_routes.spread_groups(
        roots, group_ptr, sources, targets, net.out_ptr, net.out_edge, net.in_ptr, net.in_edge,
        net.tail, net.head, net.cost, net.transit, _mask(net, down), row_ptr, reached,
    )  # fmt: skip
    if np.array_equal(order, np.arange(len(order))):
        return Incidence(row_ptr, edge, share, reached)
    row = np.empty_like(order)
    row[order] = np.arange(len(order))
    indptr = np.concatenate(([0], np.cumsum(np.diff(row_ptr)[row]))).astype(np.int64)
    edge_out, share_out = np.empty_like(edge), np.empty_like(share)
    kernel_routes.gather_rows(row, row_ptr, edge, share, indptr, edge_out, share_out)
    return Incidence(indptr, edge_out, share_out, reached[row])


def one_path(net: Network, source: int, target: int, down: Mask | None = None) -> list[int] | None:
    """The edges of one shortest path, the lowest edge at each hop; None if there is no way."""
    routes = route(net, [target], down)
    dist, out = routes.dist[0], _mask(net, down)
    if dist[source] < 0:
        return None
    path: list[int] = []
    at = source
    while at != target:
        edges = net.out_edge[net.out_ptr[at] : net.out_ptr[at + 1]]
        edge = next(
            int(k)
            for k in edges
            if kernel_routes.is_next_hop(k, at, target, net.head, net.cost, net.transit, out, dist)
        )
        path.append(edge)
        at = int(net.head[edge])
    return path


def grouped(source: Ints, target: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Demands grouped by target: order, distinct targets, bounds of groups, sources in order."""
    order = np.argsort(target, kind="stable").astype(np.int64)
    targets, first = np.unique(target[order], return_index=True)
    group_ptr = np.append(first, len(order)).astype(np.int64)
    return order, targets, group_ptr, source[order]


def _by_root(
    net: Network, source: ArrayLike, target: ArrayLike
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Demands grouped by the vertex to search from: as `grouped`, and the targets in order."""
    sources, targets = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    if sources.shape != targets.shape:
        raise BadNetwork("source and target must have one entry for each demand")
    root = np.where(sources == targets, targets, net.hangs_on[targets])
    order, roots, group_ptr, in_order = grouped(sources, root)
    return order, roots, group_ptr, in_order, targets[order]


def _hangs_on(n: int, from_: Ints, in_ptr: Ints, transit: Mask) -> Ints:
    """from_: (edges,) tails of the edges, by the vertex that they enter."""
    itself = np.arange(n)
    entered = np.flatnonzero(np.diff(in_ptr))
    if not len(entered):
        return itself
    first = np.minimum.reduceat(from_, in_ptr[entered])
    alone = (first == np.maximum.reduceat(from_, in_ptr[entered])) & transit[first]
    itself[entered[alone]] = first[alone]
    return itself


def _mask(net: Network, down: Mask | None) -> Mask:
    return np.zeros(len(net.tail), bool) if down is None else np.asarray(down, dtype=bool)


def _by_vertex(n: int, end: Ints) -> tuple[Ints, Ints]:
    pointers = np.concatenate(([0], np.cumsum(np.bincount(end, minlength=n)))).astype(np.int64)
    return pointers, np.argsort(end, kind="stable").astype(np.int64)
