"""The search for a placement: the relaxation, rows added where they are broken, whole numbers.

First the linear relaxation with its strong rows (a share is at most the opening), then whole
numbers. What must hold after a loss enters as Hall cuts, taken from the dual of the least demand
left unserved; whole solutions are asked for roughly at first, so that each is cut off cheaply, and
more exactly as the proven gap closes.
"""

import time
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from designer.analysis.facility_losses import Losses
from designer.analysis.facility_model import (
    Columns,
    FacilityProblem,
    busy_per_share,
    columns_of,
    programme_of,
)
from designer.analysis.highs import Floats, Outcome, Programme

_BROKEN: Final = 1e-6
"""A strong row broken by less is left alone: it only helps the solver."""
_MOST_ROUNDS: Final = 60
_FIRST_GAP: Final = 0.02
"""Gap of the whole solutions that are only wanted for the cuts they call for."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best whole solution, and what is proven about it."""

    columns: Columns
    values: Floats
    cost: float
    bound: float
    """No solution costs less."""
    is_proven: bool = False
    """Whether the gap asked for was reached."""


def search(
    problem: FacilityProblem, deadline: float, mip_gap: float
) -> Found | Literal["infeasible", "unknown"]:
    """The best placement by `deadline` (monotonic seconds)."""
    made = _Search(problem, deadline, mip_gap)
    try:
        if made.relax() == "infeasible" or made.make_whole() == "infeasible":
            return "infeasible"
    except TimeoutError:
        pass
    return "unknown" if made.best is None else replace(made.best, bound=made.bound)


class _Search:
    """One solve: the programme, its lazily added rows, and the time that is left."""

    def __init__(self, problem: FacilityProblem, deadline: float, mip_gap: float) -> None:
        self._problem = problem
        self._deadline = deadline
        self._columns: Columns = columns_of(problem)
        self._programme: Programme = programme_of(problem, self._columns)
        self._mip_gap = mip_gap
        self.bound = -np.inf
        self.best: Found | None = None
        self._programme.set_option("mip_abs_gap", 0.0)
        self._losses = Losses(problem, self._columns) if problem.survive_any_single_site else None
        self._strong_shares, self._strong_pairs = _strong(problem, self._columns)

    def _left_s(self) -> float:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the time for the search is over")
        return left_s

    def relax(self) -> Outcome:
        """Solves the linear relaxation until no strong row and no cut is broken."""
        outcome: Outcome = "unknown"
        for _ in range(_MOST_ROUNDS):
            outcome = self._programme.run(self._left_s())
            if outcome != "optimal" or not (self._add_strong() + self._add_cuts(whole=False)):
                break
        return outcome

    def make_whole(self) -> Outcome:
        """Solves in whole numbers until the plan found survives what it must, and is proven."""
        columns = self._columns
        whole = (columns.open_sites, columns.replicas.ravel(), columns.assigned)
        self._programme.set_integer(np.concatenate(whole))
        gap = self._mip_gap if self._losses is None else max(self._mip_gap, _FIRST_GAP)
        while True:
            self._programme.set_option("mip_rel_gap", gap)
            start = None if self.best is None else self.best.values
            outcome = self._programme.run(self._run_s(), start)
            if outcome == "infeasible":
                return outcome
            self.bound = max(self.bound, self._programme.bound())
            if outcome != "unknown" and not self._add_cuts(whole=True):
                self._keep_better()
                if outcome == "optimal" and gap <= self._mip_gap:
                    return self._prove()
            if self.best is not None:
                reached = (self.best.cost - self.bound) / max(abs(self.best.cost), 1e-12)
                if reached <= self._mip_gap:
                    return self._prove()
                gap = max(self._mip_gap, min(gap, reached) / 4)

    def _run_s(self) -> float:
        """Time for the next whole solution: short until there is a plan that survives."""
        left_s = self._left_s()
        is_first = self._losses is not None and self.best is None
        return max(left_s / 5 if is_first else left_s * 0.9, 0.2)

    def _keep_better(self) -> None:
        cost = self._programme.objective()
        if self.best is None or cost < self.best.cost:
            self.best = Found(self._columns, self._programme.values(), cost, self.bound)

    def _prove(self) -> Outcome:
        if self.best is not None:
            self.best = replace(self.best, is_proven=True)
        return "optimal"

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
            for cut in self._losses.cuts(site, replicas, self._left_s()):
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


def _strong(
    problem: FacilityProblem, columns: Columns
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which strong rows say more than the capacity rows: by share column, by (site, user) pair."""
    by_share = busy_per_share(problem, columns) < 1.0
    one_replica = problem.most_replicas.sum(axis=1) <= 1
    ways = np.bincount(columns.pair_of, minlength=len(columns.pair_site))
    return by_share, ~(one_replica[columns.pair_site] & (ways == 1))
