"""How likely an objective is to be met, given how far predictions have been from measurements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

from designer.analysis.results import VerdictWord
from designer.model.base import Percentiles

_Z_95: Final = float(ndtri(0.95))
_FINE: Final = (np.arange(128) + 0.5) / 128
_GUESS: Final = 0.30
_CURVE: Final = 9
_SLICES: Final = 32

_WORDS: Final[tuple[tuple[float, VerdictWord], ...]] = (
    (0.95, "meets"),
    (0.75, "likely"),
    (0.25, "open"),
    (0.05, "unlikely"),
)


@dataclass(frozen=True, slots=True)
class Band:
    """The distribution of a factor: truth over prediction.

    `factors` rise with `levels` (probabilities); the logarithm of the factor is straight between
    them and goes on with the slope of the outer pieces to 0 and 1.
    """

    levels: tuple[float, ...]
    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = list(self.factors) == sorted(self.factors) and self.factors[0] > 0.0
        if not rising or len(self.factors) != len(self.levels):
            raise ValueError("an error band needs rising factors above 0; correct its points")

    @staticmethod
    def through(published: Percentiles) -> "Band":
        """The band through published percentiles of measured over predicted."""
        points = published.points()
        return Band(tuple(level for level, _ in points), tuple(factor for _, factor in points))

    def quantile(self, probability: float) -> float:
        """The factor that is not exceeded with that probability."""
        levels, logs = self._line()
        return exp(float(np.interp(probability, levels, logs)))

    def cdf(self, factor: float) -> float:
        """The probability that the factor does not exceed that value."""
        if factor <= 0.0:
            return 0.0
        levels, logs = self._line()
        # a vertical piece (several levels at one factor) counts whole
        at = float(np.nextafter(log(factor), np.inf))
        if at >= logs[-1]:
            return 1.0
        return float(np.interp(at, logs, levels)) if at > logs[0] else 0.0

    def _line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        levels, logs = np.array(self.levels), np.log(self.factors)
        if len(levels) == 1:
            return np.array([0.0, 1.0]), np.repeat(logs, 2)
        first = (logs[1] - logs[0]) / (levels[1] - levels[0])
        last = (logs[-1] - logs[-2]) / (levels[-1] - levels[-2])
        low, high = logs[0] - first * levels[0], logs[-1] + last * (1.0 - levels[-1])
        return (
            np.concatenate(([0.0], levels, [1.0])),
            np.concatenate(([low], logs, [high])),
        )


EXACT: Final = Band((0.5,), (1.0,))
"""No error at all."""


def guess_band(low: float = 1.0 - _GUESS, high: float = 1.0 + _GUESS) -> Band:
    """A guessed input: its 5 and 95 % points, with the middle at the guess itself.

    Lognormal on each side. Without a range of its own an input has plus or minus 30 %.
    """
    z = ndtri(_FINE)
    logs = np.where(z < 0.0, -log(low), log(high)) * z / _Z_95
    return Band(tuple(_FINE.tolist()), tuple(np.exp(logs).tolist()))


def combined(bands: Sequence[tuple[Band, float]]) -> Band:
    """The product of independent factors, each to the power of its weight.

    The weight is how much the result moves, in per cent, for 1 % of the factor: 1 for one that
    multiplies the whole, less for one that touches a part. Without bands: no error.
    """
    made = EXACT
    for band, weight in bands:
        left, right = _logs(made), weight * _logs(band)
        sums = np.sort((left[:, None] + right[None, :]).ravel())
        points = np.quantile(sums, _FINE)
        made = Band(tuple(_FINE.tolist()), tuple(np.exp(points).tolist()))
    return made


def _logs(band: Band) -> NDArray[np.float64]:
    levels, logs = band._line()
    return np.interp(_FINE, levels, logs)


def probability_of_meeting(
    limit_ms: float, percentile_of_factor: Callable[[float], float], band: Band
) -> float:
    """The probability that a percentile keeps a limit, 0 to 1.

    `percentile_of_factor` gives the percentile in ms when the GPU segment takes that factor of its
    predicted time, and does not fall with the factor. The critical factor is found by Brent's
    method to 0.03 %: a percentile is close to linear in it, so that a few evaluations do.
    """
    low, high = band.quantile(0.0), band.quantile(1.0)
    if percentile_of_factor(high) <= limit_ms:
        return 1.0
    if percentile_of_factor(low) > limit_ms:
        return 0.0

    def over(factor: float) -> float:
        more = percentile_of_factor(factor) - limit_ms
        # a limit just kept is kept: the largest such factor counts
        return more if more > 0.0 else min(more, -1e-12 * limit_ms)

    critical: float = brentq(over, low, high, xtol=1e-4 * low, rtol=3e-4)
    return band.cdf(critical)


def probability_with_guesses(
    limit_ms: float,
    percentile_of_factor: Callable[[float], float],
    band: Band,
    guessed_ms: float,
    guesses: Band,
) -> float:
    """The same where `guessed_ms` of the percentile are guesses, off by a factor of their own.

    The guesses count as independent of the GPU's error: their factor is averaged over, each value
    moving the limit by what the guessed part is longer or shorter (to first order).
    """
    if guessed_ms <= 0.0:
        return probability_of_meeting(limit_ms, percentile_of_factor, band)
    low, high = band.quantile(0.0), band.quantile(1.0)
    factors = np.geomspace(low, high, _CURVE) if high > low else np.array([low])
    curve = np.maximum.accumulate([percentile_of_factor(float(factor)) for factor in factors])
    chances = []
    for level in (np.arange(_SLICES) + 0.5) / _SLICES:
        limit = limit_ms - guessed_ms * (guesses.quantile(float(level)) - 1.0)
        if limit >= curve[-1]:
            chances.append(1.0)
        elif limit < curve[0]:
            chances.append(0.0)
        else:
            chances.append(band.cdf(float(np.interp(limit, curve, factors))))
    return float(np.mean(chances))


def most_worth_measuring(bands: Mapping[str, tuple[Band, float]]) -> str | None:
    """Which of the factors, by name and with its weight, spreads the result most; None without any.

    By the variance of the logarithm; of equals the first by name.
    """
    spread = {name: float(np.var(weight * _logs(band))) for name, (band, weight) in bands.items()}
    return max(sorted(spread), key=lambda name: spread[name], default=None)


def verdict(probability: float | None) -> VerdictWord:
    """The word for a probability of meeting; None, where an input is unknown, is unknown."""
    if probability is None:
        return "unknown"
    for least, word in _WORDS:
        if probability >= least:
            return word
    return "breaks"
