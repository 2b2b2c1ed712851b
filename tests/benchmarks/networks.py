"""Random networks and designs for the benchmarks, and a plain Python twin of the ECMP push."""

from collections import defaultdict
from dataclasses import dataclass

import networkx as nx
import numpy as np
from immutables import Map
from numpy.typing import NDArray

from designer.graph import routing
from designer.model.design import Design
from designer.model.layout import Box, Layout
from designer.model.services import Flow
from designer.model.things import Link, Node
from designer.model.topology import Topology

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Traffic:
    """A network of cables (edge k and k + cables are the two directions) and what crosses it."""

    net: routing.Network
    cables: int
    source: Ints
    target: Ints
    volume: Floats


def random_traffic(nodes: int, demands: int, targets: int, seed: int) -> Traffic:
    """A connected network of two cables a node, small metrics (so many equal paths), demands."""
    rng = np.random.default_rng(seed)
    ring = np.arange(nodes)
    a = np.concatenate((ring, rng.integers(0, nodes, nodes)))
    b = np.concatenate(((ring + 1) % nodes, rng.integers(0, nodes, nodes)))
    b = np.where(a == b, (b + 1) % nodes, b)
    cost = rng.integers(1, 4, len(a))
    net = routing.network(
        nodes, np.concatenate((a, b)), np.concatenate((b, a)), np.concatenate((cost, cost))
    )
    served = rng.choice(nodes, targets, replace=False)
    return Traffic(
        net,
        len(a),
        rng.integers(0, nodes, demands),
        rng.choice(served, demands),
        rng.uniform(0.1, 2.0, demands),
    )


def networkx_loads(traffic: Traffic) -> Floats:
    """The load of each edge: networkx searches from each target, plain Python pushes."""
    net = traffic.net
    backwards: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    ways: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    ends = zip(net.tail.tolist(), net.head.tolist(), net.cost.tolist(), strict=True)
    for edge, (tail, head, cost) in enumerate(ends):
        backwards.add_edge(head, tail, weight=cost)
        ways[tail].append((edge, head, cost))
    demands = zip(
        traffic.source.tolist(), traffic.target.tolist(), traffic.volume.tolist(), strict=True
    )
    by_target: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for source, target, volume in demands:
        by_target[target][source] += volume
    load = [0.0] * len(net.tail)
    for target, held in by_target.items():
        far = nx.single_source_dijkstra_path_length(backwards, target)
        for at in reversed(far):
            if at == target or not held.get(at):
                continue
            hops = [(edge, to) for edge, to, cost in ways[at] if far[to] + cost == far[at]]
            for edge, to in hops:
                load[edge] += held[at] / len(hops)
                held[to] += held[at] / len(hops)
    return np.array(load)


def metro(nodes: int) -> Topology:
    """A design: a ring of routers with chords, three devices at each, and fifty flows."""
    rings = nodes // 4
    made: dict[str, Node] = {}
    links: dict[str, Link] = {}
    for at in range(rings):
        router = f"r{at:05}"
        made[router] = Node(id=router, name=f"Router {at}", kind="metro_router")
        _join(links, router, f"r{(at + 1) % rings:05}", 400.0, 20.0)
        if at % 5 == 0:
            _join(links, router, f"r{(at * 7 + rings // 3) % rings:05}", 400.0, 60.0)
        for leaf, kind in enumerate(("aggregation_router", "firewall", "server")):
            key = f"d{at:05}-{leaf}"
            made[key] = Node(id=key, name=f"Device {at}.{leaf}", kind=kind)
            _join(links, router, key, 100.0, 1.0)
    flows = _flows(rings)
    design = Design(nodes=Map(made), links=Map(links), flows=Map(flows))
    boxes = {key: Box(id=key, x=at % 70 * 160, y=at // 70 * 90) for at, key in enumerate(made)}
    return Topology(design=design, layout=Layout(boxes=Map(boxes)))


def _join(links: dict[str, Link], a: str, b: str, gbps: float, km: float) -> None:
    key = f"{a}--{b}"
    links[key] = Link(
        id=key, name=key, a=a, b=b, capacity_gbps=gbps, length_km=km, medium="smf_g652"
    )


def _flows(rings: int) -> dict[str, Flow]:
    """Fifty flows between servers far apart; as many whatever the size."""
    made = {}
    for number in range(50):
        source = number * rings // 50
        target = (source + rings // 3 + number) % rings
        key = f"f{number:02}"
        made[key] = Flow(
            id=key, name=key, source=f"d{source:05}-2", target=f"d{target:05}-2", rate_gbps=2.0
        )
    return made
