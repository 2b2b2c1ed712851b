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
        slot = columns.site * problem.configurations + columns.configuration
        self._programme.add_rows(
            slot, np.arange(ways), busy_per_share(problem, columns), np.full(self._slots, -np.inf),
            0.0,
        )  # fmt: skip
        self._link_capacity = problem.link_capacity
        if len(self._link_capacity):
            loads = link_loads_per_share(problem, columns).tocoo()
            self._programme.add_rows(loads.row, loads.col, loads.data, -np.inf, self._link_capacity)

    def cut(self, lost: int, replicas: Floats, seconds: float) -> Cut | None:
        """The row that `replicas` [S, C] break when site `lost` is gone; None where all fits.

        Raises TimeoutError where that was not found out within `seconds`.
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
            return None
        weight = np.maximum(-duals[self._users : self._users + self._slots], 0.0)
        used = np.isfinite(self._link_capacity)
        least = float(
            duals[: self._users].sum()
            + duals[self._users + self._slots :][used] @ self._link_capacity[used]
        )
        # Replicas are whole: one that alone reaches the bound need not weigh more than it.
        weight = np.minimum(weight, least)
        return Cut(weight.reshape(replicas.shape) / least, 1.0)
