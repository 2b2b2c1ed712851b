"""Kernels of cuts: Dinic's maximum flow, and halves by enumeration."""

import numpy as np

from designer.graph.compiled import Floats, Ints, Mask, compiled


@compiled
def level_arcs(
    s: int, t: int, pointers: Ints, arcs: Ints, arc_head: Ints, left: Floats, level: Ints
) -> bool:
    """Breadth-first levels from s along arcs with capacity left; whether t is reached."""
    queue = np.empty(len(level), np.int64)
    level[:] = -1
    level[s] = 0
    queue[0] = s
    found, at = 1, 0
    while at < found:
        u = queue[at]
        at += 1
        for i in range(pointers[u], pointers[u + 1]):
            v = arc_head[arcs[i]]
            if level[v] < 0 and left[arcs[i]] > 0.0:
                level[v] = level[u] + 1
                queue[found] = v
                found += 1
    return bool(level[t] >= 0)


@compiled
def block(
    s: int, t: int, pointers: Ints, arcs: Ints, arc_head: Ints, left: Floats, level: Ints
) -> float:
    """Fills a blocking flow along rising levels; returns its amount. Arc a's reverse is a ^ 1."""
    next_arc = pointers[:-1].copy()
    path = np.empty(len(level), np.int64)
    length = 0
    total = 0.0
    u = s
    while True:
        if u == t:
            amount = np.inf
            for i in range(length):
                amount = min(amount, left[path[i]])
            total += amount
            back = length
            for i in range(length - 1, -1, -1):
                left[path[i]] -= amount
                left[path[i] ^ 1] += amount
                if left[path[i]] <= 0.0:
                    back = i
            length = back
            u = arc_head[path[back] ^ 1]
            continue
        advanced = False
        while next_arc[u] < pointers[u + 1]:
            a = arcs[next_arc[u]]
            if left[a] > 0.0 and level[arc_head[a]] == level[u] + 1:
                path[length] = a
                length += 1
                u = arc_head[a]
                advanced = True
                break
            next_arc[u] += 1
        if advanced:
            continue
        if u == s:
            return total
        length -= 1
        u = arc_head[path[length] ^ 1]
        next_arc[u] += 1


@compiled
def dinic(
    s: int, t: int, pointers: Ints, arcs: Ints, arc_head: Ints, left: Floats, level: Ints
) -> float:
    """Maximum flow from s to t; `left` becomes the residual, level >= 0 the side of s."""
    total = 0.0
    while level_arcs(s, t, pointers, arcs, arc_head, left, level):
        total += block(s, t, pointers, arcs, arc_head, left, level)
    return total


@compiled
def least_half_of_all(n: int, a: Ints, b: Ints, capacity: Floats) -> tuple[float, int]:
    """The least cut over all halves of n vertices, and the half as a bit mask.

    Walks the masks of n // 2 bits in rising order; a mask and its complement cut alike, so for
    even n only those without the last vertex are looked at.
    """
    size = n // 2
    over = 1 << (n - 1 if n % 2 == 0 else n)
    mask = (1 << size) - 1
    best, best_mask = np.inf, mask
    while mask < over:
        cut = 0.0
        for k in range(len(a)):
            if ((mask >> a[k]) ^ (mask >> b[k])) & 1:
                cut += capacity[k]
                if cut >= best:
                    break
        if cut < best:
            best, best_mask = cut, mask
        lowest = mask & -mask
        carried = mask + lowest
        mask = (((carried ^ mask) >> 2) // lowest) | carried
    return best, best_mask


@compiled
def least_of_splits(
    splits: Ints,
    group_of: Ints,
    source_arc: Ints,
    sink_arc: Ints,
    s: int,
    t: int,
    pointers: Ints,
    arcs: Ints,
    arc_head: Ints,
    cables: Floats,
    left_side: Mask,
) -> float:
    """The least cut over splits of hosts: from group g, split[g] hosts go to one side.

    group_of: (hosts,); source_arc, sink_arc: (hosts,) the arcs that tie a host to s or to t;
    cables: capacities of all arcs with those ties at 0. Fills left_side, (vertices,), at the best.
    """
    level = np.empty(len(pointers) - 1, np.int64)
    best = np.inf
    taken = np.empty(splits.shape[1], np.int64)
    for i in range(len(splits)):
        left = cables.copy()
        taken[:] = 0
        for h in range(len(group_of)):
            g = group_of[h]
            if taken[g] < splits[i, g]:
                taken[g] += 1
                left[source_arc[h]] = np.inf
            else:
                left[sink_arc[h]] = np.inf
        cut = dinic(s, t, pointers, arcs, arc_head, left, level)
        if cut < best:
            best = cut
            left_side[:] = level >= 0
    return best
