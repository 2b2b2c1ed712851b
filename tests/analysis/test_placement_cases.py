"""Published and enumerated placement cases, and the forms in which numbers come."""

import json
from pathlib import Path

import pytest

from designer.analysis.placement_cases import compute


def test_every_case_has_its_right_answer(reference_dir: Path) -> None:
    cases = json.loads((reference_dir / "cases" / "network_cases.json").read_text("utf-8"))
    placement = [case for case in cases if case["kind"] == "placement"]
    assert len(placement) >= 9
    for case in placement:
        answer = compute(case["input"])
        wanted = case["expected"]["value"]
        if wanted == "infeasible":
            assert answer == {"value": "infeasible"}, case["id"]
        else:
            assert answer["value"] == pytest.approx(wanted, rel=case["rel_tol"]), case["id"]
            assert "status" not in answer, case["id"]


def test_fractions_in_words_are_numbers() -> None:
    case = {
        "capacity": ["5/2", 10],
        "fixed": ["1/2", 9],
        "demand": ["5/2"],
        "unit_cost": [["1/5"], [0]],
        "allowed": [[1], [1]],
        "survive_any_single_site": False,
        "splittable": True,
    }
    assert compute(case) == {"value": pytest.approx(1.0), "open": [0]}


def test_an_unsplittable_user_needs_one_site() -> None:
    case = {
        "capacity": [6, 6],
        "fixed": [1, 1],
        "demand": [4, 4, 4],
        "unit_cost": [[0, 0, 0], [0, 0, 0]],
        "allowed": [[1, 1, 1], [1, 1, 1]],
        "survive_any_single_site": False,
        "splittable": True,
    }
    assert compute(case)["value"] == pytest.approx(2)
    assert compute(case | {"splittable": False}) == {"value": "infeasible"}


def test_a_split_p_median_counts_its_points_from_one() -> None:
    points = [[1, 0, 0, 1], [2, 3, 4, 1], [3, 100, 0, 1]]
    case = {
        "p": 2,
        "capacity": 2,
        "points_id_x_y_demand": points,
        "distance": "floor of the Euclidean distance",
    }
    # Points 1 and 2 are 5 apart and share a site; point 3 is its own.
    answer = compute(case)
    assert answer["value"] == pytest.approx(5)
    assert 3 in answer["open"]
