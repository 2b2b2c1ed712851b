"""What a placement leaves unserved after one site is lost, as a cut on the replicas elsewhere."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.analysis.facility_model import (
    Columns,
    FacilityProblem,
    busy_per_share,
    link_loads_per_share,
)
from designer.analysis.highs import Floats, Programme

_UNSERVED: Final = 1e-6
"""A smaller share of all demand left unserved is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """weight[s, c] x replicas, added up, must reach `least`."""

    weight: Floats
    least: float


class Losses:
    """Least share of all demand left unserved after a loss; demand may be split anew.

    With one capacity a site for all users, the dual of this programme is Hall's condition: the
    sites left to a set of users must bear what the set asks for.
    """

    def __init__(self, problem: FacilityProblem, columns: Columns) -> None:
        self._columns = columns
        self._users = problem.users
        self._slots = problem.sites * problem.configurations
        ways = len(columns.shares)
        total = float(problem.demand.sum()) or 1.0
        cost = np.concatenate((np.zeros(ways), problem.demand / total))
        # No upper bounds: their duals would be missing from the cut.
        self._programme = Programme(cost, np.zeros(len(cost)), np.full(len(cost), np.inf))
        self._programme.add_rows(
            np.concatenate((columns.user, np.arange(problem.users))),
            np.arange(ways + problem.users),
            1.0,
            np.ones(problem.users),
            1.0,
        )
        self._busy = busy_per_share(problem, columns)
        slot = columns.site * problem.configurations + columns.configuration
        self._programme.add_rows(
            slot, np.arange(ways), self._busy, np.full(self._slots, -np.inf), 0.0
        )
        self._link_capacity = problem.link_capacity
        self._loads = link_loads_per_share(problem, columns) if len(self._link_capacity) else None
        if self._loads is not None:
            loads = self._loads.tocoo()
            self._programme.add_rows(loads.row, loads.col, loads.data, -np.inf, self._link_capacity)

    def cuts(self, lost: int, replicas: Floats, seconds: float) -> tuple[Cut, ...]:
        """The rows that `replicas` [S, C] break when site `lost` is gone; none where all fits.

        What a set of users needs, it needs after every loss: the rows of the other losses that the
        same prices give come along where they are broken too. Raises TimeoutError where the loss
        was not solved within `seconds`.
        """
        gone = np.flatnonzero(self._columns.site == lost)
        self._programme.set_bounds(gone, 0.0, 0.0)
        self._programme.set_row_bounds(
            self._users, np.full(self._slots, -np.inf), replicas.ravel().astype(np.float64)
        )
        outcome = self._programme.run(seconds)
        missing, duals = self._programme.objective(), self._programme.row_duals()
        self._programme.set_bounds(gone, 0.0, np.inf)  # HiGHS forgets its solution here
        if outcome != "optimal":
            raise TimeoutError(f"the loss of site {lost} was not solved in time")
        if missing <= _UNSERVED:
            return ()
        weight, least = self._priced(duals, lost)
        found = []
        for site in range(len(replicas)):
            elsewhere = weight.copy()
            elsewhere[site] = 0.0
            if (elsewhere * replicas).sum() < least * (1 - _UNSERVED):
                # Replicas are whole: one that alone reaches the bound need not weigh more than it.
                found.append(Cut(np.minimum(elsewhere / least, 1.0), 1.0))
        return tuple(found)

    def _priced(self, duals: Floats, lost: int) -> tuple[Floats, float]:
        """What one replica relieves at the users' prices [S, C], and what must be relieved.

        At the lost site, whose ways were shut, it is the least that keeps the prices dual feasible.
        """
        columns = self._columns
        by_user = duals[: self._users]
        weight = np.maximum(-duals[self._users : self._users + self._slots], 0.0)
        by_link = duals[self._users + self._slots :]
        used = np.isfinite(self._link_capacity)
        least = float(by_user.sum() + by_link[used] @ self._link_capacity[used])
        worth = by_user[columns.user]
        if self._loads is not None:
            worth = worth + self._loads.T @ by_link
        here = (columns.site == lost) & (self._busy > 0)
        weight = weight.reshape(columns.replicas.shape)
        np.maximum.at(weight[lost], columns.configuration[here], worth[here] / self._busy[here])
        return weight, least
