"""Loads of equal-cost routing, and of every single failure."""

import numpy as np

from designer.graph import failures
from designer.graph.routing import loads
from tests.benchmarks import Measured, benchmark, compared, quickest_s
from tests.benchmarks.networks import networkx_loads, random_traffic


@benchmark
def ecmp_loads_s() -> Measured:
    """400 nodes, 800 cables, 2,000 demands to 100 targets; the peer searches by networkx."""
    traffic = random_traffic(400, 2_000, 100, seed=1)

    def ours() -> np.ndarray:
        return loads(traffic.net, traffic.source, traffic.target, traffic.volume)[0]

    np.testing.assert_allclose(ours(), networkx_loads(traffic), rtol=1e-9, atol=1e-9)
    peer_s = quickest_s(lambda: networkx_loads(traffic), rounds=2)
    return compared("ecmp_loads_s", quickest_s(ours), peer_s, "at least 20 x networkx")


@benchmark
def single_failures_s() -> Measured:
    """200 nodes, each of 400 cables out; the peer computes the same loads anew each time."""
    traffic = random_traffic(200, 1_000, 50, seed=2)
    cable = np.tile(np.arange(traffic.cables), 2)
    some = failures.of_links(cable)
    capacity = np.ones(len(cable))
    asked = (traffic.source, traffic.target, traffic.volume)

    def ours() -> np.ndarray:
        return failures.sweep(traffic.net, capacity, *asked, some).utilisation

    def peer() -> np.ndarray:
        each = (loads(traffic.net, *asked, cable == out)[0].max() for out in range(traffic.cables))
        return np.fromiter(each, float, traffic.cables)

    np.testing.assert_allclose(ours(), peer(), rtol=1e-9)
    return compared(
        "single_failures_s",
        quickest_s(ours, rounds=3),
        quickest_s(peer, rounds=1),
        "at least 5 x recomputing",
    )
