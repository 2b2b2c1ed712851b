"""Reading a case with right answers: strict, so that what is wrong is named with its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from designer.graph.compiled import Floats, Ints


class CaseRefused(ValueError):
    """A case cannot be read or computed: one sentence with case, place and remedy."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A mapping inside a case. place: where it stands, as "input.topology"."""

    case: str
    place: str
    data: Mapping[str, object]

    def refused(self, key: str, remedy: str) -> CaseRefused:
        """The objection to what stands under the key."""
        return CaseRefused(f"case {self.case}, {self.place}.{key}: {remedy}")

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self.data.get(key) is not None

    def inside(self, key: str) -> "Reader":
        """The mapping under the key."""
        value = self.data.get(key)
        if not isinstance(value, Mapping):
            raise self.refused(key, "give an object here")
        return Reader(self.case, f"{self.place}.{key}", value)

    def items(self, key: str) -> Sequence[object]:
        """The list under the key."""
        return self.listed(self.data.get(key), key)

    def listed(self, value: object, key: str) -> Sequence[object]:
        """The value, which must be a list."""
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self.refused(key, "give a list here")
        return value

    def exact(self, value: object, key: str) -> Fraction:
        """A number as it is written: 2, 2.5 or "5/2"."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.refused(key, f'{value!r} is no number; write it as 2, 2.5 or "5/2"')
        if isinstance(value, float) and not isfinite(value):
            raise self.refused(key, f"{value!r} is not finite; leave it out if there is no limit")
        try:
            return Fraction(str(value))
        except (ValueError, ZeroDivisionError):
            raise self.refused(
                key, f'{value!r} is no number; write it as 2, 2.5 or "5/2"'
            ) from None

    def number(self, value: object, key: str) -> float:
        """A number that is not below 0."""
        exact = self.exact(value, key)
        try:
            number = float(exact)
        except OverflowError:
            raise self.refused(key, f"{value!r} is too large; give a smaller number") from None
        if number < 0:
            raise self.refused(key, f"{value!r} is below 0; give a number from 0 up")
        return number

    def whole(self, value: object, key: str, least: int, below: int | None = None) -> int:
        """A whole number from `least` to below `below`."""
        exact = self.exact(value, key)
        if exact.denominator != 1 or exact < least or (below is not None and exact >= below):
            span = f"from {least} up" if below is None else f"from {least} to {below - 1}"
            raise self.refused(key, f"{value!r} does not fit; give a whole number {span}")
        return int(exact)

    def count(self, key: str, least: int = 1) -> int:
        """The whole number under the key."""
        return self.whole(self.data.get(key), key, least, 10_000_000)

    def amount(self, key: str) -> float:
        """The number under the key."""
        return self.number(self.data.get(key), key)

    def numbers(self, key: str, length: int | None = None) -> Floats:
        """The list of numbers under the key."""
        values = self.items(key)
        if length is not None and len(values) != length:
            raise self.refused(key, f"{len(values)} numbers stand here; give {length}")
        read = [self.number(value, f"{key}[{i}]") for i, value in enumerate(values)]
        return np.array(read, dtype=np.float64)

    def wholes(self, key: str, below: int) -> Ints:
        """The list of whole numbers 0..below-1 under the key."""
        values = self.items(key)
        read = [self.whole(value, f"{key}[{i}]", 0, below) for i, value in enumerate(values)]
        return np.array(read, dtype=np.int64)

    def rows(self, key: str, n: int) -> tuple[Ints, Ints, list[Fraction]]:
        """Rows of two vertices out of n and a number from 0 up, as three columns."""
        first, second, third = [], [], []
        for i, row in enumerate(self.items(key)):
            place = f"{key}[{i}]"
            cells = self.listed(row, place)
            if len(cells) != 3:
                raise self.refused(place, "give two vertices and a number")
            first.append(self.whole(cells[0], place, 0, n))
            second.append(self.whole(cells[1], place, 0, n))
            self.number(cells[2], place)
            third.append(self.exact(cells[2], place))
        return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), third
