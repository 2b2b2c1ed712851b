"""Failures of links, nodes and groups that share a risk: what is overloaded, what is cut off.

Paths are repaired per destination, and only the change of load is pushed; the result is that of
computing each failure from scratch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from designer.graph import kernel_repair, kernel_routes
from designer.graph.compiled import Floats, Ints
from designer.graph.routing import Network, grouped

_CELLS: Final = 4_000_000
"""Loads that are held at a time, by failure and edge: 32 MB."""
_NOISE: Final = 1e-13


@dataclass(frozen=True, slots=True)
class Failures:
    """What goes down together: failure f takes out edge[edge_ptr[f]:edge_ptr[f + 1]].

    node_ptr, node: likewise the nodes that fail, whose own demands are lost.
    """

    edge_ptr: Ints
    edge: Ints
    node_ptr: Ints
    node: Ints

    @property
    def count(self) -> int:
        """How many failures there are."""
        return len(self.edge_ptr) - 1


@dataclass(frozen=True, slots=True)
class Sweep:
    """By failure: highest utilisation of a surviving edge, that edge (-1: no load), volume lost.

    lost: demands without a way, those that had none before included.
    """

    utilisation: Floats
    edge: Ints
    lost: Floats


@dataclass(frozen=True, slots=True)
class Block:
    """Failures first..first + len(lost): load (failures, edges) and lost (failures,)."""

    first: int
    load: Floats
    lost: Floats


def sets(items: int, order: int) -> list[tuple[int, ...]]:
    """All sets of `order` items, in the order in which their failures are numbered."""
    return list(combinations(range(items), order))


def of_links(cable: ArrayLike, order: int = 1) -> Failures:
    """Failures of single cables, or of all sets of `order` cables (in rising order).

    cable: (edges,) the cable of each directed edge, 0 and up; both directions fail.
    """
    by_cable = _members(np.asarray(cable, dtype=np.int64))
    chosen = sets(len(by_cable), order)
    return _failures([_joined([by_cable[c] for c in some]) for some in chosen], [()] * len(chosen))


def of_nodes(net: Network, order: int = 1) -> Failures:
    """Failures of single nodes, or of all sets of `order` nodes (in rising order)."""
    return of_groups(net, [((), chosen) for chosen in sets(net.n, order)])


def of_groups(net: Network, groups: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Failures:
    """Failures of groups (edges, nodes) that share a risk: an SRLG, a site."""
    edges = [
        _joined(
            [np.asarray(some, dtype=np.int64)]
            + [net.out_edge[net.out_ptr[v] : net.out_ptr[v + 1]] for v in nodes]
            + [net.in_edge[net.in_ptr[v] : net.in_ptr[v + 1]] for v in nodes]
        )
        for some, nodes in groups
    ]
    return _failures(edges, [nodes for _, nodes in groups])


def sweep(
    net: Network,
    capacity: ArrayLike,
    source: ArrayLike,
    target: ArrayLike,
    volume: ArrayLike,
    failures: Failures,
) -> Sweep:
    """Judges every failure. capacity: (edges,), volume: (demands,), in one unit."""
    room = np.asarray(capacity, dtype=np.float64)
    highest, where, lost = (
        np.zeros(failures.count),
        [np.zeros(0, np.int64)],
        np.zeros(failures.count),
    )
    for block in loads_under(net, source, target, volume, failures):
        part = slice(block.first, block.first + len(block.lost))
        pointers = failures.edge_ptr[part.start : part.stop + 1]
        highest[part], edges = kernel_repair.worst_of(block.load, room, pointers, failures.edge)
        where.append(edges)
        lost[part] = block.lost
    return Sweep(highest, np.concatenate(where), lost)


def loads_under(
    net: Network, source: ArrayLike, target: ArrayLike, volume: ArrayLike, failures: Failures
) -> Iterator[Block]:
    """Loads of all edges under each failure, some failures at a time."""
    sources, targets = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    volumes = np.asarray(volume, dtype=np.float64)
    stays = sources == targets
    at_home = np.bincount(sources[stays], weights=volumes[stays], minlength=net.n)
    order, roots, group_ptr, from_ = grouped(sources[~stays], targets[~stays])
    amount = volumes[~stays][order]
    step = max(1, _CELLS // max(1, len(net.tail)))
    for first in range(0, failures.count, step):
        last = min(first + step, failures.count)
        pointers = failures.edge_ptr[first : last + 1]
        changes, base = np.zeros((last - first, len(net.tail))), np.zeros(len(net.tail))
        lost = np.zeros(last - first)
        for g, root in enumerate(roots):
            mine = slice(group_ptr[g], group_ptr[g + 1])
            own = np.bincount(from_[mine], weights=amount[mine], minlength=net.n).astype(float)
            _one_root(net, int(root), own, pointers, failures.edge, base, changes, lost)
        for f in range(first, last):
            down = failures.node[failures.node_ptr[f] : failures.node_ptr[f + 1]]
            lost[f - first] += at_home[down].sum()
        load = base + changes
        # What is left of a load that went elsewhere, by subtraction, is rounding.
        load[load < _NOISE * base] = 0.0
        yield Block(first, load, lost)


def _one_root(
    net: Network,
    root: int,
    own: Floats,
    fail_ptr: Ints,
    fail_edge: Ints,
    base: Floats,
    changes: Floats,
    lost: Floats,
) -> None:
    """Adds what flows to one root: to base, and by failure to changes and lost."""
    dist, hops, order, heap, place = np.empty((5, net.n), np.int64)
    none_down = np.zeros(len(net.tail), bool)
    settled = kernel_routes.search(
        root, net.n, np.ones(net.n, bool), net.in_ptr, net.in_edge, net.tail, net.cost,
        net.transit, none_down, dist, hops, order, heap, place,
    )  # fmt: skip
    lost += own[dist < 0].sum()
    flow = np.where(dist < 0, 0.0, own)
    kernel_repair.base_flow(
        root, settled, net.out_ptr, net.out_edge, net.head, net.cost, net.transit, none_down,
        dist, hops, order, flow, base,
    )  # fmt: skip
    kernel_repair.repair(
        root, fail_ptr, fail_edge, net.out_ptr, net.out_edge, net.in_ptr, net.in_edge, net.tail,
        net.head, net.cost, net.transit, dist, hops, flow, own, changes, lost,
    )  # fmt: skip


def _members(cable: Ints) -> list[Ints]:
    pointers = np.cumsum(np.bincount(cable))
    return list(np.split(np.argsort(cable, kind="stable").astype(np.int64), pointers[:-1]))


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.unique(np.concatenate(parts))


def _failures(edges: Sequence[Ints], nodes: Sequence[Sequence[int]]) -> Failures:
    edge_ptr, edge = _packed(edges)
    node_ptr, node = _packed([np.asarray(some, dtype=np.int64) for some in nodes])
    return Failures(edge_ptr, edge, node_ptr, node)


def _packed(rows: Sequence[Ints]) -> tuple[Ints, Ints]:
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, np.int64), *rows])
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64), flat
