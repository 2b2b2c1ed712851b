"""Quantities at the border: text as people write it to a number in a field's unit, and back.

Inside the program a quantity is a number whose unit stands in its field's name. Link rates are
SI bits a second ("400g", "400 Gb/s", "50 GB/s" are the same); sizes are bytes, SI unless the unit
says binary ("16 MiB"); a time is one-way, round trip, or neither.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Kind = Literal["capacity", "length", "time", "size", "power", "money", "money_rate"]
Way = Literal["one_way", "round_trip"]

KM_PER_MILE: Final = 1.609344
"""International mile, exact by its definition of 1959."""
HOURS_PER_MONTH: Final = 730.0
"""8,760 hours a year over twelve months."""


class UnitRefused(ValueError):
    """Text that is no quantity of the kind asked for; `str()` is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in its kind's base unit: Gb/s, km, ms, bytes, kW, USD, USD an hour.

    `way` says which time it is; None for other kinds and for times that are neither.
    """

    kind: Kind
    value: float
    way: Way | None = None


@dataclass(frozen=True, slots=True)
class FieldUnit:
    """The unit of a field: `base_per_unit` base units of the kind in one of the field's."""

    kind: Kind
    unit: str
    base_per_unit: float
    way: Way | None = None


_SI: Final = MappingProxyType({"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15})
_RATE: Final = re.compile(
    r"(?P<prefix>[kmgtp]?)(?P<unit>(?:bits?|b)(?:ps|/s|/sec)|bytes?(?:ps|/s|/sec)|bits?|b)?",
    re.IGNORECASE,
)
_LENGTHS: Final = MappingProxyType(
    {
        "km": 1.0, "m": 1e-3, "cm": 1e-5, "mi": KM_PER_MILE, "mile": KM_PER_MILE,
        "miles": KM_PER_MILE, "ft": 0.3048e-3, "nmi": 1.852,
    }
)  # fmt: skip
_TIMES: Final = MappingProxyType(
    {
        "ms": 1.0, "s": 1e3, "sec": 1e3, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ns": 1e-6,
        "min": 6e4, "h": 3.6e6,
    }
)  # fmt: skip
_SIZES: Final = MappingProxyType(
    {
        "b": 1.0, "byte": 1.0, "bytes": 1.0, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6,
        "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20,
        "gib": 2.0**30, "tib": 2.0**40, "kbit": 125.0, "mbit": 125e3, "gbit": 125e6,
    }
)  # fmt: skip
_POWERS: Final = MappingProxyType({"kW": 1.0, "kw": 1.0, "W": 1e-3, "w": 1e-3, "MW": 1e3})
_PERIODS: Final = MappingProxyType(
    {"h": 1.0, "hour": 1.0, "mo": HOURS_PER_MONTH, "month": HOURS_PER_MONTH,
     "y": 8760.0, "year": 8760.0}
)  # fmt: skip
_EXAMPLES: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "capacity": '"400g", "400 Gb/s" or "50 GB/s"',
        "length": '"80 km", "12 mi" or "300 m"',
        "time": '"3 ms", "5 µs" or "3 ms rtt"',
        "size": '"64 kB" or "16 MiB"',
        "power": '"320 kW" or "700 W"',
        "money": '"$1200" or "1200 USD"',
        "money_rate": '"$3/h" or "$2190/month"',
    }
)
_PLAIN: Final[Mapping[Kind, str]] = MappingProxyType(
    {"capacity": "Gb/s", "length": "km", "time": "ms", "size": "bytes", "power": "kW",
     "money": "USD", "money_rate": "USD/h"}
)  # fmt: skip

_NUMBER: Final = re.compile(r"\s*(?P<dollar>\$?)\s*(?P<number>[0-9.,eE]+(?:(?<=[eE])[+-][0-9]+)?)")
_WAYS: Final[tuple[tuple[re.Pattern[str], Way], ...]] = (
    (re.compile(r"\s*\b(rtt|round[ -]?trip)$", re.IGNORECASE), "round_trip"),
    (re.compile(r"\s*\b(one[ -]way|ow)$", re.IGNORECASE), "one_way"),
)

_SUFFIXES: Final[tuple[tuple[str, FieldUnit], ...]] = (
    ("gbps", FieldUnit("capacity", "Gb/s", 1.0)),
    ("gbps_per_gpu", FieldUnit("capacity", "Gb/s", 1.0)),
    ("km", FieldUnit("length", "km", 1.0)),
    ("one_way_ms", FieldUnit("time", "ms", 1.0, "one_way")),
    ("rtt_ms", FieldUnit("time", "ms", 1.0, "round_trip")),
    ("ms", FieldUnit("time", "ms", 1.0)),
    ("forwarding_us", FieldUnit("time", "µs", 1e-3, "one_way")),
    ("us", FieldUnit("time", "µs", 1e-3)),
    ("bytes", FieldUnit("size", "bytes", 1.0)),
    ("bytes_per_token", FieldUnit("size", "bytes", 1.0)),
    ("kb", FieldUnit("size", "kB", 1e3)),
    ("mb", FieldUnit("size", "MB", 1e6)),
    ("kw", FieldUnit("power", "kW", 1.0)),
    ("power_w", FieldUnit("power", "W", 1e-3)),
    ("usd_per_month", FieldUnit("money_rate", "USD/month", 1 / HOURS_PER_MONTH)),
    ("usd_per_gpu_hour", FieldUnit("money_rate", "USD/h", 1.0)),
    ("usd", FieldUnit("money", "USD", 1.0)),
)


def field_unit(field: str) -> FieldUnit | None:
    """The unit that a field's name (or dotted path) ends in; None where it names no quantity."""
    for part in reversed(field.split(".")):
        for suffix, unit in _SUFFIXES:
            if part == suffix or part.endswith(f"_{suffix}"):
                return unit
    return None


def kind_of_field(field: str) -> Kind | None:
    """What a field's name says that it holds ("capacity_gbps": capacity); None: no quantity."""
    unit = field_unit(field)
    return unit.kind if unit else None


def parse(text: str, kind: Kind) -> Quantity:
    """Reads one quantity of `kind`; a bare number is in Gb/s, km, ms, bytes, kW, USD, USD an hour.

    What stands in brackets behind it (the other way of showing it) is not read.
    Raises UnitRefused for text that is none, for less than zero and for what is not finite.
    """
    value, factor, way = _parts(text, kind)
    return Quantity(kind, _finite(text, kind, value * (1.0 if factor is None else factor)), way)


def parse_field(text: str, field: str) -> float:
    """The number to store in `field` for what a person typed; bare numbers are in its unit.

    "3 ms rtt" in a one-way field is halved, "3 ms one-way" in a round-trip field doubled.
    Raises UnitRefused, also where the field holds no quantity or has no direction to halve for.
    """
    unit = field_unit(field)
    if unit is None:
        raise UnitRefused(f"{field} has no unit; type a plain number")
    value, factor, way = _parts(text, unit.kind)
    base = value * (unit.base_per_unit if factor is None else factor)
    if way is not None and unit.way is None:
        raise UnitRefused(
            f'"{text.strip()}" says one-way or round trip, which {field} is not; leave that out'
        )
    turned = base if way in (None, unit.way) else (base / 2 if way == "round_trip" else base * 2)
    return _finite(text, unit.kind, turned / unit.base_per_unit)


def _finite(text: str, kind: Kind, value: float) -> float:
    if not math.isfinite(value):
        raise _refused(text, kind)
    return value


def _refused(text: str, kind: Kind) -> UnitRefused:
    shown = text.strip()
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    return UnitRefused(f'"{shown}" is no {kind.replace("_", " ")}; write {_EXAMPLES[kind]}')


def _parts(text: str, kind: Kind) -> tuple[float, float | None, Way | None]:
    """The number, the base units that its unit holds (None: no unit given), and the way."""
    body = re.sub(r"\s*\([^()]*\)\s*$", "", text).strip()
    found: Way | None = None
    if kind == "time":
        for pattern, way in _WAYS:
            shorter = pattern.sub("", body)
            if shorter != body:
                body, found = shorter, way
                break
    match = _NUMBER.match(body)
    if match is None or (match["dollar"] and not kind.startswith("money")):
        raise _refused(text, kind)
    if "," in match["number"]:
        raise UnitRefused(
            f'"{text.strip()}" has a comma; write a point for decimals and nothing for thousands'
        )
    try:
        value = float(match["number"])
    except ValueError:
        raise _refused(text, kind) from None
    unit = body[match.end() :].strip()
    factor = None if not unit and not match["dollar"] else _factor(text, unit, kind)
    return value, factor, found


def _factor(text: str, unit: str, kind: Kind) -> float:
    match kind:
        case "capacity":
            return _rate_factor(text, unit)
        case "size":
            return _size_factor(text, unit)
        case "money" | "money_rate":
            return _money_factor(text, unit, kind)
        case "power":
            found = _POWERS.get(unit)
        case "length":
            found = _LENGTHS.get(unit.lower())
        case "time":
            found = _TIMES.get(unit.lower())
    if found is None:
        raise _refused(text, kind)
    return found


def _rate_factor(text: str, unit: str) -> float:
    """Gb/s in one `unit`: a capital B or the word byte means bytes, everything else bits."""
    match = _RATE.fullmatch(unit.replace(" ", ""))
    if match is None:
        raise _refused(text, "capacity")
    word = match["unit"] or ""
    in_bytes = word.lower().startswith("byte") or (
        word.startswith("B") and not word.lower().startswith("bit")
    )
    return _SI[match["prefix"].lower()] * (8 if in_bytes else 1) / 1e9


def _size_factor(text: str, unit: str) -> float:
    if re.fullmatch(r"[kKmMgGtT]b", unit):
        raise UnitRefused(
            f'"{text.strip()}" may mean bits or bytes; write "{unit[0]}B" for bytes or '
            f'"{unit[0]}bit" for bits'
        )
    found = _SIZES.get(unit.lower())
    if found is None:
        raise _refused(text, "size")
    return found


def _money_factor(text: str, unit: str, kind: Kind) -> float:
    amount, slash, period = unit.partition("/")
    if amount.strip().upper() not in ("", "USD"):
        raise _refused(text, kind)
    if kind == "money":
        if slash:
            raise _refused(text, kind)
        return 1.0
    hours = _PERIODS.get(period.strip().lower())
    if hours is None:
        raise _refused(text, kind)
    return 1.0 / hours


def number(value: float, digits: int = 4) -> str:
    """`value` with `digits` significant digits, no exponent, no trailing zeros, a true minus."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = float(f"{value:.{digits - 1}e}")
    shown = f"{rounded:.{places}f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return shown.replace("-", "\u2212")


def _scaled(value: float, steps: tuple[tuple[float, str], ...], digits: int = 4) -> str:
    """`value` in the largest unit of `steps` (falling) that leaves a number from 1."""
    rounded = float(f"{value:.{digits - 1}e}")
    for size, unit in steps:
        if rounded >= size:
            return f"{number(value / size, digits)} {unit}"
    size, unit = steps[-1]
    return f"{number(value / size, digits)} {unit}"


_BIT_RATES: Final = ((1e3, "Tb/s"), (1.0, "Gb/s"), (1e-3, "Mb/s"), (1e-6, "kb/s"), (1e-9, "b/s"))
_BYTE_RATES: Final = ((1e3, "TB/s"), (1.0, "GB/s"), (1e-3, "MB/s"), (1e-6, "kB/s"), (1e-9, "B/s"))
_SHOWN_TIMES: Final = ((1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns"))
_SHOWN_SIZES: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))


def show_rate(gbps: float) -> str:
    """A rate in bits alone: "400 Gb/s"."""
    return _scaled(gbps, _BIT_RATES)


def show_capacity(gbps: float) -> str:
    """A rate both ways: "400 Gb/s (50 GB/s)"."""
    return f"{show_rate(gbps)} ({_scaled(gbps / 8, _BYTE_RATES, 3)})"


def show_length(km: float) -> str:
    """A length both ways: "80 km (49.7 mi)", "300 m (984 ft)"."""
    if float(f"{km:.3e}") >= 1 or km == 0:
        return f"{number(km)} km ({number(km / KM_PER_MILE, 3)} mi)"
    return f"{number(km * 1e3)} m ({number(km / 0.3048e-3, 3)} ft)"


def show_time(ms: float, way: Way | None = None) -> str:
    """A time, with the other way in brackets: "3 ms one-way (6 ms round trip)"."""
    shown = _scaled(ms, _SHOWN_TIMES)
    match way:
        case "one_way":
            return f"{shown} one-way ({_scaled(ms * 2, _SHOWN_TIMES)} round trip)"
        case "round_trip":
            return f"{shown} round trip ({_scaled(ms / 2, _SHOWN_TIMES)} one-way)"
        case None:
            return shown


def show_size(size_bytes: float) -> str:
    """A size in SI bytes: "64 kB"."""
    return _scaled(size_bytes, _SHOWN_SIZES)


def show(quantity: Quantity) -> str:
    """A quantity as a person reads it; `parse` reads it back to the digits shown."""
    value = quantity.value
    match quantity.kind:
        case "capacity":
            return show_capacity(value)
        case "length":
            return show_length(value)
        case "time":
            return show_time(value, quantity.way)
        case "size":
            return show_size(value)
        case "power":
            return _scaled(value, ((1e3, "MW"), (1.0, "kW"), (1e-3, "W")))
        case "money":
            return f"{number(value)} USD"
        case "money_rate":
            return f"{number(value)} USD/h ({number(value * HOURS_PER_MONTH, 3)} USD/month)"


def show_field(value: float, field: str) -> str:
    """What `field` holds, as a person reads it; a plain number where it holds no quantity."""
    unit = field_unit(field)
    if unit is None:
        return number(value)
    return show(Quantity(unit.kind, value * unit.base_per_unit, unit.way))
