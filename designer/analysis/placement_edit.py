"""A recommendation as a Patch: deployments at the chosen places, and services steered to them."""

from __future__ import annotations

from designer.analysis.results import PlacedReplicas, Placement
from designer.model.design import Design
from designer.model.ids import derived_id
from designer.model.patch import Change, Patch, add, remove
from designer.model.references import multiplicity
from designer.model.services import Deployment


def placement_patch(design: Design, placement: Placement) -> Patch:
    """Replaces the deployments of each placed model by the plan's and steers its services there.

    A deployment that already stands at a chosen node is kept with its settings and gets the plan's
    replicas; others of the same models are removed.
    """
    models = {row.model for row in placement.replicas}
    wanted: dict[tuple[str, str, int], list[PlacedReplicas]] = {}
    for row in placement.replicas:
        wanted.setdefault((row.node, row.model, row.tensor_parallel), []).append(row)
    changes: list[Change] = []
    names: dict[tuple[str, str, int], str] = {}
    kept: set[str] = set()
    for key, rows in sorted(wanted.items()):
        node, model, ways = key
        count = sum(row.replicas for row in rows)
        old = next(
            (
                each
                for each in design.deployments.values()
                if (each.node, each.model, each.tensor_parallel) == key and each.id not in kept
            ),
            None,
        )
        if old is not None:
            kept.add(old.id)
            names[key] = old.id
            if old.replicas != count:
                changes.append(Change("deployments", old.id, "replicas", old.replicas, count))
            continue
        made = _new(design, node, model, ways, count)
        names[key] = made.id
        changes.append(add("deployments", made))
    changes += [
        remove("deployments", each)
        for key, each in sorted(design.deployments.items())
        if each.model in models and key not in kept
    ]
    return (
        *_more_servers(design, placement, models),
        *changes,
        *_steered(design, placement, names),
    )


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


def _steered(design: Design, placement: Placement, names: dict[tuple[str, str, int], str]) -> Patch:
    changes = []
    for service in dict.fromkeys(row.service for row in placement.replicas):
        rows = [row for row in placement.replicas if row.service == service]
        rows.sort(key=lambda row: (-len(row.users), -row.replicas, row.node))
        targets = tuple(
            dict.fromkeys(names[row.node, row.model, row.tensor_parallel] for row in rows)
        )
        before = design.services[service].steering
        after = before.replace(policy="nearest", targets=targets, weights=())
        if after != before:
            changes.append(Change("services", service, "steering", before, after))
    return tuple(changes)
