"""All compiled kernels, made ready ahead of the first analysis."""

import numpy as np

from designer.graph import cuts, failures, routing, shares


def warm() -> None:
    """Compiles (or loads from the cache) every kernel, by one call each on a tiny network.

    A square with both directions of four cables: two shortest paths, and one of them repaired.
    """
    a, b = np.array([0, 1, 0, 2]), np.array([1, 3, 2, 3])
    tail, head = np.concatenate((a, b)), np.concatenate((b, a))
    net = routing.network(4, tail, head, np.ones(8, np.int64))
    source, target, volume = [0, 3, 1], [3, 0, 2], [1.0, 1.0, 1.0]
    routing.loads(net, source, target, volume)
    routing.one_path(net, 0, 3)
    rows = routing.incidence(net, source, target)
    room, one = np.ones(8), np.ones(3)
    shares.max_min(room, rows.indptr, rows.edge, rows.share, one, [0.25, np.inf, np.inf])
    shares.two_level(
        room, rows.indptr, rows.edge, rows.share, one, [0.25, np.inf, np.inf], [0, 1, 1], [0, 0],
        [8.0, 2.0],
    )  # fmt: skip
    cable = np.concatenate((np.arange(4), np.arange(4)))
    failures.sweep(net, room, source, target, volume, failures.of_links(cable))
    cuts.bisection(4, a, b, np.ones(4))
    cuts.bisection(4, a, b, np.ones(4), [1, 2])
    cuts.max_flow(4, tail, head, room, 0, 3)
