"""Routes as a person reads them: the drawn nodes and links that a message crosses, in order.

Equal-cost paths that differ only in which instance or which parallel cable they take are one drawn
path; different drawn paths come with the share of traffic that takes each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.graph.arrays import Arrays, Flags, Ints
from designer.graph.routing import Routes, route

MOST_PATHS: Final = 8
"""Drawn paths kept for one pair; the shares of these are scaled to 1."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One drawn link in the direction taken, by an edge that stands for it, and the node after."""

    edge: int
    link: str
    node: str


@dataclass(frozen=True, slots=True)
class DrawnPath:
    """A drawn path from `source`: its hops, and the share of the pair's traffic that takes it."""

    source: str
    hops: tuple[Hop, ...]
    share: float

    @property
    def links(self) -> tuple[str, ...]:
        """Ids of the drawn links, in order."""
        return tuple(hop.link for hop in self.hops)

    @property
    def crossed(self) -> tuple[str, ...]:
        """Ids of the drawn nodes between the ends, in order."""
        return tuple(hop.node for hop in self.hops[:-1])


_Step = tuple[int, float, Hop]
"""The vertex after a hop, the share of what is there that takes it, and the hop."""


class PathFinder:
    """Drawn paths of one state of the network (`down` edges are out), searched once a target."""

    def __init__(self, arrays: Arrays, down: Flags | None = None) -> None:
        self.arrays = arrays
        self.down = np.zeros(arrays.edges, dtype=bool) if down is None else down
        self._routes: dict[int, Routes] = {}
        self._paths: dict[tuple[str, str], tuple[DrawnPath, ...]] = {}
        self._steps: dict[tuple[int, int], tuple[_Step, ...]] = {}

    def instances(self, node_id: str) -> Ints:
        """Vertices of a drawn node."""
        return self.arrays.expansion.instances(self.arrays.node_position(node_id))

    def routes_to(self, vertex: int) -> Routes:
        """Shortest paths to one vertex."""
        if vertex not in self._routes:
            self._routes[vertex] = route(self.arrays.network, [vertex], self.down)
        return self._routes[vertex]

    def paths(self, source: str, target: str) -> tuple[DrawnPath, ...]:
        """Drawn paths between two drawn nodes; empty where there is no way.

        Of several instances of the source, the one farthest from the target by metric stands for
        all: what holds for it holds for the others.
        """
        key = (source, target)
        if key not in self._paths:
            self._paths[key] = self._search(source, target)
        return self._paths[key]

    def _search(self, source: str, target: str) -> tuple[DrawnPath, ...]:
        root = int(self.instances(target)[0])
        dist = self.routes_to(root).dist[0]
        starts = self.instances(source)
        starts = starts[(dist[starts] > 0)]
        if not len(starts):
            return ()
        start = int(starts[np.argmax(dist[starts])])
        found: dict[tuple[str, ...], tuple[float, tuple[Hop, ...]]] = {}
        self._walk(start, root, dist, 1.0, (), found)
        total = sum(share for share, _ in found.values())
        return tuple(
            DrawnPath(source, hops, share / total)
            for _, (share, hops) in sorted(found.items(), key=lambda item: -item[1][0])
        )

    def _walk(
        self,
        start: int,
        root: int,
        dist: Ints,
        share: float,
        hops: tuple[Hop, ...],
        found: dict[tuple[str, ...], tuple[float, tuple[Hop, ...]]],
    ) -> None:
        """Follows next hops, those over one drawn link to one drawn node taken together."""
        stack = [(start, share, hops)]
        while stack:
            at, weight, way = stack.pop()
            if at == root:
                key = tuple(hop.link for hop in way)
                had = found.get(key)
                found[key] = (weight + (had[0] if had else 0.0), had[1] if had else way)
                continue
            if len(found) >= MOST_PATHS:
                continue
            if (at, root) not in self._steps:
                self._steps[at, root] = self._steps_from(at, root, dist)
            for after, part, hop in self._steps[at, root]:
                stack.append((after, weight * part, (*way, hop)))

    def _steps_from(self, at: int, root: int, dist: Ints) -> tuple[_Step, ...]:
        """What a path can do next, the last to be tried first."""
        edges = self._next_hops(at, root, dist)
        kinds: dict[tuple[str, str], list[int]] = {}
        for edge in edges:
            node = self.arrays.node_of(int(self.arrays.network.head[edge]))
            kinds.setdefault((self.arrays.link_of(edge), node), []).append(edge)
        return tuple(
            (
                int(self.arrays.network.head[alike[0]]),
                len(alike) / len(edges),
                Hop(alike[0], link, node),
            )
            for (link, node), alike in reversed(kinds.items())
        )

    def _next_hops(self, at: int, root: int, dist: Ints) -> list[int]:
        net = self.arrays.network
        out = net.out_edge[net.out_ptr[at] : net.out_ptr[at + 1]]
        heads = net.head[out]
        good = (
            ~self.down[out]
            & (dist[heads] >= 0)
            & (dist[heads] + net.cost[out] == dist[at])
            & (net.transit[heads] | (heads == root))
        )
        return [int(edge) for edge in out[good]]
