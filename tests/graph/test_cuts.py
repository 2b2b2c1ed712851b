"""Cuts held against networkx and against trying all halves."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from designer.graph import cuts


def drawn(seed: int, most: int = 12) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most))
    m = int(rng.integers(1, 5 * n))
    return n, rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 40, m) / 4


@pytest.mark.parametrize("seed", range(60))
def test_maximum_flow_equals_networkx(seed: int) -> None:
    n, tail, head, capacity = drawn(seed)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for u, v, room in zip(tail.tolist(), head.tolist(), capacity.tolist(), strict=True):
        known = graph.get_edge_data(u, v, {"capacity": 0.0})["capacity"]
        graph.add_edge(u, v, capacity=known + room)
    right = nx.maximum_flow_value(graph, 0, n - 1)
    cut = cuts.min_cut(n, tail, head, capacity, 0, n - 1)
    assert cut.value == pytest.approx(right, abs=1e-12)
    assert cut.side[0]
    assert not cut.side[n - 1]
    crossing = cut.side[tail] & ~cut.side[head]
    assert capacity[crossing].sum() == pytest.approx(right, abs=1e-12)


def test_unlimited_edges() -> None:
    assert cuts.max_flow(3, [0, 1], [1, 2], [np.inf, 2.5], 0, 2) == 2.5
    assert cuts.max_flow(3, [0, 1], [1, 2], [np.inf, np.inf], 0, 2) == np.inf
    assert cuts.max_flow(3, [0], [1], [np.inf], 0, 2) == 0


def tried(n: int, a: np.ndarray, b: np.ndarray, capacity: np.ndarray, hosts: list[int]) -> float:
    """The least cut over all halves of the hosts and all sides of the rest."""
    others = [v for v in range(n) if v not in hosts]
    best = float("inf")
    for half in combinations(hosts, len(hosts) // 2):
        for sides in product((False, True), repeat=len(others)):
            side = np.zeros(n, bool)
            side[list(half)] = True
            side[others] = sides
            best = min(best, float(capacity[side[a] != side[b]].sum()))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_bisection_equals_trying_everything(seed: int) -> None:
    n, a, b, capacity = drawn(seed + 100, 9)
    rng = np.random.default_rng(seed)
    hosts = sorted(rng.choice(n, int(rng.integers(2, n + 1)), replace=False).tolist())
    right = tried(n, a, b, capacity, hosts)
    found = cuts.bisection(n, a, b, capacity, hosts)
    assert found.exact
    assert found.lower == found.upper == pytest.approx(right, abs=1e-12)
    assert capacity[found.side[a] != found.side[b]].sum() == pytest.approx(right, abs=1e-12)
    if len(hosts) == n:
        assert cuts.bisection(n, a, b, capacity).upper == found.upper


def test_interchangeable_hosts_are_counted_not_tried() -> None:
    # A star of stars: 64 hosts on 4 leaves, uplinks of 4; two leaves against two cut 8.
    host = np.arange(64)
    a = np.concatenate((host, 64 + np.arange(4)))
    b = np.concatenate((64 + host // 16, np.full(4, 68)))
    found = cuts.bisection(69, a, b, np.concatenate((np.ones(64), np.full(4, 4.0))), host)
    assert (found.exact, found.upper) == (True, 8.0)


def test_a_large_one_is_bounded_and_called_so() -> None:
    # A 6 x 6 torus has no interchangeable vertices; its least halves are two bands: 2 x 6.
    at = np.arange(36).reshape(6, 6)
    a = np.concatenate((at.ravel(), at.ravel()))
    b = np.concatenate((np.roll(at, -1, 0).ravel(), np.roll(at, -1, 1).ravel()))
    found = cuts.bisection(36, a, b, np.ones(72))
    assert found.lower <= 12 <= found.upper
    assert found.exact == (found.lower == found.upper)
    assert found.side.sum() == 18


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(cuts.BadCut, match="itself"):
        cuts.max_flow(2, [0], [1], [1], 1, 1)
    with pytest.raises(cuts.BadCut, match="at least 2 hosts"):
        cuts.bisection(3, [0], [1], [1], [2])
    with pytest.raises(cuts.BadCut, match="below 0"):
        cuts.max_flow(2, [0], [1], [-1], 0, 1)
