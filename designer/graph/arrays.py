"""A design as index arrays: instances, directed edges, what each carries and how long it takes.

Edge 2k runs from a to b of cable k, edge 2k + 1 back; a vertex is an instance of a node. Terminals
(users, GPU hosts, stores, tools) are crossed by no path. Unknown figures are nan.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from designer.graph.expand import Expansion
from designer.graph.routing import Network, network
from designer.model.design import Design
from designer.model.kinds import GPU_HOSTS, STORES, USER_KINDS
from designer.model.things import Link

MOST_METRIC: Final = 2**31

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TERMINALS: Final = (
    GPU_HOSTS | STORES | USER_KINDS | {"tool_service", "external_api", "scheduler", "observability"}
)
"""Kinds of node that traffic starts or ends at and never crosses."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """The network of one design.

    network: the instances as vertices, directed edges with their integer routing cost, and who
    forwards.
    link: (edges,) position of the drawn link; forward: whether the edge runs from its a to its b.
    members: (edges,) parallel members; capacity_gbps, background_gbps: of the bundle.
    one_way_ms: (edges,) propagation and FEC, nan where unknown.
    """

    expansion: Expansion
    network: Network
    link: Ints
    forward: Flags
    members: Ints
    capacity_gbps: Floats
    background_gbps: Floats
    one_way_ms: Floats

    @property
    def edges(self) -> int:
        """Number of directed edges."""
        return len(self.link)

    def node_position(self, node_id: str) -> int:
        """Position of a drawn node among the sorted ids; KeyError where there is none."""
        return _position(self.expansion.node_ids, node_id)

    def link_position(self, link_id: str) -> int:
        """Position of a drawn link among the sorted ids; KeyError where there is none."""
        return _position(self.expansion.link_ids, link_id)

    def edges_by_link(self) -> list[Ints]:
        """The edges of each drawn link, in the order of the sorted ids, a to b and back in turn."""
        bounds = np.searchsorted(self.link, np.arange(len(self.expansion.link_ids) + 1))
        every = np.arange(self.edges)
        return [every[first:last] for first, last in pairwise(bounds.tolist())]

    def node_of(self, vertex: int) -> str:
        """Id of the drawn node that an instance belongs to."""
        return self.expansion.node_ids[int(self.expansion.node_of[vertex])]

    def link_of(self, edge: int) -> str:
        """Id of the drawn link that an edge belongs to."""
        return self.expansion.link_ids[int(self.link[edge])]


def _position(ids: Sequence[str], key: str) -> int:
    position = bisect_left(ids, key)
    if position >= len(ids) or ids[position] != key:
        raise KeyError(key)
    return position


def arrays(design: Design, expansion: Expansion, one_way_ms: Sequence[float | None]) -> Arrays:
    """The arrays of a design; `one_way_ms` is by drawn link, in the order of the sorted ids."""
    links = [design.links[key] for key in expansion.link_ids]
    delay = np.array([np.nan if ms is None else ms for ms in one_way_ms], dtype=np.float64)
    both = np.repeat(expansion.link_of, 2)
    forward = np.tile([True, False], len(expansion.link_of))
    ends = np.column_stack((expansion.a, expansion.b))
    forwards = np.array(
        [design.nodes[key].kind not in TERMINALS for key in expansion.node_ids], dtype=bool
    )
    members = np.array([link.members for link in links], dtype=np.int64)
    member_gbps = _directed(links, both, forward, _capacity)
    net = network(
        len(expansion.node_of),
        ends.ravel(),
        ends[:, ::-1].ravel(),
        _directed(links, both, forward, _costs(links, delay)).astype(np.int64),
        forwards[expansion.node_of],
    )
    return Arrays(
        expansion,
        net,
        both,
        forward,
        members[both] if links else np.empty(0, dtype=np.int64),
        member_gbps * members[both] if links else member_gbps,
        _directed(links, both, forward, _background),
        delay[both] if links else np.empty(0),
    )


PerLink = Callable[[int, Link, bool], float]


def _directed(links: Sequence[Link], both: Ints, forward: Flags, value: PerLink) -> Floats:
    """A figure of each edge from a figure of each drawn link and direction."""
    if not links:
        return np.empty(0)
    ahead = np.array([value(at, link, True) for at, link in enumerate(links)], dtype=np.float64)
    back = np.array([value(at, link, False) for at, link in enumerate(links)], dtype=np.float64)
    return np.where(forward, ahead[both], back[both])


def _capacity(_: int, link: Link, ahead: bool) -> float:
    gbps = link.capacity_gbps if ahead else link.reverse_capacity_gbps()
    return np.nan if gbps is None else gbps


def _background(_: int, link: Link, ahead: bool) -> float:
    gbps = link.background_gbps if ahead else link.reverse_background_gbps()
    return 0.0 if gbps is None else gbps


def _costs(links: Sequence[Link], delay_ms: Floats) -> PerLink:
    """Metric, else the delay in whole µs, else what the design's other links have at the median.

    A link of unknown delay must not look nearer than all others; without any known delay all
    links cost 1, which counts hops.
    """
    known = delay_ms[~np.isnan(delay_ms)]
    usual = _whole_us(float(np.median(known))) if len(known) else 1.0

    def cost(at: int, link: Link, ahead: bool) -> float:
        metric = link.metric if ahead else link.reverse_metric()
        if metric is not None:
            return float(metric)
        return usual if np.isnan(delay_ms[at]) else _whole_us(float(delay_ms[at]))

    return cost


def _whole_us(delay_ms: float) -> float:
    """A delay as a metric; no more than the largest that a link may be given."""
    return float(min(max(1.0, np.rint(delay_ms * 1000)), MOST_METRIC))


def out_of_service(arrays: Arrays, nodes: frozenset[str], links: frozenset[str]) -> Flags:
    """(edges,) whether an edge is out because its link or one of its ends is."""
    expansion = arrays.expansion
    if not arrays.edges:
        return np.zeros(0, dtype=bool)
    node_out = np.array([key in nodes for key in expansion.node_ids], dtype=bool)
    link_out = np.array([key in links for key in expansion.link_ids], dtype=bool)
    gone = node_out[expansion.node_of]
    net = arrays.network
    down: Flags = link_out[arrays.link] | gone[net.tail] | gone[net.head]
    return down
