"""Network cases with right answers, computed with the functions that a drawing is analysed with.

Forms of input and expected: the reference's README of cases. `expected` is never looked at here,
except by `agrees`.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from types import MappingProxyType
from typing import Final, cast

import numpy as np

from designer.analysis import placement_cases, queue_cases
from designer.analysis.case_reading import CaseRefused, Reader
from designer.graph import cuts, fabric_patterns, failures, routing, shares
from designer.graph.compiled import Floats, Ints
from designer.graph.fabric_patterns import PATTERNS, Fabric

Case = Mapping[str, object]
Answer = dict[str, object]

MOST_FLOWS: Final = 200_000
_INFORMATION: Final = ("allen_cunneen_mean", "kimura_mean", "open")
_ROUNDING: Final = 1e-9


def compute(case: Case, others: Mapping[str, Case] = MappingProxyType({})) -> Answer:
    """The answer to one case, with the keys of its `expected`; numbers are plain floats.

    others: the cases of the file by id, for a case that names another one. Raises CaseRefused.
    """
    name, kind = str(case.get("id", "without id")), case.get("kind")
    if not isinstance(case.get("input"), Mapping):
        raise CaseRefused(f"case {name}, input: give an object here")
    read = Reader(name, "input", cast("Mapping[str, object]", case["input"]))
    if kind in _ELSEWHERE:
        return _elsewhere(str(kind), read, others)
    if kind not in _KINDS:
        known = ", ".join(sorted([*_KINDS, *_ELSEWHERE]))
        raise CaseRefused(f"case {name}, kind: {kind!r} is not known; use one of {known}")
    try:
        return _KINDS[str(kind)](read)
    except (routing.BadNetwork, shares.BadFlows, cuts.BadCut, fabric_patterns.BadFabric) as error:
        raise CaseRefused(f"case {name}, input: {error}") from error


def agrees(case: Case, result: Mapping[str, object]) -> list[str]:
    """Where a result differs from `expected` by more than rel_tol; empty if it agrees.

    Keys that are for information are not compared. What should be 0 must be 0 but for rounding.
    """
    expected = case.get("expected")
    if not isinstance(expected, Mapping):
        return []
    tolerance = float(Fraction(str(case.get("rel_tol", 0))))
    return _differences("", expected, result, tolerance)


def _differences(place: str, expected: object, found: object, tolerance: float) -> list[str]:
    if isinstance(expected, Mapping):
        inside = found if isinstance(found, Mapping) else {}
        return [
            line
            for key, value in expected.items()
            if not (str(key).startswith("sim_") or key in _INFORMATION)
            for line in _differences(f"{place}.{key}", value, inside.get(key), tolerance)
        ]
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        inside_list = found if isinstance(found, Sequence) and not isinstance(found, str) else ()
        if len(inside_list) != len(expected):
            return [f"{place.lstrip('.')}: {len(inside_list)} entries instead of {len(expected)}"]
        return [
            line
            for i, (value, one) in enumerate(zip(expected, inside_list, strict=True))
            for line in _differences(f"{place}[{i}]", value, one, tolerance)
        ]
    if _same(expected, found, tolerance):
        return []
    return [f"{place.lstrip('.')}: {found!r} instead of {expected!r}"]


def _same(expected: object, found: object, tolerance: float) -> bool:
    right, ours = _plain(expected), _plain(found)
    if right is None or ours is None:
        return expected == found
    return abs(ours - right) <= (tolerance * abs(right) if right else _ROUNDING)


def _plain(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(Fraction(value)) if isinstance(value, str) else float(value)
    except ValueError:
        return None


def _max_min(read: Reader) -> Answer:
    capacity = read.numbers("caps")
    indptr, link, share = [0], list[int](), list[float]()
    weight, demand, priority = [], [], []
    for i, flow in enumerate(read.items("flows")):
        place = f"flows[{i}]"
        if not isinstance(flow, Mapping):
            raise read.refused(place, "give an object with links")
        one = Reader(read.case, f"{read.place}.{place}", flow)
        for entry in one.items("links"):
            pair = (entry, 1) if isinstance(entry, int | str) else one.listed(entry, "links")
            if len(pair) != 2:
                raise one.refused("links", "give a link, or a link and a share")
            link.append(one.whole(pair[0], "links", 0, len(capacity)))
            share.append(one.number(pair[1], "links"))
        indptr.append(len(link))
        weight.append(one.amount("weight") if one.has("weight") else 1.0)
        demand.append(one.amount("demand") if one.has("demand") else np.inf)
        priority.append(one.count("prio", 0) if one.has("prio") else 0)
    rates = shares.by_priority(capacity, indptr, link, share, weight, demand, priority)
    return {"rates": rates.tolist()}


def _ecmp(read: Reader) -> Answer:
    n = read.count("n")
    tail, head, cost = read.rows("edges", n)
    net = routing.network(n, tail, head, _metric(cost))
    down = np.zeros(len(tail), bool)
    if read.has("down"):
        down[read.wholes("down", len(tail))] = True
    source, target, volume = read.rows("demands", n)
    load, unrouted = routing.loads(net, source, target, _floats(volume), down)
    return {"loads": load.tolist(), "unrouted": float(unrouted[0])}


def _failure(read: Reader) -> Answer:
    n = read.count("n")
    a, b, cost = read.rows("cables", n)
    room = read.numbers("caps", len(a))
    metric = _metric(cost)
    net = routing.network(
        n, np.concatenate((a, b)), np.concatenate((b, a)), np.concatenate((metric, metric))
    )
    source, target, volume = read.rows("demands", n)
    order = read.whole(read.data.get("order"), "order", 1, 3)
    what = read.data.get("what")
    if what == "link":
        cables = np.arange(len(a))
        broken = failures.of_links(np.concatenate((cables, cables)), order)
        failed = failures.sets(len(a), order)
    elif what == "node":
        broken, failed = failures.of_nodes(net, order), failures.sets(n, order)
    else:
        raise read.refused("what", f"{what!r} is not known; use link or node")
    swept = failures.sweep(
        net, np.concatenate((room, room)), source, target, _floats(volume), broken
    )
    columns = zip(failed, swept.utilisation.tolist(), swept.lost.tolist(), strict=True)
    return {"results": [[list(items), used, lost] for items, used, lost in columns]}


def _min_cut(read: Reader) -> Answer:
    n = read.count("n")
    tail, head, capacity = read.rows("edges", n)
    s, t = (read.whole(read.data.get(key), key, 0, n) for key in ("s", "t"))
    return {"value": float(cuts.max_flow(n, tail, head, _floats(capacity), s, t))}


def _bisection(read: Reader) -> Answer:
    n = read.count("n")
    a, b, capacity = read.rows("cables", n)
    hosts = read.wholes("hosts", n) if read.has("hosts") else None
    found = cuts.bisection(n, a, b, _floats(capacity), hosts)
    if not found.exact:
        raise read.refused(
            "hosts",
            f"too many to try all halves, the least cut is from {found.lower:g} to "
            f"{found.upper:g}; give fewer",
        )
    return {"value": float(found.upper)}


def _oversubscription(read: Reader) -> Answer:
    if read.has("flows"):
        hashed = fabric_patterns.hashing(read.count("flows"), read.count("uplinks"))
        return {
            "worst_mean": hashed.worst_mean,
            "worst_p1": hashed.worst_p1,
            "mean_flow": hashed.mean_flow,
        }
    fabric = _fabric(read)
    pairs = _pairs(read, fabric)
    if len(pairs) > MOST_FLOWS:
        raise read.refused("pairs", f"{len(pairs):,} flows; give at most {MOST_FLOWS:,}")
    rates = fabric_patterns.sprayed(fabric, pairs)
    return {
        "min_flow": float(rates.min()),
        "max_flow": float(rates.max()),
        "sum": float(rates.sum()),
    }


def _fabric(read: Reader) -> Fabric:
    ratio, rate = read.amount("oversubscription"), read.amount("host_rate")
    topology = read.inside("topology")
    kind = topology.data.get("kind")
    if kind == "leaf-spine":
        leaves, spines, hosts = (
            topology.count(key) for key in ("leaves", "spines", "hosts_per_leaf")
        )
        return fabric_patterns.leaf_spine(leaves, spines, hosts, ratio, rate)
    if kind == "fat-tree":
        return fabric_patterns.fat_tree(topology.count("k"), ratio, rate)
    raise topology.refused("kind", f"{kind!r} is not known; use leaf-spine or fat-tree")


def _pairs(read: Reader, fabric: Fabric) -> Ints:
    given = read.data.get("pairs")
    if given is not None and not isinstance(given, str):
        rows = [read.listed(row, f"pairs[{i}]") for i, row in enumerate(read.items("pairs"))]
        if not rows or any(len(row) != 2 for row in rows):
            raise read.refused("pairs", "give pairs of hosts, at least one")
        read_rows = [
            [read.whole(cell, f"pairs[{i}]", 0, fabric.hosts) for cell in row]
            for i, row in enumerate(rows)
        ]
        pairs = np.array(read_rows, dtype=np.int64)
        if np.any(pairs[:, 0] == pairs[:, 1]):
            raise read.refused("pairs", "a host sends to itself; leave such pairs out")
        return pairs
    pattern = read.data.get("pattern")
    if pattern not in PATTERNS:
        raise read.refused("pattern", f"{pattern!r} is not known; use one of {', '.join(PATTERNS)}")
    if pattern == "all-to-all" and fabric.hosts * (fabric.hosts - 1) > MOST_FLOWS:
        raise read.refused("topology", f"more than {MOST_FLOWS:,} flows; give fewer hosts")
    fan = read.count("fan") if read.has("fan") else None
    return fabric_patterns.pairs_of(fabric, pattern, fan)


def _metric(cost: Sequence[Fraction]) -> Ints:
    """Costs as whole numbers in the same proportions."""
    scale = lcm(*(value.denominator for value in cost))
    whole = [int(value * scale) for value in cost]
    if max(whole, default=0) >= 2**62:
        raise routing.BadNetwork("the costs have no common scale; give whole numbers")
    return np.array(whole, dtype=np.int64)


def _floats(values: Sequence[Fraction]) -> Floats:
    return np.array([float(value) for value in values], dtype=np.float64)


def _elsewhere(kind: str, read: Reader, others: Mapping[str, Case]) -> Answer:
    data = read.data
    hop = data.get("hop")
    if isinstance(hop, str):
        if hop not in others or not isinstance(others[hop].get("input"), Mapping):
            raise read.refused("hop", f"no case {hop} in this file; name one that is there")
        data = {**data, "hop": others[hop]["input"]}
    try:
        return dict(_ELSEWHERE[kind](data))
    except CaseRefused:
        raise
    except KeyError as error:
        raise CaseRefused(f"case {read.case}, input: give {error.args[0]!r}") from error
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise CaseRefused(f"case {read.case}, input: {error}") from error


_KINDS: Final[Mapping[str, Callable[[Reader], Answer]]] = MappingProxyType(
    {
        "maxmin": _max_min,
        "ecmp": _ecmp,
        "failure": _failure,
        "mincut": _min_cut,
        "bisection": _bisection,
        "oversub": _oversubscription,
    }
)
_ELSEWHERE: Final[Mapping[str, Callable[[Mapping[str, object]], Mapping[str, object]]]] = (
    MappingProxyType({"queue": queue_cases.compute, "placement": placement_cases.compute})
)
