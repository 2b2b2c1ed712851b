"""A Patch: one change of a topology as data.

It is at once the command, the undo record (swap before and after), the change event, the entry of
the recovery journal and a line of the semantic diff.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, Union, get_args, get_origin

from immutables import Map
from pydantic import TypeAdapter, ValidationError

from designer.model.base import NEWER_MINOR, Frozen
from designer.model.design import Design
from designer.model.layout import Layout
from designer.model.topology import Topology

WHOLE: Final = ""
"""The field of a change that makes or removes a thing."""


class PatchConflict(ValueError):
    """The patch does not fit the topology: what it wants to change is not as it says."""


@dataclass(frozen=True, slots=True)
class Change:
    """One value before and after. `field` is a dotted path, or empty for the whole thing.

    `id` is empty for the parts of a design that exist once (title block, settings, severities).
    """

    collection: str
    id: str
    field: str
    before: Any
    after: Any

    @property
    def is_layout(self) -> bool:
        """Whether it only moves the drawing."""
        return self.collection in Layout.model_fields


Patch = tuple[Change, ...]

SINGLES: Final = frozenset(("title_block", "settings", "severities"))
COLLECTIONS: Final = tuple(
    name for name in (*Design.model_fields, *Layout.model_fields) if name not in SINGLES
)


def add(collection: str, item: Any) -> Change:
    """The change that makes a thing."""
    return Change(collection, item.id, WHOLE, None, item)


def remove(collection: str, item: Any) -> Change:
    """The change that removes a thing."""
    return Change(collection, item.id, WHOLE, item, None)


def get_field(item: Any, path: str) -> Any:
    """The value at a dotted path; None for a key that a mapping does not hold.

    Inside a mapping the whole rest of the path is one key: `provenance.site.power_kw` is the
    provenance of `site.power_kw`. Raises PatchConflict where the path leads nowhere.
    """
    value, rest = item, path
    while rest:
        if isinstance(value, Mapping):
            return value.get(rest)
        head, _, rest = rest.partition(".")
        if not isinstance(value, Frozen) or head not in type(value).model_fields:
            raise PatchConflict(f"there is no field {path!r} in {_called(item)}")
        value = getattr(value, head)
    return value


def with_field(item: Any, path: str, value: Any) -> Any:
    """A validated copy of `item` with the value at a dotted path changed.

    None at a key of a mapping takes the key out. Raises PatchConflict where the path leads nowhere
    or the value does not fit.
    """
    if isinstance(item, Map):
        return item.delete(path) if value is None and path in item else _set(item, path, value)
    head, _, rest = path.partition(".")
    if not isinstance(item, Frozen) or head not in type(item).model_fields:
        raise PatchConflict(f"there is no field {path!r} in {_called(item)}")
    new = with_field(getattr(item, head), rest, value) if rest else value
    try:
        return item.replace(**{head: new})
    except ValidationError as error:
        raise PatchConflict(f"{path} of {_called(item)}: {error.errors()[0]['msg']}") from error


def _set(mapping: Map[str, Any], key: str, value: Any) -> Map[str, Any]:
    return mapping if value is None else mapping.set(key, value)


def _called(item: Any) -> str:
    name = getattr(item, "name", "") or getattr(item, "id", "")
    return f"{type(item).__name__.lower()} {name!r}" if name else type(item).__name__.lower()


def apply(topology: Topology, patch: Patch) -> Topology:
    """The topology after the patch. Everything not named in it is shared with the old one.

    Raises PatchConflict when a value before is not the one found, and changes nothing then.
    """
    touched: dict[str, dict[str, list[Change]]] = {}
    for change in patch:
        touched.setdefault(change.collection, {}).setdefault(change.id, []).append(change)
    parts: dict[type[Frozen], dict[str, Any]] = {Design: {}, Layout: {}}
    for collection, by_id in touched.items():
        part = topology.layout if collection in Layout.model_fields else topology.design
        if collection not in type(part).model_fields:
            raise PatchConflict(f"there is no collection {collection!r}")
        old = getattr(part, collection)
        parts[type(part)][collection] = (
            _apply_single(old, by_id) if collection in SINGLES else _apply_table(old, by_id)
        )
    update = {
        name: part.model_copy(update=parts[type(part)])
        for name, part in (("design", topology.design), ("layout", topology.layout))
        if parts[type(part)]
    }
    return topology.model_copy(update=update)


def _apply_single(old: Any, by_id: dict[str, list[Change]]) -> Any:
    for changes in by_id.values():
        for change in changes:
            old = _apply_change(old, change)
    return old


def _apply_table(old: Map[str, Any], by_id: dict[str, list[Change]]) -> Map[str, Any]:
    table = old.mutate()
    for key, changes in by_id.items():
        item = table.get(key)
        for change in changes:
            item = _apply_change(item, change)
        if item is not None:
            table[key] = item
        elif key in table:
            del table[key]
    return table.finish()


def _apply_change(item: Any, change: Change) -> Any:
    where = f"{change.collection} {change.id} {change.field}".rstrip()
    if change.field == WHOLE:
        if item != change.before:
            raise PatchConflict(f"{where}: it is not as it was when the change was made")
        if getattr(change.after, "id", change.id) != change.id:
            raise PatchConflict(f"{where}: the thing to put there has another id")
        return change.after
    if change.field == "id":
        raise PatchConflict(f"{where}: an id never changes; remove the thing and add another")
    if item is None:
        raise PatchConflict(f"{where}: it is not there any more")
    if get_field(item, change.field) != change.before:
        raise PatchConflict(f"{where}: its value is no longer {change.before!r}")
    return with_field(item, change.field, change.after)


def invert(patch: Patch) -> Patch:
    """The patch that takes this one back."""
    return tuple(
        Change(change.collection, change.id, change.field, change.after, change.before)
        for change in reversed(patch)
    )


def merge(patches: Iterable[Patch]) -> Patch:
    """One patch that does what these do in their order, each address at most once.

    What comes back to where it was is left out.
    """
    wholes: dict[tuple[str, str], Change] = {}
    fields: dict[tuple[str, str], dict[str, Change]] = {}
    for patch in patches:
        for change in patch:
            key = (change.collection, change.id)
            if change.field == WHOLE:
                wholes[key] = _merge_whole(wholes.get(key), fields.pop(key, {}), change)
            elif key in wholes:
                whole = wholes[key]
                after = with_field(whole.after, change.field, change.after)
                wholes[key] = Change(*key, WHOLE, whole.before, after)
            else:
                _merge_field(fields.setdefault(key, {}), change)
    changes = [*wholes.values(), *(change for by in fields.values() for change in by.values())]
    return tuple(change for change in changes if change.before != change.after)


def _merge_whole(earlier: Change | None, fields: dict[str, Change], change: Change) -> Change:
    if earlier is not None:
        return Change(change.collection, change.id, WHOLE, earlier.before, change.after)
    before = change.before
    for field in reversed(fields.values()):
        before = with_field(before, field.field, field.before)
    return Change(change.collection, change.id, WHOLE, before, change.after)


def _merge_field(fields: dict[str, Change], change: Change) -> None:
    nested = [
        path
        for path in fields
        if path != change.field
        and (path.startswith(f"{change.field}.") or change.field.startswith(f"{path}."))
    ]
    if nested:
        raise PatchConflict(f"{change.id}: {change.field} and {nested[0]} in one gesture")
    first = fields.get(change.field)
    before = change.before if first is None else first.before
    fields[change.field] = Change(change.collection, change.id, change.field, before, change.after)


def _strip(annotation: Any) -> tuple[Any, ...]:
    """The types that an annotation may stand for, without None and Annotated."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _strip(get_args(annotation)[0])
    if origin is Union or type(annotation).__name__ == "UnionType":
        return tuple(
            kind for each in get_args(annotation) for kind in _strip(each) if kind is not type(None)
        )
    return (annotation,)


@lru_cache(maxsize=2048)
def _adapter(collection: str, field: str) -> TypeAdapter[Any]:
    owner = Layout if collection in Layout.model_fields else Design
    annotation: Any = owner.model_fields[collection].annotation
    if collection not in SINGLES:
        annotation = get_args(_strip(annotation)[0])[1]
    while field:
        annotation, field = _annotation_of(annotation, field)
    return TypeAdapter(annotation | None)


def _annotation_of(annotation: Any, path: str) -> tuple[Any, str]:
    """The annotation that the path's first step leads to, and the rest of the path."""
    part, _, rest = path.partition(".")
    for kind in _strip(annotation):
        if get_origin(kind) is Map:
            return get_args(kind)[1], ""
        if isinstance(kind, type) and issubclass(kind, Frozen) and part in kind.model_fields:
            info = kind.model_fields[part]
            inner = (
                Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
            )
            return inner, rest
    raise PatchConflict(f"there is no field {part!r}")


def check_value(collection: str, field: str, value: Any) -> None:
    """Raises PatchConflict where the field of this version may not hold the value.

    A Patch itself may hold words and fields of a newer version, so that an undo can bring back
    what was in the file; what a person writes may not.
    """
    try:
        _adapter(collection, field).validate_python(value)
    except ValidationError as error:
        raise PatchConflict(f"{field}: {error.errors()[0]['msg']}") from error


def to_json(patch: Patch) -> list[dict[str, Any]]:
    """Plain JSON values, for the journal and for other processes."""

    def plain(change: Change, value: Any) -> Any:
        adapter = _adapter(change.collection, change.field)
        return adapter.dump_python(value, mode="json", exclude_defaults=True)

    return [
        {
            "collection": change.collection,
            "id": change.id,
            "field": change.field,
            "before": plain(change, change.before),
            "after": plain(change, change.after),
        }
        for change in patch
    ]


def from_json(entries: Iterable[Mapping[str, Any]]) -> Patch:
    """The patch that `to_json` wrote. Raises PatchConflict on anything else."""
    try:
        return tuple(_change_from(entry) for entry in entries)
    except (ValidationError, KeyError, TypeError, AttributeError) as error:
        raise PatchConflict(f"not a patch: {error}") from error


def _change_from(entry: Mapping[str, Any]) -> Change:
    collection, field = entry["collection"], entry["field"]
    adapter = _adapter(collection, field)
    before, after = (
        adapter.validate_python(entry[side], context=NEWER_MINOR) for side in ("before", "after")
    )
    key = entry["id"]
    if not isinstance(key, str):
        raise TypeError(f"an id is text, not {key!r}")
    return Change(collection, key, field, before, after)
