"""What a service loses with a site or a node: single points of failure.

Each loss is a mask over the same arrays. A population's own site and its only way in are its own
and do not count: a service cannot outlive its users.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from designer.analysis.request_parts import (
    Move,
    Serve,
    leaves,
)
from designer.analysis.steering import candidates
from designer.analysis.study import Study
from designer.graph.arrays import Arrays, out_of_service
from designer.model.references import groups_around, site_of
from designer.model.services import Service
from designer.model.steps import calls


@dataclass(frozen=True, slots=True)
class Loss:
    """An element whose loss leaves users without the service."""

    element: str
    users: str


class Losses:
    """Single points of failure of a design's services; what is left without a thing is kept."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._around = {key: groups_around(study.design, key) for key in study.design.nodes}
        inside: dict[str, list[str]] = {}
        for key, groups in self._around.items():
            for group in groups:
                inside.setdefault(group, []).append(key)
        self._inside = {group: frozenset(keys) for group, keys in inside.items()}
        self._beside = _neighbours(study)
        self._left: dict[frozenset[str], _Left] = {}

    def of(self, service: Service) -> Iterator[Loss]:
        """Sites (for `two_regions`: regions too) whose loss cuts users off, then single nodes."""
        groups = _groups(self._study, service)
        for users in dict.fromkeys(demand.users for demand in service.demands):
            used = _used(self._study, service, users)
            # What lies off today's ways can go without a loss.
            touched = {group for key in used for group in self._around[key]}
            for group in groups:
                if group not in touched or group in self._around[users]:
                    continue
                if not self._survives(service, users, self._inside[group]):
                    yield Loss(group, users)
            for node in used:
                gone = frozenset((node,))
                if self._is_alone(users, node) and not self._survives(service, users, gone):
                    yield Loss(node, users)

    def _is_alone(self, users: str, node: str) -> bool:
        """Whether a node is a single instance outside of all sites, which are tried as a whole."""
        net = self._study.arrays
        return (
            node != users
            and node not in self._beside.get(users, ())
            and site_of(self._study.design, node) is None
            and net.expansion.count[net.node_position(node)] == 1
        )

    def _survives(self, service: Service, users: str, gone: frozenset[str]) -> bool:
        if gone not in self._left:
            self._left[gone] = _Left(self._study.arrays, gone)
        return _survives(self._study, service, users, self._left[gone])


def _groups(study: Study, service: Service) -> list[str]:
    kinds = {"site"} if service.resilience == "any_one_site" else {"site", "region"}
    return sorted(
        key
        for key, group in study.design.groups.items()
        if group.kind in kinds or group.site is not None
    )


def _used(study: Study, service: Service, users: str) -> list[str]:
    """The users and every node that their requests cross or stay at today."""
    found: dict[str, None] = {}
    for plan in study.plans:
        if plan.service != service.id or plan.users != users or plan.request is None:
            continue
        found[users] = None
        for leaf, _ in leaves(plan.request.whole):
            if isinstance(leaf, Move) and leaf.source != leaf.target:
                for path in study.finder.paths(leaf.source, leaf.target):
                    found.update(dict.fromkeys(path.crossed))
                found[leaf.target] = None
            elif isinstance(leaf, Serve):
                found[leaf.node] = None
    return list(found)


def _neighbours(study: Study) -> dict[str, set[str]]:
    """Neighbours of each node."""
    beside: dict[str, set[str]] = {}
    for link in study.design.links.values():
        beside.setdefault(link.a, set()).add(link.b)
        beside.setdefault(link.b, set()).add(link.a)
    return beside


class _Left:
    """Who still reaches whom without some nodes: parts of the network that hang together."""

    def __init__(self, arrays: Arrays, gone: frozenset[str]) -> None:
        # A tenth of a second to import, and not always needed.
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        net = arrays.network
        self.gone = gone
        self._arrays = arrays
        self._up = ~out_of_service(arrays, gone, frozenset())
        through = self._up & net.transit[net.tail] & net.transit[net.head]
        tail, head = net.tail[through], net.head[through]
        links = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(net.n, net.n))
        self._part = connected_components(links, directed=False)[1]

    def reaches(self, source: str, target: str) -> bool:
        """Whether some instance of one node still reaches some instance of the other."""
        if {source, target} & self.gone:
            return False
        (here, beside), (there, _) = self._parts(source), self._parts(target)
        return bool(here & there) or not beside.isdisjoint(self._instances(target))

    def _parts(self, node: str) -> tuple[set[int], set[int]]:
        """Parts that a node lies in or hangs on, and the vertices beside it."""
        net, mine = self._arrays.network, self._instances(node)
        heads = [
            int(net.head[edge])
            for vertex in mine
            for edge in net.out_edge[net.out_ptr[vertex] : net.out_ptr[vertex + 1]]
            if self._up[edge]
        ]
        ends = [vertex for vertex in (*mine, *heads) if net.transit[vertex]]
        return {int(self._part[vertex]) for vertex in ends}, set(heads)

    def _instances(self, node: str) -> list[int]:
        arrays = self._arrays
        return [int(v) for v in arrays.expansion.instances(arrays.node_position(node))]


def _survives(study: Study, service: Service, users: str, left: _Left) -> bool:
    """Whether users still reach a pool with the model and one node of each step's kind."""
    pools = [each.node for each in candidates(study.design, service, service.model)]
    if service.model is not None and not any(left.reaches(users, node) for node in pools):
        return False
    nodes = study.design.nodes
    for call in calls(service.workflow):
        places = [call.at] if call.at in nodes else [k for k in nodes if nodes[k].kind == call.at]
        if not any(left.reaches(users, place) for place in places):
            return False
    return True
