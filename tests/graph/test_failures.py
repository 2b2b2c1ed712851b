"""Repaired paths give what computing each failure from scratch gives."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from designer.graph import failures, routing


def drawn(seed: int) -> tuple[routing.Network, int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A random network of cables with demands, some of them from a node to itself."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 14)), int(rng.integers(2, 30))
    a, b = rng.integers(0, n, m), rng.integers(0, n, m)
    cost = rng.integers(1, 4, m)
    net = routing.network(
        n, np.concatenate((a, b)), np.concatenate((b, a)), np.concatenate((cost, cost)),
        rng.random(n) < 0.85,
    )  # fmt: skip
    source, target = rng.integers(0, n, 30), rng.integers(0, n, 30)
    return net, m, source, target, rng.integers(1, 9, 30).astype(float), rng.uniform(1, 9, 2 * m)


def check(
    net: routing.Network,
    capacity: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    volume: np.ndarray,
    some: failures.Failures,
    masks: Sequence[tuple[np.ndarray, tuple[int, ...]]],
) -> None:
    swept = failures.sweep(net, capacity, source, target, volume, some)
    blocks = list(failures.loads_under(net, source, target, volume, some))
    load = np.concatenate([block.load for block in blocks])
    assert some.count == len(masks)
    for f, (down, nodes) in enumerate(masks):
        gone = np.isin(source, nodes) | np.isin(target, nodes)
        right, unrouted = routing.loads(net, source[~gone], target[~gone], volume[~gone], down)
        np.testing.assert_allclose(load[f], right, atol=1e-10)
        assert swept.lost[f] == pytest.approx(unrouted[0] + volume[gone].sum(), abs=1e-10)
        used = np.where(down, 0, right / capacity)
        assert swept.utilisation[f] == pytest.approx(used.max(), abs=1e-10)
        if used.max() > 0:
            assert used[swept.edge[f]] == pytest.approx(used.max(), abs=1e-10)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(25))
def test_links_equal_recomputing(seed: int, order: int) -> None:
    net, m, source, target, volume, capacity = drawn(seed)
    cable = np.concatenate((np.arange(m), np.arange(m)))
    masks = [(np.isin(cable, some), ()) for some in combinations(range(m), order)]
    some = failures.of_links(cable, order)
    check(net, capacity, source, target, volume, some, masks)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(25))
def test_nodes_equal_recomputing(seed: int, order: int) -> None:
    net, _, source, target, volume, capacity = drawn(seed + 300)
    masks = [
        (np.isin(net.tail, some) | np.isin(net.head, some), some)
        for some in combinations(range(net.n), order)
    ]
    check(net, capacity, source, target, volume, failures.of_nodes(net, order), masks)


def test_a_shared_risk_takes_edges_and_a_node() -> None:
    net, _, source, target, volume, capacity = drawn(77)
    down = np.isin(np.arange(len(net.tail)), [0, 3]) | (net.tail == 1) | (net.head == 1)
    some = failures.of_groups(net, [([0, 3], [1]), ([], [])])
    nothing = np.zeros(len(net.tail), bool)
    check(net, capacity, source, target, volume, some, [(down, (1,)), (nothing, ())])
