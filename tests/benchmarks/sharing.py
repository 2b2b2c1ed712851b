"""Max-min shares against progressive filling written plainly."""

import numpy as np
from numpy.typing import NDArray

from designer.graph.shares import max_min
from tests.benchmarks import Measured, benchmark, compared, quickest_s

Floats = NDArray[np.float64]
LINKS, FLOWS, HOPS = 400, 4_000, 5


def plainly(capacity: list[float], links: list[list[int]], demand: list[float]) -> list[float]:
    """Progressive filling: all unfrozen flows rise together until a link or a demand stops some."""
    rates = [0.0] * len(links)
    left = list(capacity)
    on: list[set[int]] = [set() for _ in capacity]
    for flow, crossed in enumerate(links):
        for link in crossed:
            on[link].add(flow)
    free = set(range(len(links)))
    while free:
        by_link = min(left[link] / len(on[link]) for link in range(len(left)) if on[link])
        rise = min(by_link, min(demand[flow] - rates[flow] for flow in free))
        for flow in free:
            rates[flow] += rise
        for link, flows in enumerate(on):
            left[link] -= rise * len(flows)
        full = [link for link in range(len(left)) if on[link] and left[link] < 1e-9]
        stopped = {flow for flow in free if demand[flow] - rates[flow] < 1e-9}
        stopped.update(*(on[link] for link in full))
        for flow in stopped:
            for link in links[flow]:
                on[link].discard(flow)
        free -= stopped
    return rates


@benchmark
def max_min_s() -> Measured:
    """4,000 flows over 5 of 400 links each, a third of them with a demand."""
    rng = np.random.default_rng(3)
    capacity: Floats = rng.choice([10.0, 25.0, 100.0], LINKS)
    links = np.array([rng.choice(LINKS, HOPS, replace=False) for _ in range(FLOWS)])
    demand: Floats = np.where(rng.random(FLOWS) < 0.3, rng.uniform(0, 2, FLOWS), np.inf)
    ones = np.ones(FLOWS)

    def ours() -> Floats:
        return max_min(
            capacity,
            np.arange(FLOWS + 1) * HOPS,
            links.ravel(),
            np.ones(FLOWS * HOPS),
            ones,
            demand,
        )

    def peer() -> list[float]:
        return plainly(capacity.tolist(), links.tolist(), demand.tolist())

    np.testing.assert_allclose(ours(), peer(), rtol=1e-6)
    return compared(
        "max_min_s", quickest_s(ours), quickest_s(peer, rounds=1), "at least 50 x plain Python"
    )
