"""A linear or mixed-integer programme in HiGHS, row blocks from arrays, nothing on stdout."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, Final, Literal

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array

Floats = NDArray[np.float64]
Outcome = Literal["optimal", "feasible", "infeasible", "unknown"]

_DESCRIPTOR_1: Final = threading.Lock()
"""Descriptor 1 belongs to the whole process: two threads may not swap it at the same time."""


@contextlib.contextmanager
def silent_stdout() -> Iterator[None]:
    """Drops what libraries write to descriptor 1 until the block ends.

    Does nothing where the process has no such descriptor (a windowed program, a closed stream).
    """
    with _DESCRIPTOR_1:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stdout.flush()
        try:
            kept = os.dup(1)
        except OSError:
            yield
            return
        try:
            with contextlib.suppress(OSError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.close(nowhere)
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


class Programme:
    """Columns with costs and bounds; rows come in blocks, before and after a solve."""

    def __init__(self, cost: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        with silent_stdout():
            # HiGHS 1.16 prints its licence when the first solver is made, silent or not.
            self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._is_whole = False
        self._highs.setOptionValue("output_flag", False)
        costs = np.asarray(cost, dtype=np.float64)
        lowers = np.asarray(lower, dtype=np.float64)
        uppers = np.asarray(upper, dtype=np.float64)
        self.columns: Final = len(costs)
        nothing = np.zeros(0, dtype=np.int32)
        self._highs.addCols(self.columns, costs, lowers, uppers, 0, nothing, nothing, np.zeros(0))

    def set_option(self, name: str, value: float | int | str) -> None:
        """An option of HiGHS by its own name."""
        self._highs.setOptionValue(name, value)

    def set_costs(self, cost: Floats) -> None:
        """New costs of all columns."""
        self._highs.changeColsCost(self.columns, np.arange(self.columns, dtype=np.int32), cost)

    def set_bounds(self, columns: NDArray[np.intp], lower: ArrayLike, upper: ArrayLike) -> None:
        """New bounds of some columns."""
        size = len(columns)
        self._highs.changeColsBounds(
            size,
            columns.astype(np.int32),
            np.broadcast_to(np.asarray(lower, dtype=np.float64), size).copy(),
            np.broadcast_to(np.asarray(upper, dtype=np.float64), size).copy(),
        )

    def set_row_bounds(self, first: int, lower: Floats, upper: Floats) -> None:
        """New bounds of the rows from `first` on."""
        rows = np.arange(first, first + len(lower), dtype=np.int32)
        self._highs.changeRowsBounds(len(rows), rows, lower, upper)

    def set_integer(self, columns: NDArray[np.intp]) -> None:
        """These columns take whole values from now on."""
        kinds = np.full(len(columns), int(highspy.HighsVarType.kInteger), dtype=np.uint8)
        self._highs.changeColsIntegrality(len(columns), columns.astype(np.int32), kinds)
        self._is_whole = True

    def add_rows(
        self,
        rows: ArrayLike,
        columns: ArrayLike,
        values: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
    ) -> int:
        """Adds len(lower) rows given by their entries; answers the index of the first.

        `rows` counts from 0 within the block; entries of one place add up.
        """
        lowers, uppers = np.broadcast_arrays(
            np.atleast_1d(np.asarray(lower, dtype=np.float64)),
            np.atleast_1d(np.asarray(upper, dtype=np.float64)),
        )
        where, which, entries = np.broadcast_arrays(
            np.asarray(rows), np.asarray(columns), np.asarray(values, dtype=np.float64)
        )
        matrix = coo_array((entries, (where, which)), shape=(len(lowers), self.columns)).tocsr()
        first = int(self._highs.getNumRow())
        self._highs.addRows(
            len(lowers),
            lowers.copy(),
            uppers.copy(),
            int(matrix.nnz),
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )
        return first

    def run(self, seconds: float, start: Floats | None = None) -> Outcome:
        """Minimises within that time; `start` may be a known solution to do better than."""
        if self._is_whole:
            # Started from an earlier run, HiGHS 1.16 can report an objective and a bound that lack
            # the cost of columns which its presolve has fixed.
            self._highs.clearSolver()
        if start is not None:
            every = np.arange(self.columns, dtype=np.int32)
            self._highs.setSolution(self.columns, every, start)
        # HiGHS 1.16 holds the time of all linear runs against the limit, of whole ones this one's.
        spent_s = 0.0 if self._is_whole else self._highs.getRunTime()
        self._highs.setOptionValue("time_limit", float(spent_s + max(seconds, 0.0)))
        self._highs.run()
        status = self._highs.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            return "optimal"
        if status in (
            highspy.HighsModelStatus.kInfeasible,
            highspy.HighsModelStatus.kUnboundedOrInfeasible,
        ):
            return "infeasible"
        found = self._highs.getInfo().primal_solution_status
        return "feasible" if found == highspy.SolutionStatus.kSolutionStatusFeasible else "unknown"

    def values(self) -> Floats:
        """Values of the columns after a run that was not infeasible."""
        return np.array(self._highs.getSolution().col_value, dtype=np.float64)

    def row_duals(self) -> Floats:
        """Change of the least cost for one unit more on each row's right side (linear only)."""
        return np.array(self._highs.getSolution().row_dual, dtype=np.float64)

    def objective(self) -> float:
        """The cost of the values."""
        return float(self._highs.getInfo().objective_function_value)

    def bound(self) -> float:
        """No whole solution costs less than this (mixed-integer runs)."""
        return float(self._highs.getInfo().mip_dual_bound)
