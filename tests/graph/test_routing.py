"""Routing held against enumeration of shortest paths in fractions."""

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.graph import kernels, routing

Edges = list[tuple[int, int, int]]


def distances(n: int, edges: Edges, target: int, dead: set[int], silent: set[int]) -> list[float]:
    """Least costs to the target by Bellman and Ford."""
    far = [float("inf")] * n
    far[target] = 0
    for _ in range(n):
        for k, (u, v, cost) in enumerate(edges):
            if k not in dead and (v == target or v not in silent):
                far[u] = min(far[u], far[v] + cost)
    return far


def enumerated(
    n: int, edges: Edges, source: int, target: int, dead: set[int], silent: set[int]
) -> dict[int, Fraction] | None:
    """Share of each edge: every shortest path is walked, weighted 1/next hops at each vertex."""
    far = distances(n, edges, target, dead, silent)
    if far[source] == float("inf"):
        return None
    share: dict[int, Fraction] = defaultdict(Fraction)
    walks = [(source, Fraction(1))]
    while walks:
        at, part = walks.pop()
        if at == target:
            continue
        ways = [
            k
            for k, (u, v, cost) in enumerate(edges)
            if u == at
            and k not in dead
            and (v == target or v not in silent)
            and far[v] + cost == far[at]
        ]
        for k in ways:
            share[k] += part / len(ways)
            walks.append((edges[k][1], part / len(ways)))
    return share


def drawn(seed: int) -> tuple[int, Edges, set[int], set[int], list[tuple[int, int, int]]]:
    """A random multigraph with edges and vertices out of use, and demands."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    edges = [
        (int(rng.integers(n)), int(rng.integers(n)), int(rng.integers(1, 4)))
        for _ in range(int(rng.integers(1, 26)))
    ]
    dead = {k for k in range(len(edges)) if rng.random() < 0.1}
    silent = {v for v in range(n) if rng.random() < 0.15}
    demands = [
        (int(rng.integers(n)), int(rng.integers(n)), int(rng.integers(1, 10))) for _ in range(12)
    ]
    return n, edges, dead, silent, demands


def built(n: int, edges: Edges, silent: set[int]) -> routing.Network:
    tail, head, cost = (np.array(column) for column in zip(*edges, strict=True))
    return routing.network(n, tail, head, cost, [v not in silent for v in range(n)])


@pytest.mark.parametrize("seed", range(60))
def test_loads_and_incidence_equal_enumerated_paths(seed: int) -> None:
    n, edges, dead, silent, demands = drawn(seed)
    net = built(n, edges, silent)
    down = np.array([k in dead for k in range(len(edges))])
    source, target, volume = (np.array(column) for column in zip(*demands, strict=True))
    right, lost = [Fraction(0)] * len(edges), 0
    rows = routing.incidence(net, source, target, down)
    for d, (s, t, amount) in enumerate(demands):
        share = enumerated(n, edges, s, t, dead, silent)
        assert rows.reachable[d] == (share is not None)
        lost += amount if share is None else 0
        mine = slice(rows.indptr[d], rows.indptr[d + 1])
        ours = dict(zip(rows.edge[mine].tolist(), rows.share[mine].tolist(), strict=True))
        assert ours == pytest.approx({k: float(v) for k, v in (share or {}).items()})
        for k, part in (share or {}).items():
            right[k] += part * amount
    load, unrouted = routing.loads(net, source, target, volume, down)
    np.testing.assert_allclose(load, [float(x) for x in right], rtol=1e-12, atol=1e-12)
    assert unrouted.tolist() == [lost]


@pytest.mark.parametrize("seed", range(20))
def test_distances_and_shown_path(seed: int) -> None:
    n, edges, _, silent, demands = drawn(seed + 1000)
    net = built(n, edges, silent)
    routes = routing.route(net, np.arange(n))
    for target in range(n):
        far = distances(n, edges, target, set(), silent)
        assert routes.dist[target].tolist() == [-1 if x == float("inf") else x for x in far]
        order = routes.order[target][: routes.settled[target]]
        assert np.all(np.diff(routes.dist[target][order]) >= 0)
    for source, target, _ in demands:
        path = routing.one_path(net, source, target)
        if path is None:
            assert routes.dist[target, source] == -1
            continue
        assert sum(edges[k][2] for k in path) == routes.dist[target, source]
        ends = [source, *(edges[k][1] for k in path)]
        assert [edges[k][0] for k in path] == ends[:-1]
        assert ends[-1] == target


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_columns_are_loaded_as_if_alone(seed: int) -> None:
    n, edges, _, silent, demands = drawn(seed)
    net = built(n, edges, silent)
    source, target, volume = (np.array(column) for column in zip(*demands, strict=True))
    table = np.column_stack((volume, 3 * volume, np.zeros(len(volume))))
    load, unrouted = routing.loads(net, source, target, table)
    alone, lost = routing.loads(net, source, target, volume)
    np.testing.assert_allclose(load, np.column_stack((alone, 3 * alone, 0 * alone)), atol=1e-12)
    np.testing.assert_allclose(unrouted, [lost[0], 3 * lost[0], 0])


def test_a_host_with_two_links_does_not_forward_for_others() -> None:
    # 0 and 1 are switches, 2 a host on both, 3 a spine: 0-2-1 would be as short as 0-3-1.
    a, b = np.array([0, 1, 0, 1]), np.array([2, 2, 3, 3])
    tail, head = np.concatenate((a, b)), np.concatenate((b, a))
    net = routing.network(4, tail, head, np.ones(8), [True, True, False, True])
    load, _ = routing.loads(net, [0], [1], [1.0])
    assert load.tolist() == [0, 0, 1, 0, 0, 0, 0, 1]


def test_what_cannot_be_routed_on_is_refused() -> None:
    with pytest.raises(routing.BadNetwork, match="edge 1 has metric 0"):
        routing.network(2, [0, 1], [1, 0], [1, 0])
    with pytest.raises(routing.BadNetwork, match="outside 0 to 1"):
        routing.network(2, [0], [2], [1])
    with pytest.raises(routing.BadNetwork, match="too large"):
        routing.network(4, [0], [1], [2**61])


def test_nothing_to_route() -> None:
    net = routing.network(3, [], [], [])
    load, unrouted = routing.loads(net, [], [], [])
    assert load.shape == (0,)
    assert unrouted.tolist() == [0]
    assert routing.incidence(net, [1], [1]).indptr.tolist() == [0, 0]


def test_warming_runs_every_kernel() -> None:
    kernels.warm()
