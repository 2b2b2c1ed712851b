"""Kernels of routing: search from a destination, push of volumes, shares of a demand by edge.

Common arguments: `out_ptr, out_edge` and `in_ptr, in_edge` list the edges that leave and enter each
vertex, lowest edge first. `down` masks edges; `transit` says which vertices forward for others.
A vertex that was not reached has distance -1. Costs are at least 1.
"""

import numpy as np

from designer.graph.compiled import Floats, Ints, Mask, SmallInts, compiled


@compiled
def sift_up(heap: Ints, place: Ints, key: Ints, at: int) -> None:
    """Moves the vertex at position `at` of the heap up to where its key belongs."""
    vertex = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if key[heap[parent]] <= key[vertex]:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = vertex
    place[vertex] = at


@compiled
def pop_least(heap: Ints, place: Ints, key: Ints, size: int) -> int:
    """Takes the vertex of least key off a heap of `size` vertices."""
    least = int(heap[0])
    place[least] = -1
    vertex = heap[size - 1]
    size -= 1
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[vertex] <= key[heap[child]]:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    if size > 0:
        heap[at] = vertex
        place[vertex] = at
    return least


@compiled
def search(
    root: int,
    wanted: int,
    is_wanted: Mask,
    in_ptr: Ints,
    in_edge: Ints,
    tail: Ints,
    cost: Ints,
    transit: Mask,
    down: Mask,
    dist: Ints,
    hops: Ints,
    order: Ints,
    heap: Ints,
    place: Ints,
) -> int:
    """Dijkstra towards `root`; stops when `wanted` vertices of `is_wanted` have settled.

    Fills dist (to the root), hops (number of next-hop edges) and order; returns how many settled.
    A vertex that has settled has all its next hops counted, since costs are at least 1.
    """
    dist[:] = -1
    hops[:] = 0
    place[:] = -1
    dist[root] = 0
    heap[0] = root
    place[root] = 0
    size = 1
    settled = 0
    while size > 0 and wanted > 0:
        v = pop_least(heap, place, dist, size)
        size -= 1
        order[settled] = v
        settled += 1
        if is_wanted[v]:
            wanted -= 1
        if v != root and not transit[v]:
            continue
        for i in range(in_ptr[v], in_ptr[v + 1]):
            k = in_edge[i]
            if down[k]:
                continue
            u = tail[k]
            through = dist[v] + cost[k]
            if dist[u] == -1:
                dist[u] = through
                hops[u] = 1
                heap[size] = u
                size += 1
                sift_up(heap, place, dist, size - 1)
            elif through < dist[u]:
                dist[u] = through
                hops[u] = 1
                sift_up(heap, place, dist, place[u])
            elif through == dist[u]:
                hops[u] += 1
    # What was seen but has not settled has no final distance.
    for i in range(size):
        dist[heap[i]] = -1
        hops[heap[i]] = 0
    return settled


@compiled
def is_next_hop(
    k: int, u: int, root: int, head: Ints, cost: Ints, transit: Mask, down: Mask, dist: Ints
) -> bool:
    """Whether edge k leaves u on a shortest path to the root."""
    if down[k]:
        return False
    v = head[k]
    if dist[v] < 0 or dist[v] + cost[k] != dist[u]:
        return False
    return v == root or bool(transit[v])


@compiled
def push(
    root: int,
    settled: int,
    out_ptr: Ints,
    out_edge: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    down: Mask,
    dist: Ints,
    hops: Ints,
    order: Ints,
    flow: Floats,
    load: Floats,
) -> None:
    """Pushes flow (vertices, columns) to the root, farthest first; adds to load, empties flow."""
    columns = flow.shape[1]
    part = np.empty(columns)
    for i in range(settled - 1, 0, -1):
        u = order[i]
        busy = False
        for c in range(columns):
            part[c] = flow[u, c] / hops[u]
            flow[u, c] = 0.0
            busy = busy or part[c] != 0.0
        if not busy:
            continue
        for j in range(out_ptr[u], out_ptr[u + 1]):
            k = out_edge[j]
            if is_next_hop(k, u, root, head, cost, transit, down, dist):
                for c in range(columns):
                    load[k, c] += part[c]
                    flow[head[k], c] += part[c]
    flow[root, :] = 0.0


@compiled
def last_hops(t: int, in_ptr: Ints, in_edge: Ints, cost: Ints, down: Mask) -> tuple[int, int]:
    """The least cost of an edge into t, and how many edges have it; 0 if none is up."""
    least, count = 0, 0
    for i in range(in_ptr[t], in_ptr[t + 1]):
        k = in_edge[i]
        if down[k]:
            continue
        if count == 0 or cost[k] < least:
            least, count = cost[k], 1
        elif cost[k] == least:
            count += 1
    return least, count


@compiled
def load_groups(
    roots: Ints,
    group_ptr: Ints,
    source: Ints,
    target: Ints,
    volume: Floats,
    out_ptr: Ints,
    out_edge: Ints,
    in_ptr: Ints,
    in_edge: Ints,
    tail: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    down: Mask,
    load: Floats,
    unrouted: Floats,
) -> None:
    """Adds the loads of demands that are grouped by root; source, target, volume in group order.

    A target is its root, or hangs on nothing but the root: then the last hop is added.
    """
    n = len(out_ptr) - 1
    columns = volume.shape[1]
    dist, hops = np.empty(n, np.int64), np.empty(n, np.int64)
    order, heap, place = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    is_wanted = np.zeros(n, np.bool_)
    flow = np.zeros((n, columns))
    for g in range(len(roots)):
        root = roots[g]
        first, last = group_ptr[g], group_ptr[g + 1]
        wanted = 0
        for d in range(first, last):
            if not is_wanted[source[d]]:
                is_wanted[source[d]] = True
                wanted += 1
        settled = search(
            root, wanted, is_wanted, in_ptr, in_edge, tail, cost, transit, down,
            dist, hops, order, heap, place,
        )  # fmt: skip
        for d in range(first, last):
            is_wanted[source[d]] = False
            least, count = 0, 1
            if target[d] != root:
                least, count = last_hops(target[d], in_ptr, in_edge, cost, down)
            if dist[source[d]] < 0 or count == 0:
                for c in range(columns):
                    unrouted[c] += volume[d, c]
                continue
            for c in range(columns):
                flow[source[d], c] += volume[d, c]
            if target[d] == root:
                continue
            for i in range(in_ptr[target[d]], in_ptr[target[d] + 1]):
                k = in_edge[i]
                if not down[k] and cost[k] == least:
                    for c in range(columns):
                        load[k, c] += volume[d, c] / count
        push(
            root, settled, out_ptr, out_edge, head, cost, transit, down,
            dist, hops, order, flow, load,
        )  # fmt: skip


@compiled
def list_next_hops(
    root: int,
    settled: int,
    out_ptr: Ints,
    out_edge: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    down: Mask,
    dist: Ints,
    order: Ints,
    next_edge: Ints,
) -> None:
    """Writes the next-hop edges of each settled vertex u from position out_ptr[u] on."""
    for i in range(settled):
        u = order[i]
        at = out_ptr[u]
        for j in range(out_ptr[u], out_ptr[u + 1]):
            if is_next_hop(out_edge[j], u, root, head, cost, transit, down, dist):
                next_edge[at] = out_edge[j]
                at += 1


@compiled
def spread(
    start: int,
    out_ptr: Ints,
    next_edge: Ints,
    head: Ints,
    hops: Ints,
    waits_for: Ints,
    reached: Ints,
    ready: Ints,
    flow: Floats,
    edge: SmallInts,
    share: Floats,
) -> int:
    """Writes the edges that a volume of 1 from `start` crosses and its share there.

    Returns how many there are. Only the vertices below `start` are touched: they are counted by
    the next hops that lead to them, and each is split once all of those have been.
    """
    reached[0] = start
    found = 1
    at = 0
    while at < found:
        u = reached[at]
        at += 1
        for j in range(out_ptr[u], out_ptr[u] + hops[u]):
            v = head[next_edge[j]]
            if waits_for[v] == 0:
                reached[found] = v
                found += 1
            waits_for[v] += 1
    ready[0] = start
    flow[start] = 1.0
    found = 1
    at = 0
    written = 0
    while at < found:
        u = ready[at]
        at += 1
        part = flow[u] / max(hops[u], 1)
        flow[u] = 0.0
        for j in range(out_ptr[u], out_ptr[u] + hops[u]):
            v = head[next_edge[j]]
            edge[written] = next_edge[j]
            share[written] = part
            written += 1
            flow[v] += part
            waits_for[v] -= 1
            if waits_for[v] == 0:
                ready[found] = v
                found += 1
    return written


@compiled
def spread_groups(
    roots: Ints,
    group_ptr: Ints,
    source: Ints,
    target: Ints,
    out_ptr: Ints,
    out_edge: Ints,
    in_ptr: Ints,
    in_edge: Ints,
    tail: Ints,
    head: Ints,
    cost: Ints,
    transit: Mask,
    down: Mask,
    row_ptr: Ints,
    reachable: Mask,
) -> tuple[SmallInts, Floats]:
    """Rows of edges and shares of demands grouped by root, in group order (see load_groups).

    Fills row_ptr (demands + 1) and reachable; returns the edges and the shares.
    """
    n, m = len(out_ptr) - 1, len(tail)
    dist, hops = np.empty(n, np.int64), np.empty(n, np.int64)
    order, heap, place = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    waits_for, next_edge = np.zeros(n, np.int64), np.empty(m, np.int64)
    is_wanted = np.zeros(n, np.bool_)
    flow = np.zeros(n)
    row_edge, row_share = np.empty(m, np.int32), np.empty(m)
    edge, share = np.empty(1024, np.int32), np.empty(1024)
    used = 0
    for g in range(len(roots)):
        root = roots[g]
        wanted = 0
        for d in range(group_ptr[g], group_ptr[g + 1]):
            if not is_wanted[source[d]]:
                is_wanted[source[d]] = True
                wanted += 1
        settled = search(
            root, wanted, is_wanted, in_ptr, in_edge, tail, cost, transit, down,
            dist, hops, order, heap, place,
        )  # fmt: skip
        list_next_hops(
            root, settled, out_ptr, out_edge, head, cost, transit, down, dist, order, next_edge
        )
        for d in range(group_ptr[g], group_ptr[g + 1]):
            is_wanted[source[d]] = False
            count, least, hops_in = 0, 0, 1
            if target[d] != root:
                least, hops_in = last_hops(target[d], in_ptr, in_edge, cost, down)
            reachable[d] = dist[source[d]] >= 0 and hops_in > 0
            if reachable[d]:
                count = spread(
                    source[d], out_ptr, next_edge, head, hops, waits_for, order, heap, flow,
                    row_edge, row_share,
                )  # fmt: skip
                if target[d] != root:
                    for i in range(in_ptr[target[d]], in_ptr[target[d] + 1]):
                        k = in_edge[i]
                        if not down[k] and cost[k] == least:
                            row_edge[count], row_share[count] = k, 1.0 / hops_in
                            count += 1
            if used + count > len(edge):
                room = max(used + count, len(edge) + len(edge) // 2)
                more_edge, more_share = np.empty(room, np.int32), np.empty(room)
                more_edge[:used] = edge[:used]
                more_share[:used] = share[:used]
                edge, share = more_edge, more_share
            edge[used : used + count] = row_edge[:count]
            share[used : used + count] = row_share[:count]
            used += count
            row_ptr[d + 1] = used
    return edge[:used], share[:used]


@compiled
def gather_rows(
    row: Ints,
    row_ptr: Ints,
    edge: SmallInts,
    share: Floats,
    indptr: Ints,
    edge_out: SmallInts,
    share_out: Floats,
) -> None:
    """Copies row `row[d]` to the place of demand d, for all d."""
    for d in range(len(row)):
        to = indptr[d]
        for i in range(row_ptr[row[d]], row_ptr[row[d] + 1]):
            edge_out[to] = edge[i]
            share_out[to] = share[i]
            to += 1
