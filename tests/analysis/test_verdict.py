"""Error bands and the probability of meeting an objective."""

from math import exp, log

import numpy as np
import pytest
from scipy import stats

from designer.analysis.verdict import (
    EXACT,
    Band,
    combined,
    guess_band,
    most_worth_measuring,
    probability_of_meeting,
    probability_with_guesses,
    verdict,
)
from designer.model.base import Percentiles

ANY = Band.through(Percentiles(p5=0.58, p25=0.81, p50=1.03, p75=1.41, p95=3.79))
VLLM = Band.through(Percentiles(p5=0.53, p25=0.77, p50=0.96, p75=1.16, p95=1.46))


def test_published_points_are_on_the_band() -> None:
    band = ANY
    for level, factor in zip(
        (0.05, 0.25, 0.5, 0.75, 0.95), (0.58, 0.81, 1.03, 1.41, 3.79), strict=True
    ):
        assert band.quantile(level) == pytest.approx(factor)
        assert band.cdf(factor) == pytest.approx(level)


def test_log_linear_between_and_beyond() -> None:
    band = VLLM
    assert band.quantile(0.375) == pytest.approx((0.77 * 0.96) ** 0.5)
    slope = log(1.46 / 1.16) / 0.2
    assert band.quantile(0.98) == pytest.approx(1.46 * exp(0.03 * slope))
    assert band.cdf(band.quantile(0.01)) == pytest.approx(0.01)
    assert (band.cdf(0.0), band.cdf(0.01), band.cdf(100.0)) == (0.0, 0.0, 1.0)


def test_words() -> None:
    assert [verdict(p) for p in (1.0, 0.95)] == ["meets", "meets"]
    assert [verdict(p) for p in (0.9499, 0.75)] == ["likely", "likely"]
    assert [verdict(p) for p in (0.7499, 0.25)] == ["open", "open"]
    assert [verdict(p) for p in (0.2499, 0.05)] == ["unlikely", "unlikely"]
    assert [verdict(p) for p in (0.0499, 0.0, None)] == ["breaks", "breaks", "unknown"]


def test_probability_of_meeting_a_limit() -> None:
    band = ANY
    # 100 ms of network and 200 ms of GPU: a limit of 382 ms is reached at a factor of 1.41
    assert probability_of_meeting(382.0, lambda f: 100 + 200 * f, band) == pytest.approx(
        0.75, abs=1e-3
    )
    assert probability_of_meeting(90.0, lambda f: 100 + 200 * f, band) == 0.0
    assert probability_of_meeting(5000.0, lambda f: 100 + 200 * f, band) == 1.0
    assert probability_of_meeting(100.0, lambda f: 50.0, EXACT) == 1.0
    assert probability_of_meeting(10.0, lambda f: 50.0, EXACT) == 0.0


def test_guess_is_plus_or_minus_thirty_per_cent() -> None:
    band = guess_band()
    assert band.quantile(0.05) == pytest.approx(0.7, rel=2e-3)
    assert band.quantile(0.5) == pytest.approx(1.0, rel=2e-3)
    assert band.quantile(0.95) == pytest.approx(1.3, rel=2e-3)
    assert guess_band(0.5, 2.0).quantile(0.95) == pytest.approx(2.0, rel=5e-3)


def test_independent_factors_combine_in_squares() -> None:
    # two lognormal factors, one at half weight: sigma^2 = s^2 + (s/2)^2
    one = guess_band(1 / 1.3, 1.3)
    sigma = log(1.3) / stats.norm.ppf(0.95)
    both = combined(((one, 1.0), (one, 0.5)))
    for level in (0.05, 0.25, 0.75, 0.95):
        expected = exp(stats.norm.ppf(level) * sigma * 1.25**0.5)
        assert both.quantile(level) == pytest.approx(expected, rel=3e-3)
    assert combined(()) == EXACT
    assert combined(((one, 0.0),)).quantile(0.95) == pytest.approx(1.0)


def test_combination_against_simulation() -> None:
    rng = np.random.default_rng(6)
    band, guess = ANY, guess_band()
    drawn = [[one.quantile(u) for u in rng.random(5_000)] for one in (band, guess)]
    product = np.array(drawn[0]) * np.array(drawn[1])
    made = combined(((band, 1.0), (guess, 1.0)))
    for level in (0.1, 0.5, 0.9):
        error = (level * (1 - level) / len(product)) ** 0.5
        assert abs(np.mean(product <= made.quantile(level)) - level) < 4 * error


def test_the_widest_unknown_is_worth_measuring() -> None:
    bands = {"gpu": (ANY, 0.2), "tool time": (guess_band(), 0.9)}
    assert most_worth_measuring(bands) == "tool time"
    assert most_worth_measuring({**bands, "gpu": (ANY, 1.0)}) == "gpu"
    assert most_worth_measuring({}) is None


def test_a_band_must_rise() -> None:
    with pytest.raises(ValueError, match="rising"):
        Band((0.05, 0.95), (1.2, 0.8))


def test_guesses_widen_the_verdict_on_both_sides() -> None:
    """100 ms of which 60 are guessed, 200 ms of GPU: held against drawing both factors."""
    generator = np.random.default_rng(11)
    draws = 200_000
    guess = guess_band()
    gpu = np.array([ANY.quantile(u) for u in np.linspace(0.0005, 0.9995, 1000)])
    guessed = np.array([guess.quantile(u) for u in np.linspace(0.0005, 0.9995, 1000)])
    for limit_ms in (260.0, 330.0, 420.0):
        times = (
            40
            + 60 * guessed[generator.integers(0, 1000, draws)]
            + 200 * gpu[generator.integers(0, 1000, draws)]
        )
        share = float(np.mean(times <= limit_ms))
        made = probability_with_guesses(limit_ms, lambda f: 100 + 200 * f, ANY, 60.0, guess)
        error = (share * (1 - share) / draws) ** 0.5
        assert made == pytest.approx(share, abs=4 * error + 0.004)


def test_without_guesses_it_is_the_same_probability() -> None:
    exact = probability_of_meeting(382.0, lambda f: 100 + 200 * f, ANY)
    assert probability_with_guesses(382.0, lambda f: 100 + 200 * f, ANY, 0.0, EXACT) == exact
