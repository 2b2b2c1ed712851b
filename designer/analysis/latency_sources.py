"""Latencies of one segment: fixed, measured, published, or of a known law. All times in ms."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from immutables import Map
from numpy.typing import ArrayLike
from scipy.special import gammaincc

from designer.analysis.distributions import (
    MAX_POINTS,
    TAIL,
    Deposit,
    Floats,
    Grid,
    Latency,
    bounded,
    deposited,
    points_ms,
)

_LEVELS: Final = 4_096
_TO_END: Final = np.geomspace(1e-7, 0.02, 1_000)
_CUTS: Final = np.concatenate((_TO_END[:-1], np.linspace(0.02, 0.98, _LEVELS), 1 - _TO_END[-2::-1]))
"""The probabilities at which a quantile function is read."""


def constant(segment: str, ms: float) -> Latency:
    """A fixed time, exact."""
    return Latency(
        origin_ms=0.0,
        step_ms=0.0,
        mass=np.ones(1),
        atom=1.0,
        segments=(),
        parts=np.zeros((0, 1)),
        constants=Map({segment: ms}),
        exact=(ms, 0.0),
    )


def single(
    segment: str, step_ms: float, mass: Floats, atom: float, exact: tuple[float, float] | None
) -> Latency:
    """One segment from masses at 0, step, 2 steps and so on."""
    parts = (points_ms(0.0, step_ms, len(mass)) * mass)[None, :]
    made = Latency(0.0, step_ms, mass, atom, (segment,), parts, exact=exact)
    return bounded(made)


def from_samples(segment: str, samples_ms: ArrayLike, grid: Grid | None = None) -> Latency:
    """The distribution of measured or simulated times, each equally likely."""
    samples = np.asarray(samples_ms, dtype=np.float64).ravel()
    least, most = float(samples.min()), float(np.ptp(samples))
    if most <= 1e-12 * max(least, 1e-12):
        return constant(segment, least)
    step = (grid or Grid.over(float(np.quantile(samples, 0.999)) - least)).step_ms
    onto = Deposit(0.0, max(step, most / (MAX_POINTS - 2)))
    even = np.full(len(samples), 1.0 / len(samples))
    mass, _, _ = deposited(samples - least, even, np.zeros((0, len(samples))), onto)
    atom = float(np.mean(samples == least)) if np.sum(samples == least) > 1 else 0.0
    made = single(segment, onto.step_ms, mass / mass.sum(), atom, None)
    return replace(
        made,
        constants=Map({segment: least}) if least else made.constants,
        exact=(float(samples.mean()), float(samples.var())),
    )


def from_quantiles(
    segment: str, quantile_ms: Callable[[Floats], Floats], grid: Grid | None = None
) -> Latency:
    """The distribution with that quantile function (probabilities to ms, rising, vectorised).

    Read at some 6000 probabilities between 1e-7 and 1 - 1e-7, finer towards both ends, and taken
    as even in between; a flat beginning becomes an atom. The least time is part of the segment.
    """
    times = np.maximum.accumulate(np.asarray(quantile_ms(_CUTS), dtype=np.float64))
    least, most = float(times[0]), float(times[-1] - times[0])
    if most <= 1e-12 * max(least, 1e-12):
        return constant(segment, least)
    step = (grid or Grid.over(float(np.interp(0.999, _CUTS, times)) - least)).step_ms
    step = max(step, most / (MAX_POINTS - 2))
    made = from_survival(segment, times - least, 1.0 - _CUTS, None, Grid(step))
    return replace(made, constants=Map({segment: least})) if least else made


def from_survival(
    segment: str,
    times_ms: Floats,
    survival: Floats,
    exact: tuple[float, float] | None = None,
    grid: Grid | None = None,
) -> Latency:
    """The distribution that exceeds rising times, from 0 on, with falling probabilities.

    Mass lies evenly between the times; what is missing at the first is an atom there, and beyond
    the last there is nothing. `exact`: mean and variance (ms, ms^2) if known better.
    """
    most = float(times_ms[-1])
    typical = float(np.interp(-0.001, -survival, times_ms))
    step = max((grid or Grid.over(typical)).step_ms, most / (MAX_POINTS - 2))
    integral = _integrated(times_ms, survival, points_ms(0.0, step, int(most / step) + 2))
    atom = 1.0 - float(survival[np.searchsorted(times_ms, 0.0, side="right") - 1])
    atom = atom if atom > TAIL * 1e4 else 0.0
    return single(segment, step, _cells_to_mass(np.diff(integral) / step), atom, exact)


def _integrated(nodes_ms: Floats, values: Floats, at_ms: Floats) -> Floats:
    """The integral from 0 of a function that is straight between nodes, and 0 beyond the last."""
    areas = np.concatenate(([0.0], np.cumsum(np.diff(nodes_ms) * (values[1:] + values[:-1]) / 2)))
    place = np.clip(np.searchsorted(nodes_ms, at_ms, side="right") - 1, 0, len(nodes_ms) - 2)
    width = np.diff(nodes_ms)[place]
    inside = np.clip(at_ms - nodes_ms[place], 0.0, width)
    slope = np.divide(np.diff(values)[place], width, out=np.zeros_like(width), where=width > 0.0)
    integral: Floats = areas[place] + inside * values[place] + slope * inside**2 / 2.0
    return integral


def _cells_to_mass(cells: Floats) -> Floats:
    """Masses at the points from the mean of the survival function over each step between them."""
    mass = np.concatenate(([1.0], cells)) - np.concatenate((cells, [0.0]))
    kept: Floats = np.maximum(mass, 0.0) / np.maximum(mass, 0.0).sum()
    return kept


def from_cdf(
    segment: str, cdf: Callable[[Floats], Floats], grid: Grid, atom: float = 0.0
) -> Latency:
    """The distribution on [0, inf) with that CDF (ms to probabilities, vectorised).

    The grid grows until the tail is below 1e-10, or to its limit with a wider step. The mean is
    kept (Simpson's rule a step).
    """
    step, points = grid.step_ms, 64
    while 1.0 - float(cdf(np.array([points * step]))[0]) > TAIL and points * step < 1e12:
        points, step = (points * 2, step) if points * 2 <= MAX_POINTS else (points, step * 2)
    halves = 1.0 - np.asarray(cdf(points_ms(0.0, step / 2.0, 2 * points + 1)), dtype=np.float64)
    cells = (halves[:-1:2] + 4.0 * halves[1::2] + halves[2::2]) / 6.0
    return single(segment, step, _cells_to_mass(cells), atom, None)


def from_pdf(segment: str, pdf: Callable[[Floats], Floats], grid: Grid) -> Latency:
    """The distribution on [0, inf) with that density per ms, read at the points and normalised.

    The grid covers 4096 of its steps at first and grows while it gains mass.
    """
    points = _LEVELS
    density = np.maximum(0.0, pdf(points_ms(0.0, grid.step_ms, points)))
    while points < MAX_POINTS:
        more = np.maximum(0.0, pdf(points_ms(points * grid.step_ms, grid.step_ms, points)))
        density, points = np.concatenate((density, more)), 2 * points
        if float(more.sum()) <= TAIL * float(density.sum()):
            break
    density[0] /= 2.0
    return single(segment, grid.step_ms, density / density.sum(), 0.0, None)


def exponential(segment: str, mean_ms: float, grid: Grid | None = None) -> Latency:
    """An exponential time."""
    return gamma(segment, mean_ms, 1.0, grid)


def erlang(segment: str, stages: int, mean_ms: float, grid: Grid | None = None) -> Latency:
    """The sum of so many equal exponential stages, with that mean in all."""
    return gamma(segment, mean_ms, 1.0 / stages, grid)


def gamma(segment: str, mean_ms: float, scv: float, grid: Grid | None = None) -> Latency:
    """A gamma of that mean and squared coefficient of variation; scv 0 is a constant.

    Held by exact second differences of the expected excess over each point.
    """
    if scv == 0.0 or mean_ms == 0.0:
        return constant(segment, mean_ms)
    shape, scale = 1.0 / scv, mean_ms * scv
    top = mean_ms + scale
    while float(gammaincc(shape, top / scale)) > TAIL:
        top *= 1.25
    step = (grid or Grid.over(top)).step_ms
    step = max(step, top / (MAX_POINTS - 2))
    times = points_ms(0.0, step, int(top / step) + 2)
    excess = mean_ms * gammaincc(shape + 1.0, times / scale) - times * gammaincc(
        shape, times / scale
    )
    cells = -np.diff(excess) / step
    return single(segment, step, _cells_to_mass(cells), 0.0, (mean_ms, scale * mean_ms))
