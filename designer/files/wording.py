"""A change of a design in words, with names and units."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from immutables import Map

from designer.model.base import Frozen
from designer.model.layout import Layout
from designer.model.patch import SINGLES, WHOLE, Change
from designer.model.references import homes_of
from designer.model.topology import Topology
from designer.model.units import field_unit, show_field

_NOUNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "title_block": "Title block", "settings": "Settings", "severities": "Severities",
        "groups": "Group", "nodes": "Node", "links": "Link", "spans": "Span",
        "classes": "Traffic class", "tenants": "Tenant", "deployments": "Deployment",
        "services": "Service", "flows": "Flow", "paths": "Path", "scenarios": "Scenario",
        "failures": "Failure set", "exclusions": "Exclusion", "boxes": "Place of",
        "bends": "Bends of", "views": "View", "remarks": "Remark",
    }
)  # fmt: skip
_MOST_CHARACTERS: Final = 80


def describe(change: Change, topology: Topology) -> str:
    """One line without a full stop; names are looked up in `topology`, else in the change.

    "Link “Paris – Lyon”: capacity from 100 Gb/s (12.5 GB/s) to 400 Gb/s (50 GB/s)".
    """
    thing = _thing(change, topology)
    if change.field == WHOLE and change.collection not in SINGLES:
        if change.before is None:
            return f"{thing} added"
        return f"{thing} removed" if change.after is None else f"{thing} replaced"
    before = _value(change, change.before, topology)
    after = _value(change, change.after, topology)
    if change.field.startswith("provenance."):
        field = change.field.removeprefix("provenance.")
        return f"{thing}: origin of {_label(field)} from {before} to {after}"
    label = change.field if change.collection == "severities" else _label(change.field)
    return f"{thing}: {label or 'all'} from {before} to {after}"


def _thing(change: Change, topology: Topology) -> str:
    noun = _NOUNS.get(change.collection, change.collection)
    if not change.id:
        return noun
    item = change.after if change.field == WHOLE and change.after is not None else None
    item = change.before if change.field == WHOLE and item is None else item
    return f"{noun} “{_name(topology, change.collection, change.id, item)}”"


def _name(topology: Topology, collection: str, key: str, item: Any = None) -> str:
    """The name of a thing; a link without one is called by its ends, all others by their id."""
    if collection in ("boxes", "bends"):
        homes = ("nodes", "groups") if collection == "boxes" else ("links",)
        home = next((each for each in homes if key in _table(topology, each)), None)
        return _name(topology, home, key) if home else key
    found = item if item is not None else _table(topology, collection).get(key)
    name = str(getattr(found, "name", ""))
    if not name and collection == "links" and found is not None:
        return " – ".join(_name(topology, "nodes", end) for end in (found.a, found.b))
    return " ".join(name.split()) or key


def _table(topology: Topology, collection: str) -> Any:
    part = topology.layout if collection in Layout.model_fields else topology.design
    return getattr(part, collection, Map())


def _label(field: str) -> str:
    """The words of a field's path without its unit."""
    words = []
    for part in field.split("."):
        unit = field_unit(part)
        ending = next((each for each in _ENDINGS if part.endswith(each)), "") if unit else ""
        words.append(part.removesuffix(ending).replace("_", " ").strip() or part)
    return ", ".join(words)


_ENDINGS: Final = (
    "_usd_per_month", "_usd_per_gpu_hour", "_gbps", "_km", "_ms", "_us", "_bytes", "_kb", "_mb",
    "_kw", "_w", "_usd",
)  # fmt: skip


def _value(change: Change, value: Any, topology: Topology) -> str:
    text = " ".join(_words(value, change.collection, change.field, topology).split())
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def _words(value: Any, collection: str, field: str, topology: Topology) -> str:
    """A value as a person reads it."""
    if value is None:
        return "given" if field.startswith("provenance.") else "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return show_field(value, field)
    if isinstance(value, str):
        homes = homes_of(collection, field)
        home = next((each for each in homes if value in _table(topology, each)), None)
        return f"“{_name(topology, home, value) if home else value}”"
    if isinstance(value, Frozen):
        known = value.model_dump(exclude_defaults=True)
        parts = [
            f"{_label(name)} {_words(getattr(value, name), collection, name, topology)}"
            for name in type(value).model_fields
            if name in known and name != "do"
        ]
        return ", ".join(parts) or "the default"
    if isinstance(value, Mapping):
        parts = [f"{k} {_words(value[k], collection, field, topology)}" for k in sorted(value)]
        return ", ".join(parts) or "nothing"
    return ", ".join(_words(each, collection, field, topology) for each in value) or "nothing"
