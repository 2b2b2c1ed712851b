"""A latency as a distribution that knows which segment its time was spent in.

A latency is T = origin + k x step + constants, where k is random. Beside the mass at each k stands,
for each segment, the expected time spent in it there on the path that was waited for. What mass
lies exactly at the origin (no wait, a fixed time) is kept as an atom; the rest is spread evenly
over the step around its point. All times in ms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import Any, Final

import numpy as np
from immutables import Map
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MAX_POINTS: Final = 16_384
"""No grid has more points; a longer range takes a wider step."""
TAIL: Final = 1e-10
"""Probability at each end of a grid that is moved onto the end's point to save room."""
_NO_CONSTANTS: Final[Map[str, float]] = Map()


@dataclass(frozen=True, slots=True)
class Grid:
    """The step, in ms, on which a continuous time is held."""

    step_ms: float

    @staticmethod
    def over(range_ms: float, points: int = 4_096) -> "Grid":
        """The grid that divides a range into so many steps."""
        return Grid(range_ms / points)


def points_ms(origin_ms: float, step_ms: float, count: int) -> Floats:
    """The times of so many points from an origin on, in ms."""
    points: Floats = origin_ms + step_ms * np.arange(count, dtype=np.float64)
    return points


@dataclass(frozen=True, slots=True, eq=False)
class Latency:
    """A distribution of time, in ms, and where the time was spent. Make it with the functions here.

    `mass` (points): probabilities, adding up to 1; `atom` of the first lies exactly at the origin.
    `parts` (segments, points): time of each segment x probability, adding up over the segments to
    (origin + k x step) x mass. `constants`: fixed times of segments, not in the origin.
    `exact`: mean (ms) and variance (ms^2) where known without the grid; a check on it.
    """

    origin_ms: float
    step_ms: float
    mass: Floats
    atom: float
    segments: tuple[str, ...]
    parts: Floats
    constants: Map[str, float] = _NO_CONSTANTS
    exact: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self.mass.setflags(write=False)
        self.parts.setflags(write=False)

    @property
    def fixed_ms(self) -> float:
        """The sum of the constants."""
        # A map's order changes from process to process; the last digit must not.
        return fsum(self.constants.values())

    @property
    def least_ms(self) -> float:
        """The shortest time possible."""
        return self.origin_ms + self.fixed_ms

    @property
    def most_ms(self) -> float:
        """The longest time on the grid."""
        return self.least_ms + (len(self.mass) - 1) * self.step_ms

    @property
    def times_ms(self) -> Floats:
        """The times of the points, constants left out."""
        return points_ms(self.origin_ms, self.step_ms, len(self.mass))

    @property
    def grid_mean_ms(self) -> float:
        """The mean as held on the grid."""
        return float(self.mass @ self.times_ms) + self.fixed_ms

    @property
    def grid_variance_ms2(self) -> float:
        """The variance as held on the grid, up to a quarter of a step squared too large."""
        offsets = points_ms(0.0, self.step_ms, len(self.mass))
        mean = float(self.mass @ offsets)
        return float(self.mass @ (offsets - mean) ** 2)

    @property
    def mean_ms(self) -> float:
        """The mean, exact where it is known."""
        return self.grid_mean_ms if self.exact is None else self.exact[0]

    @property
    def variance_ms2(self) -> float:
        """The variance, exact where it is known."""
        return self.grid_variance_ms2 if self.exact is None else self.exact[1]

    @property
    def deviation_ms(self) -> float:
        """The standard deviation."""
        return sqrt(max(0.0, self.variance_ms2))

    def percentile(self, level: float) -> float:
        """The time in ms that is not exceeded with that probability (0 to 1)."""
        if level <= self.atom or len(self.mass) == 1:
            return self.least_ms
        edges, reached = self._edges()
        return float(np.interp(level, reached, edges)) + self.fixed_ms

    def percentiles(self, levels: Sequence[float]) -> tuple[float, ...]:
        """The times in ms not exceeded with each probability."""
        return tuple(self.percentile(level) for level in levels)

    def cdf(self, at_ms: ArrayLike) -> Floats:
        """P(T <= t), t in ms."""
        times = np.asarray(at_ms, dtype=np.float64) - self.fixed_ms
        edges, reached = self._edges()
        within: Floats = np.asarray(np.interp(times, edges, reached, left=0.0, right=1.0))
        return np.where(times < self.origin_ms - 1e-12 * abs(self.origin_ms), 0.0, within)

    def shares(self, level: float) -> dict[str, float]:
        """The percentile divided among segments: E[time in the segment | T = percentile], in ms.

        Only time on the path that was waited for counts. The shares add up to the percentile.
        Where mass is thin the condition is widened to neighbouring points.
        """
        shares = dict(sorted(self.constants.items()))
        variable = self.percentile(level) - self.fixed_ms
        spent = self.parts @ self._around(variable - self.origin_ms, level)
        total = float(spent.sum())
        scale = variable / total if total > 0.0 else 0.0
        for segment, part in zip(self.segments, spent.tolist(), strict=True):
            shares[segment] = shares.get(segment, 0.0) + part * scale
        return shares

    def mean_shares(self) -> dict[str, float]:
        """The mean divided among segments, in ms."""
        shares = dict(sorted(self.constants.items()))
        for segment, part in zip(self.segments, self.parts.sum(axis=1).tolist(), strict=True):
            shares[segment] = shares.get(segment, 0.0) + part
        return shares

    def _edges(self) -> tuple[Floats, Floats]:
        """The times between which mass lies evenly, and the probability reached at each."""
        count = len(self.mass)
        if count == 1:
            return np.array([self.origin_ms]), np.array([1.0])
        edges = points_ms(self.origin_ms - 0.5 * self.step_ms, self.step_ms, count + 1)
        edges[0] = self.origin_ms
        edges[-1] -= self.step_ms / 2.0
        reached = np.concatenate(([self.atom], np.cumsum(self.mass)))
        reached[-1] = 1.0
        return edges, np.minimum(reached, 1.0)

    def _around(self, offset_ms: float, level: float) -> Floats:
        """Weights of the points around a time after the origin, on enough mass to condition on."""
        if len(self.mass) == 1:
            return np.ones(1)
        place = offset_ms / self.step_ms
        index = np.arange(len(self.mass), dtype=np.float64)
        needed = 1e-4 * max(min(level, 1.0 - level), TAIL)
        width = 1.0
        while True:
            weights: Floats = np.maximum(0.0, 1.0 - np.abs(index - place) / width)
            if float(weights @ self.mass) >= needed or width > 2.0 * len(index):
                return weights
            width *= 2.0


def folded(latency: Latency) -> Latency:
    """The same with its constants moved into the origin and the parts."""
    if not latency.constants:
        return latency
    segments = tuple(dict.fromkeys((*latency.segments, *sorted(latency.constants))))
    parts = aligned(latency, segments)
    for segment, ms in latency.constants.items():
        parts[segments.index(segment)] += ms * latency.mass
    return replace(
        latency,
        origin_ms=latency.least_ms,
        segments=segments,
        parts=parts,
        constants=_NO_CONSTANTS,
    )


def aligned(latency: Latency, segments: Sequence[str]) -> Floats:
    """A copy of the parts with a row for each of the segments named, 0 where it has none."""
    rows = {segment: row for row, segment in enumerate(segments)}
    parts = np.zeros((len(segments), len(latency.mass)))
    for segment, row in zip(latency.segments, latency.parts, strict=True):
        parts[rows[segment]] = row
    return parts


def balanced(times_ms: Floats, mass: Floats, parts: Floats) -> Floats:
    """The parts scaled so that they add up to time x mass at each point.

    A point without any division of its time takes that of the whole.
    """
    wanted = times_ms * mass
    total = parts.sum(axis=0)
    known = total > 0.0
    scale = np.divide(wanted, total, out=np.zeros_like(total), where=known)
    scaled: Floats = parts * scale
    lost = ~known & (wanted > 0.0)
    whole = float(parts.sum())
    if lost.any() and len(parts):
        usual = parts.sum(axis=1) / whole if whole > 0.0 else np.full(len(parts), 1 / len(parts))
        scaled[:, lost] = usual[:, None] * wanted[lost]
    return scaled


def bounded(latency: Latency) -> Latency:
    """The same without empty ends and with at most `MAX_POINTS` points.

    Mass of at most `TAIL` at either end is moved onto the new end; a longer grid takes a wider
    step. Nothing is lost, and the mean stays but for that.
    """
    mass = latency.mass
    first = int(np.argmax(np.cumsum(mass) > TAIL))
    last = len(mass) - 1 - int(np.argmax(np.cumsum(mass[::-1]) > TAIL))
    if first > 0 or last < len(mass) - 1:
        latency = _trimmed(latency, first, last)
    if len(latency.mass) > MAX_POINTS:
        wider = latency.step_ms * (len(latency.mass) - 1) / (MAX_POINTS - 2)
        latency = on_step(latency, wider)
    return latency


def _trimmed(latency: Latency, first: int, last: int) -> Latency:
    mass = latency.mass[first : last + 1].copy()
    parts = latency.parts[:, first : last + 1].copy()
    mass[0] += latency.mass[:first].sum()
    mass[-1] += latency.mass[last + 1 :].sum()
    origin = latency.origin_ms + first * latency.step_ms
    parts = balanced(points_ms(origin, latency.step_ms, len(mass)), mass, parts)
    atom = latency.atom if first == 0 else 0.0
    return replace(latency, origin_ms=origin, mass=mass, parts=parts, atom=atom)


def on_step(latency: Latency, step_ms: float, from_ms: float | None = None) -> Latency:
    """The same on a grid with another step, and another origin if given (not above the present).

    Mass is divided between the two neighbouring points, which keeps the mean; on a finer step it
    is first spread over its old step. The atom stays one only where the origin stays.
    """
    origin = latency.origin_ms if from_ms is None else from_ms
    same = abs(origin - latency.origin_ms) <= 1e-12 * abs(origin)
    if same and (len(latency.mass) == 1 or step_ms == latency.step_ms):
        return replace(latency, step_ms=step_ms)
    places, mass, parts = spread(latency, step_ms)
    mass, parts, _ = deposited(places, mass, parts, Deposit(origin, step_ms))
    return replace(
        latency,
        origin_ms=origin,
        step_ms=step_ms,
        mass=mass,
        parts=parts,
        atom=latency.atom if same else 0.0,
    )


def spread(latency: Latency, step_ms: float) -> tuple[Floats, Floats, Floats]:
    """Times, masses and parts, cut fine enough for a grid of that step; the atom comes first."""
    times, mass, parts = latency.times_ms, latency.mass, latency.parts
    pieces = int(np.ceil(latency.step_ms / step_ms - 1e-9)) if len(mass) > 1 else 1
    if pieces <= 1:
        return times, mass, parts
    offsets = ((np.arange(pieces) + 0.5) / pieces - 0.5) * latency.step_ms
    shifts = np.tile(offsets, (len(mass), 1))
    shifts[0], shifts[-1] = np.abs(offsets), -np.abs(offsets)
    even = mass.copy()
    even[0] -= latency.atom
    fine_times = np.concatenate(([latency.origin_ms], (times[:, None] + shifts).ravel()))
    fine_mass = np.concatenate(([latency.atom], np.repeat(even / pieces, pieces)))
    kept = np.divide(even, mass, out=np.zeros_like(mass), where=mass > 0.0)
    fine_parts = np.hstack(
        (parts[:, :1] * (1.0 - kept[0]), np.repeat(parts * (kept / pieces), pieces, axis=1))
    )
    return fine_times, fine_mass, balanced(fine_times, fine_mass, fine_parts)


@dataclass(frozen=True, slots=True)
class Deposit:
    """Where masses are put: the origin and the step of a grid, in ms."""

    origin_ms: float
    step_ms: float


def deposited(
    times_ms: Floats, mass: Floats, parts: Floats, onto: Deposit
) -> tuple[Floats, Floats, float]:
    """Masses divided between the points beside them, the parts, and the mass below the origin."""
    place = (times_ms - onto.origin_ms) / onto.step_ms
    low = np.floor(place + 1e-9).astype(np.int64)
    up = np.clip(place - low, 0.0, 1.0)
    base = min(int(low.min()), -1)
    # one point at least, also where all mass lies below the origin
    size = max(int(low.max()) + 2, 1) - base
    index = np.concatenate((low, low + 1)) - base
    weights = np.concatenate((1.0 - up, up))
    points = points_ms(onto.origin_ms + base * onto.step_ms, onto.step_ms, size)
    from_ms = np.tile(times_ms, 2)
    ratio = np.divide(points[index], from_ms, out=np.zeros_like(from_ms), where=from_ms > 0.0)
    put = _counted(index, weights * np.tile(mass, 2), size)
    made = np.zeros((len(parts), size + base))
    for row, part in zip(made, parts, strict=True):
        row[:] = _counted(index, weights * ratio * np.tile(part, 2), size)[-base:]
    kept = put[-base:]
    return kept, balanced(points[-base:], kept, made), float(put[:-base].sum())


def _counted(index: NDArray[np.int64], weights: Floats, size: int) -> Floats:
    counted: NDArray[Any] = np.bincount(index, weights, size)
    return counted.astype(np.float64, copy=False)
