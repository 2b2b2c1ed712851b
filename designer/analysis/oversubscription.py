"""Oversubscription: downlink over uplink capacity at switches, and what a group's edge lets out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from designer.analysis.results import CutRatio, Oversubscription, SwitchRatio, TierRatio
from designer.graph.arrays import TERMINALS, Arrays, Flags, Floats, Ints
from designer.graph.cuts import max_flow
from designer.model.design import Design
from designer.model.kinds import TIERS, tier_of
from designer.model.references import groups_around

_LEVELS: Final = (
    "base_station olt cmts access_point leaf rail_switch storage_switch",
    "aggregation_router spine",
    "super_spine upf bng pe service_chain firewall",
    "metro_router cloud_onramp peering_gateway",
    "core_router dci roadm optical_span",
)
LEVEL_OF_KIND: Final = {
    kind: level for level, kinds in enumerate(_LEVELS, start=1) for kind in kinds.split()
}
"""How far above its hosts or users a forwarding node stands; terminals stand at 0."""

_JUDGED: Final = frozenset((*_LEVELS[0].split(), *_LEVELS[1].split(), "super_spine"))
"""Kinds whose downlink over uplink is what people mean by oversubscription."""


def oversubscription(design: Design, arrays: Arrays) -> Oversubscription:
    """Ratios at switches, tiers and group borders, where all capacities are known."""
    switches = _switches(design, arrays)
    return Oversubscription(switches=switches, tiers=_tiers(switches), cuts=_cuts(design, arrays))


def _levels(design: Design, arrays: Arrays) -> Floats:
    by_node = [
        0.0 if (kind := design.nodes[key].kind) in TERMINALS else LEVEL_OF_KIND.get(kind, np.nan)
        for key in arrays.expansion.node_ids
    ]
    return np.array(by_node, dtype=float)[arrays.expansion.node_of]


def _switches(design: Design, arrays: Arrays) -> tuple[SwitchRatio, ...]:
    """The most oversubscribed instance of each switch that has both downlinks and uplinks."""
    if not arrays.edges:
        return ()
    net, level = arrays.network, _levels(design, arrays)
    up = level[net.head] > level[net.tail]
    down = level[net.head] < level[net.tail]
    rows = []
    for at, key in enumerate(arrays.expansion.node_ids):
        node = design.nodes[key]
        if node.kind not in _JUDGED:
            continue
        instances = arrays.expansion.instances(at)
        below = _sum(arrays, down, instances)
        above = _sum(arrays, up, instances)
        good = np.flatnonzero((above > 0) & (below > 0))
        if not len(good):
            continue
        worst = int(good[np.argmax(below[good] / above[good])])
        tier = tier_of(node.kind, node.tier)
        limit = node.oversubscription_limit or design.settings.oversubscription_limits.get(tier)
        rows.append(
            SwitchRatio(
                id=key,
                name=node.name or key,
                tier=tier,
                downlink_gbps=float(below[worst]),
                uplink_gbps=float(above[worst]),
                ratio=float(below[worst] / above[worst]),
                limit=limit,
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.ratio, row.id)))


def _sum(arrays: Arrays, chosen: Flags, instances: Ints) -> Floats:
    """Capacity of the chosen edges that leave each instance, Gb/s; nan where one is unknown."""
    edges = np.flatnonzero(chosen)
    total = np.bincount(
        arrays.network.tail[edges], weights=arrays.capacity_gbps[edges], minlength=arrays.network.n
    )
    of_each: Floats = total[instances].astype(np.float64)
    return of_each


def _tiers(switches: tuple[SwitchRatio, ...]) -> tuple[TierRatio, ...]:
    worst: dict[str, SwitchRatio] = {}
    for row in switches:
        if row.tier not in worst or row.ratio > worst[row.tier].ratio:
            worst[row.tier] = row
    return tuple(
        TierRatio(tier=tier, ratio=worst[tier].ratio, switch=worst[tier].id)
        for tier in TIERS
        if tier in worst
    )


def _cuts(design: Design, arrays: Arrays) -> tuple[CutRatio, ...]:
    """For each group with hosts in it: what they can send over what leaves the group (max-flow)."""
    members: dict[str, set[str]] = {}
    for key in design.nodes:
        for group in groups_around(design, key):
            members.setdefault(group, set()).add(key)
    rows = [
        row
        for group in sorted(members)
        if (row := _cut(design, arrays, group, frozenset(members[group]))) is not None
    ]
    return tuple(sorted(rows, key=lambda row: (-row.ratio, row.group)))


def _cut(design: Design, arrays: Arrays, group: str, members: frozenset[str]) -> CutRatio | None:
    net, expansion = arrays.network, arrays.expansion
    inside = _flags(members, expansion.node_ids)[expansion.node_of]
    hosts = ~net.transit & inside
    sends = hosts[net.tail] & ~hosts[net.head]
    offered = np.bincount(net.tail[sends], weights=arrays.capacity_gbps[sends], minlength=net.n)
    if np.isnan(offered).any() or not offered.sum():
        return None
    leaving = inside[net.tail] & ~inside[net.head]
    # Hosts send and take, but carry nothing for others.
    within = inside[net.tail] & inside[net.head] & net.transit[net.head]
    used = leaving | within
    if not leaving.any() or np.isnan(arrays.capacity_gbps[used]).any():
        return None
    source, sink = net.n, net.n + 1
    starts = np.flatnonzero(offered)
    value = max_flow(
        net.n + 2,
        np.concatenate((net.tail[used], np.full(len(starts), source))),
        np.concatenate((np.where(leaving, sink, net.head)[used], starts)),
        np.concatenate((arrays.capacity_gbps[used], offered[starts])),
        source,
        sink,
    )
    if value <= 0:
        return None
    total = float(offered.sum())
    return CutRatio(
        group=group,
        name=design.groups[group].name or group,
        inside_gbps=total,
        cut_gbps=value,
        ratio=total / value,
    )


def _flags(chosen: frozenset[str], ids: tuple[str, ...]) -> Flags:
    return np.array([key in chosen for key in ids], dtype=bool)


def by_uplink(design: Design, ratios: Mapping[str, float]) -> dict[tuple[str, bool], float]:
    """Ratio of the switch that each uplink direction leaves: (link, runs from its a) to ratio."""
    level = {key: LEVEL_OF_KIND.get(node.kind, 0) for key, node in design.nodes.items()}
    found: dict[tuple[str, bool], float] = {}
    for key, link in design.links.items():
        for tail, head, ahead in ((link.a, link.b, True), (link.b, link.a, False)):
            if tail in ratios and level[head] > level[tail]:
                found[key, ahead] = ratios[tail]
    return found
