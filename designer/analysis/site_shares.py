"""Of all plans with the same replicas, the one whose requests travel least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from designer.analysis.facility import FacilityProblem, Plan
from designer.graph.arrays import Floats

Way = tuple[int, int, int]
"""Site, user and configuration that serves."""


def nearest_shares(
    problem: FacilityProblem, plan: Plan, one_way_ms: Callable[[Way], float | None]
) -> Plan:
    """The plan with its replicas as they are and shares of least total one-way time.

    The plan itself where it has nothing to choose, or where a time is not known.
    """
    able = problem.allowed & (problem.capacity > 0) & (plan.replicas > 0)[:, None, :]
    ways: list[Way] = [(int(s), int(u), int(c)) for s, u, c in np.argwhere(able)]
    far = [one_way_ms(way) for way in ways]
    if not plan.has_plan or len(ways) <= problem.users or None in far:
        return plan
    rates = np.array([problem.demand[user] for _, user, _ in ways])
    rows, most = _limits(problem, plan, ways, rates)
    whole = np.zeros((problem.users, len(ways)))
    whole[[user for _, user, _ in ways], np.arange(len(ways))] = 1.0
    found = linprog(
        rates * np.array(far, dtype=np.float64),
        A_ub=rows,
        b_ub=most,
        A_eq=whole,
        b_eq=np.ones(problem.users),
        bounds=(0.0, 1.0),
        method="highs",
    )
    if found.x is None:
        return plan
    shares = np.zeros_like(plan.share_by_configuration)
    for (site, user, column), share in zip(ways, found.x, strict=True):
        shares[site, user, column] = max(0.0, share)
    shares /= shares.sum(axis=(0, 2))[None, :, None]
    return replace(plan, share=shares.sum(axis=2), share_by_configuration=shares)


def _limits(
    problem: FacilityProblem, plan: Plan, ways: list[Way], rates: Floats
) -> tuple[Floats, Floats]:
    """What the replicas bear together, and the links, over the ways' shares."""
    pools = sorted({(site, column) for site, _, column in ways})
    at = [pools.index((site, column)) for site, _, column in ways]
    busy = rates / np.array([problem.capacity[way] for way in ways])
    held = np.zeros((len(pools), len(ways)))
    held[at, np.arange(len(ways))] = busy
    rows = [held]
    most = [np.array([float(plan.replicas[pool]) for pool in pools])]
    if problem.link_load is not None:
        pairs = [site * problem.users + user for site, user, _ in ways]
        rows.append(csr_array(problem.link_load)[:, pairs].toarray() * rates)
        most.append(problem.link_capacity)
    return np.vstack(rows), np.concatenate(most)
