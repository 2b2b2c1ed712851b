"""Latencies held against closed forms and seeded simulation, and their division among segments."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from designer.analysis.distributions import MAX_POINTS, Grid, Latency
from designer.analysis.latency_algebra import (
    all_of,
    atom_or,
    delayed,
    either,
    first_of,
    given_up,
    hedged,
    in_sequence,
    n_times,
    retried,
    scaled,
    then,
)
from designer.analysis.latency_sources import (
    constant,
    erlang,
    exponential,
    from_cdf,
    from_pdf,
    from_quantiles,
    from_samples,
    gamma,
)

LEVELS = (0.05, 0.5, 0.9, 0.95, 0.99, 0.999)
SAMPLES = 400_000


def assert_percentiles(latency: Latency, expected: NDArray[np.float64], rel: float = 2e-4) -> None:
    assert latency.percentiles(LEVELS) == pytest.approx(expected.tolist(), rel=rel)


def assert_sound(latency: Latency) -> None:
    """The invariants: all mass is there, and each point's time is divided completely."""
    assert latency.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert latency.mass.min() >= 0.0
    assert len(latency.mass) <= MAX_POINTS
    wanted = latency.times_ms * latency.mass
    assert latency.parts.sum(axis=0) == pytest.approx(wanted, abs=1e-15, rel=1e-9)
    for level in (0.0, 0.01, 0.5, 0.95, 0.999):
        total = sum(latency.shares(level).values())
        assert total == pytest.approx(latency.percentile(level), abs=1e-9, rel=1e-12)
    assert sum(latency.mean_shares().values()) == pytest.approx(latency.grid_mean_ms)


def assert_mean(samples: NDArray[np.float64], expected: float) -> None:
    error = samples.std(ddof=1) / np.sqrt(len(samples))
    assert abs(samples.mean() - expected) < 4.0 * error


def assert_same_law(latency: Latency, samples: NDArray[np.float64]) -> None:
    """Mean and CDF at several points within 4 standard errors of a simulation."""
    assert_mean(samples, latency.mean_ms)
    for level in LEVELS:
        at = latency.percentile(level)
        reached = float(np.mean(samples <= at))
        expected = float(latency.cdf(at))
        error = np.sqrt(expected * (1.0 - expected) / len(samples))
        assert abs(reached - expected) < 4.0 * error + 1e-12, level


def test_constants_are_exact() -> None:
    both = then(constant("a", 0.1), constant("b", 0.2))
    assert both.percentile(0.5) == both.percentile(0.999) == 0.1 + 0.2
    assert both.shares(0.95) == {"a": 0.1, "b": 0.2}
    assert (both.mean_ms, both.variance_ms2) == (0.1 + 0.2, 0.0)
    assert in_sequence(()).percentile(0.5) == 0.0
    assert then(constant("a", 1.0), constant("a", 2.0)).constants["a"] == 3.0


def test_exponential_and_gamma() -> None:
    assert_percentiles(exponential("x", 10.0), stats.expon(scale=10).ppf(LEVELS))
    assert_percentiles(gamma("x", 10.0, 0.3), stats.gamma(1 / 0.3, scale=3.0).ppf(LEVELS))
    assert gamma("x", 4.0, 0.0).percentile(0.99) == 4.0
    assert_sound(exponential("x", 10.0))


def test_sum_of_exponentials_is_erlang() -> None:
    total = in_sequence([exponential(name, 5.0) for name in "abcd"])
    assert_percentiles(total, stats.gamma(4, scale=5.0).ppf(LEVELS))
    assert_percentiles(erlang("x", 4, 20.0), stats.gamma(4, scale=5.0).ppf(LEVELS))
    assert (total.mean_ms, total.variance_ms2) == pytest.approx((20.0, 100.0), rel=1e-12)
    assert total.grid_mean_ms == pytest.approx(20.0, rel=1e-8)
    assert total.grid_variance_ms2 == pytest.approx(100.0, rel=1e-5)
    # alike segments share alike
    assert set(total.shares(0.99)) == set("abcd")
    assert list(total.shares(0.99).values()) == pytest.approx([total.percentile(0.99) / 4] * 4)
    assert_sound(total)


def test_many_times() -> None:
    total = n_times(exponential("x", 2.0), 150)
    assert_percentiles(total, stats.gamma(150, scale=2.0).ppf(LEVELS), rel=1e-5)
    assert total.shares(0.9) == {"x": pytest.approx(total.percentile(0.9))}
    assert n_times(constant("x", 2.0), 7).percentile(0.5) == 14.0
    assert n_times(exponential("x", 2.0), 0).percentile(0.99) == 0.0
    assert_sound(total)


def test_very_different_steps_keep_the_small_segment() -> None:
    total = in_sequence((exponential("net", 0.01), exponential("gpu", 1000.0), constant("k", 7.0)))
    assert total.grid_mean_ms == pytest.approx(1007.01, rel=1e-6)
    assert total.shares(0.5)["net"] == pytest.approx(0.01, rel=0.02)
    assert total.shares(0.5)["k"] == 7.0
    assert total.percentile(0.95) == pytest.approx(7.01 + 1000 * np.log(20), rel=1e-4)
    assert_sound(total)


def test_sum_of_unlike_segments_is_allocated_as_conditional_expectation() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.exponential(10.0, SAMPLES), rng.gamma(2.0, 2.0, SAMPLES)
    total = then(exponential("a", 10.0), gamma("b", 4.0, 0.5))
    at = total.percentile(0.9)
    near = np.abs(first + second - at) < 0.25
    assert_mean(second[near], total.shares(0.9)["b"])
    assert_sound(total)


def test_largest_of_exponentials() -> None:
    last = all_of([exponential(name, 10.0) for name in "abcde"])
    assert_percentiles(last, -10.0 * np.log(1.0 - np.array(LEVELS) ** 0.2))
    assert last.mean_ms == pytest.approx(10 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5), rel=1e-5)
    assert list(last.shares(0.95).values()) == pytest.approx([last.percentile(0.95) / 5] * 5)
    assert_sound(last)


def test_the_branch_waited_for_pays() -> None:
    rng = np.random.default_rng(2)
    short, long = rng.exponential(10.0, SAMPLES), 6.0 + rng.exponential(5.0, SAMPLES)
    last = all_of((exponential("a", 10.0), then(constant("c", 6.0), exponential("b", 5.0))))
    ends = np.maximum(short, long)
    assert_same_law(last, ends)
    for level in (0.5, 0.95):
        at = last.percentile(level)
        near = np.abs(ends - at) < 0.2
        assert_mean(np.where(short > long, short, 0.0)[near], last.shares(level)["a"])
        assert_mean(np.where(short > long, 0.0, 6.0)[near], last.shares(level)["c"])
    assert_sound(last)


def test_a_floor_under_a_branch_is_an_atom() -> None:
    last = all_of((constant("floor", 10.0), exponential("x", 10.0)))
    assert last.atom == pytest.approx(1 - np.exp(-1), rel=1e-5)
    assert last.percentile(0.6) == 10.0
    assert last.shares(0.3)["floor"] == pytest.approx(10.0, rel=0.01)
    assert last.shares(0.9) == {"floor": 0.0, "x": pytest.approx(10 * np.log(10), rel=1e-5)}
    assert_sound(last)


def test_ties_are_split() -> None:
    tied = all_of([constant(name, 3.0) for name in "abc"])
    assert tied.percentile(0.5) == 3.0
    assert tied.shares(0.5) == {name: pytest.approx(1.0) for name in "abc"}
    first = first_of(constant("a", 3.0), constant("b", 3.0), constant("c", 4.0))
    assert first.shares(0.5) == {"a": pytest.approx(1.5), "b": pytest.approx(1.5)}


def test_hit_or_miss() -> None:
    mixed = either(
        ((0.9, exponential("hit", 1.0)), (0.1, delayed(exponential("m", 9.0), "d", 5.0)))
    )
    assert mixed.mean_ms == pytest.approx(0.9 + 0.1 * 14.0)
    # E[T^2] = 0.9 x 2 + 0.1 x (81 + 14^2)
    assert mixed.variance_ms2 == pytest.approx(1.8 + 27.7 - 2.3**2)
    assert mixed.grid_mean_ms == pytest.approx(mixed.mean_ms, rel=1e-5)
    assert mixed.grid_variance_ms2 == pytest.approx(mixed.variance_ms2, rel=1e-3)
    exact = 1.0 - 0.9 * np.exp(-8.0) - 0.1 * np.exp(-3.0 / 9.0)
    assert float(mixed.cdf(8.0)) == pytest.approx(exact, abs=1e-5)
    assert mixed.shares(0.99)["d"] == pytest.approx(5.0, rel=1e-3)
    assert_sound(mixed)
    with pytest.raises(ValueError, match="add up to 1"):
        either(((0.5, exponential("a", 1.0)),))


def test_wait_that_may_not_happen() -> None:
    wait = atom_or(0.3, exponential("w", 20.0))
    assert wait.atom == pytest.approx(0.7)
    assert wait.percentile(0.69) == 0.0
    assert wait.percentile(0.95) == pytest.approx(20 * np.log(0.3 / 0.05), rel=1e-4)
    twice = then(wait, wait)
    assert twice.atom == pytest.approx(0.49)
    assert twice.percentile(0.48) == 0.0
    assert float(twice.cdf(0.0)) == pytest.approx(0.49)
    assert_sound(twice)


def test_first_of_exponentials() -> None:
    first = first_of(exponential("a", 10.0), exponential("b", 5.0))
    assert_percentiles(first, stats.expon(scale=10 / 3).ppf(LEVELS), rel=1e-3)
    # the faster one wins two times out of three
    assert first.shares(0.9)["b"] == pytest.approx(first.percentile(0.9) * 2 / 3, rel=1e-3)
    assert_sound(first)


def test_hedge_is_the_minimum() -> None:
    made = hedged(exponential("x", 10.0), 5.0, "hedge")
    # P(T > t) = exp(-t/10) up to 5, then exp(-t/10) exp(-(t-5)/10)
    assert made.percentile(0.2) == pytest.approx(-10 * np.log(0.8), rel=1e-3)
    assert made.percentile(0.99) == pytest.approx((5 - 10 * np.log(0.01)) / 2, rel=1e-4)
    assert made.shares(0.99)["hedge"] == pytest.approx(2.5, rel=1e-3)
    assert_sound(made)


def test_retry_after_a_timeout() -> None:
    rng = np.random.default_rng(3)
    tries = rng.exponential(10.0, (SAMPLES, 3))
    third = 30.0 + tries[:, 2]
    second = np.where(tries[:, 1] <= 15.0, 15.0 + tries[:, 1], third)
    samples = np.where(tries[:, 0] <= 15.0, tries[:, 0], second)
    made = retried(exponential("x", 10.0), 15.0, 3, "timeout")
    assert_same_law(made, samples)
    assert given_up(exponential("x", 10.0), 15.0, 3) == pytest.approx(np.exp(-4.5), rel=1e-4)
    assert_sound(made)
    assert retried(constant("x", 20.0), 15.0, 2, "timeout").percentile(0.5) == 35.0
    assert retried(constant("x", 10.0), 15.0, 2, "timeout").percentile(0.5) == 10.0


def test_scaling_is_not_halving_twice() -> None:
    round_trip = then(constant("radio", 8.0), exponential("radio", 10.0))
    half = scaled(round_trip, 0.5)
    assert half.percentile(0.95) == pytest.approx(round_trip.percentile(0.95) / 2)
    assert half.variance_ms2 == pytest.approx(25.0)
    # two halves convolved would have less spread than the round trip: they are not independent
    assert then(half, half).variance_ms2 < round_trip.variance_ms2


def test_workflow_against_simulation() -> None:
    rng = np.random.default_rng(4)
    tools = np.maximum(rng.exponential(20.0, SAMPLES), 12.0 + rng.gamma(2.0, 4.0, SAMPLES))
    cache = np.where(rng.random(SAMPLES) < 0.6, 1.0, rng.gamma(4.0, 10.0, SAMPLES))
    samples = 3.0 + tools + cache + rng.exponential(2.0, SAMPLES)
    second = then(constant("tool b", 12.0), gamma("tool b", 8.0, 0.5))
    made = in_sequence(
        (
            constant("edge", 3.0),
            all_of((exponential("tool a", 20.0), second)),
            either(((0.6, constant("hit", 1.0)), (0.4, gamma("miss", 40.0, 0.25)))),
            exponential("queue", 2.0),
        )
    )
    assert_same_law(made, samples)
    assert_sound(made)


def test_quantiles_cdf_pdf_and_samples_make_the_same() -> None:
    law = stats.lognorm(0.8, scale=10.0)
    exact = law.ppf(LEVELS)
    assert_percentiles(from_quantiles("x", lambda q: law.ppf(q)), exact, rel=2e-3)
    assert_percentiles(from_cdf("x", lambda t: law.cdf(t), Grid(0.05)), exact, rel=2e-3)
    assert_percentiles(from_pdf("x", lambda t: law.pdf(t), Grid(0.05)), exact, rel=2e-3)
    samples = law.rvs(SAMPLES, random_state=5)
    drawn = from_samples("x", samples)
    assert drawn.percentile(0.5) == pytest.approx(np.quantile(samples, 0.5), rel=2e-3)
    assert drawn.mean_ms == pytest.approx(samples.mean(), rel=1e-12)
    assert drawn.grid_mean_ms == pytest.approx(samples.mean(), rel=1e-9)
    assert from_samples("x", [4.0, 4.0]).percentile(0.5) == 4.0


def test_shift_and_atom_of_a_quantile_function() -> None:
    made = from_quantiles("x", lambda q: 5.0 + np.maximum(0.0, q - 0.25))
    assert made.least_ms == 5.0
    assert made.atom == pytest.approx(0.25, abs=3e-4)
    assert made.percentile(0.75) == pytest.approx(5.5, rel=1e-6)
    assert_sound(made)
    assert from_quantiles("x", lambda q: np.full_like(q, 2.0)).percentile(0.5) == 2.0


def test_a_long_tail_widens_the_step_and_loses_nothing() -> None:
    made = from_quantiles("x", lambda q: 1.0 / (1.0 - q) ** 0.5, Grid(0.001))
    assert len(made.mass) <= MAX_POINTS
    assert made.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert made.percentile(0.9999) == pytest.approx(100.0, rel=5e-3)
    assert_sound(then(made, made))


@pytest.mark.parametrize(("a", "b"), [(20.0, 50.0), (0.03, 0.04), (20.3, 25.1), (0.04, 0.04)])
def test_a_race_of_fixed_times_is_won_exactly(a: float, b: float) -> None:
    """No grid: also behind a narrow law, whose percentiles move by the fixed time alone."""
    narrow = exponential("n", 0.01)
    for race, wins in ((all_of, max), (lambda each: first_of(*each), min)):
        made = race([constant("a", a), constant("b", b)])
        assert made.percentiles((0.01, 0.5, 0.99)) == (wins(a, b),) * 3
        assert (made.mean_ms, made.variance_ms2) == (pytest.approx(wins(a, b)), 0.0)
        for level in (0.05, 0.5, 0.95):
            assert then(made, narrow).percentile(level) == pytest.approx(
                wins(a, b) + narrow.percentile(level), abs=1e-9
            )


@pytest.mark.parametrize("fixed_ms", [0.0, 0.03, 20.3])
@pytest.mark.parametrize("mean_ms", [0.0, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("after_ms", [0.02, 1.0, 5.1, 100.0])
def test_a_hedge_never_slows(fixed_ms: float, mean_ms: float, after_ms: float) -> None:
    plain = then(constant("f", fixed_ms), exponential("e", mean_ms))
    hedge = hedged(plain, after_ms, "wait")
    for level in (0.01, 0.1, 0.5, 0.9, 0.99, 0.999):
        assert hedge.percentile(level) <= plain.percentile(level) * (1 + 1e-9)


def test_waiting_for_nothing_takes_no_time() -> None:
    assert all_of([]).percentile(0.99) == 0.0
