"""Gaps between tokens as users see them, against seeded simulation and arithmetic."""

import numpy as np
import pytest

from designer.analysis.gaps import Gaps, mixed
from designer.graph.arrays import Floats


def _gaps(values: list[float], weights: list[float], jitter_ms: float) -> Gaps:
    gap, weight = np.array(values), np.array(weights)
    return Gaps(gap, weight, np.full(len(gap), jitter_ms), gap, weight)


def _drawn(gaps: Gaps, count: int) -> Floats:
    generator = np.random.default_rng(11)
    rows = generator.choice(len(gaps.gap_ms), count, p=gaps.weight)
    first, second = generator.exponential(1.0, (2, count)) * gaps.jitter_ms[rows]
    seen: Floats = np.maximum(0.0, gaps.gap_ms[rows] + first - second)
    return seen


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("jitter_ms", [0.5, 5.0, 60.0])
def test_jitter_against_simulation(level: float, jitter_ms: float) -> None:
    """The probability reached at the percentile, within 4 standard errors of 10^6 draws."""
    gaps = _gaps([8.0, 20.0, 90.0], [0.7, 0.25, 0.05], jitter_ms)
    drawn = _drawn(gaps, 1_000_000)
    reached = float((drawn <= gaps.percentile(level)).mean())
    assert reached == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 1e6))


@pytest.mark.parametrize("limit_ms", [15.0, 50.0, 300.0])
def test_stalls_against_simulation(limit_ms: float) -> None:
    gaps = _gaps([8.0, 20.0, 90.0], [0.7, 0.25, 0.05], 25.0)
    seen = float((_drawn(gaps, 1_000_000) > limit_ms).mean())
    assert gaps.beyond(limit_ms) == pytest.approx(seen, abs=4 * np.sqrt(max(seen, 1e-6) / 1e6))


def test_without_jitter_stalls_are_counted() -> None:
    gaps = _gaps([10.0, 40.0, 500.0], [0.9, 0.08, 0.02], 0.0)
    assert gaps.beyond(100.0) == pytest.approx(0.02)
    assert gaps.beyond(500.0) == 0.0
    assert gaps.mean_ms == pytest.approx(0.9 * 10 + 0.08 * 40 + 0.02 * 500)


def test_tokens_that_jitter_brings_together_have_no_gap() -> None:
    """With a jitter far above the gap, nearly half of the gaps are seen as none at all."""
    gaps = _gaps([1.0], [1.0], 100.0)
    together = 0.5 * np.exp(-0.01)
    assert gaps.percentile(together - 1e-6) == 0.0
    assert gaps.percentile(0.30) == 0.0
    assert gaps.percentile(together + 1e-3) > 0.0


def test_engine_error_scales_the_gaps_and_not_the_jitter() -> None:
    gaps = _gaps([10.0], [1.0], 4.0)
    tail_ms = 4.0 * np.log(0.5 / 0.05)
    assert gaps.percentile(0.95) == pytest.approx(10.0 + tail_ms, abs=1e-4)
    assert gaps.percentile(0.95, 1.5) == pytest.approx(15.0 + tail_ms, abs=1e-4)


def test_requests_mean_gaps_have_no_jitter() -> None:
    gaps = Gaps(
        np.array([10.0]), np.ones(1), np.full(1, 50.0), np.array([9.0, 11.0]), np.full(2, 0.5)
    )
    assert 9.0 <= gaps.per_request().percentile(0.999) <= 11.0
    assert gaps.percentile(0.999) > 100.0


def test_populations_are_mixed_by_share_each_with_its_jitter() -> None:
    near, far = _gaps([10.0], [1.0], 0.0), _gaps([10.0], [1.0], 30.0)
    both = mixed([(3.0, near), (1.0, far)])
    # Beyond 40 ms only the far quarter: e^-1 / 2 of it.
    assert both.beyond(40.0) == pytest.approx(0.25 * 0.5 * np.exp(-1.0))
    assert both.weight.sum() == pytest.approx(1.0)


def test_figures_name_further_percentiles() -> None:
    figure = _gaps([10.0], [1.0], 4.0).figure([90.0, 99.9])
    assert figure.others["p90"] == pytest.approx(10 + 4 * np.log(0.5 / 0.1), abs=1e-4)
    assert figure.others["p99.9"] == pytest.approx(10 + 4 * np.log(0.5 / 0.001), abs=1e-4)
