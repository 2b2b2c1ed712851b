"""From an intent to a Patch, or to a sentence that says why not.

Nothing here changes anything: the caller commits the Patch to a Document.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from designer.model.base import Item, Provenance
from designer.model.ids import new_id
from designer.model.layout import Bends, Box
from designer.model.patch import (
    SINGLES,
    Change,
    Patch,
    PatchConflict,
    add,
    apply,
    check_value,
    get_field,
    merge,
    remove,
    with_field,
)
from designer.model.references import problems, references
from designer.model.services import PlacedShare
from designer.model.things import Group, Link, Node
from designer.model.topology import Topology


class EditRefused(ValueError):
    """The edit is not possible; the message is one sentence for the status bar."""


_LETTERS: Final = {
    "groups": "g",
    "nodes": "n",
    "links": "l",
    "deployments": "d",
    "services": "s",
}


def add_items(topology: Topology, items: Iterable[tuple[str, Any]]) -> Patch:
    """Adds things as (collection, thing). Refused where an id is taken or a reference dangles."""
    patch: list[Change] = []
    for collection, item in items:
        part = (
            topology.layout if collection in type(topology.layout).model_fields else topology.design
        )
        if item.id in getattr(part, collection):
            raise EditRefused(f"The id {item.id} is taken; give the new thing a fresh one.")
        patch.append(add(collection, item))
    return _checked(topology, tuple(patch))


def add_node(topology: Topology, node: Node, x: float, y: float) -> Patch:
    """A new node and its place on the drawing."""
    return add_items(topology, (("nodes", node), ("boxes", Box(id=node.id, x=x, y=y))))


def refuse_link(topology: Topology, a: str, b: str) -> str | None:
    """Why these two may not be linked, as a sentence; None where they may."""
    nodes = topology.design.nodes
    if a == b:
        return "A link needs two different ends."
    for end in (a, b):
        if end in topology.design.groups:
            return f"{topology.design.groups[end].name or end} is a group; link to a node in it."
        if end not in nodes:
            return f"There is no node {end}."
    kinds = {nodes[a].kind, nodes[b].kind}
    if kinds == {"users"}:
        return "Users reach each other through the network; link them to an access device."
    return None


def add_link(topology: Topology, link: Link) -> Patch:
    """A new link. Refused with the sentence of `refuse_link`."""
    reason = refuse_link(topology, link.a, link.b)
    if reason:
        raise EditRefused(reason)
    return add_items(topology, (("links", link),))


def set_field(
    topology: Topology,
    collection: str,
    ids: Iterable[str],
    field: str,
    value: Any,
    provenance: Provenance | None = None,
) -> Patch:
    """Writes one value into a field of many things, with where it comes from (None: given).

    Layout things and single parts carry no provenance. Refused where the value does not fit.
    """
    patch: list[Change] = []
    for key in ids:
        item = _find(topology, collection, key)
        try:
            before = get_field(item, field)
            changed = with_field(item, field, value)
            if before != get_field(changed, field):
                check_value(collection, field, value)
        except PatchConflict as error:
            raise EditRefused(f"{error}.") from error
        if before != get_field(changed, field):
            patch.append(Change(collection, key, field, before, get_field(changed, field)))
        if isinstance(item, Item) and not field.startswith("provenance"):
            old = item.provenance.get(field)
            if old != provenance:
                patch.append(Change(collection, key, f"provenance.{field}", old, provenance))
    return _checked(topology, tuple(patch))


def _find(topology: Topology, collection: str, key: str) -> Any:
    part = topology.layout if collection in type(topology.layout).model_fields else topology.design
    if collection not in type(part).model_fields:
        raise EditRefused(f"There is no collection {collection}.")
    found = getattr(part, collection)
    if collection in SINGLES:
        return found
    if key not in found:
        raise EditRefused(f"There is no {key} among the {collection}.")
    return found[key]


def move(topology: Topology, places: Mapping[str, tuple[float, float]]) -> Patch:
    """Puts boxes at (x, y) px, making those that have none yet. Changes no meaning."""
    patch: list[Change] = []
    for key, (x, y) in places.items():
        box = topology.layout.boxes.get(key)
        if box is None:
            if key not in topology.design.nodes and key not in topology.design.groups:
                raise EditRefused(f"There is no node or group {key} to move.")
            patch.append(add("boxes", Box(id=key, x=x, y=y)))
            continue
        for field, value in (("x", float(x)), ("y", float(y))):
            if getattr(box, field) != value:
                patch.append(Change("boxes", key, field, getattr(box, field), value))
    return tuple(patch)


def remove_items(topology: Topology, ids: Iterable[str]) -> Patch:
    """Removes nodes, links, groups, services and so on, with all that cannot be without them.

    A node takes its links, deployments and demands with it. A group leaves its members to its
    parent. References from steering, paths and failure sets are cut out.
    """
    doomed = _with_dependants(topology, set(ids))
    design, layout = topology.design, topology.layout
    patch: list[Change] = []
    for collection in (*type(design).model_fields, *type(layout).model_fields):
        if collection in SINGLES:
            continue
        table = getattr(layout if collection in type(layout).model_fields else design, collection)
        for key, item in sorted(table.items()):
            about = getattr(item, "about", None)
            if key in doomed or (isinstance(item, Box | Bends) and key in doomed):
                patch.append(remove(collection, item))
            elif about in doomed:
                patch.append(Change(collection, key, "about", about, None))
            else:
                patch += _cut_out(topology, collection, item, doomed)
    if not patch:
        raise EditRefused("Nothing of that is in the design.")
    return _checked(topology, tuple(patch))


def _with_dependants(topology: Topology, doomed: set[str]) -> set[str]:
    """Adds links of doomed nodes, deployments on them, and paths and flows from or to them."""
    must = {
        ("links", "a"), ("links", "b"), ("deployments", "node"), ("flows", "source"),
        ("flows", "target"), ("paths", "source"), ("paths", "target"),
    }  # fmt: skip
    held: dict[str, set[str]] = {}
    for reference in references(topology.design):
        if (reference.collection, reference.field) in must:
            held.setdefault(reference.target, set()).add(reference.id)
    found, pending = set(doomed), list(doomed)
    while pending:
        more = held.get(pending.pop(), set()) - found
        found |= more
        pending += more
    return found


def _cut_out(topology: Topology, collection: str, item: Any, doomed: set[str]) -> list[Change]:
    changes: dict[str, Change] = {}
    for field, value in _holders(collection, item):
        kept: Any
        if isinstance(value, tuple):
            kept = tuple(each for each in value if doomed.isdisjoint(_targets(each)))
        else:
            kept = (
                value if value not in doomed else _heir(topology, collection, field, value, doomed)
            )
        if kept != value:
            changes[field] = Change(collection, item.id, field, value, kept)
    targets = changes.get("steering.targets")
    if targets is not None and item.steering.weights:
        # A weight without its target is not allowed, nor is the state between two changes.
        del changes["steering.targets"]
        placed = changes.pop("steering.placed", None)
        steering = item.steering.replace(
            targets=targets.after,
            weights=(),
            policy="nearest",
            placed=item.steering.placed if placed is None else placed.after,
        )
        changes["steering"] = Change(collection, item.id, "steering", item.steering, steering)
    return list(changes.values())


def _holders(collection: str, item: Any) -> Iterable[tuple[str, Any]]:
    fields = {
        "groups": ("parent",),
        "nodes": ("group", "chain"),
        "links": ("spans",),
        "deployments": ("partner",),
        "services": ("tenant", "steering.targets", "steering.placed", "demands"),
        "flows": ("owner",),
        "paths": ("via", "disjoint_from"),
        "failures": ("nodes", "links", "groups"),
        "scenarios": ("changes",),
        "exclusions": ("elements",),
    }
    for field in fields.get(collection, ()):
        yield field, get_field(item, field)


def _targets(each: Any) -> tuple[Any, ...]:
    """The ids that an entry of a list stands for: itself, or what a demand or change points at."""
    if isinstance(each, PlacedShare):
        return each.users, each.deployment
    return (getattr(each, "users", None) or getattr(each, "target", None) or each,)


def _heir(
    topology: Topology, collection: str, field: str, value: str, doomed: set[str]
) -> str | None:
    """What takes the place of a removed group: the next group around it that stays."""
    if field not in ("parent", "group"):
        return None
    group: str | None = value
    while group is not None and group in doomed:
        found = topology.design.groups.get(group)
        group = found.parent if found else None
    return group


def group_items(topology: Topology, ids: Iterable[str], name: str, kind: str = "custom") -> Patch:
    """Puts nodes and groups into a new group that stands where they stood.

    Refused when they do not all lie in the same group, or nothing is chosen.
    """
    members = sorted(set(ids))
    design = topology.design
    homes = {
        design.nodes[key].group if key in design.nodes else _find(topology, "groups", key).parent
        for key in members
    }
    if not members:
        raise EditRefused("Choose what is to be grouped first.")
    if len(homes) > 1:
        raise EditRefused("These lie in different groups; choose things of one group.")
    group = Group(id=new_id("g"), name=name, kind=kind, parent=next(iter(homes)))
    patch = [add("groups", group)]
    for key in members:
        collection, field = ("nodes", "group") if key in design.nodes else ("groups", "parent")
        patch.append(Change(collection, key, field, next(iter(homes)), group.id))
    return _checked(topology, tuple(patch))


def paste(topology: Topology, things: Iterable[tuple[str, Any]]) -> Patch:
    """Adds copies of things under fresh ids, with the references among them kept."""
    listed = list(things)
    fresh = {
        item.id: new_id(_LETTERS.get(collection, "x"))  # type: ignore[arg-type]
        for collection, item in listed
        if collection not in ("boxes", "bends")
    }
    return add_items(topology, ((collection, _renamed(item, fresh)) for collection, item in listed))


def _renamed(item: Any, fresh: Mapping[str, str]) -> Any:
    """The same thing with every id that is being copied replaced by its fresh one."""

    def swap(value: Any) -> Any:
        if isinstance(value, str):
            return fresh.get(value, value)
        if isinstance(value, list):
            return [swap(each) for each in value]
        if isinstance(value, dict):
            return {key: swap(each) for key, each in value.items()}
        return value

    plain = item.model_dump(exclude_defaults=True, mode="json")
    free = ("name", "note", "provenance", "kind")
    return type(item).model_validate(
        {key: value if key in free else swap(value) for key, value in plain.items()}
    )


def _checked(topology: Topology, patch: Patch) -> Patch:
    """The patch, if the topology still fits together after it.

    Raises EditRefused with the first thing that would be wrong.
    """
    try:
        after = apply(topology, patch)
    except PatchConflict as error:
        raise EditRefused(f"{error}.") from error
    known = set(problems(topology))
    new = [problem for problem in problems(after) if problem not in known]
    if new:
        raise EditRefused(f"{new[0].place}: {new[0].message}.")
    return merge((patch,))
