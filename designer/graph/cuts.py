"""Cuts: maximum flow, the side of a least cut, and bisection (exact when small, else bounds)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from designer.graph import kernel_cuts
from designer.graph.compiled import Floats, Ints, Mask

MOST_HALVES: Final = 3_000_000
"""Halves of all vertices that are looked at one by one."""
MOST_SPLITS: Final = 60_000
"""Splits of hosts for which a maximum flow is computed each."""
_BRANCHES: Final = 2_000


class BadCut(ValueError):
    """The question has no cut for an answer; the message says why."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The value of a least cut and the vertices on the side of s, (vertices,)."""

    value: float
    side: Mask


@dataclass(frozen=True, slots=True)
class Bisection:
    """The least cut between halves of the hosts lies in lower..upper; side: one such half."""

    lower: float
    upper: float
    exact: bool
    side: Mask


@dataclass(frozen=True, slots=True)
class _Arcs:
    """Arc 2k and its reverse 2k + 1, listed by the vertex that they leave."""

    pointers: Ints
    arcs: Ints
    head: Ints
    left: Floats


def max_flow(
    n: int, tail: ArrayLike, head: ArrayLike, capacity: ArrayLike, s: int, t: int
) -> float:
    """The most that directed edges carry from s to t (Dinic); inf capacity allowed.

    Raises BadCut for s = t, a vertex outside 0..n-1 or a capacity below 0.
    """
    return min_cut(n, tail, head, capacity, s, t).value


def min_cut(n: int, tail: ArrayLike, head: ArrayLike, capacity: ArrayLike, s: int, t: int) -> Cut:
    """The least cut of directed edges between s and t. Raises BadCut as max_flow does."""
    tails, heads = np.asarray(tail, dtype=np.int64), np.asarray(head, dtype=np.int64)
    room = np.asarray(capacity, dtype=np.float64)
    _checked(n, np.concatenate((tails, heads, [s, t])).astype(np.int64), room)
    if s == t:
        raise BadCut(f"the cut is asked between vertex {s} and itself")
    finite = float(room[np.isfinite(room)].sum())
    # More than all finite capacity together is as good as unlimited, and subtracts exactly.
    bounded = np.where(np.isfinite(room), room, 1.0 + 2.0 * finite)
    arcs = _arcs(n, tails, heads, bounded, np.zeros(len(bounded)))
    level = np.empty(n, np.int64)
    value = kernel_cuts.dinic(s, t, arcs.pointers, arcs.arcs, arcs.head, arcs.left, level)
    return Cut(np.inf if value > 1.5 * finite + 0.5 else value, level >= 0)


def bisection(
    n: int,
    a: ArrayLike,
    b: ArrayLike,
    capacity: ArrayLike,
    hosts: ArrayLike | None = None,
) -> Bisection:
    """The least capacity between two halves of the hosts (all vertices if None).

    a, b, capacity: undirected cables. Vertices that are no hosts lie where they cost least. Of an
    odd number of hosts one half has one more. Hosts that hang alike on one and the same vertex are
    interchangeable. Exact by enumeration while small; else a mixed-integer programme with a fixed
    number of branches, whose bounds are returned. Raises BadCut for fewer than 2 hosts.
    """
    ends_a, ends_b = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    room = np.asarray(capacity, dtype=np.float64)
    halved = np.arange(n) if hosts is None else np.unique(np.asarray(hosts, dtype=np.int64))
    _checked(n, np.concatenate((ends_a, ends_b, halved)), room)
    if len(halved) < 2:
        raise BadCut(f"halves need at least 2 hosts, and there are {len(halved)}")
    if not np.all(np.isfinite(room)):
        raise BadCut("a bisection needs capacities that are finite")
    if len(halved) == n and comb(n, n // 2) <= 2 * MOST_HALVES:
        value, mask = kernel_cuts.least_half_of_all(n, ends_a, ends_b, room)
        return Bisection(value, value, True, (mask >> np.arange(n)) & 1 == 1)
    group_of = _twins(halved, ends_a, ends_b, room)
    splits = _splits(np.bincount(group_of))
    if splits is not None:
        return _by_splits(n, ends_a, ends_b, room, halved, group_of, splits)
    return _by_programme(n, ends_a, ends_b, room, halved)


def _by_splits(
    n: int, a: Ints, b: Ints, room: Floats, hosts: Ints, group_of: Ints, splits: Ints
) -> Bisection:
    count, zero = len(hosts), np.zeros(len(hosts))
    tail = np.concatenate((a, np.full(count, n), hosts))
    head = np.concatenate((b, hosts, np.full(count, n + 1)))
    arcs = _arcs(
        n + 2, tail, head, np.concatenate((room, zero, zero)), np.concatenate((room, zero, zero))
    )
    side = np.zeros(n + 2, bool)
    source_arc = 2 * (len(a) + np.arange(count))
    value = kernel_cuts.least_of_splits(
        splits, group_of, source_arc, source_arc + 2 * count, n, n + 1, arcs.pointers, arcs.arcs,
        arcs.head, arcs.left, side,
    )  # fmt: skip
    return Bisection(value, value, True, side[:n])


def _by_programme(n: int, a: Ints, b: Ints, room: Floats, hosts: Ints) -> Bisection:
    """x: (vertices,) side, whole for hosts; y: (cables,) at least |x_a - x_b|."""
    # Half a second to import, and seldom needed.
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    m, half = len(a), len(hosts) // 2
    cable = np.arange(m)
    ones = np.ones(m)
    row = np.concatenate((cable, cable, cable))
    column = np.concatenate((a, b, n + cable))
    forth = coo_array((np.concatenate((ones, -ones, -ones)), (row, column)), shape=(m, n + m))
    back = coo_array((np.concatenate((-ones, ones, -ones)), (row, column)), shape=(m, n + m))
    chosen = coo_array(
        (np.ones(len(hosts)), (np.zeros(len(hosts), np.int64), hosts)), shape=(1, n + m)
    )
    whole = np.zeros(n + m, np.int64)
    whole[hosts] = 1
    answer = milp(
        np.concatenate((np.zeros(n), room)),
        integrality=whole,
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(forth, ub=0),
            LinearConstraint(back, ub=0),
            LinearConstraint(chosen, lb=half, ub=half),
        ],
        options={"node_limit": _BRANCHES},
    )
    if answer.x is None:
        side = np.zeros(n, bool)
        side[hosts[:half]] = True
    else:
        side = answer.x[:n] > 0.5
    upper = float(room[side[a] != side[b]].sum())
    lower = max(float(answer.mip_dual_bound or 0.0), 0.0)
    exact = answer.status == 0
    return Bisection(upper if exact else min(lower, upper), upper, exact, side)


def _twins(hosts: Ints, a: Ints, b: Ints, room: Floats) -> Ints:
    """Groups of hosts whose cables go to the same vertices with the same capacities."""
    cables: dict[int, list[tuple[int, float]]] = {int(host): [] for host in hosts}
    for one, other, width in zip(a.tolist(), b.tolist(), room.tolist(), strict=True):
        if one in cables:
            cables[one].append((other, width))
        if other in cables:
            cables[other].append((one, width))
    numbers: dict[tuple[tuple[int, float], ...], int] = {}
    keys = [tuple(sorted(cables[int(host)])) for host in hosts]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _splits(sizes: Ints) -> Ints | None:
    """All ways to take half of the hosts, as counts by group; None if they are too many."""
    half, ways = int(sizes.sum()) // 2, [1]
    for size in sizes.tolist():
        ways = [sum(ways[max(0, total - size) : total + 1]) for total in range(len(ways) + size)]
    if ways[half] > MOST_SPLITS:
        return None
    return np.array(list(_counts(sizes.tolist(), half)), dtype=np.int64)


def _counts(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    if not sizes:
        if total == 0:
            yield ()
        return
    least = max(0, total - sum(sizes[1:]))
    for taken in range(least, min(sizes[0], total) + 1):
        for rest in _counts(sizes[1:], total - taken):
            yield (taken, *rest)


def _arcs(n: int, tail: Ints, head: Ints, forth: Floats, back: Floats) -> _Arcs:
    ends = np.column_stack((tail, head)).ravel()
    left = np.column_stack((forth, back)).ravel().astype(np.float64)
    arcs = np.argsort(ends, kind="stable").astype(np.int64)
    pointers = np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=n)))).astype(np.int64)
    return _Arcs(pointers, arcs, np.column_stack((head, tail)).ravel(), left)


def _checked(n: int, vertices: Ints, capacity: Floats) -> None:
    if len(vertices) and not 0 <= vertices.min() <= vertices.max() < n:
        raise BadCut(f"a vertex lies outside 0 to {n - 1}")
    if not np.all(capacity >= 0):
        raise BadCut("a capacity is below 0 or not a number")
