"""What every part of a design has in common: frozen, strict, careful with what it does not know.

A file of a newer minor version may hold fields and enum values that this program has never heard
of. They are kept as they are and written back. The validation context `{"newer_minor": True}`
allows them; without it they are mistakes and refused.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Any, Final, Self, TypeVar, get_args

from immutables import Map
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

K = TypeVar("K")
V = TypeVar("V")

NEWER_MINOR: Final[Mapping[str, bool]] = Map({"newer_minor": True})
"""Validation context under which unknown fields and enum values are kept instead of refused."""


def allows_unknown(info: ValidationInfo | core_schema.ValidationInfo) -> bool:
    """Whether the file being read is of a newer minor version."""
    context = info.context
    return context is not None and bool(context.get("newer_minor"))


class Frozen(BaseModel):
    """A value that never changes. Unknown fields are refused, or kept where the context allows."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    _unknown_json: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _keep_unknown(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if not (isinstance(data, dict) and allows_unknown(info)):
            return handler(data)
        unknown = {key: value for key, value in data.items() if key not in cls.model_fields}
        made = handler({key: value for key, value in data.items() if key in cls.model_fields})
        if unknown:
            made._unknown_json = json.dumps(unknown, sort_keys=True, ensure_ascii=False)
        return made

    @model_serializer(mode="wrap")
    def _write_unknown(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if "do" in type(self).model_fields:
            written = {"do": getattr(self, "do", None)} | written
        if self._unknown_json:
            written.update(json.loads(self._unknown_json))
        return written

    def replace(self, **changes: Any) -> Self:
        """A validated copy with some fields changed (`model_copy` alone does not validate).

        Raises pydantic.ValidationError where a value does not fit.
        """
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        made = type(self).model_validate(fields | changes, context=NEWER_MINOR)
        made._unknown_json = self._unknown_json
        return made

    def with_unknown_of(self, other: Self) -> Self:
        """A copy that also has the unknown fields of another, where it has none of that name."""
        if other._unknown_json in ("", self._unknown_json):
            return self
        unknown = json.loads(other._unknown_json) | json.loads(self._unknown_json or "{}")
        made = self.model_copy()
        made._unknown_json = json.dumps(unknown, sort_keys=True, ensure_ascii=False)
        return made


class _MapSchema:
    """Lets pydantic read a JSON object into an `immutables.Map` and write it sorted by key."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        key, value = get_args(source)
        as_dict = handler.generate_schema(dict[key, value])  # type: ignore[valid-type]
        return core_schema.chain_schema(
            [
                core_schema.no_info_plain_validator_function(_dict_of),
                as_dict,
                core_schema.no_info_plain_validator_function(Map),
            ],
            serialization=core_schema.plain_serializer_function_ser_schema(
                _sorted_dict,
                return_schema=handler.generate_schema(dict[key, value]),  # type: ignore[valid-type]
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        chain: Any = schema
        return handler(chain["steps"][1])


def _dict_of(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _sorted_dict(value: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value[key] for key in sorted(value)}


FrozenMap = Annotated[Map[K, V], _MapSchema()]
"""A read-only mapping as a field: a JSON object in the file."""


class _TableSchema:
    """Lets pydantic read a JSON list of things with an `id` into a `Map` from id to thing."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        _, item = get_args(source)
        as_list = handler.generate_schema(list[item])  # type: ignore[valid-type]
        return core_schema.chain_schema(
            [
                core_schema.no_info_plain_validator_function(_list_of),
                as_list,
                core_schema.no_info_plain_validator_function(_by_id),
            ],
            serialization=core_schema.plain_serializer_function_ser_schema(
                _sorted_items,
                return_schema=handler.generate_schema(list[item]),  # type: ignore[valid-type]
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        chain: Any = schema
        return handler(chain["steps"][1])


def _list_of(value: Any) -> Any:
    return list(value.values()) if isinstance(value, Map) else value


def _by_id(items: Iterable[Any]) -> Map[str, Any]:
    made: dict[str, Any] = {}
    for position, item in enumerate(items):
        if item.id in made:
            raise PydanticCustomError(
                "duplicate_id",
                "id {id} is used twice (the second time at [{position}]); give one a fresh id",
                {"id": json.dumps(item.id), "position": position},
            )
        made[item.id] = item
    return Map(made)


def _sorted_items(value: Mapping[str, Any]) -> list[Any]:
    return [value[key] for key in sorted(value)]


Table = Annotated[Map[K, V], _TableSchema()]
"""A collection: a JSON list of things with an id in the file, sorted by id; a Map in memory."""


class OneOf:
    """A closed set of words. A word of a newer minor version is kept as it is."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words: Final = tuple(words)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_after_validator_function(
            self._check, core_schema.str_schema(strict=True, min_length=1, max_length=64)
        )

    def _check(self, value: str, info: core_schema.ValidationInfo) -> str:
        if value in self.words or allows_unknown(info):
            return value
        raise PydanticCustomError(
            "unknown_word",
            "{value} is not known here; use one of {words}",
            {"value": json.dumps(value), "words": ", ".join(self.words)},
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "enum": list(self.words)}


def _no_controls(text: str) -> str:
    if any(ord(character) < 32 and character not in "\n\t" for character in text):
        raise PydanticCustomError("control_character", "remove the control characters", {})
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise PydanticCustomError("lone_surrogate", "remove the broken characters", {}) from None
    return text


class _TextCheck:
    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], CoreSchema]
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_no_controls, handler(source))


Id = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Text = Annotated[str, Field(strict=True, max_length=10_000), _TextCheck()]
Name = Annotated[str, Field(strict=True, max_length=500), _TextCheck()]
MOST: Final = 1e15
"""No quantity of a network in its unit is larger; products of two stay far from overflow."""
LEAST_POSITIVE: Final = 1e-12
_LEAST_ABOVE_ZERO: Final = 1e-30
"""Smaller than rounding leaves of a difference, and large enough to divide by."""


def _no_speck(value: float) -> float:
    if 0 < value < _LEAST_ABOVE_ZERO:
        raise PydanticCustomError("speck", "must be 0 or at least 1e-30", {})
    return value


Number = Annotated[float, Field(strict=True, ge=-MOST, le=MOST)]
Positive = Annotated[float, Field(strict=True, ge=LEAST_POSITIVE, le=MOST)]
NonNegative = Annotated[float, Field(strict=True, ge=0, le=MOST), AfterValidator(_no_speck)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
Whole = Annotated[int, Field(strict=True, ge=0, le=2**53)]

ProvenanceKind = Annotated[
    str, OneOf(("given", "catalogue", "derived", "guessed", "measured", "unknown"))
]


class Provenance(Frozen):
    """Where a value comes from. No entry for a field means: given by the user."""

    kind: ProvenanceKind
    source: Text = ""
    note: Text = ""


class Item(Frozen):
    """A thing of a collection: it has an id, a free name, and says where its values come from."""

    id: Id
    name: Name = ""
    provenance: FrozenMap[str, Provenance] = Map()


_RISING: Final = ("min", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999", "max")


def check_rising(table: Frozen) -> None:
    """Raises PydanticCustomError where a percentile of a table is above a higher one."""
    values = ((name, getattr(table, name, None)) for name in _RISING)
    known = [(name, value) for name, value in values if value is not None]
    for (lower, low), (upper, high) in pairwise(known):
        if low > high:
            raise PydanticCustomError(
                "falling_percentiles",
                "{lower} is above {upper}; percentiles must rise",
                {"lower": lower, "upper": upper},
            )


class Percentiles(Frozen):
    """A table of percentiles of one variable, as sources publish them; null is not published.

    The unit stands in the name of the field that holds the table.
    """

    mean: NonNegative | None = None
    min: NonNegative | None = None
    p5: NonNegative | None = None
    p10: NonNegative | None = None
    p25: NonNegative | None = None
    p50: NonNegative | None = None
    p75: NonNegative | None = None
    p90: NonNegative | None = None
    p95: NonNegative | None = None
    p99: NonNegative | None = None
    p999: NonNegative | None = None
    max: NonNegative | None = None

    @model_validator(mode="after")
    def _rising(self) -> Self:
        check_rising(self)
        return self

    def points(self) -> tuple[tuple[float, float], ...]:
        """The known percentiles as (probability, value), rising."""
        levels = (
            (0.05, self.p5), (0.10, self.p10), (0.25, self.p25), (0.50, self.p50),
            (0.75, self.p75), (0.90, self.p90), (0.95, self.p95), (0.99, self.p99),
            (0.999, self.p999),
        )  # fmt: skip
        return tuple((level, value) for level, value in levels if value is not None)
