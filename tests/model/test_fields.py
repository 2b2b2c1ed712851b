"""Every field of a design survives an edit, its undo, a save and a load, and is in the schema."""

from typing import Any

import jsonschema
import pytest

from designer.files.compare import differences
from designer.files.format import dumps, loads, parse_json
from designer.files.schema import topology_schema
from designer.model.document import Document
from designer.model.patch import WHOLE, from_json, get_field, invert, to_json, with_field
from tests.model.samples import Spot, all_spots, same

SPOTS = tuple(all_spots())
BY_COLLECTION = sorted({spot.collection for spot in SPOTS})


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return topology_schema()


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def spots(collection: str) -> list[Spot]:
    return [spot for spot in SPOTS if spot.collection == collection]


def test_the_walk_reaches_every_type_that_a_field_names(schema: dict[str, Any]) -> None:
    reached = {spot.kind.__name__ for spot in SPOTS}
    missing = set(schema["$defs"]) - reached - {"Design", "Layout"}
    assert missing == set()
    fields = {(spot.kind.__name__, spot.field) for spot in SPOTS}
    named = {
        (kind, field)
        for kind in reached
        for field in schema["$defs"][kind]["properties"]
        if field not in ("id", "do")
    }
    assert fields == named


@pytest.mark.parametrize("collection", BY_COLLECTION)
def test_every_field_survives_edit_and_undo(collection: str) -> None:
    for spot in spots(collection):
        before, *others = spot.topologies()
        assert others, spot.path
        for after in others:
            patch = differences(before, after)
            assert all(change.field != WHOLE for change in patch), spot.path
            document = Document(before)
            document.commit(patch, spot.path)
            same(document.topology, after, spot.path)
            same(from_json(to_json(patch)), patch, spot.path)
            undone = document.undo()
            same(undone, invert(patch), spot.path)
            same(document.topology, before, spot.path)
            document.redo()
            same(document.topology, after, spot.path)


@pytest.mark.parametrize("collection", BY_COLLECTION)
def test_every_field_survives_save_and_load_and_is_in_the_schema(
    collection: str, validator: jsonschema.Draft202012Validator
) -> None:
    for spot in spots(collection):
        written = set()
        topologies = spot.topologies()
        for topology in topologies:
            data = dumps(topology)
            read = loads(data, "x").topology
            same(read, topology, spot.path)
            same(dumps(read), data, spot.path)
            validator.validate(parse_json(data, "x"))
            written.add(data)
        assert len(written) == len(topologies), spot.path


@pytest.mark.parametrize("collection", BY_COLLECTION)
def test_a_field_at_a_path_of_plain_parts_can_be_set_by_its_address(collection: str) -> None:
    for spot in spots(collection):
        topologies = spot.topologies()
        for change in differences(topologies[0], topologies[1]):
            part = (
                topologies[0].layout
                if change.collection in type(topologies[0].layout).model_fields
                else topologies[0].design
            )
            table = getattr(part, change.collection)
            item = table[change.id] if change.id else table
            assert get_field(with_field(item, change.field, change.after), change.field) == (
                change.after
            )


def test_the_schema_refuses_what_the_reader_refuses(
    validator: jsonschema.Draft202012Validator,
) -> None:
    good = {"format": "promptpath", "version": 1}
    validator.validate(good)
    for wrong in (
        {"format": "other", "version": 1},
        {"format": "promptpath"},
        good | {"design": {"nodes": [{"id": "n1", "kind": "leaf", "unknown": 1}]}},
        good | {"design": {"nodes": [{"id": "n1", "kind": "no such kind"}]}},
        good | {"design": {"nodes": [{"id": "n 1", "kind": "leaf"}]}},
        good | {"design": {"links": [{"id": "l1", "a": "n1", "b": "n2", "capacity_gbps": 0}]}},
        good | {"more": 1},
    ):
        assert not validator.is_valid(wrong)
