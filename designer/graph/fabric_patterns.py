"""Leaf-spine fabrics and fat trees by construction: traffic patterns, closed forms, hashing.

Hosts come first, in order of racks. A pair is one flow from a host to another.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from designer.graph import routing, shares
from designer.graph.compiled import Floats, Ints

Pattern = Literal["all-to-all", "permutation", "incast", "hot-rack"]
PATTERNS: Final[tuple[Pattern, ...]] = ("all-to-all", "permutation", "incast", "hot-rack")
_DIRECT: Final = 4096


class BadFabric(ValueError):
    """No such fabric or pattern can be built; the message says why."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """A fabric of n vertices, the first `hosts` of them hosts, `per_rack` on each edge switch.

    a, b, capacity: (cables,) the ends, and the rate of each direction in the unit of host_rate.
    """

    n: int
    hosts: int
    per_rack: int
    a: Ints
    b: Ints
    capacity: Floats


@dataclass(frozen=True, slots=True)
class Hashing:
    """Shares of flows hashed on equal uplinks, over the share that ideal spraying gives.

    worst_mean, worst_p1: mean and 1st percentile of the worst flow's. mean_flow: the mean flow's.
    """

    worst_mean: float
    worst_p1: float
    mean_flow: float


def leaf_spine(
    leaves: int, spines: int, hosts_per_leaf: int, oversubscription: float, host_rate: float
) -> Fabric:
    """Each leaf has one uplink to each spine; downlink over uplink capacity as given."""
    _at_least_one(leaves=leaves, spines=spines, hosts_per_leaf=hosts_per_leaf)
    _above_zero(oversubscription=oversubscription, host_rate=host_rate)
    hosts = leaves * hosts_per_leaf
    host = np.arange(hosts)
    leaf = hosts + np.arange(leaves)
    spine = hosts + leaves + np.arange(spines)
    uplink = hosts_per_leaf * host_rate / oversubscription / spines
    return Fabric(
        n=hosts + leaves + spines,
        hosts=hosts,
        per_rack=hosts_per_leaf,
        a=np.concatenate((host, np.repeat(leaf, spines))),
        b=np.concatenate((leaf[host // hosts_per_leaf], np.tile(spine, leaves))),
        capacity=np.concatenate((np.full(hosts, host_rate), np.full(leaves * spines, uplink))),
    )


def fat_tree(k: int, oversubscription: float, host_rate: float) -> Fabric:
    """k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores; all uplinks alike."""
    _at_least_one(k=k)
    _above_zero(oversubscription=oversubscription, host_rate=host_rate)
    if k % 2:
        raise BadFabric(f"k is {k}; a fat tree needs an even k")
    half = k // 2
    hosts, pairs = k * half * half, k * half
    host, position = np.arange(hosts), np.arange(pairs)
    edge, aggregation = hosts + position, hosts + pairs + position
    core = hosts + 2 * pairs + np.arange(half * half)
    pod = np.repeat(np.arange(k), half * half)
    within = np.tile(np.arange(half * half), k)
    up = pod * half + within // half
    return Fabric(
        n=hosts + 2 * pairs + half * half,
        hosts=hosts,
        per_rack=half,
        a=np.concatenate((host, edge[up], aggregation[up])),
        b=np.concatenate(
            (edge[host // half], aggregation[pod * half + within % half], core[within])
        ),
        capacity=np.concatenate(
            (np.full(hosts, host_rate), np.full(2 * hosts, host_rate / oversubscription))
        ),
    )


def pairs_of(fabric: Fabric, pattern: Pattern, fan: int | None = None) -> Ints:
    """The (flows, 2) pairs of a pattern.

    permutation: to the host half the fabric away. incast: to host 0 from `fan` hosts, counted from
    the second rack on. hot-rack: every host of other racks to one of the first, in turn.
    """
    n, per = fabric.hosts, fabric.per_rack
    host = np.arange(n)
    if pattern == "all-to-all":
        every = np.column_stack((np.repeat(host, n), np.tile(host, n))).astype(np.int64)
        return np.compress(every[:, 0] != every[:, 1], every, axis=0)
    if pattern == "permutation":
        return np.column_stack((host, (host + n // 2) % n))
    outside = host[per:]
    if pattern == "hot-rack":
        return np.column_stack((outside, (outside - per) % per))
    if fan is None or not 1 <= fan <= len(outside):
        raise BadFabric(f"incast needs a fan from 1 to {len(outside)}, the hosts of other racks")
    return np.column_stack((outside[:fan], np.zeros(fan, np.int64)))


def sprayed(fabric: Fabric, pairs: Ints) -> Floats:
    """Max-min rates of the flows, (flows,), each split equally over all shortest paths."""
    transit = np.arange(fabric.n) >= fabric.hosts
    tail = np.concatenate((fabric.a, fabric.b))
    head = np.concatenate((fabric.b, fabric.a))
    net = routing.network(fabric.n, tail, head, np.ones(len(tail), np.int64), transit)
    rows = routing.incidence(net, pairs[:, 0], pairs[:, 1])
    flows = len(pairs)
    return shares.max_min(
        np.concatenate((fabric.capacity, fabric.capacity)), rows.indptr, rows.edge, rows.share,
        np.ones(flows), np.full(flows, np.inf),
    )  # fmt: skip


def slowest_flow(
    pattern: Pattern, *, hosts: int, per_rack: int, oversubscription: float, fan: int | None = None
) -> float:
    """Rate of the slowest flow under ideal spraying, host rate 1 (oversubscription at least 1).

    Closed forms of a fabric of racks that is oversubscribed at its edge only; the permutation
    crosses racks.
    """
    o, n, per = oversubscription, hosts, per_rack
    if pattern == "permutation":
        return 1 / o
    if pattern == "all-to-all":
        return min(1 / (n - 1), 1 / (o * (n - per))) if n > per else 1 / (n - 1)
    if pattern == "hot-rack":
        return 1 / (o * (n / per - 1))
    if fan is None:
        raise BadFabric("incast needs a fan")
    return min(1 / fan, per / (o * fan))


def hashing(flows: int, uplinks: int) -> Hashing:
    """Static hashing of flows on uplinks, from the exact distribution of the fullest uplink.

    The fullest of U bins holds at most m of F balls with probability
    P(U Poisson counts <= m each, sum F) / P(their sum is F). A flow on an uplink of n flows gets
    1/n of it; spraying gives every flow U/F.
    """
    _at_least_one(flows=flows, uplinks=uplinks)
    ideal = flows / uplinks
    fullest = np.arange(-(-flows // uplinks), _fullest(flows, uplinks) + 1)
    held = np.arange(fullest[-1] + 1)
    one = np.exp(held * np.log(ideal) - ideal - _log_factorial(int(fullest[-1])))
    every = np.array([_power(one[: most + 1], uplinks, flows + 1)[flows] for most in fullest])
    at_most = every / every[-1]
    chance = np.diff(at_most, prepend=0.0)
    used = -np.expm1(flows * np.log1p(-1 / uplinks)) if uplinks > 1 else 1.0
    return Hashing(
        worst_mean=float(np.sum(chance * ideal / fullest)),
        worst_p1=float(ideal / fullest[np.argmax(at_most >= 0.99)]),
        mean_flow=float(used),
    )


def _fullest(flows: int, uplinks: int) -> int:
    """The number of flows that some uplink exceeds with a probability below 1e-17."""
    if uplinks == 1:
        return flows
    held, logs = np.arange(flows + 1), _log_factorial(flows)
    each = np.exp(
        logs[-1] - logs - logs[::-1] - held * np.log(uplinks)
        + (flows - held) * np.log1p(-1 / uplinks)
    )  # fmt: skip
    or_more = np.append(np.cumsum(each[::-1])[::-1], 0.0)
    return int(np.argmax(uplinks * or_more[1:] < 1e-17))


def _log_factorial(most: int) -> Floats:
    """Logarithms of 0! to most!"""
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, most + 1)))))


def _power(one: Floats, times: int, keep: int) -> Floats:
    """The `times`-fold convolution of `one`, its first `keep` entries, by repeated squaring."""
    result, square = np.ones(1), one
    while True:
        if times & 1:
            result = _convolved(result, square)[:keep]
        times >>= 1
        if not times:
            return result
        square = _convolved(square, square)[:keep]


def _convolved(one: Floats, other: Floats) -> Floats:
    if max(len(one), len(other)) <= _DIRECT:
        return np.convolve(one, other)
    length = len(one) + len(other) - 1
    padded = 1 << (length - 1).bit_length()
    product = np.fft.rfft(one, padded) * np.fft.rfft(other, padded)
    return np.maximum(np.fft.irfft(product, padded)[:length], 0.0)


def _at_least_one(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise BadFabric(f"{name} is {count}; at least 1 is needed")


def _above_zero(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < float("inf"):
            raise BadFabric(f"{name} is {value}; it must be above 0 and finite")
