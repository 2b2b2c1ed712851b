"""Fabrics held against closed forms, hashing against enumeration and a published table."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from designer.graph import fabric_patterns as fabrics


@pytest.mark.parametrize("ratio", [1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("pattern", fabrics.PATTERNS)
def test_slowest_flow_of_a_leaf_spine_is_the_closed_form(
    pattern: fabrics.Pattern, ratio: float
) -> None:
    fabric = fabrics.leaf_spine(6, 3, 4, ratio, 1.0)
    rates = fabrics.sprayed(fabric, fabrics.pairs_of(fabric, pattern, 12))
    right = fabrics.slowest_flow(pattern, hosts=24, per_rack=4, oversubscription=ratio, fan=12)
    if pattern == "incast":
        # Three racks send; the first rack's uplinks hold what the closed form says.
        assert right == min(1 / 12, 4 / (ratio * 12))
    assert rates.min() == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_fat_tree_without_oversubscription_is_not_in_the_way(k: int) -> None:
    fabric = fabrics.fat_tree(k, 1.0, 100.0)
    assert (fabric.hosts, fabric.n) == (k**3 // 4, k**3 // 4 + k * k + k * k // 4)
    degree = np.bincount(np.concatenate((fabric.a, fabric.b)))
    assert degree[fabric.hosts :].tolist() == [k] * (fabric.n - fabric.hosts)
    rates = fabrics.sprayed(fabric, fabrics.pairs_of(fabric, "permutation"))
    np.testing.assert_allclose(rates, 100.0, rtol=1e-12)


@pytest.mark.parametrize(("flows", "uplinks"), [(1, 1), (1, 3), (5, 2), (6, 3), (4, 4), (7, 3)])
def test_hashing_equals_every_outcome(flows: int, uplinks: int) -> None:
    worst, used = Counter[int](), 0
    for outcome in product(range(uplinks), repeat=flows):
        load = Counter(outcome)
        worst[max(load.values())] += 1
        used += len(load)
    outcomes = uplinks**flows
    mean = sum(
        Fraction(count, outcomes) * Fraction(flows, uplinks * most) for most, count in worst.items()
    )
    found = fabrics.hashing(flows, uplinks)
    assert found.worst_mean == pytest.approx(float(mean), rel=1e-12)
    assert found.mean_flow == pytest.approx(used / outcomes / uplinks, rel=1e-12)
    beyond = 0
    for most in sorted(worst, reverse=True):
        beyond += worst[most]
        if beyond / outcomes >= 0.01:
            assert found.worst_p1 == pytest.approx(flows / uplinks / most, rel=1e-12)
            break


@pytest.mark.parametrize(
    ("flows", "uplinks", "mean", "p1"),
    [(8, 8, 0.410, 0.25), (16, 16, 0.345, 0.20), (32, 32, 0.295, 0.167), (64, 8, 0.665, 0.471)],
)
def test_hashing_equals_the_stated_table(flows: int, uplinks: int, mean: float, p1: float) -> None:
    found = fabrics.hashing(flows, uplinks)
    assert found.worst_mean == pytest.approx(mean, abs=6e-4)
    assert found.worst_p1 == pytest.approx(p1, abs=6e-4)


def test_hashing_of_very_many_flows_is_a_probability() -> None:
    # Half of the flows on one of two uplinks: E[max] / F -> 1/2 + sqrt(1 / (2 pi F)).
    found = fabrics.hashing(10_000, 2)
    assert 1 / found.worst_mean == pytest.approx(1 + 2 / np.sqrt(2 * np.pi * 10_000), rel=1e-4)


def test_fabrics_that_cannot_be_are_refused() -> None:
    with pytest.raises(fabrics.BadFabric, match="even k"):
        fabrics.fat_tree(3, 1.0, 1.0)
    with pytest.raises(fabrics.BadFabric, match="oversubscription is 0"):
        fabrics.leaf_spine(2, 2, 2, 0.0, 1.0)
    with pytest.raises(fabrics.BadFabric, match="fan from 1 to 4"):
        fabrics.pairs_of(fabrics.leaf_spine(2, 2, 4, 1.0, 1.0), "incast", 5)
