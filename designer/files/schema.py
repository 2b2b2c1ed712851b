"""JSON Schemas (draft 2020-12) of the file and of the results, for other programs."""

from collections.abc import Mapping
from typing import Any, Final

from immutables import Map
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from designer.files.format import EXTENSION
from designer.model.topology import FORMAT, MINOR, VERSION, Topology

DIALECT: Final = GenerateJsonSchema.schema_dialect


class DesignSchema(GenerateJsonSchema):
    """Knows that the default of a read-only mapping is an object in JSON, of a table a list."""

    def encode_default(self, dft: Any) -> Any:
        """A default value as JSON."""
        return super().encode_default(_plain(dft))

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a field with a default; an empty table is an empty list."""
        made = super().default_schema(schema)
        if made.get("type") == "array" and made.get("default") == {}:
            made["default"] = []
        return made

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        """One branch for each word of the tag: a reader need not try all of them at every step."""
        made = super().tagged_union_schema(schema)
        tag = made["discriminator"]["propertyName"]
        kinds = made["discriminator"]["mapping"]
        branches = [
            {"if": {"properties": {tag: {"const": word}}}, "then": {"$ref": reference}}
            for word, reference in kinds.items()
        ]
        tags = {tag: {"enum": list(kinds)}}
        return {"type": "object", "required": [tag], "properties": tags, "allOf": branches}


def _plain(value: Any) -> Any:
    if isinstance(value, Map):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return value


def topology_schema() -> dict[str, Any]:
    """The schema of a .promptpath file of this version."""
    schema = Topology.model_json_schema(schema_generator=DesignSchema)
    properties = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "minor": {"type": "integer", "minimum": 0, "maximum": MINOR, "default": 0},
    }
    schema["properties"] = properties | {
        name: value for name, value in schema["properties"].items() if name not in properties
    }
    schema["required"] = ["format", "version"]
    title = f"Promptpath design ({EXTENSION})"
    return {"$schema": DIALECT, **schema, "title": title}


def schema_of(results: type[Any]) -> Mapping[str, Any]:
    """The schema of what a type of results looks like as JSON, by the names used there."""
    schema: dict[str, Any] = results.model_json_schema(
        by_alias=True, mode="serialization", schema_generator=DesignSchema
    )
    return {"$schema": DIALECT, **schema}
