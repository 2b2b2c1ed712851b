"""A latency with what is missing in it, the names of its segments, and why there may be none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from immutables import Map

from designer.analysis.distributions import Latency, folded
from designer.analysis.transit import Segment
from designer.graph.arrays import Floats

Why = Literal["grows", "unknown", "no_way"]
"""grows: no steady state. unknown: an input is missing. no_way: it cannot be carried out."""


class CannotTime(ValueError):
    """There is no figure at all: no way, no pool, or no steady state. The message says why."""

    def __init__(self, message: str, why: Why) -> None:
        super().__init__(message)
        self.why = why


@dataclass(frozen=True, slots=True)
class Timed:
    """A latency and what is missing in it (empty: nothing)."""

    latency: Latency
    missing: tuple[str, ...]


@dataclass(slots=True)
class Names:
    """Names of segments in latencies, and what each of them stands for."""

    segments: dict[str, Segment] = field(default_factory=dict)

    def of(self, segment: Segment) -> str:
        """The name under which a segment's time is carried."""
        name = f"{segment.name}|{segment.tier}|{segment.element}"
        self.segments.setdefault(name, segment)
        return name


def joined(put: Callable[[Sequence[Latency]], Latency], timed: Sequence[Timed]) -> Timed:
    """Several put together by a step of the algebra; what is missing in one is missing in all."""
    return Timed(put([each.latency for each in timed]), missing_in(timed))


def missing_in(timed: Sequence[Timed]) -> tuple[str, ...]:
    """What is missing in any of them, once."""
    return tuple({name: None for each in timed for name in each.missing})


def undivided(latency: Latency) -> Latency:
    """All segments as one; the distribution is the same."""
    moving = bool(latency.segments)
    return replace(
        latency,
        segments=("all",) if moving else (),
        parts=latency.parts.sum(axis=0, keepdims=True) if moving else latency.parts,
        constants=Map({"all": latency.fixed_ms}),
    )


def divided(whole: Latency, names: Sequence[str], ratios: Callable[[Latency], Floats]) -> Latency:
    """One segment's latency divided among several: ratios (segments,) or (segments, points)."""
    flat = folded(whole)
    spent = flat.parts.sum(axis=0)
    table = ratios(flat)
    parts = table[:, None] * spent if table.ndim == 1 else table * spent
    return replace(flat, segments=tuple(names), parts=parts)
