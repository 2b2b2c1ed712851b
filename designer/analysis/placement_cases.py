"""Placement cases of a file, answered with the solver that the program uses on a drawing."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from designer.analysis.facility import FacilityProblem, Plan, plain_problem, solve
from designer.analysis.highs import Floats


def compute(data: Mapping[str, Any], time_limit_s: float = 60.0) -> dict[str, Any]:
    """The answer to one placement case: `value` (or "infeasible") and the `open` sites.

    `data` holds capacity, fixed, demand, unit_cost[site][user] a unit, allowed[site][user],
    splittable and survive_any_single_site; or a p-median: points [id, x, y, demand], a capacity
    for all and p. Numbers may be fractions in words ("5/2"). Raises ValueError or KeyError for
    anything else.
    """
    is_median = "p" in data
    problem = _median(data) if is_median else _facility(data)
    plan = solve(problem, time_limit_s)
    if plan.status == "infeasible":
        return {"value": "infeasible"}
    if plan.objective is None:
        return {"value": None, "status": plan.status}
    ids = [point[0] for point in data["points_id_x_y_demand"]] if is_median else None
    return _answer(plan, ids)


def _answer(plan: Plan, ids: list[int] | None) -> dict[str, Any]:
    opened = [site if ids is None else ids[site] for site in plan.open_sites]
    answer: dict[str, Any] = {"value": plan.objective, "open": opened}
    if plan.status != "optimal":
        answer |= {"status": plan.status, "proven_gap": plan.proven_gap}
    return answer


def _number(value: Any) -> float:
    return float(Fraction(value)) if isinstance(value, str) else float(value)


def _numbers(values: Any) -> Floats:
    """A vector or a table of numbers, fractions included."""
    if values and isinstance(values[0], list):
        return np.array([[_number(each) for each in row] for row in values])
    return np.array([_number(each) for each in values])


def _facility(data: Mapping[str, Any]) -> FacilityProblem:
    demand = _numbers(data["demand"])
    problem = plain_problem(
        _numbers(data["fixed"]),
        _numbers(data["capacity"]),
        demand,
        _numbers(data["unit_cost"]) * demand,
        np.array(data["allowed"], dtype=bool),
    )
    return replace(
        problem,
        sourcing="split" if data.get("splittable", True) else "single",
        survive_any_single_site=bool(data.get("survive_any_single_site", False)),
    )


def _median(data: Mapping[str, Any]) -> FacilityProblem:
    """At most p points serve all points; a cost is the distance rounded down (OR-Library)."""
    points = _numbers(data["points_id_x_y_demand"])
    places, demand = points[:, 1:3], points[:, 3]
    distance = np.floor(
        np.hypot(*(places[:, None, :] - places[None, :, :]).transpose(2, 0, 1)) + 1e-9
    )
    count = len(points)
    problem = plain_problem(
        np.zeros(count),
        np.full(count, _number(data["capacity"])),
        demand,
        distance,
        np.ones((count, count), dtype=bool),
    )
    return replace(
        problem,
        most_sites=int(data["p"]),
        sourcing="single" if data.get("single_source", False) else "split",
    )
