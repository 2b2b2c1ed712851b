"""Rules about links, switches and classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from designer.analysis.objections import Objection, called
from designer.analysis.study import Study
from designer.model.units import number

_EPS = 1e-9


def overload(study: Study) -> Iterator[Objection]:
    """Inelastic load over 100 % of a link in its busiest hour: its queue grows without end."""
    for key, capacity, offered, hour in _worst_directions(study):
        if offered > capacity * (1 + _EPS):
            yield Objection(
                (key,),
                f"{called(study.design, key)} is asked for {number(offered, 4)} Gb/s in its "
                f"busiest hour ({hour:02d}:00 UTC) and carries {number(capacity, 4)} "
                f"({offered / capacity:.0%}).",
                f"Add capacity or members for {number(offered - capacity, 3)} Gb/s more, or move "
                "load to another way.",
            )


def hot_link(study: Study) -> Iterator[Objection]:
    """Inelastic load above the design's own utilisation limit, but not over 100 %."""
    limit = study.design.settings.utilisation_limit
    for key, capacity, offered, hour in _worst_directions(study):
        if limit * capacity < offered <= capacity * (1 + _EPS):
            yield Objection(
                (key,),
                f"{called(study.design, key)} is at {offered / capacity:.0%} in its busiest hour "
                f"({hour:02d}:00 UTC), above the limit of {limit:.0%}.",
                "Add a member, raise the capacity, or set the limit that this design may have.",
            )


def _worst_directions(study: Study) -> Iterator[tuple[str, float, float, int]]:
    """Each drawn link with capacity, offered inelastic load and busiest hour of its worst edge."""
    net = study.arrays
    for key, mine in zip(net.expansion.link_ids, net.edges_by_link(), strict=True):
        known = mine[~np.isnan(net.capacity_gbps[mine])]
        if not len(known):
            continue
        edge = int(known[np.argmax(study.loads.offered_gbps[known] / net.capacity_gbps[known])])
        yield (
            key,
            float(net.capacity_gbps[edge]),
            float(study.loads.offered_gbps[edge]),
            int(study.loads.hour[edge]),
        )


def lossless_over_lossy(study: Study) -> Iterator[Objection]:
    """A lossless class crosses a link that is said to be lossy."""
    for cls, links in _links_by_class(study).items():
        if not study.rules[cls].lossless:
            continue
        for key in sorted(links):
            link = study.design.links[key]
            if link.lossless is False or (link.loss or 0) > 0:
                yield Objection(
                    (key,),
                    f"Class {cls} must not lose packets, and {called(study.design, key)} is lossy.",
                    "Make the link lossless (PFC and ECN), route the class round it, or make the "
                    "class lossy.",
                )


def mtu_shrinks(study: Study) -> Iterator[Objection]:
    """The MTU falls along the way of an RDMA (lossless) class."""
    seen: set[tuple[str, str]] = set()
    for stream in study.streams:
        if not study.rules[stream.traffic_class].lossless:
            continue
        for path in study.finder.paths(stream.source, stream.target):
            for before, after in zip(path.links, path.links[1:], strict=False):
                first, second = (study.design.links[key].mtu_bytes for key in (before, after))
                if first and second and second < first and (before, after) not in seen:
                    seen.add((before, after))
                    yield Objection(
                        (after, before),
                        f"On the way of class {stream.traffic_class} the MTU falls from {first} B "
                        f"on {called(study.design, before)} to {second} B on "
                        f"{called(study.design, after)}.",
                        f"Set {called(study.design, after)} to {first} B, or lower the MTU at the "
                        "sender.",
                    )


def _links_by_class(study: Study) -> dict[str, set[str]]:
    links: dict[str, set[str]] = defaultdict(set)
    for stream in study.streams:
        for path in study.finder.paths(stream.source, stream.target):
            links[stream.traffic_class].update(path.links)
    return links


def oversubscription_limit(study: Study) -> Iterator[Objection]:
    """A switch is oversubscribed beyond the limit set for it or its tier."""
    for row in study.oversubscription.switches:
        if row.limit is not None and row.ratio > row.limit * (1 + _EPS):
            more = row.downlink_gbps / row.limit - row.uplink_gbps
            yield Objection(
                (row.id,),
                f"{row.name} is oversubscribed {number(row.ratio, 3)}:1 ({row.downlink_gbps:,.0f} "
                f"over {row.uplink_gbps:,.0f} Gb/s); the limit is {number(row.limit, 3)}:1.",
                f"Add {more:,.0f} Gb/s of uplinks, or take hosts off.",
            )


def equal_names(study: Study) -> Iterator[Objection]:
    """Two nodes of one group are called the same."""
    named: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for key in sorted(study.design.nodes):
        node = study.design.nodes[key]
        if node.name:
            named[node.group, node.name].append(key)
    for (_, name), keys in named.items():
        if len(keys) > 1:
            yield Objection(
                tuple(keys),
                f"{len(keys)} nodes of one place are called {name}.",
                "Give them names of their own, so that reports can be read.",
            )
