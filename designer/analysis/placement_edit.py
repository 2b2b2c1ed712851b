"""A recommendation as a Patch: deployments at the chosen places, and services steered to them."""

from __future__ import annotations

from typing import Final

from designer.analysis.results import PlacedReplicas, Placement
from designer.analysis.steering import allowed_at
from designer.model.design import Design
from designer.model.edits import remove_items
from designer.model.ids import derived_id
from designer.model.patch import Change, Patch, add, apply, merge
from designer.model.references import multiplicity
from designer.model.services import Deployment, PlacedShare, Service
from designer.model.topology import Topology

LEAST_SHARE: Final = 1e-6
"""Smaller shares are a solver's rounding."""

_Key = tuple[str, str, int]
"""Node, model and tensor-parallel ways of a deployment."""


def placement_patch(design: Design, placement: Placement) -> Patch:
    """Replaces the deployments of each placed model by the plan's and steers its services there.

    A deployment that already stands at a chosen node is kept with its settings and gets the plan's
    replicas; others of the same models are removed, with all that names them. Who is served from
    where is written down as the plan has it.
    """
    if not placement.replicas:
        return ()
    models = {row.model for row in placement.replicas}
    names, placed = _deployments(design, placement)
    first = (*_more_servers(design, placement, models), *placed)
    topology = apply(Topology(design=design), first)
    gone = [
        key
        for key, each in sorted(design.deployments.items())
        if each.model in models and key not in names.values()
    ]
    third = _steered(design, placement, names)
    steered = {change.id for change in third}
    second = tuple(
        change
        for change in (remove_items(topology, gone) if gone else ())
        if change.id not in steered or not change.field.startswith("steering")
    )
    return merge((first, second, third))


def _deployments(design: Design, placement: Placement) -> tuple[dict[_Key, str], list[Change]]:
    """The deployment of each of the plan's configurations, and the changes that make them so."""
    wanted: dict[_Key, int] = {}
    for row in placement.replicas:
        key = (row.node, row.model, row.tensor_parallel)
        wanted[key] = wanted.get(key, 0) + row.replicas
    changes: list[Change] = []
    names: dict[_Key, str] = {}
    for key, count in sorted(wanted.items()):
        old = next(
            (
                each
                for _, each in sorted(design.deployments.items())
                if (each.node, each.model, each.tensor_parallel) == key
            ),
            None,
        )
        if old is None:
            made = _new(design, *key, count)
            names[key] = made.id
            changes.append(add("deployments", made))
            continue
        names[key] = old.id
        if old.replicas != count:
            changes.append(Change("deployments", old.id, "replicas", old.replicas, count))
    return names, changes


def _more_servers(design: Design, placement: Placement, models: set[str]) -> Patch:
    """More of a GPU node where the plan takes more than it has: as many as its site offers."""
    changes = []
    for node_id in sorted({row.node for row in placement.replicas}):
        node = design.nodes[node_id]
        if not node.gpus:
            continue
        staying = sum(
            each.replicas * each.tensor_parallel * each.pipeline_parallel
            for each in design.deployments.values()
            if each.node == node_id and each.model not in models
        )
        needed = staying + sum(row.gpus for row in placement.replicas if row.node == node_id)
        around = multiplicity(design, node_id) // node.count
        servers = -(-needed // (node.gpus * around))
        if servers > node.count:
            changes.append(Change("nodes", node_id, "count", node.count, servers))
    return tuple(changes)


def _new(design: Design, node: str, model: str, ways: int, count: int) -> Deployment:
    """Like another deployment of the model, where there is one, at the node."""
    like = next((d for _, d in sorted(design.deployments.items()) if d.model == model), None)
    key = derived_id("d", f"{node}/{model}/{ways}")
    if like is None:
        return Deployment(id=key, node=node, model=model, tensor_parallel=ways, replicas=count)
    return like.replace(
        id=key, name="", node=node, tensor_parallel=ways, replicas=count, kv_tokens=None
    )


def _steered(design: Design, placement: Placement, names: dict[_Key, str]) -> Patch:
    changes = []
    served = dict.fromkeys(each.service for row in placement.replicas for each in row.serves)
    for key in served:
        service = design.services[key]
        after = service.steering.replace(
            policy="placed",
            targets=_failover(design, service, placement, names),
            weights=(),
            placed=tuple(
                PlacedShare(users=each.users, deployment=_name(row, names), share=each.share)
                for row in placement.replicas
                for each in row.serves
                if each.service == key and each.share > LEAST_SHARE
            ),
        )
        if after != service.steering:
            changes.append(Change("services", key, "steering", service.steering, after))
    return tuple(changes)


def _failover(
    design: Design, service: Service, placement: Placement, names: dict[_Key, str]
) -> tuple[str, ...]:
    """The plan's deployments of the model where the service may be: those that serve it first."""

    def rank(row: PlacedReplicas) -> tuple[float, int, str]:
        asked: dict[str, float] = {}
        for demand in service.demands:
            asked[demand.users] = asked.get(demand.users, 0.0) + demand.requests_per_s
        mine = sum(
            each.share * asked.get(each.users, 0.0)
            for each in row.serves
            if each.service == service.id
        )
        return -mine, -row.replicas, row.node

    rows = [
        row
        for row in placement.replicas
        if row.model == service.model and allowed_at(design, service, row.node) is True
    ]
    return tuple(dict.fromkeys(_name(row, names) for row in sorted(rows, key=rank)))


def _name(row: PlacedReplicas, names: dict[_Key, str]) -> str:
    return names[row.node, row.model, row.tensor_parallel]
