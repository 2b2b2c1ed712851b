"""Kernels of failures: paths to a destination repaired, and only the change of load pushed.

`dist`, `hops` and `flow` describe one destination with nothing failed. A failure takes edges out.
Vertices that lose all their next hops ("orphans") are settled anew; all others keep their distance,
since distances only grow, and so gain no next hop. Loads change below vertices that lost a next
hop, and nowhere else.
"""

from heapq import heappop, heappush

import numpy as np

from designer.graph.compiled import Floats, Ints, Mask, compiled


@compiled
def leads(
    k: int, u: int, root: int, head: Ints, cost: Ints, transit: Mask, down: Mask, dist: Ints
) -> bool:
    """Whether edge k leaves u on a shortest path to the root."""
    if down[k]:
        return False
    v = head[k]
    if dist[u] < 0 or dist[v] < 0 or dist[v] + cost[k] != dist[u]:
        return False
    return v == root or bool(transit[v])


@compiled
def base_flow(
    root: int,
    settled: int,
    out_ptr: Ints,
    out_edge: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    none_down: Mask,
    dist: Ints,
    hops: Ints,
    order: Ints,
    flow: Floats,
    load: Floats,
) -> None:
    """Pushes flow to the root, farthest first; flow becomes what passes each vertex."""
    for i in range(settled - 1, 0, -1):
        u = order[i]
        if flow[u] == 0.0:
            continue
        part = flow[u] / hops[u]
        for j in range(out_ptr[u], out_ptr[u + 1]):
            k = out_edge[j]
            if leads(k, u, root, head, cost, transit, none_down, dist):
                load[k] += part
                flow[head[k]] += part


@compiled
def find_orphans(
    failed: Ints,
    root: int,
    in_ptr: Ints,
    in_edge: Ints,
    tail: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    none_down: Mask,
    down: Mask,
    dist: Ints,
    hops: Ints,
    lost: Ints,
    touched: Ints,
    orphans: Ints,
) -> tuple[int, int]:
    """Counts in `lost` the next hops that vertices lose, at the failed edges and above orphans.

    Lists the vertices that lose some and those that lose all; returns how many of each.
    """
    some, all_ = 0, 0
    for k in failed:
        u = tail[k]
        if leads(k, u, root, head, cost, transit, none_down, dist):
            if lost[u] == 0:
                touched[some] = u
                some += 1
            lost[u] += 1
            if lost[u] == hops[u]:
                orphans[all_] = u
                all_ += 1
    at = 0
    while at < all_:
        v = orphans[at]
        at += 1
        for i in range(in_ptr[v], in_ptr[v + 1]):
            k = in_edge[i]
            u = tail[k]
            if leads(k, u, root, head, cost, transit, down, dist):
                if lost[u] == 0:
                    touched[some] = u
                    some += 1
                lost[u] += 1
                if lost[u] == hops[u]:
                    orphans[all_] = u
                    all_ += 1
    return some, all_


@compiled
def settle_orphans(
    orphans: Ints,
    root: int,
    out_ptr: Ints,
    out_edge: Ints,
    in_ptr: Ints,
    in_edge: Ints,
    tail: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    down: Mask,
    new_dist: Ints,
) -> None:
    """Dijkstra over the orphans alone, from their neighbours that kept their distance."""
    for u in orphans:
        new_dist[u] = -1
    heap = [(0, -1)]
    heap.pop()
    for u in orphans:
        for j in range(out_ptr[u], out_ptr[u + 1]):
            k = out_edge[j]
            v = head[k]
            if not down[k] and new_dist[v] >= 0 and (v == root or transit[v]):
                heappush(heap, (new_dist[v] + cost[k], u))
    while len(heap) > 0:
        through, v = heappop(heap)
        if new_dist[v] >= 0:
            continue
        new_dist[v] = through
        if not transit[v]:
            continue
        for i in range(in_ptr[v], in_ptr[v + 1]):
            k = in_edge[i]
            if not down[k] and new_dist[tail[k]] < 0:
                heappush(heap, (through + cost[k], tail[k]))


@compiled
def find_below(
    touched: Ints,
    root: int,
    out_ptr: Ints,
    out_edge: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    none_down: Mask,
    down: Mask,
    dist: Ints,
    new_dist: Ints,
    flow: Floats,
    marked: Mask,
    below: Ints,
) -> int:
    """Lists the vertices whose load may change: those touched, and all below, before or after."""
    found = 0
    for u in touched:
        if flow[u] != 0.0:
            marked[u] = True
            below[found] = u
            found += 1
    at = 0
    while at < found:
        u = below[at]
        at += 1
        if u == root:
            continue
        for j in range(out_ptr[u], out_ptr[u + 1]):
            k = out_edge[j]
            v = head[k]
            if not marked[v] and (
                leads(k, u, root, head, cost, transit, none_down, dist)
                or leads(k, u, root, head, cost, transit, down, new_dist)
            ):
                marked[v] = True
                below[found] = v
                found += 1
    return found


@compiled
def move_flow(
    below: Ints,
    root: int,
    out_ptr: Ints,
    out_edge: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    none_down: Mask,
    down: Mask,
    dist: Ints,
    new_dist: Ints,
    hops: Ints,
    flow: Floats,
    own: Floats,
    extra: Floats,
    load: Floats,
) -> float:
    """Takes the old flow of `below` off load and puts the new one on; returns the volume lost."""
    lost = 0.0
    heap = [(0, -1)]
    heap.pop()
    for u in below:
        if u == root:
            continue
        heappush(heap, (-new_dist[u], u))
        if flow[u] == 0.0:
            continue
        part = flow[u] / hops[u]
        for j in range(out_ptr[u], out_ptr[u + 1]):
            k = out_edge[j]
            if leads(k, u, root, head, cost, transit, none_down, dist):
                load[k] -= part
                extra[head[k]] -= part
    while len(heap) > 0:
        _, u = heappop(heap)
        if new_dist[u] < 0:
            lost += own[u]
            continue
        count = 0
        for j in range(out_ptr[u], out_ptr[u + 1]):
            count += leads(out_edge[j], u, root, head, cost, transit, down, new_dist)
        part = (flow[u] + extra[u]) / count
        for j in range(out_ptr[u], out_ptr[u + 1]):
            k = out_edge[j]
            if leads(k, u, root, head, cost, transit, down, new_dist):
                load[k] += part
                extra[head[k]] += part
    return lost


@compiled
def repair(
    root: int,
    fail_ptr: Ints,
    fail_edge: Ints,
    out_ptr: Ints,
    out_edge: Ints,
    in_ptr: Ints,
    in_edge: Ints,
    tail: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    dist: Ints,
    hops: Ints,
    flow: Floats,
    own: Floats,
    load: Floats,
    lost_volume: Floats,
) -> None:
    """Adds to load (failures, edges) and lost_volume what each failure changes for one root.

    flow: what passes each vertex towards the root with nothing failed; own: what starts there.
    """
    n, m = len(dist), len(tail)
    none_down, down = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    lost, new_dist = np.zeros(n, np.int64), dist.copy()
    touched, orphans = np.empty(n, np.int64), np.empty(n, np.int64)
    below, marked, extra = np.empty(n, np.int64), np.zeros(n, np.bool_), np.zeros(n)
    for f in range(len(fail_ptr) - 1):
        failed = fail_edge[fail_ptr[f] : fail_ptr[f + 1]]
        for k in failed:
            down[k] = True
        some, all_ = find_orphans(
            failed, root, in_ptr, in_edge, tail, head, cost, transit, none_down, down, dist, hops,
            lost, touched, orphans,
        )  # fmt: skip
        if some > 0:
            settle_orphans(
                orphans[:all_], root, out_ptr, out_edge, in_ptr, in_edge, tail, head, cost,
                transit, down, new_dist,
            )  # fmt: skip
            found = find_below(
                touched[:some], root, out_ptr, out_edge, head, cost, transit, none_down, down,
                dist, new_dist, flow, marked, below,
            )  # fmt: skip
            lost_volume[f] += move_flow(
                below[:found], root, out_ptr, out_edge, head, cost, transit, none_down, down,
                dist, new_dist, hops, flow, own, extra, load[f],
            )  # fmt: skip
            for u in touched[:some]:
                lost[u] = 0
            for u in orphans[:all_]:
                new_dist[u] = dist[u]
            for u in below[:found]:
                marked[u] = False
                extra[u] = 0.0
        for k in failed:
            down[k] = False


@compiled
def worst_of(
    load: Floats, capacity: Floats, fail_ptr: Ints, fail_edge: Ints
) -> tuple[Floats, Ints]:
    """Highest utilisation of an edge that survived each failure, and that edge (-1: none)."""
    failures = len(fail_ptr) - 1
    highest, where = np.zeros(failures), np.full(failures, -1, np.int64)
    down = np.zeros(len(capacity), np.bool_)
    for f in range(failures):
        for k in fail_edge[fail_ptr[f] : fail_ptr[f + 1]]:
            down[k] = True
        for k in range(len(capacity)):
            if down[k] or load[f, k] <= 0.0:
                continue
            used = load[f, k] / capacity[k] if capacity[k] > 0.0 else np.inf
            if used > highest[f]:
                highest[f], where[f] = used, k
        for k in fail_edge[fail_ptr[f] : fail_ptr[f + 1]]:
            down[k] = False
    return highest, where
