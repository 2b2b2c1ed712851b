"""Which deployment serves whom: candidates by model and residency, then the service's policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from immutables import Map

from designer.graph.geometry import inside
from designer.model.design import Design
from designer.model.references import groups_around, position_of, site_of
from designer.model.services import Deployment, Service
from designer.model.steps import model_calls


class Distance(Protocol):
    """How far one drawn node is from another: one-way ms of the route, None where there is none."""

    def __call__(self, source: str, target: str) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """A share of a population's requests and the pools that these go to, by model.

    `serves` maps a model as the workflow names it (None: the service's own) to the deployment and
    its node, or to None where nobody serves it.
    """

    share: float
    serves: Mapping[str | None, tuple[str, str] | None]


def allowed_at(design: Design, service: Service, node_id: str) -> bool | None:
    """Whether a service's data may be at a node; None where the place is not known."""
    rule = service.residency
    if not rule.jurisdictions and not rule.polygons:
        return True
    site_id = site_of(design, node_id)
    site = design.groups[site_id].site if site_id else None
    law = site.jurisdiction if site else None
    if law is not None and any(
        law == allowed or law.startswith(allowed + "-") for allowed in rule.jurisdictions
    ):
        return True
    place = position_of(design, node_id)
    if rule.polygons and place is not None and inside(*place, rule.polygons):
        return True
    known = (not rule.jurisdictions or law is not None) and (not rule.polygons or place is not None)
    return False if known else None


def choices(design: Design, service: Service, users: str, distance: Distance) -> tuple[Choice, ...]:
    """How a population's requests are spread over pools; shares add up to 1.

    The service's own model is steered by its policy; a further model that the workflow names goes
    to its nearest pool. With no pool at all the one choice serves nothing.
    """
    named = {call.model for call in model_calls(service.workflow) if call.model is not None}
    serves: dict[str | None, tuple[str, str] | None] = {None: None}
    for model in named:
        serves[model] = _first(_ordered(design, service, users, model, distance))
    ordered = _ordered(design, service, users, service.model, distance)
    own = _shares(design, service, users, ordered)
    if not own:
        return (Choice(1.0, Map(serves)),)
    return tuple(
        Choice(share, Map(serves).set(None, (deployment.id, deployment.node)))
        for deployment, share in own
    )


def _first(ordered: Sequence[Deployment]) -> tuple[str, str] | None:
    return (ordered[0].id, ordered[0].node) if ordered else None


def candidates(design: Design, service: Service, model: str | None) -> tuple[Deployment, ...]:
    """Deployments that hold the model and that the service's steering names, by id.

    Targets that a person fixed are taken as they are (the rule check judges their residency);
    otherwise places outside the residency are left out.
    """
    targets = service.steering.targets
    found = []
    for key in sorted(design.deployments):
        deployment = design.deployments[key]
        if deployment.model != model or deployment.role == "decode":
            continue
        homes = {deployment.id, deployment.node, *groups_around(design, deployment.node)}
        if targets and homes.isdisjoint(targets):
            continue
        if not _is_fixed(service) and allowed_at(design, service, deployment.node) is not True:
            continue
        found.append(deployment)
    return tuple(found)


def _is_fixed(service: Service) -> bool:
    return service.steering.policy in ("fixed", "placed") and bool(service.steering.targets)


def _ordered(
    design: Design, service: Service, users: str, model: str | None, distance: Distance
) -> tuple[Deployment, ...]:
    """Reachable candidates, the first choice first."""
    far = {
        deployment: distance(users, deployment.node)
        for deployment in candidates(design, service, model)
    }
    reachable = {deployment: ms for deployment, ms in far.items() if ms is not None}
    if not _is_fixed(service):
        return tuple(sorted(reachable, key=lambda each: (reachable[each], each.id)))

    def rank(deployment: Deployment) -> tuple[int, float, str]:
        return _place(design, service, deployment), reachable[deployment], deployment.id

    return tuple(sorted(reachable, key=rank))


def _by_weight(
    design: Design, service: Service, ordered: Sequence[Deployment]
) -> tuple[tuple[Deployment, float], ...]:
    """A target's weight goes to the pools in it, by replicas; a pool counts with the first only."""
    place = {each.id: _place(design, service, each) for each in ordered}
    replicas: dict[int, int] = {}
    for each in ordered:
        replicas[place[each.id]] = replicas.get(place[each.id], 0) + each.replicas
    weights = service.steering.weights
    total = sum(weights[at] for at in replicas)
    return tuple(
        (each, weights[place[each.id]] / total * each.replicas / replicas[place[each.id]])
        for each in ordered
    )


def _place(design: Design, service: Service, deployment: Deployment) -> int:
    """Position of the first target that a pool is, or lies in."""
    homes = {deployment.id, deployment.node, *groups_around(design, deployment.node)}
    return next(k for k, target in enumerate(service.steering.targets) if target in homes)


def _as_placed(
    service: Service, users: str, ordered: Sequence[Deployment]
) -> tuple[tuple[Deployment, float], ...]:
    """The population's shares over those of its deployments that are left, adding up to 1."""
    asked: dict[str, float] = {}
    for each in service.steering.placed:
        if each.users == users:
            asked[each.deployment] = asked.get(each.deployment, 0.0) + each.share
    left = [(each, asked[each.id]) for each in ordered if each.id in asked]
    total = sum(share for _, share in left)
    return tuple((each, share / total) for each, share in left)


def _shares(
    design: Design, service: Service, users: str, ordered: Sequence[Deployment]
) -> tuple[tuple[Deployment, float], ...]:
    if not ordered:
        return ()
    if service.steering.policy == "least_loaded":
        total = sum(each.replicas for each in ordered)
        return tuple((each, each.replicas / total) for each in ordered)
    if service.steering.policy == "weighted":
        return _by_weight(design, service, ordered)
    if service.steering.policy == "placed":
        return _as_placed(service, users, ordered) or ((ordered[0], 1.0),)
    return ((ordered[0], 1.0),)
