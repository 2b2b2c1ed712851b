"""Shares of least way among plans with the same replicas, against a case worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from designer.analysis.facility import FacilityProblem, plain_problem, solve
from designer.analysis.site_shares import nearest_shares

FAR_MS = ((1.0, 1.0), (5.0, 2.0))
"""[site][user]"""


def _problem(**changes: object) -> FacilityProblem:
    """Two users of 8 a second, two sites that bear 10 each."""
    made = plain_problem(
        [1.0, 1.0], [10.0, 10.0], [8.0, 8.0], np.zeros((2, 2)), np.ones((2, 2), dtype=bool)
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_who_loses_most_stays_near() -> None:
    """The first site has room for 10: all 8 of who would go 4 ms farther, 2 of the other's 8."""
    problem = _problem()
    plan = solve(problem)
    near = nearest_shares(problem, plan, lambda way: FAR_MS[way[0]][way[1]])
    assert near.share[0] == pytest.approx([1.0, 0.25])
    assert near.share[1] == pytest.approx([0.0, 0.75])
    assert near.objective == plan.objective


def test_links_are_kept() -> None:
    """A link before the first site carries 6 a second: 6 of the first user's, nothing else."""
    load = np.array([[1.0, 1.0, 0.0, 0.0]])
    problem = _problem(link_load=load, link_capacity=np.array([6.0]))
    near = nearest_shares(problem, solve(problem), lambda way: FAR_MS[way[0]][way[1]])
    assert near.share[0] == pytest.approx([6 / 8, 0.0])


def test_an_unknown_way_changes_nothing() -> None:
    problem = _problem()
    plan = solve(problem)
    assert nearest_shares(problem, plan, lambda way: None) is plan
