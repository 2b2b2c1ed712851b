"""A quantile function from the few percentiles that a source publishes, or from its mean alone."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, log1p, sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtr, ndtri

from designer.model.base import Percentiles

Floats = NDArray[np.float64]

GUESSED_SCV: Final = 1.0
"""Squared coefficient of variation taken where only a mean is published."""

_END: Final = 1e-9
_MEAN_MATTERS: Final = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class QuantileFunction:
    """Probabilities (array, 0 to 1) to times in ms. `note` says what was assumed.

    `given`: through published percentiles; `guessed`: the shape is an assumption.
    """

    kind: Literal["given", "guessed"]
    note: str
    law: Callable[[Floats], Floats]

    def __call__(self, levels: ArrayLike) -> Floats:
        """The times in ms not exceeded with those probabilities, rising."""
        inside = np.clip(np.asarray(levels, dtype=np.float64), _END, 1.0 - _END)
        return self.law(inside)

    @property
    def mean_ms(self) -> float:
        """The mean, by the trapezoidal rule in the normal quantile, whose density ends in 0."""
        z = np.linspace(-6.0, 6.0, 1_201)
        density = np.exp(-(z**2) / 2.0)
        return float(self(ndtr(z)) @ density / density.sum())


def quantile_function(published: Percentiles, guessed_scv: float = GUESSED_SCV) -> QuantileFunction:
    """The quantile function through published percentiles of a time in ms.

    Between points monotone (PCHIP in the normal quantile, of the logarithm where all are above 0);
    above the last an exponential tail with the slope of the last two, below the first a lognormal
    or normal with the slope of the first two, never below 0; `min` and `max` are kept. With fewer
    than two percentiles the shape is guessed and says so. Raises ValueError where nothing is known.
    """
    points = published.points()
    if len(points) >= 2:
        return _through(points, published)
    least, most, mean = published.min, published.max, published.mean
    if points:
        return _one_point(points[0], mean, guessed_scv)
    if mean is not None and least is not None and 0.0 < least < mean:
        return _shifted_exponential(least, mean)
    if mean is not None:
        return _lognormal(mean, guessed_scv, f"shape guessed: lognormal, scv {guessed_scv:g}")
    if least is not None and most is not None:
        return _even(least, most)
    if most is not None or least is not None:
        fixed = float(most if most is not None else least or 0.0)
        return _even(fixed, fixed)
    raise ValueError("a table of percentiles is empty; give it a mean or at least one percentile")


def _through(points: tuple[tuple[float, float], ...], published: Percentiles) -> QuantileFunction:
    levels = np.array([level for level, _ in points])
    values = np.array([value for _, value in points])
    curve, how = _curve(levels, values)
    low_note = "as published" if published.min is not None else how
    top_slope = _tail_slope(levels, values)
    least = 0.0 if published.min is None else published.min
    most = np.inf if published.max is None else published.max

    def law(at: Floats) -> Floats:
        inner = curve(np.clip(at, 0.0, levels[-1]))
        beyond = values[-1] + top_slope * np.log(
            (1.0 - levels[-1]) / np.minimum(1.0 - at, 1.0 - levels[-1])
        )
        found: Floats = np.clip(np.where(at > levels[-1], beyond, inner), least, most)
        return found

    note = f"{len(points)} percentiles; tail above {levels[-1] * 100:g} % exponential with the "
    note += f"slope of the last two; lower end {low_note}"
    made = QuantileFunction("given", note, law)
    return QuantileFunction("given", note + _mean_note(made.mean_ms, published.mean), law)


def _curve(levels: Floats, values: Floats) -> tuple[Callable[[Floats], Floats], str]:
    """A monotone curve through the points, straight below the first on its own axes."""
    z = ndtri(levels)
    logs = bool(values[0] > 0.0)
    heights = np.log(values) if logs else values
    inner = PchipInterpolator(z, heights)
    slope = float((heights[1] - heights[0]) / (z[1] - z[0]))

    def curve(at: Floats) -> Floats:
        place = ndtri(at)
        low = heights[0] + slope * (place - z[0])
        height = np.where(place < z[0], low, inner(np.maximum(place, z[0])))
        found: Floats = np.exp(height) if logs else np.maximum(height, 0.0)
        return found

    return curve, "lognormal through the first two" if logs else "normal through the first two"


def _tail_slope(levels: Floats, values: Floats) -> float:
    rise = values[-1] - values[-2]
    return float(rise / np.log((1.0 - levels[-2]) / (1.0 - levels[-1])))


def _mean_note(found_ms: float, published_ms: float | None) -> str:
    if not published_ms:
        return ""
    off = found_ms / published_ms - 1.0
    if abs(off) <= _MEAN_MATTERS:
        return f"; mean agrees with the published {published_ms:g} ms ({off:+.1%})"
    return f"; mean {found_ms:.3g} ms is {off:+.0%} from the published {published_ms:g} ms"


def _one_point(
    point: tuple[float, float], mean: float | None, guessed_scv: float
) -> QuantileFunction:
    level, value = point
    z, sigma = float(ndtri(level)), sqrt(log1p(guessed_scv))
    note = f"shape guessed: lognormal, scv {guessed_scv:g}, through one percentile"
    if value > 0.0 and mean is not None and mean > 0.0:
        room = z * z - 2.0 * log(value / mean)
        fitted = z - sqrt(room) if room >= 0.0 and z > 0.0 else z + sqrt(max(room, 0.0))
        if room >= 0.0 and fitted > 0.0:
            sigma = fitted
            note = "shape guessed: lognormal through the published mean and one percentile"
        else:
            note += _mean_note(value * exp(sigma * sigma / 2.0 - sigma * z), mean)

    def law(at: Floats) -> Floats:
        found: Floats = value * np.exp(sigma * (ndtri(at) - z))
        return found

    return QuantileFunction("guessed", note, law)


def _lognormal(mean: float, scv: float, note: str) -> QuantileFunction:
    sigma = sqrt(log1p(scv))

    def law(at: Floats) -> Floats:
        found: Floats = mean * np.exp(sigma * ndtri(at) - sigma**2 / 2.0)
        return found

    return QuantileFunction("guessed", note, law)


def _shifted_exponential(least: float, mean: float) -> QuantileFunction:
    def law(at: Floats) -> Floats:
        found: Floats = least - (mean - least) * np.log1p(-at)
        return found

    return QuantileFunction("guessed", "shape guessed: least time plus an exponential", law)


def _even(least: float, most: float) -> QuantileFunction:
    def law(at: Floats) -> Floats:
        found: Floats = least + (most - least) * at
        return found

    note = "shape guessed: even between the ends" if most > least else "one value, taken as fixed"
    return QuantileFunction("guessed", note, law)
