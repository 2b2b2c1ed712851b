"""Kernels of sharing: weighted max-min by progressive filling, and two-level shares.

Flows are rows: row f is link[indptr[f]:indptr[f + 1]] with the share of the flow's rate there.
The level of a flow is its rate over its weight; all flows that still grow have the same level.
"""

import numpy as np

from designer.graph.compiled import Floats, Ints, SmallInts, compiled


@compiled
def by_link(links: int, indptr: Ints, link: SmallInts) -> tuple[Ints, Ints, Ints]:
    """The entries of each link, as (pointers, entries, flow of each entry in row order)."""
    pointers = np.zeros(links + 1, np.int64)
    for i in range(len(link)):
        pointers[link[i] + 1] += 1
    for k in range(links):
        pointers[k + 1] += pointers[k]
    at = pointers[:-1].copy()
    entries = np.empty(len(link), np.int64)
    flow_of = np.empty(len(link), np.int64)
    for f in range(len(indptr) - 1):
        for i in range(indptr[f], indptr[f + 1]):
            flow_of[i] = f
            entries[at[link[i]]] = i
            at[link[i]] += 1
    return pointers, entries, flow_of


@compiled
def sink(heap: Ints, key: Floats, size: int, at: int) -> None:
    """Moves the link at position `at` of the heap down to where its key belongs."""
    moved = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[moved] <= key[heap[child]]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


@compiled
def growing_weight(
    k: int,
    pointers: Ints,
    entries: Ints,
    flow_of: Ints,
    share: Floats,
    weight: Floats,
    limit: Ints,
) -> float:
    """What the rates on link k sum to for each unit of level, over the flows that still grow."""
    total = 0.0
    for j in range(pointers[k], pointers[k + 1]):
        f = flow_of[entries[j]]
        if limit[f] == -2:
            total += share[entries[j]] * weight[f]
    return total


@compiled
def freeze(
    f: int,
    indptr: Ints,
    link: SmallInts,
    share: Floats,
    weight: Floats,
    rate: float,
    left: Floats,
    growing: Floats,
) -> None:
    """Takes the rate of flow f off its links, and its weight off what grows there."""
    for i in range(indptr[f], indptr[f + 1]):
        k = link[i]
        left[k] -= share[i] * rate
        growing[k] -= share[i] * weight[f]


@compiled
def fill(
    capacity: Floats,
    indptr: Ints,
    link: SmallInts,
    share: Floats,
    weight: Floats,
    demand: Floats,
    by_demand: Ints,
    rates: Floats,
    limit: Ints,
    saturated: Floats,
) -> None:
    """Progressive filling with a lazy heap of link levels.

    by_demand: flows by rising demand / weight. Fills rates, limit (the link that froze the flow,
    -1 at its demand) and saturated (the level at which a link filled; inf where it never did).
    The key of a link in the heap is a lower bound, since levels only rise: it is looked at again
    when it comes to the top. A weight that has shrunk a thousandfold by subtraction is summed anew,
    so that rounding cannot pile up in it.
    """
    links, flows = len(capacity), len(weight)
    pointers, entries, flow_of = by_link(links, indptr, link)
    limit[:] = -2
    saturated[:] = np.inf
    left, growing, key = capacity.copy(), np.empty(links), np.full(links, np.inf)
    heap = np.empty(links, np.int64)
    size = 0
    for k in range(links):
        growing[k] = growing_weight(k, pointers, entries, flow_of, share, weight, limit)
        if growing[k] > 0.0 and capacity[k] < np.inf:
            key[k] = capacity[k] / growing[k]
            heap[size] = k
            size += 1
    summed = growing.copy()
    for at in range(size // 2 - 1, -1, -1):
        sink(heap, key, size, at)
    level = 0.0
    nearest = 0
    while True:
        while nearest < flows and limit[by_demand[nearest]] != -2:
            nearest += 1
        if nearest == flows:
            break
        f = by_demand[nearest]
        wanted = demand[f] / weight[f]
        if size == 0 or wanted <= key[heap[0]]:
            rates[f], limit[f] = demand[f], -1
            if demand[f] < np.inf:
                level = max(level, wanted)
                freeze(f, indptr, link, share, weight, rates[f], left, growing)
            continue
        k = heap[0]
        if growing[k] < 1e-3 * summed[k]:
            growing[k] = growing_weight(k, pointers, entries, flow_of, share, weight, limit)
            summed[k] = growing[k]
        now = np.inf
        if growing[k] > 0.0:
            now = max(level, left[k] / growing[k])
        if now > key[k]:
            key[k] = now
            if now == np.inf:
                size -= 1
                heap[0] = heap[size]
            if size > 0:
                sink(heap, key, size, 0)
            continue
        level = now
        saturated[k] = level
        for j in range(pointers[k], pointers[k + 1]):
            f = flow_of[entries[j]]
            if limit[f] == -2 and share[entries[j]] > 0.0:
                rates[f], limit[f] = min(demand[f], level * weight[f]), k
                freeze(f, indptr, link, share, weight, rates[f], left, growing)
        size -= 1
        heap[0] = heap[size]
        if size > 0:
            sink(heap, key, size, 0)


@compiled
def water_level(need: Floats, weight: Floats, count: int, amount: float) -> float:
    """The level at which sum(min(need, weight x level)) = amount; inf if all needs fit."""
    level = 0.0
    while True:
        fixed, growing = 0.0, 0.0
        for i in range(count):
            if need[i] <= weight[i] * level:
                fixed += need[i]
            else:
                growing += weight[i]
        if growing == 0.0:
            return np.inf
        higher = (amount - fixed) / growing
        if higher <= level * (1.0 + 1e-14):
            return level
        level = higher


@compiled
def offer_round(
    capacity: Floats,
    pointers: Ints,
    entries: Ints,
    flow_of: Ints,
    share: Floats,
    weight: Floats,
    flow_class: Ints,
    class_weight: Floats,
    wish: Floats,
    offer: Floats,
) -> None:
    """What each link offers each flow, by entry, given what the flow could get elsewhere.

    wish: by entry, the flow's demand capped by what its other links offered. On a link the classes
    share by weight, a class being capped by the wishes of its flows; within a class flows share by
    flow weight. The offer is what the flow would get if it wished for more.
    """
    classes = len(class_weight)
    need, room, slot = np.empty(classes), np.empty(classes), np.empty(classes, np.int64)
    some = np.empty(classes)
    for k in range(len(capacity)):
        first, last = pointers[k], pointers[k + 1]
        if first == last:
            continue
        need[:] = 0.0
        for j in range(first, last):
            i = entries[j]
            need[flow_class[flow_of[i]]] += share[i] * wish[i]
        count = 0
        for c in range(classes):
            slot[c] = -1
            if need[c] > 0.0:
                slot[c] = count
                room[count] = need[c]
                some[count] = class_weight[c]
                count += 1
        for c in range(classes):
            if slot[c] >= 0:
                room[slot[c]] = np.inf
                level = water_level(room, some, count, capacity[k])
                room[slot[c]] = need[c]
                given = capacity[k] if level == np.inf else class_weight[c] * level
                offer_class(
                    k, c, given, need[c], pointers, entries, flow_of, share, weight, flow_class,
                    wish, offer,
                )  # fmt: skip


@compiled
def offer_class(
    k: int,
    c: int,
    given: float,
    need: float,
    pointers: Ints,
    entries: Ints,
    flow_of: Ints,
    share: Floats,
    weight: Floats,
    flow_class: Ints,
    wish: Floats,
    offer: Floats,
) -> None:
    """Shares what class c can have of link k among its flows; writes their offers."""
    first, last = pointers[k], pointers[k + 1]
    wishes, weights = np.empty(last - first), np.empty(last - first)
    count = 0
    for j in range(first, last):
        i = entries[j]
        if flow_class[flow_of[i]] == c and share[i] > 0.0:
            wishes[count] = share[i] * wish[i]
            weights[count] = share[i] * weight[flow_of[i]]
            count += 1
    level = water_level(wishes, weights, count, given)
    for j in range(first, last):
        i = entries[j]
        if flow_class[flow_of[i]] != c or share[i] == 0.0:
            continue
        if level < np.inf:
            offer[i] = level * weight[flow_of[i]]
        else:
            offer[i] = wish[i] + max(given - need, 0.0) / share[i]


@compiled
def wishes_of(indptr: Ints, demand: Floats, offer: Floats, wish: Floats) -> Floats:
    """Fills wish (demand capped by the least offer of the other entries); returns the rates."""
    rates = np.empty(len(demand))
    for f in range(len(demand)):
        least, second = np.inf, np.inf
        where = -1
        for i in range(indptr[f], indptr[f + 1]):
            if offer[i] < least:
                second, least, where = least, offer[i], i
            elif offer[i] < second:
                second = offer[i]
        for i in range(indptr[f], indptr[f + 1]):
            wish[i] = min(demand[f], second if i == where else least)
        rates[f] = min(demand[f], least)
    return rates
