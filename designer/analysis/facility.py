"""Exact placement: which sites to open, how many replicas where, who is served from where.

Capacitated facility location with configurations, link loads and the loss of any one site.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.analysis.facility_conflict import Conflict, conflicts
from designer.analysis.facility_model import (
    Columns,
    FacilityProblem,
    plain_problem,
    room_for,
)
from designer.analysis.facility_search import Found, search
from designer.analysis.highs import Floats

__all__ = ["Conflict", "FacilityProblem", "Plan", "Reason", "plain_problem", "reasons", "solve"]

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A placement and how good it is proven to be."""

    status: Status
    """feasible: the time ran out before the proof; unknown: before any plan was found."""
    objective: float | None
    proven_gap: float | None
    """No plan is cheaper by more than this share of the objective."""
    open_sites: tuple[int, ...]
    replicas: NDArray[np.int64]
    """[S, C]"""
    share: Floats
    """[S, U], adding up to 1 over the sites for each user."""
    share_by_configuration: Floats
    """[S, U, C], adding up to `share`."""
    conflict: tuple[Conflict, ...] = ()
    """Why there is no plan."""

    @property
    def has_plan(self) -> bool:
        """Whether there is a placement to look at."""
        return self.objective is not None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a site is not in the plan."""

    site: int
    outcome: Literal["dearer", "forbidden", "not_allowed", "no_capacity", "does_not_fit", "unknown"]
    dearer_by: float | None = None
    """Least cost with a replica at this site less the plan's cost."""
    is_proven: bool = False
    """Whether both costs are proven; otherwise the difference is the best known."""
    conflict: tuple[Conflict, ...] = ()


def solve(problem: FacilityProblem, time_limit_s: float = 60.0, mip_gap: float = 0.0) -> Plan:
    """The cheapest placement within `time_limit_s`, or one proven to be within `mip_gap` of it.

    An infeasible problem is answered with the users that cannot be served and why.
    """
    found = search(problem, time.monotonic() + time_limit_s, mip_gap)
    if found == "infeasible":
        return replace(_no_plan(problem, "infeasible"), conflict=conflicts(problem, time_limit_s))
    return _no_plan(problem, "unknown") if found == "unknown" else _plan_of(problem, found)


def _no_plan(problem: FacilityProblem, status: Status) -> Plan:
    sites, users, kinds = problem.sites, problem.users, problem.configurations
    return Plan(
        status,
        None,
        None,
        (),
        np.zeros((sites, kinds), dtype=np.int64),
        np.zeros((sites, users)),
        np.zeros((sites, users, kinds)),
    )


def _plan_of(problem: FacilityProblem, found: Found) -> Plan:
    """The plan that was found, in whole numbers."""
    columns = found.columns
    replicas = np.rint(found.values[columns.replicas]).astype(np.int64)
    by_configuration = _shares(problem, columns, found.values, replicas)
    opened = replicas.sum(axis=1) > 0
    share = by_configuration.sum(axis=2)
    objective = float(
        problem.fixed_cost @ opened
        + (problem.replica_cost * replicas).sum()
        + (problem.serving_cost * share).sum()
    )
    gap = max(objective - found.bound, 0.0) / objective if objective > 0 else 0.0
    return Plan(
        "optimal" if found.is_proven else "feasible",
        objective,
        gap if np.isfinite(gap) else None,
        tuple(int(each) for each in np.flatnonzero(opened)),
        replicas,
        share,
        by_configuration,
    )


def _shares(
    problem: FacilityProblem, columns: Columns, values: Floats, replicas: NDArray[np.int64]
) -> Floats:
    """[S, U, C], each user's adding up to 1 without the solver's rounding."""
    shares = np.maximum(values[columns.shares], 0.0)
    shares = shares * (replicas[columns.site, columns.configuration] > 0)
    if problem.sourcing == "single":
        shares = shares * (values[columns.assigned][columns.pair_of] > 0.5)
    whole = np.bincount(columns.user, shares, problem.users)
    made = np.zeros(problem.capacity.shape)
    made[columns.site, columns.user, columns.configuration] = shares / whole[columns.user]
    return made


def reasons(
    problem: FacilityProblem,
    plan: Plan,
    sites: Iterable[int] | None = None,
    time_limit_s: float = 30.0,
    mip_gap: float = 1e-4,
) -> tuple[Reason, ...]:
    """Why each site (of `sites`, default all that the plan leaves closed) is not in the plan.

    A site that could be used is solved again with at least one replica there. The time is for all
    of them together; sites that it does not reach are "unknown".
    """
    asked = range(problem.sites) if sites is None else sites
    closed = [site for site in asked if site not in plan.open_sites]
    deadline = time.monotonic() + time_limit_s
    found = []
    for position, site in enumerate(closed):
        left_s = deadline - time.monotonic()
        found.append(
            _plain_reason(problem, site)
            or _forced_reason(problem, plan, site, left_s / (len(closed) - position), mip_gap)
        )
    return tuple(found)


def _plain_reason(problem: FacilityProblem, site: int) -> Reason | None:
    """What can be said without solving."""
    if site in problem.forbidden:
        return Reason(site, "forbidden")
    if not problem.allowed[site].any():
        return Reason(site, "not_allowed")
    usable = problem.allowed[site] & (problem.capacity[site] > 0)
    if not (usable & (room_for(problem)[site] >= 1)[None, :]).any():
        return Reason(site, "no_capacity")
    return None


def _forced_reason(
    problem: FacilityProblem, plan: Plan, site: int, seconds: float, mip_gap: float
) -> Reason:
    if seconds <= 0 or plan.objective is None:
        return Reason(site, "unknown")
    forced = replace(problem, forced=problem.forced | {site})
    other = solve(forced, seconds, mip_gap)
    if other.status == "infeasible":
        return Reason(site, "does_not_fit", is_proven=True, conflict=other.conflict)
    if other.objective is None:
        return Reason(site, "unknown")
    is_proven = plan.status == "optimal" and other.status == "optimal"
    return Reason(site, "dearer", max(other.objective - plan.objective, 0.0), is_proven)
