"""Who names whom inside a design, and what is wrong with it: dangling ids, circles, sizes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from designer.model.design import Design
from designer.model.kinds import NODE_KINDS
from designer.model.services import Step
from designer.model.steps import calls, inner_steps
from designer.model.topology import MINOR, Topology

MOST_INSTANCES: Final = 10_000_000
"""More instances than this in all are refused (TOPOLOGY: counts)."""

SEVERITIES: Final = ("error", "warning", "info", "off")

MOST_STEPS_DEEP: Final = 40
"""Steps inside steps; deeper ones could not be written again."""

_TO: Final[dict[tuple[str, str], str]] = {
    ("groups", "parent"): "groups",
    ("nodes", "group"): "groups",
    ("nodes", "chain"): "nodes",
    ("links", "a"): "nodes",
    ("links", "b"): "nodes",
    ("links", "spans"): "spans",
    ("deployments", "node"): "nodes",
    ("deployments", "partner"): "deployments",
    ("services", "tenant"): "tenants",
    ("services", "steering.targets"): "deployments nodes groups",
    ("services", "steering.placed.users"): "nodes",
    ("services", "steering.placed.deployment"): "deployments",
    ("flows", "source"): "nodes",
    ("flows", "target"): "nodes",
    ("flows", "owner"): "services",
    ("paths", "source"): "nodes",
    ("paths", "target"): "nodes",
    ("paths", "via"): "nodes links",
    ("paths", "disjoint_from"): "paths",
    ("failures", "nodes"): "nodes",
    ("failures", "links"): "links",
    ("failures", "groups"): "groups",
    ("scenarios", "changes.target"): "nodes links groups services deployments flows",
}
"""Fields that hold ids, and the collections where they must be found."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a place of the file, with what to do about it."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Reference:
    """One id that a thing names: from (collection, id, field) to `target` in `collections`."""

    collection: str
    id: str
    field: str
    target: str
    collections: tuple[str, ...]


def homes_of(collection: str, field: str) -> tuple[str, ...]:
    """The collections in which the ids of a field must be found; none where it holds no ids."""
    return tuple(_TO.get((collection, field), "").split())


def references(design: Design) -> Iterator[Reference]:
    """Every id that some thing of the design names."""
    for (collection, field), targets in _TO.items():
        homes = tuple(targets.split())
        for key, item in getattr(design, collection).items():
            for target in _values(item, field):
                yield Reference(collection, key, field, target, homes)
    for key, service in design.services.items():
        for demand in service.demands:
            yield Reference("services", key, "demands", demand.users, ("nodes",))
        for call in calls(service.workflow):
            if call.at not in NODE_KINDS:
                yield Reference("services", key, "workflow", call.at, ("nodes",))


def _values(item: Any, path: str) -> Iterator[str]:
    head, _, rest = path.partition(".")
    value = getattr(item, head)
    for each in value if isinstance(value, tuple) else (value,):
        if each is not None:
            yield from _values(each, rest) if rest else (each,)


def problems(topology: Topology) -> tuple[Problem, ...]:
    """Everything that makes the parts of a topology not fit each other, in a fixed order."""
    design = topology.design
    found = [
        Problem(
            f"design.{reference.collection}[{reference.id}].{reference.field}",
            f"{reference.target!r} is not among the {' or '.join(reference.collections)}; "
            "name one that is there, or take the entry out",
        )
        for reference in references(design)
        if not any(reference.target in getattr(design, home) for home in reference.collections)
    ]
    found += _self_named(design)
    if topology.minor <= MINOR:
        found += _odd_severities(design)
    found += _deep_workflows(design)
    circles = _group_circles(design)
    found += circles
    if not circles:
        found += _too_many(design)
    return tuple(found)


def _deep_workflows(design: Design) -> list[Problem]:
    return [
        Problem(
            f"design.services[{key}].workflow",
            f"steps lie inside each other more than {MOST_STEPS_DEEP} deep; put them side by side",
        )
        for key, service in sorted(design.services.items())
        if _is_deep(service.workflow)
    ]


def _is_deep(workflow: Step | None) -> bool:
    level = [] if workflow is None else [workflow]
    for _ in range(MOST_STEPS_DEEP):
        level = [inner for step in level for inner in inner_steps(step)]
    return bool(level)


def _self_named(design: Design) -> list[Problem]:
    """Things that name themselves, or one thing as both ends."""
    links = [
        Problem(f"design.links[{key}]", "both ends are the same node; link two different nodes")
        for key, link in sorted(design.links.items())
        if link.a == link.b
    ]
    paths = [
        Problem(f"design.paths[{key}]", "it leads from a node to the same node; name two nodes")
        for key, path in sorted(design.paths.items())
        if path.source == path.target
    ]
    partners = [
        Problem(
            f"design.deployments[{key}].partner",
            "a deployment cannot hand over to itself; name the decode deployment",
        )
        for key, deployment in sorted(design.deployments.items())
        if deployment.partner == key
    ]
    chains = [
        Problem(f"design.nodes[{key}].chain", "a chain cannot pass its own node; take it out")
        for key, node in sorted(design.nodes.items())
        if key in node.chain
    ]
    return links + paths + partners + chains


def _odd_severities(design: Design) -> list[Problem]:
    return [
        Problem(
            f"design.severities.{rule}",
            f"{word!r} is not known here; use one of {', '.join(SEVERITIES)}",
        )
        for rule, word in sorted(design.severities.items())
        if word not in SEVERITIES
    ]


def _group_circles(design: Design) -> list[Problem]:
    found = []
    safe: set[str] = set()
    for key in sorted(design.groups):
        trail: list[str] = []
        current: str | None = key
        while current is not None and current in design.groups and current not in safe:
            if current in trail:
                found.append(
                    Problem(
                        f"design.groups[{key}].parent",
                        "the group lies inside itself; give it another parent",
                    )
                )
                break
            trail.append(current)
            current = design.groups[current].parent
        safe.update(trail)
    return found


def multiplicity(design: Design, node_id: str) -> int:
    """How many instances a node stands for: its own count times those of the groups around it."""
    node = design.nodes[node_id]
    times = node.count
    group = node.group
    while group is not None and group in design.groups:
        times *= design.groups[group].count
        group = design.groups[group].parent
    return times


def _too_many(design: Design) -> list[Problem]:
    total = sum(multiplicity(design, key) for key in design.nodes)
    if total <= MOST_INSTANCES:
        return []
    return [
        Problem(
            "design.nodes",
            f"the counts make {total:,} instances; at most {MOST_INSTANCES:,} can be analysed, "
            "lower a count",
        )
    ]


def groups_around(design: Design, node_id: str) -> tuple[str, ...]:
    """Ids of the groups that a node lies in, innermost first."""
    around: list[str] = []
    group = design.nodes[node_id].group
    while group is not None and group in design.groups and group not in around:
        around.append(group)
        group = design.groups[group].parent
    return tuple(around)


def site_of(design: Design, node_id: str) -> str | None:
    """The innermost group around a node that is a site."""
    for group in groups_around(design, node_id):
        if design.groups[group].site is not None or design.groups[group].kind == "site":
            return group
    return None


def position_of(design: Design, node_id: str) -> tuple[float, float] | None:
    """(latitude, longitude) in degrees of a node: its own, else of the innermost placed site."""
    node = design.nodes[node_id]
    if node.latitude_deg is not None and node.longitude_deg is not None:
        return node.latitude_deg, node.longitude_deg
    for group in groups_around(design, node_id):
        site = design.groups[group].site
        if site is not None and site.latitude_deg is not None and site.longitude_deg is not None:
            return site.latitude_deg, site.longitude_deg
    return None
