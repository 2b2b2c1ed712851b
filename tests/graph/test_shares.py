"""Max-min held against its certificate and against slow filling in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.graph import shares
from designer.graph.compiled import Floats

Flow = tuple[list[tuple[int, Fraction]], int, Fraction | None]


def drawn(seed: int, *, weighted: bool = True) -> tuple[list[int], list[Flow]]:
    """Random capacities and flows (entries, weight, demand); links may repeat in a flow."""
    rng = np.random.default_rng(seed)
    capacity = [int(x) for x in rng.integers(0, 40, rng.integers(1, 9))]
    flows: list[Flow] = []
    for _ in range(int(rng.integers(1, 20))):
        links = [
            (int(rng.integers(len(capacity))), Fraction(int(rng.integers(1, 5)), 4))
            for _ in range(int(rng.integers(1, 6)))
        ]
        demand = Fraction(int(rng.integers(0, 12))) if rng.random() < 0.4 else None
        if weighted:
            flows.append((links, int(rng.integers(1, 6)), demand))
        else:
            flows.append((links, 1, demand))
    return capacity, flows


def slowly(capacity: list[int], flows: list[Flow]) -> list[Fraction]:
    """Progressive filling, one event at a time, in fractions."""
    rates = [Fraction(0)] * len(flows)
    growing = set(range(len(flows)))
    while growing:
        steps = []
        for link, room in enumerate(capacity):
            slope = sum(s * flows[f][1] for f in growing for k, s in flows[f][0] if k == link)
            used = sum(
                s * rates[f] for f, flow in enumerate(flows) for k, s in flow[0] if k == link
            )
            if slope:
                steps.append((room - used) / Fraction(slope))
        for f in growing:
            demand = flows[f][2]
            if demand is not None:
                steps.append((demand - rates[f]) / flows[f][1])
        step = min(steps)
        for f in growing:
            rates[f] += step * flows[f][1]
        full = {
            link
            for link, room in enumerate(capacity)
            if sum(s * rates[f] for f, flow in enumerate(flows) for k, s in flow[0] if k == link)
            == room
        }
        growing -= {
            f for f in growing if rates[f] == flows[f][2] or any(k in full for k, _ in flows[f][0])
        }
    return rates


def arrays(flows: list[Flow]) -> tuple[list[int], list[int], list[float], list[int], list[float]]:
    indptr, link, share = [0], list[int](), list[float]()
    for entries, _, _ in flows:
        link += [k for k, _ in entries]
        share += [float(s) for _, s in entries]
        indptr.append(len(link))
    demand = [float("inf") if d is None else float(d) for _, _, d in flows]
    return indptr, link, share, [w for _, w, _ in flows], demand


def check_certificate(capacity: Floats, filling: shares.Filling, rows: tuple[list, ...]) -> None:  # type: ignore[type-arg]
    indptr, link, share, weight, demand = (np.array(part) for part in rows)
    used = shares.usage(len(capacity), indptr, link, share, filling.rates)
    assert np.all(used <= capacity * (1 + 1e-9) + 1e-12)
    level = filling.rates / weight
    flow = np.repeat(np.arange(len(weight)), np.diff(indptr))
    for f, limit in enumerate(filling.limit):
        if limit < 0:
            assert filling.rates[f] == demand[f]
            continue
        assert filling.rates[f] <= demand[f]
        assert used[limit] == pytest.approx(capacity[limit], rel=1e-9, abs=1e-12)
        on_it = flow[link == limit]
        assert f in on_it
        assert level[f] >= level[on_it].max() * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(80))
def test_rates_equal_slow_filling_in_fractions(seed: int) -> None:
    capacity, flows = drawn(seed)
    filling = shares.fill(capacity, *arrays(flows))
    right = [float(x) for x in slowly(capacity, flows)]
    np.testing.assert_allclose(filling.rates, right, rtol=1e-11, atol=1e-12)
    check_certificate(np.array(capacity, float), filling, arrays(flows))


def test_certificate_of_many_flows() -> None:
    rng = np.random.default_rng(7)
    links, flows, hops = 3_000, 20_000, 6
    capacity = rng.choice([10.0, 25.0, 100.0, 400.0], links)
    indptr = np.arange(flows + 1) * hops
    link = rng.integers(0, links, flows * hops)
    share = rng.choice([0.25, 0.5, 1.0], flows * hops)
    # Weights over nine decades: rounding must not pile up where a heavy flow leaves a link.
    weight = 10.0 ** rng.uniform(-4, 5, flows)
    demand = np.where(rng.random(flows) < 0.3, rng.uniform(0, 2, flows), np.inf)
    rows = (indptr, link, share, weight, demand)
    check_certificate(capacity, shares.fill(capacity, *rows), rows)  # type: ignore[arg-type]


@given(seed=st.integers(0, 2**32 - 1), more=st.integers(1, 30))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_more_capacity_never_lowers_the_smallest_share(seed: int, more: int) -> None:
    capacity, flows = drawn(seed, weighted=False)
    free: list[Flow] = [(links, 1, None) for links, _, _ in flows]
    before = shares.max_min(capacity, *arrays(free)).min()
    for link in range(len(capacity)):
        wider = [room + more * (k == link) for k, room in enumerate(capacity)]
        assert shares.max_min(wider, *arrays(free)).min() >= before * (1 - 1e-12)


def test_without_a_limit_a_flow_gets_its_demand() -> None:
    rates = shares.max_min([np.inf, 5], [0, 1, 1, 2], [0, 1], [1, 1], [1, 1, 1], [np.inf, 7, 9])
    assert rates.tolist() == [np.inf, 7, 5]


@pytest.mark.parametrize("seed", range(20))
def test_one_class_shared_in_two_levels_is_max_min(seed: int) -> None:
    capacity, flows = drawn(seed + 500)
    rows = arrays(flows)
    two = shares.two_level(capacity, *rows, [0] * len(flows), [0], [3.0])
    assert two.settled
    np.testing.assert_allclose(two.rates, shares.max_min(capacity, *rows), rtol=1e-8, atol=1e-9)


def test_a_weight_is_that_of_a_class_not_of_a_flow() -> None:
    # 8 : 2, one decode flow against 100 bulk flows: 80 %, as in MODEL section 2, not 8 of 208.
    flows = 101
    two = shares.two_level(
        [10.0], np.arange(flows + 1), np.zeros(flows), np.ones(flows), np.ones(flows),
        np.full(flows, np.inf), [0] + [1] * 100, [0, 0], [8.0, 2.0],
    )  # fmt: skip
    assert two.settled
    np.testing.assert_allclose(two.rates, [8.0] + [0.02] * 100, rtol=1e-9)


def test_what_a_class_does_not_need_goes_to_the_other() -> None:
    two = shares.two_level(
        [10.0], [0, 1, 2, 3], [0, 0, 0], [1, 1, 1], [1, 1, 1], [3.0, np.inf, np.inf],
        [0, 1, 1], [0, 0], [8.0, 2.0],
    )  # fmt: skip
    np.testing.assert_allclose(two.rates, [3.0, 3.5, 3.5], rtol=1e-9)


def test_a_flow_held_elsewhere_leaves_its_part_to_its_class() -> None:
    # Link 0 (10) is shared 1 : 1; the first flow of class 0 is held to 1 by link 1.
    two = shares.two_level(
        [10.0, 1.0], [0, 2, 3, 4], [0, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1], [np.inf] * 3,
        [0, 0, 1], [0, 0], [1.0, 1.0],
    )  # fmt: skip
    np.testing.assert_allclose(two.rates, [1.0, 4.0, 5.0], rtol=1e-9)
    assert two.limit.tolist() == [1, 0, 0]


def test_priority_comes_before_weight() -> None:
    two = shares.two_level(
        [10.0], [0, 1, 2, 3], [0, 0, 0], [1, 1, 1], [1, 1, 1], [4.0, np.inf, np.inf],
        [0, 1, 2], [0, 1, 1], [1.0, 1.0, 2.0],
    )  # fmt: skip
    np.testing.assert_allclose(two.rates, [4.0, 2.0, 4.0], rtol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_two_levels_never_overload_a_link(seed: int) -> None:
    capacity, flows = drawn(seed + 900)
    rows = arrays(flows)
    rng = np.random.default_rng(seed)
    two = shares.two_level(
        capacity, *rows, rng.integers(0, 3, len(flows)), [0, 0, 1], [8.0, 2.0, 1.0]
    )
    assert two.settled
    used = shares.usage(
        len(capacity), np.array(rows[0]), np.array(rows[1]), np.array(rows[2]), two.rates
    )
    assert np.all(used <= np.array(capacity) * (1 + 1e-7) + 1e-9)
    assert np.all(two.rates <= np.array(rows[4]))


def test_flows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(shares.BadFlows, match="weight of a flow"):
        shares.max_min([1], [0, 1], [0], [1], [0], [1])
    with pytest.raises(shares.BadFlows, match="outside 0 to 0"):
        shares.max_min([1], [0, 1], [1], [1], [1], [1])
    with pytest.raises(shares.BadFlows, match="a capacity is below 0"):
        shares.max_min([-1], [0, 1], [0], [1], [1], [1])
