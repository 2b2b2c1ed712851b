"""Exact placement: which sites to open, how many replicas where, who is served from where.

Capacitated facility location with configurations, link loads and the loss of any one site, solved
to a proven gap: first the linear relaxation with its strong rows (a share is at most the opening)
added where they are broken, then whole numbers. What must hold after a loss enters as Hall cuts,
taken from the dual of the least demand left unserved.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from designer.analysis.facility_conflict import Conflict, conflicts
from designer.analysis.facility_losses import Losses
from designer.analysis.facility_model import (
    Columns,
    FacilityProblem,
    busy_per_share,
    columns_of,
    plain_problem,
    programme_of,
    room_for,
)
from designer.analysis.highs import Floats, Outcome, Programme

__all__ = ["Conflict", "FacilityProblem", "Plan", "Reason", "plain_problem", "reasons", "solve"]

Status = Literal["optimal", "feasible", "infeasible", "unknown"]

_BROKEN: Final = 1e-6
"""A strong row broken by less is left alone: it only helps the solver."""
_MOST_ROUNDS: Final = 60


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
    search = _Search(problem, time.monotonic() + time_limit_s, mip_gap)
    try:
        outcome = search.relax()
        if outcome != "infeasible":
            outcome = search.make_whole()
    except TimeoutError:
        outcome = "unknown"
    if outcome == "infeasible":
        return replace(_no_plan(problem, "infeasible"), conflict=conflicts(problem, time_limit_s))
    if outcome == "unknown":
        return _no_plan(problem, "unknown")
    return search.plan("optimal" if outcome == "optimal" else "feasible")


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


class _Search:
    """One solve: the programme, its lazily added rows, and the time that is left."""

    def __init__(self, problem: FacilityProblem, deadline: float, mip_gap: float) -> None:
        self._problem = problem
        self._deadline = deadline
        self._columns: Columns = columns_of(problem)
        self._programme: Programme = programme_of(problem, self._columns)
        self._programme.set_option("mip_rel_gap", mip_gap)
        self._programme.set_option("mip_abs_gap", 0.0)
        self._losses = Losses(problem, self._columns) if problem.survive_any_single_site else None
        self._strong_shares, self._strong_pairs = _strong(problem, self._columns)

    def _left_s(self) -> float:
        return self._deadline - time.monotonic()

    def relax(self) -> Outcome:
        """Solves the linear relaxation until no strong row and no cut is broken."""
        outcome: Outcome = "unknown"
        for _ in range(_MOST_ROUNDS):
            if self._left_s() <= 0:
                break
            outcome = self._programme.run(self._left_s())
            if outcome != "optimal" or not (self._add_strong() + self._add_cuts(whole=False)):
                break
        return outcome

    def make_whole(self) -> Outcome:
        """Solves in whole numbers until the plan found survives what it must."""
        columns = self._columns
        whole = (columns.open_sites, columns.replicas.ravel(), columns.assigned)
        self._programme.set_integer(np.concatenate(whole))
        before: bytes = b""
        while True:
            if self._left_s() <= 0:
                return "unknown"
            outcome = self._programme.run(self._left_s())
            if outcome in ("infeasible", "unknown"):
                return outcome
            replicas = np.rint(self._programme.values()[columns.replicas]).tobytes()
            if replicas == before or not self._add_cuts(whole=True):
                return outcome
            before = replicas

    def _add_strong(self) -> int:
        """Adds the broken ones of: share <= replicas; a site's share of a user <= its opening."""
        columns, programme = self._columns, self._programme
        values = programme.values()
        shares = values[columns.shares]
        replicas = columns.replicas[columns.site, columns.configuration]
        broken = np.flatnonzero(self._strong_shares & (shares > values[replicas] + _BROKEN))
        rows = np.arange(len(broken))
        if len(broken):
            programme.add_rows(
                np.concatenate((rows, rows)),
                np.concatenate((columns.shares[broken], replicas[broken])),
                np.repeat((1.0, -1.0), len(broken)),
                np.full(len(broken), -np.inf),
                0.0,
            )
            self._strong_shares[broken] = False
        totals = np.bincount(columns.pair_of, shares, len(columns.pair_site))
        opened = values[columns.open_sites[columns.pair_site]]
        pairs = np.flatnonzero(self._strong_pairs & (totals > opened + _BROKEN))
        if len(pairs):
            place = np.full(len(columns.pair_site), -1, dtype=np.intp)
            place[pairs] = np.arange(len(pairs))
            used = np.flatnonzero(place[columns.pair_of] >= 0)
            programme.add_rows(
                np.concatenate((place[columns.pair_of[used]], np.arange(len(pairs)))),
                np.concatenate(
                    (columns.shares[used], columns.open_sites[columns.pair_site[pairs]])
                ),
                np.concatenate((np.ones(len(used)), np.full(len(pairs), -1.0))),
                np.full(len(pairs), -np.inf),
                0.0,
            )
            self._strong_pairs[pairs] = False
        return len(broken) + len(pairs)

    def _add_cuts(self, *, whole: bool) -> int:
        """Adds one row for each lost site after which demand would be left unserved."""
        if self._losses is None:
            return 0
        replicas = self._programme.values()[self._columns.replicas]
        replicas = np.rint(replicas) if whole else np.maximum(replicas, 0.0)
        found = 0
        for site in range(self._problem.sites):
            if not replicas[site].any():
                continue
            cut = self._losses.cut(site, replicas, self._left_s())
            if cut is not None:
                used = np.flatnonzero(cut.weight)
                self._programme.add_rows(
                    np.zeros(len(used), dtype=np.intp),
                    self._columns.replicas.ravel()[used],
                    cut.weight.ravel()[used],
                    cut.least,
                    np.inf,
                )
                found += 1
        return found

    def plan(self, status: Status) -> Plan:
        """The plan that the last run found, in whole numbers."""
        problem, columns = self._problem, self._columns
        values = self._programme.values()
        replicas = np.rint(values[columns.replicas]).astype(np.int64)
        by_configuration = _shares(problem, columns, values, replicas)
        opened = replicas.sum(axis=1) > 0
        share = by_configuration.sum(axis=2)
        objective = float(
            problem.fixed_cost @ opened
            + (problem.replica_cost * replicas).sum()
            + (problem.serving_cost * share).sum()
        )
        gap = max(objective - self._programme.bound(), 0.0)
        relative = gap / objective if objective > 0 else 0.0
        return Plan(
            status,
            objective,
            relative if np.isfinite(relative) else None,
            tuple(int(each) for each in np.flatnonzero(opened)),
            replicas,
            share,
            by_configuration,
        )


def _strong(
    problem: FacilityProblem, columns: Columns
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which strong rows say more than the capacity rows: by share column, by (site, user) pair."""
    by_share = busy_per_share(problem, columns) < 1.0
    one_replica = problem.most_replicas.sum(axis=1) <= 1
    ways = np.bincount(columns.pair_of, minlength=len(columns.pair_site))
    return by_share, ~(one_replica[columns.pair_site] & (ways == 1))


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
