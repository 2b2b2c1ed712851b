"""What a service loses with a site, a node or a link: single points of failure.

Each loss is a mask over the same arrays. A population's own site and its only way in are its own
and do not count: a service cannot outlive its users.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from designer.analysis.steering import candidates
from designer.analysis.study import Study
from designer.analysis.workflow import Move, Serve, leaves
from designer.graph.arrays import out_of_service
from designer.graph.paths import PathFinder
from designer.model.references import groups_around, site_of
from designer.model.services import Service
from designer.model.steps import calls


@dataclass(frozen=True, slots=True)
class Loss:
    """An element whose loss leaves users without the service."""

    element: str
    users: str


def single_points(study: Study, service: Service) -> Iterator[Loss]:
    """Sites (for `two_regions`: regions too) whose loss cuts users off, then single nodes."""
    for users in dict.fromkeys(demand.users for demand in service.demands):
        own = set(groups_around(study.design, users))
        for group in _groups(study, service):
            if group in own:
                continue
            inside = frozenset(
                key for key in study.design.nodes if group in groups_around(study.design, key)
            )
            if users not in inside and not _survives(study, service, users, inside):
                yield Loss(group, users)
        for node in _alone(study, service, users):
            if not _survives(study, service, users, frozenset((node,))):
                yield Loss(node, users)


def _groups(study: Study, service: Service) -> list[str]:
    kinds = {"site"} if service.resilience == "any_one_site" else {"site", "region"}
    return sorted(
        key
        for key, group in study.design.groups.items()
        if group.kind in kinds or group.site is not None
    )


def _alone(study: Study, service: Service, users: str) -> list[str]:
    """Single instances on today's way outside of all sites, which are tried as a whole."""
    found: dict[str, None] = {}
    for plan in study.plans:
        if plan.service != service.id or plan.users != users or plan.request is None:
            continue
        for leaf, _ in leaves(plan.request.whole):
            if isinstance(leaf, Move) and leaf.source != leaf.target:
                for path in study.finder.paths(leaf.source, leaf.target):
                    found.update(dict.fromkeys(path.crossed))
            elif isinstance(leaf, Serve):
                found[leaf.node] = None
    first = _first_hops(study, users)
    return [
        key
        for key in found
        if site_of(study.design, key) is None
        and key not in first
        and study.arrays.expansion.count[study.arrays.node_position(key)] == 1
    ]


def _first_hops(study: Study, users: str) -> set[str]:
    return {
        end
        for link in study.design.links.values()
        if users in (link.a, link.b)
        for end in (link.a, link.b)
    }


def _survives(study: Study, service: Service, users: str, gone: frozenset[str]) -> bool:
    """Whether users still reach a pool with the model and one node of each step's kind."""
    finder = PathFinder(study.arrays, out_of_service(study.arrays, gone, frozenset()))
    pools = [
        each.node
        for each in candidates(study.design, service, service.model)
        if each.node not in gone
    ]
    if service.model is not None and not any(finder.paths(users, node) for node in pools):
        return False
    for call in calls(service.workflow):
        nodes = study.design.nodes
        places = [call.at] if call.at in nodes else [k for k in nodes if nodes[k].kind == call.at]
        if not any(place not in gone and finder.paths(users, place) for place in places):
            return False
    return True
