"""Published percentiles become monotone quantile functions that say what was assumed."""

import numpy as np
import pytest
from scipy import stats

from designer.analysis.quantiles import quantile_function
from designer.model.base import Percentiles

NAMES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def test_published_points_are_met_and_the_curve_rises() -> None:
    published = Percentiles(min=8.0, p5=9.0, p25=11.0, p50=14.0, p75=20.0, p95=60.0, p99=150.0)
    made = quantile_function(published)
    assert made.kind == "given"
    for level, value in published.points():
        assert made(level) == pytest.approx(value)
    values = made(np.linspace(0.0, 1.0, 5001))
    assert np.all(np.diff(values) >= 0.0)
    assert values[0] >= 8.0


def test_a_lognormal_is_found_again_between_its_points() -> None:
    law = stats.lognorm(0.7, scale=20.0)
    made = quantile_function(Percentiles(**{n: float(law.ppf(q)) for n, q in NAMES.items()}))
    between = np.array([0.01, 0.15, 0.4, 0.6, 0.85, 0.97])
    assert made(between) == pytest.approx(law.ppf(between), rel=1e-6)


def test_tail_is_exponential_with_the_slope_of_the_last_two() -> None:
    made = quantile_function(Percentiles(p50=10.0, p90=30.0, p99=70.0))
    # from p90 to p99 the tail falls tenfold over 40 ms, so again to p99.9
    assert made(0.999) == pytest.approx(110.0)
    assert "exponential" in made.note
    assert quantile_function(Percentiles(p50=10.0, p90=30.0, p99=70.0, max=90.0))(0.9999) == 90.0


def test_published_mean_is_compared() -> None:
    law = stats.lognorm(0.7, scale=20.0)
    points = {n: float(law.ppf(q)) for n, q in NAMES.items()}
    agreeing = quantile_function(Percentiles(mean=float(law.mean()), **points))
    assert agreeing.mean_ms == pytest.approx(law.mean(), rel=0.02)
    assert "agrees" in agreeing.note
    far = quantile_function(Percentiles(mean=2 * float(law.mean()), **points))
    assert "from the published" in far.note


def test_mean_alone_has_a_guessed_shape() -> None:
    made = quantile_function(Percentiles(mean=50.0))
    assert made.kind == "guessed"
    assert "scv 1" in made.note
    sigma = np.sqrt(np.log(2.0))
    assert made(0.95) == pytest.approx(50 * np.exp(1.6448536 * sigma - sigma**2 / 2), rel=1e-6)
    assert made.mean_ms == pytest.approx(50.0, rel=1e-4)
    narrow = quantile_function(Percentiles(mean=50.0), guessed_scv=0.04)
    assert narrow(0.95) < made(0.95)


def test_mean_and_least_make_a_shifted_exponential() -> None:
    made = quantile_function(Percentiles(mean=30.0, min=20.0))
    assert made(0.95) == pytest.approx(20 + 10 * np.log(20))
    assert made.kind == "guessed"


def test_mean_and_one_percentile_fix_a_lognormal() -> None:
    law = stats.lognorm(0.5, scale=12.0)
    for name, level in (("p50", 0.5), ("p95", 0.95)):
        table = Percentiles(mean=float(law.mean()), **{name: float(law.ppf(level))})
        made = quantile_function(table)
        assert made(0.9) == pytest.approx(law.ppf(0.9), rel=1e-9)
        assert made.kind == "guessed"
    impossible = quantile_function(Percentiles(mean=5.0, p50=10.0))
    assert impossible(0.5) == pytest.approx(10.0)
    assert "from the published" in impossible.note


def test_zero_percentiles_are_allowed() -> None:
    made = quantile_function(Percentiles(p50=0.0, p90=0.0, p99=3.0))
    assert made(0.7) == pytest.approx(0.0)
    assert made(0.99) == pytest.approx(3.0)


def test_ends_alone_and_nothing() -> None:
    assert quantile_function(Percentiles(min=10.0, max=20.0))(0.25) == pytest.approx(12.5)
    assert quantile_function(Percentiles(max=20.0))(0.25) == pytest.approx(20.0)
    with pytest.raises(ValueError, match="empty"):
        quantile_function(Percentiles())
