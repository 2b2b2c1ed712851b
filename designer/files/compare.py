"""Differences between two designs by meaning, a three-way merge, and both in words.

All of it is made of Patches: one change a field, whole values where a thing is made or removed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from immutables import Map

from designer.model.base import Frozen
from designer.model.design import Design
from designer.model.layout import Layout
from designer.model.patch import (
    SINGLES,
    WHOLE,
    Change,
    Patch,
    PatchConflict,
    add,
    apply,
    remove,
    with_field,
)
from designer.model.references import problems, references
from designer.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Clash:
    """Changes of both sides that cannot both hold: what was kept, what was left out, and why."""

    collection: str
    id: str
    kept: Patch
    """Ours; empty where theirs fits no design that ours has become."""
    left_out: Patch
    """Theirs, against the base."""
    reason: str


@dataclass(frozen=True, slots=True)
class Merged:
    """Ours with all of theirs that fits. Every change of theirs is taken, ours too, or a clash."""

    topology: Topology
    taken: Patch
    """From ours to the merged topology."""
    conflicts: tuple[Clash, ...]


def collection_of(topology: Topology, name: str) -> Any:
    """A collection or single part of the design or the layout by its name."""
    part = topology.layout if name in Layout.model_fields else topology.design
    return getattr(part, name)


def differences(before: Topology, after: Topology) -> Patch:
    """The Patch from one topology to the other, in a fixed order.

    The minor version and unknown fields of the file as such are not part of a Patch. A thing whose
    unknown fields (of a newer minor version) differ is changed as a whole.
    """
    found: list[Change] = []
    for name in (*Design.model_fields, *Layout.model_fields):
        old, new = collection_of(before, name), collection_of(after, name)
        if old is new or old == new:
            continue
        if name in SINGLES:
            found += _changes(name, "", old, new)
            continue
        for key in sorted(set(old) | set(new)):
            if key not in new:
                found.append(remove(name, old[key]))
            elif key not in old:
                found.append(add(name, new[key]))
            elif old[key] is not new[key] and old[key] != new[key]:
                found += _changes(name, key, old[key], new[key])
    return tuple(found)


def _changes(collection: str, key: str, old: Any, new: Any) -> list[Change]:
    """One change a field, or the whole where fields do not make the one from the other."""
    if isinstance(old, Map):
        found = [Change(collection, key, *each) for each in _entries("", old, new)]
        return [Change(collection, key, WHOLE, old, new)] if "" in {*old, *new} else found
    found = [
        Change(collection, key, *each)
        for name in type(old).model_fields
        for each in _field(name, getattr(old, name), getattr(new, name))
    ]
    if _after(old, found) != new:
        return [Change(collection, key, WHOLE, old, new)]
    return found


_FieldChange = tuple[str, Any, Any]


def _entries(prefix: str, old: Map[str, Any], new: Map[str, Any]) -> list[_FieldChange]:
    return [
        (f"{prefix}{key}", old.get(key), new.get(key))
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]


def _field(path: str, old: Any, new: Any) -> list[_FieldChange]:
    """The changes from one value of a field to another: inside it, or as one."""
    if old == new:
        return []
    if isinstance(old, Map) and isinstance(new, Map) and "" not in {*old, *new}:
        return _entries(f"{path}.", old, new)
    # The steps of a workflow belong together; they have no ids by which to tell them apart.
    if type(old) is type(new) and isinstance(old, Frozen) and "do" not in type(old).model_fields:
        inner = [
            each
            for name in type(old).model_fields
            for each in _field(name, getattr(old, name), getattr(new, name))
        ]
        # Falling percentiles, or weights before their policy: one order may pass where the other
        # goes through a state that is not allowed.
        for ordered in (inner, inner[::-1]):
            if _after(old, ordered) == new:
                return [(f"{path}.{name}", before, after) for name, before, after in ordered]
    return [(path, old, new)]


def _after(item: Any, changes: Iterable[Change | _FieldChange]) -> Any:
    """The value after these one by one; None where one of the states between is not allowed."""
    try:
        for each in changes:
            path, value = (
                (each.field, each.after) if isinstance(each, Change) else (each[0], each[2])
            )
            item = with_field(item, path, value)
    except PatchConflict:
        return None
    return item


_Thing = tuple[str, str]
"""Collection and id."""
_Address = tuple[str, str, str]
"""Collection, id and the first step of the field's path: what is taken or left out as one."""


def merge(base: Topology, ours: Topology, theirs: Topology) -> Merged:
    """Ours with what theirs changed since the base, except where both cannot hold.

    On a clash ours stays. The result fits together if ours does. It is of the newest minor version
    of the three; fields of such a version on the file, the design and the layout are ours, and
    theirs where ours has none of that name.
    """
    here = _by_thing(differences(base, ours))
    clashes: list[Clash] = []
    wanted: dict[_Address, list[Change]] = {}
    for thing, changes in _by_thing(differences(base, theirs)).items():
        free, clash = _against(here.get(thing, []), changes)
        clashes += clash
        for change in free:
            wanted.setdefault((*thing, change.field.partition(".")[0]), []).append(change)
    while True:
        topology, taken, failed = _applied(ours, wanted)
        failed = failed or _unfit(ours, topology, taken)
        if not failed:
            break
        for address, (reason, rivals) in failed.items():
            kept = tuple(change for rival in rivals for change in here.get(rival, ()))
            left_out = tuple(wanted.pop(address))
            clashes.append(Clash(*address[:2], kept, left_out, reason))
    clashes.sort(key=lambda clash: (clash.collection, clash.id, clash.left_out[0].field))
    return Merged(_of_newest_minor(topology, theirs), taken, tuple(clashes))


def _of_newest_minor(ours: Topology, theirs: Topology) -> Topology:
    """Ours with the unknown fields of theirs, in the version that either needs to be read again."""
    update = {
        "minor": max(ours.minor, theirs.minor),
        "design": ours.design.with_unknown_of(theirs.design),
        "layout": ours.layout.with_unknown_of(theirs.layout),
    }
    return ours.model_copy(update=update).with_unknown_of(theirs)


def _by_thing(patch: Patch) -> dict[_Thing, list[Change]]:
    found: dict[_Thing, list[Change]] = {}
    for change in patch:
        found.setdefault((change.collection, change.id), []).append(change)
    return found


def _against(ours: list[Change], theirs: list[Change]) -> tuple[list[Change], list[Clash]]:
    """Their changes of one thing that stand beside ours, and the clashes."""
    kept: list[Change] = []
    clashes: list[Clash] = []
    for change in theirs:
        rivals = tuple(each for each in ours if _overlap(each.field, change.field))
        if not rivals:
            kept.append(change)
        elif any(each.field != change.field or each.after != change.after for each in rivals):
            reason = _why(rivals[0], change)
            clashes.append(Clash(change.collection, change.id, rivals, (change,), reason))
    return kept, clashes


def _overlap(one: str, other: str) -> bool:
    return (
        one == other
        or WHOLE in (one, other)
        or one.startswith(f"{other}.")
        or other.startswith(f"{one}.")
    )


def _why(ours: Change, theirs: Change) -> str:
    if ours.field == theirs.field == WHOLE and ours.before is None:
        return "both sides added it, differently"
    if ours.field == WHOLE and ours.after is None:
        return "ours removed it, theirs changed it"
    if theirs.field == WHOLE and theirs.after is None:
        return "theirs removed it, ours changed it"
    return "both sides changed the same value"


_Failed = dict[_Address, tuple[str, tuple[_Thing, ...]]]
"""What of theirs does not fit: the reason, and the things that ours may have changed instead."""


def _applied(
    ours: Topology, wanted: dict[_Address, list[Change]]
) -> tuple[Topology, Patch, _Failed]:
    """Ours with these; or those that do not go together with ours."""
    taken = tuple(change for changes in wanted.values() for change in changes)
    try:
        return apply(ours, taken), taken, {}
    except PatchConflict as error:
        every: _Failed = {address: (str(error), (address[:2],)) for address in wanted}
    failed: _Failed = {}
    for address, changes in wanted.items():
        try:
            apply(ours, tuple(changes))
        except PatchConflict as error:
            failed[address] = (str(error), (address[:2],))
    return ours, (), failed or every


def _unfit(ours: Topology, merged: Topology, taken: Patch) -> _Failed:
    """Their changes that leave something not fitting that fits in ours."""
    known = set(problems(ours))
    new = [problem for problem in problems(merged) if problem not in known]
    if not new:
        return {}
    addresses = {(change.collection, change.id, change.field.partition(".")[0]) for change in taken}
    found: _Failed = {}
    for problem in new:
        for address, rivals in _culprits(merged, problem.place, addresses):
            found[address] = (f"{problem.place}: {problem.message}", rivals)
    first = f"{new[0].place}: {new[0].message}"
    return found or {address: (first, (address[:2],)) for address in addresses}


def _culprits(
    merged: Topology, place: str, addresses: set[_Address]
) -> Iterator[tuple[_Address, tuple[_Thing, ...]]]:
    """Their change that names a thing that is gone, or that took it away; else what nests it."""
    gone = {address[1]: address for address in addresses if address[2] == WHOLE}
    for reference in references(merged.design):
        if place != f"design.{reference.collection}[{reference.id}].{reference.field}":
            continue
        holder = (reference.collection, reference.id)
        root = reference.field.partition(".")[0]
        mine = [(*holder, each) for each in (root, WHOLE) if (*holder, each) in addresses]
        for address in mine:
            yield address, tuple((home, reference.target) for home in reference.collections)
        if not mine and reference.target in gone:
            yield gone[reference.target], (holder,)
    if place.endswith(".parent") or place == "design.nodes":
        for address in addresses:
            if address[0] in ("groups", "nodes") and address[2] in _NESTING:
                yield address, (address[:2],)


_NESTING: Final = (WHOLE, "parent", "group", "count")
