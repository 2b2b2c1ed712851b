"""One message on its way, one-way: propagation, forwarding, queueing and transfer by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from designer.analysis.bandwidth import Flows, LinkLoads, backdrop
from designer.analysis.classes import ClassRule
from designer.analysis.demand import Stream
from designer.analysis.elements import Elements
from designer.analysis.facts import Ledger
from designer.analysis.headers import Headers
from designer.analysis.queueing import ClassLoad, Wait, priority_wait
from designer.analysis.results import FactKind
from designer.analysis.wire import SEGMENT_BYTES
from designer.graph.arrays import Arrays, Floats
from designer.graph.paths import DrawnPath, Hop, PathFinder
from designer.graph.shares import usage
from designer.model.design import Design
from designer.model.kinds import TIERS, tier_of


@dataclass(frozen=True, slots=True)
class Segment:
    """One thing that takes time on a request's way: what, in which tier, at which element."""

    name: str
    tier: str
    element: str
    kind: FactKind
    source: str = ""


@dataclass(frozen=True, slots=True)
class Trip:
    """One drawn path, one way, as seen by a message of one class.

    share: of the traffic that takes it. fixed_ms: constant parts. waits: queues on the way.
    transfer_gbps: payload rate that one more flow gets; None where a capacity is not known.
    transfer: the segment that the transfer is charged to (its bottleneck).
    unknown: what is not known on the way, so that a sum says "at least".
    """

    share: float
    fixed_ms: tuple[tuple[Segment, float], ...]
    waits: tuple[tuple[Segment, Wait], ...]
    transfer_gbps: float | None
    transfer: Segment | None
    unknown: tuple[str, ...]

    @property
    def one_way_ms(self) -> float:
        """The constant parts together."""
        return sum(ms for _, ms in self.fixed_ms)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is known of the traffic on the links when messages are timed."""

    loads: LinkLoads
    rules: Mapping[str, ClassRule]
    elastic_flows: Mapping[str, Floats]
    """Class to (edges,) elastic connections that share each edge."""


@dataclass(slots=True)
class Transit:
    """Times messages over the drawn paths of one state of the network; answers are kept."""

    design: Design
    arrays: Arrays
    finder: PathFinder
    elements: Elements
    traffic: Traffic
    headers: Headers
    ledger: Ledger
    _trips: dict[tuple[str, str, str], tuple[Trip, ...]] = field(default_factory=dict)
    _waits: dict[int, dict[str, Wait]] = field(default_factory=dict)

    def trips(self, source: str, target: str, cls: str) -> tuple[Trip, ...]:
        """The equal-cost ways between two nodes; empty where there is none."""
        key = (source, target, cls)
        if key not in self._trips:
            self._trips[key] = tuple(
                self._trip(path, cls) for path in self.finder.paths(source, target)
            )
        return self._trips[key]

    def wait(self, edge: int, cls: str) -> Wait | None:
        """What a packet of the class waits at the start of an edge; None for unknown capacity.

        A flow rides one member of a bundle, so it queues with that member's part of the load.
        """
        if np.isnan(self.arrays.capacity_gbps[edge]):
            return None
        if edge not in self._waits:
            order = list(self.traffic.rules)
            loads = [self._class_load(edge, key) for key in order]
            capacity = float(self.arrays.capacity_gbps[edge]) / int(self.arrays.members[edge])
            self._waits[edge] = dict(zip(order, priority_wait(loads, capacity), strict=True))
        return self._waits[edge][cls]

    def _class_load(self, edge: int, cls: str) -> ClassLoad:
        rule = self.traffic.rules[cls]
        node = self.design.nodes[self.arrays.node_of(int(self.arrays.network.tail[edge]))]
        threshold_kb = rule.ecn_threshold_kb or node.ecn_threshold_kb
        gbps = float(self.traffic.loads.by_class[cls][edge])
        if cls == "background":
            gbps += float(self.traffic.loads.background_gbps[edge])
        return ClassLoad(
            gbps / int(self.arrays.members[edge]),
            ((rule.packet_bytes, 1.0),),
            rule.priority,
            rule.weight,
            rule.elastic,
            ecn_threshold_bytes=None if threshold_kb is None else threshold_kb * 1000,
        )

    def _trip(self, path: DrawnPath, cls: str) -> Trip:
        fixed: list[tuple[Segment, float]] = []
        waits: list[tuple[Segment, Wait]] = []
        unknown: list[str] = []
        for at, hop in enumerate(path.hops):
            self._link(hop, cls, fixed, waits, unknown)
            if at + 1 < len(path.hops):
                self._node(hop.node, fixed, unknown)
        rate, tightest = self._rate(path.hops, cls)
        if rate is None:
            unknown.append(f"capacity of {tightest}")
        transfer = self._segment("transfer", tightest, "derived", "bytes / share at its bottleneck")
        return Trip(path.share, tuple(fixed), tuple(waits), rate, transfer, tuple(unknown))

    def _link(
        self,
        hop: Hop,
        cls: str,
        fixed: list[tuple[Segment, float]],
        waits: list[tuple[Segment, Wait]],
        unknown: list[str],
    ) -> None:
        link = self.design.links[hop.link]
        fact = self.elements.link_one_way_ms(link)
        segment = self._segment("propagation", hop.link, fact.kind, fact.source)
        if fact.value is None:
            unknown.append(f"delay of {link.name or link.id}")
        else:
            fixed.append((segment, fact.value))
        wait = self.wait(hop.edge, cls)
        if wait is None:
            return
        member = float(self.arrays.capacity_gbps[hop.edge]) / int(self.arrays.members[hop.edge])
        packet = self.traffic.rules[cls].packet_bytes
        fixed.append(
            (
                self._segment("serialisation", hop.link, "derived", "one packet / member's rate"),
                packet * 8 / (member * 1e6),
            )
        )
        queue = self._segment("queueing", hop.link, "derived", "non-preemptive priority M/G/1")
        if wait.mean_us is None:
            unknown.append(f"queue of {link.name or link.id}")
        elif wait.mean_us > 0:
            waits.append((queue, wait))

    def _node(self, node_id: str, fixed: list[tuple[Segment, float]], unknown: list[str]) -> None:
        node = self.design.nodes[node_id]
        fact = self.elements.forwarding_us(node)
        if fact.value is None:
            unknown.append(f"forwarding of {node.name or node.id}")
            return
        tier = tier_of(node.kind, node.tier)
        segment = Segment("forwarding", tier, node_id, fact.kind, fact.source)
        fixed.append((segment, fact.value / 1000))

    def _rate(self, hops: Sequence[Hop], cls: str) -> tuple[float | None, str]:
        """Payload Gb/s of one more flow of the class, and the link that limits it.

        It rides one member, and gets what inelastic traffic of its own and more urgent classes
        leaves, shared equally with the elastic flows of its own priority.
        """
        least, tightest = np.inf, hops[0].link
        for hop in hops:
            rule = self.traffic.rules[cls]
            goodput = self.headers.goodput(SEGMENT_BYTES, (hop.link,), rule)
            offer = self._offer(hop.edge, cls) * goodput
            if np.isnan(offer):
                return None, hop.link
            if offer < least:
                least, tightest = offer, hop.link
        return float(least), tightest

    def _offer(self, edge: int, cls: str) -> float:
        rules, capacity = self.traffic.rules, float(self.arrays.capacity_gbps[edge])
        own = rules[cls].priority
        taken = float(self.arrays.background_gbps[edge]) if own >= backdrop(rules) else 0.0
        others = 0.0
        for key, rule in rules.items():
            if rule.priority > own:
                continue
            if not rule.elastic:
                taken += float(self.traffic.loads.by_class[key][edge])
            elif rule.priority == own:
                others += float(self.traffic.elastic_flows[key][edge])
            else:
                taken += float(self.traffic.loads.by_class[key][edge])
        member = capacity / int(self.arrays.members[edge])
        return min(member, max(capacity - taken, 0.0) / (1 + others))

    def _segment(self, name: str, link_id: str, kind: FactKind, source: str) -> Segment:
        return Segment(name, self.link_tier(link_id), link_id, kind, source)

    def link_tier(self, link_id: str) -> str:
        """The tier that a link's time counts for: the fabric's if an end is there, else the later
        of its ends' that is not GPU or Services, which stand at the end of the way."""
        link = self.design.links[link_id]
        tiers = [
            tier_of(node.kind, node.tier)
            for node in (self.design.nodes[link.a], self.design.nodes[link.b])
        ]
        inner = [tier for tier in tiers if tier not in ("gpu", "services")]
        if "fabric" in tiers or not inner:
            return "fabric"
        return max(inner, key=TIERS.index)


def elastic_flows(
    arrays: Arrays, flows: Flows, streams: Sequence[Stream], rules: Mapping[str, ClassRule]
) -> dict[str, Floats]:
    """Class to (edges,) how many elastic connections share each edge."""
    routes = flows.routes
    found = {}
    for key in rules:
        mine = np.array(
            [each.elastic and each.traffic_class == key for each in streams], dtype=bool
        )
        flows_mine = mine[flows.stream] if len(flows.stream) else np.zeros(0, dtype=bool)
        connections = np.where(flows_mine, flows.weight, 0.0)
        found[key] = usage(arrays.edges, routes.indptr, routes.edge, routes.share, connections)
    return found
