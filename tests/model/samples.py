"""Valid values for every field of a design, made from the types alone, and random designs.

Every collection that ids point to holds things called x1 to x4, so that an id field may
name x1 or x2 wherever it points; x3 is what required id fields hold, x4 the second end of a link.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from immutables import Map
from pydantic import TypeAdapter, ValidationError

from designer.model.base import Frozen, Item
from designer.model.design import Design
from designer.model.layout import Layout
from designer.model.patch import SINGLES
from designer.model.services import Choice, Demand, Flow, ModelCall
from designer.model.topology import Topology

NAMED = (
    "groups",
    "nodes",
    "links",
    "spans",
    "tenants",
    "deployments",
    "services",
    "flows",
    "paths",
)
HELPERS = ("x1", "x2", "x3", "x4")
TEXTS = (
    "x1", "x2", "USD", "EUR", "DE", "FR-75", "2026-01-31", "2027-12-01", "a" * 64, "b" * 64,
    "Zürich “9”\nline", "", "x3",
)  # fmt: skip
NUMBERS = (0.25, 0.5, 3, 2, 7, 96.5, 1500, 2040, 2041, 1, 0)


@cache
def adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def fits(annotation: Any, value: Any) -> bool:
    try:
        adapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


def same(one: Any, other: Any, where: str) -> None:
    """Fails without printing two whole designs."""
    if one != other:
        pytest.fail(f"not the same: {where}")


def annotation_of(kind: type[Frozen], field: str) -> Any:
    info = kind.model_fields[field]
    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


def variants(annotation: Any) -> list[Any]:
    """Two or more different valid values (None not among them)."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = arguments[0]
        if get_origin(inner) is Map:
            return _maps(inner)
        if get_origin(inner) in (tuple, Union) or type(inner).__name__ == "UnionType":
            return variants(inner)
        words = [w for each in arguments[1:] for w in getattr(each, "words", ())]
        pool = (*words, *TEXTS, *NUMBERS, True, False)
        found = [value for value in pool if _is_of(inner, value) and fits(annotation, value)]
        if "x1" in found and "Zürich “9”\nline" not in found:
            return ["x1", "x2"]
        return list(dict.fromkeys(found))
    if origin is Union or type(annotation).__name__ == "UnionType":
        return [value for each in arguments if each is not type(None) for value in variants(each)]
    if origin is Literal:
        return list(arguments)
    if origin is tuple:
        return _tuples(arguments)
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        return models(annotation)
    return [value for value in (*TEXTS, *NUMBERS, True, False) if _is_of(annotation, value)]


def _is_of(kind: Any, value: Any) -> bool:
    if kind is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    return type(value) is kind


def _maps(annotation: Any) -> list[Any]:
    first, second, *_ = variants(get_args(annotation)[1])
    return [Map({"site.power_kw": first}), Map({"site.power_kw": second, "b": first})]


def _tuples(arguments: tuple[Any, ...]) -> list[Any]:
    if arguments[-1] is Ellipsis:
        first, second, *_ = variants(arguments[0])
        return [(first,), (second, first)]
    sides = [variants(each) for each in arguments]
    return [tuple(side[0] for side in sides), tuple(side[1] for side in sides)]


def models(kind: type[Frozen]) -> list[Any]:
    """Valid values of a type: the least one, and ones with one field set."""
    least = minimal(kind)
    found = [least]
    for field in kind.model_fields:
        if field in ("id", "do") or len(found) > 2:
            continue
        found += [
            kind.model_validate(fields_of(least) | {field: v}) for v in spot(kind, field)[-1:]
        ]
    return [value for i, value in enumerate(found) if value not in found[:i]]


def fields_of(value: Frozen) -> dict[str, Any]:
    return {name: getattr(value, name) for name in type(value).model_fields}


def spot(kind: type[Frozen], field: str) -> list[Any]:
    """Valid values of one field, two or more, none of them None."""
    if (kind, field) in ((Demand, "day"), (Flow, "day")):
        return [(1.0,) + (0.5,) * 23, (0.0, 2.0) * 12]
    if field in ("step", "steps", "workflow", "choices"):
        calls = [ModelCall(), ModelCall(name="second")]
        if field == "choices":
            return [(Choice(probability=p, step=calls[0]),) for p in (0.5, 0.25)]
        return [(call,) for call in calls] if field == "steps" else calls
    least = minimal(kind)
    return [
        value
        for value in variants(annotation_of(kind, field))
        if _accepted(kind, fields_of(least) | {field: value})
    ]


def _accepted(kind: type[Frozen], values: dict[str, Any]) -> bool:
    try:
        kind.model_validate(values)
    except ValidationError:
        return False
    return True


@cache
def minimal(kind: type[Frozen]) -> Any:
    """The least value of a type: only what is required. An item is called x0."""
    values: dict[str, Any] = {}
    for field, info in kind.model_fields.items():
        if field == "id":
            values[field] = "x0"
        elif info.is_required():
            values[field] = _required(kind, field)
    return kind.model_validate(values)


def _required(kind: type[Frozen], field: str) -> Any:
    if field in ("step", "steps", "choices"):
        inner = ModelCall()
        return {"step": inner, "steps": (inner,), "choices": ()}[field]
    found = variants(annotation_of(kind, field))
    if found == ["x1", "x2"]:
        return "x4" if field in ("b", "target") else "x3"
    return found[0]


def item_types() -> dict[str, type[Item]]:
    """The type of the things of each collection."""
    found = {}
    for part in (Design, Layout):
        for name, info in part.model_fields.items():
            if name not in SINGLES:
                found[name] = get_args(info.annotation)[1]
    return found


def _helper(kind: type[Item], key: str) -> Any:
    changes = {"id": key}
    if {"a", "b"} <= set(kind.model_fields):
        changes |= {"a": "x1", "b": "x2"}
    return minimal(kind).replace(**changes)


@cache
def base() -> Topology:
    """x1 to x4 in every collection that ids point to, and nothing else."""
    tables: dict[str, Any] = {
        name: Map({key: _helper(kind, key) for key in HELPERS})
        for name, kind in item_types().items()
        if name in NAMED
    }
    return Topology(design=Design(**tables))


def with_part(topology: Topology, name: str, value: Any) -> Topology:
    """The topology with a collection or single part put in place of its own."""
    part = "layout" if name in Layout.model_fields else "design"
    changed = getattr(topology, part).model_copy(update={name: value})
    return topology.model_copy(update={part: changed})


def with_item(name: str, item: Any) -> Topology:
    """The base with one thing more."""
    part = base().layout if name in Layout.model_fields else base().design
    return with_part(base(), name, getattr(part, name).set(item.id, item))


@dataclass(frozen=True)
class Spot:
    """One field of one type, and how a value of that type gets into a topology."""

    collection: str
    path: str
    kind: type[Frozen]
    field: str
    embed: Callable[[Frozen], Topology]

    def topologies(self) -> list[Topology]:
        """The topology with the field unset, and with each of two other values."""
        least = minimal(self.kind)
        unset = getattr(least, self.field)
        values = [least]
        for value in [each for each in spot(self.kind, self.field) if each != unset][:2]:
            values.append(self.kind.model_validate(fields_of(least) | {self.field: value}))
        return [self.embed(value) for value in values]


def all_spots() -> Iterator[Spot]:
    """Every field of every type that can be reached, at every place where the type stands."""
    for name, kind in item_types().items():
        yield from _spots(name, "", kind, partial(with_item, name), set())
    for name in ("title_block", "settings"):
        single: Any = Design.model_fields[name].annotation
        yield from _spots(name, "", single, partial(with_part, base(), name), set())


def _spots(
    collection: str,
    path: str,
    kind: type[Frozen],
    embed: Callable[[Frozen], Topology],
    seen: set[tuple[str, type[Frozen]]],
) -> Iterator[Spot]:
    for field in kind.model_fields:
        if field in ("id", "do"):
            continue
        here = f"{path}.{field}".lstrip(".")
        yield Spot(collection, here, kind, field, embed)
        for inner, wrap in _inside(annotation_of(kind, field)):
            # Steps hold steps: each kind of step is looked at in one place.
            key = ("", inner) if field in ("step", "steps") else (f"{kind}.{field}", inner)
            if key in seen or (field in ("step", "steps") and path.count(".") > 2):
                continue
            seen.add(key)

            def into(
                value: Frozen, field: str = field, wrap: Callable[[Any], Any] = wrap
            ) -> Topology:
                return embed(kind.model_validate(fields_of(minimal(kind)) | {field: wrap(value)}))

            yield from _spots(collection, here, inner, into, seen)


def _inside(annotation: Any) -> Iterator[tuple[type[Frozen], Callable[[Any], Any]]]:
    """The frozen types that an annotation holds, and how one of them becomes the value."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _inside(arguments[0])
    elif origin is Union or type(annotation).__name__ == "UnionType":
        for each in arguments:
            yield from _inside(each)
    elif origin is tuple and arguments[-1] is Ellipsis:
        for inner, wrap in _inside(arguments[0]):
            yield inner, partial(_listed, wrap)
    elif origin is Map:
        for inner, wrap in _inside(arguments[1]):
            yield inner, partial(_mapped, wrap)
    elif isinstance(annotation, type) and issubclass(annotation, Frozen):
        yield annotation, lambda value: value


def _listed(wrap: Callable[[Any], Any], value: Any) -> Any:
    return (wrap(value),)


def _mapped(wrap: Callable[[Any], Any], value: Any) -> Any:
    return Map({"length_km": wrap(value)})


def random_value(kind: type[Frozen], rng: random.Random, **fixed: Any) -> Any:
    """A random valid value of a type with these fields given."""
    names = [name for name in kind.model_fields if name not in ("id", "do", *fixed)]
    made = minimal(kind).replace(**fixed)
    for name in rng.sample(names, min(len(names), rng.randint(0, 4))):
        values = spot(kind, name)
        changed = fields_of(made) | {name: values[rng.randrange(len(values))]}
        ends = (("a", "b"), ("source", "target"))
        apart = all(changed.get(one, "") != changed.get(other) for one, other in ends)
        if apart and _accepted(kind, changed):
            made = made.replace(**{name: changed[name]})
    return made


def random_topology(rng: random.Random) -> Topology:
    """The base with a few random things more, in a few collections."""
    made = base()
    kinds = item_types()
    for name in rng.sample(sorted(kinds), rng.randint(0, 5)):
        part = made.layout if name in Layout.model_fields else made.design
        table = getattr(part, name)
        for key in rng.sample(("y1", "y2", "y3"), rng.randint(1, 3)):
            table = table.set(key, random_value(kinds[name], rng, id=key))
        made = with_part(made, name, table)
    if rng.random() < 0.3:
        kind = type(made.design.settings)
        made = with_part(made, "settings", random_value(kind, rng))
    if rng.random() < 0.3:
        made = with_part(made, "severities", Map({"rule.a": rng.choice(("error", "info"))}))
    return made
