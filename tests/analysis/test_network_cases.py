"""Every given network case agrees, and a case that is wrong is refused with its place."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from designer.analysis import network_cases
from designer.analysis.case_reading import CaseRefused

KINDS = ("maxmin", "ecmp", "failure", "mincut", "bisection", "oversub", "queue", "placement")


@pytest.fixture(scope="module")
def given_cases(reference_dir: Path) -> dict[str, dict[str, Any]]:
    text = (reference_dir / "cases" / "network_cases.json").read_text(encoding="utf-8")
    return {case["id"]: case for case in json.loads(text)}


@pytest.mark.parametrize("kind", KINDS)
def test_given_cases_agree(given_cases: Mapping[str, dict[str, Any]], kind: str) -> None:
    asked = {
        name: {key: value for key, value in case.items() if key != "expected"}
        for name, case in given_cases.items()
    }
    mine = [name for name, case in given_cases.items() if case["kind"] == kind]
    assert mine
    found = {name: network_cases.compute(asked[name], asked) for name in mine}
    json.dumps(found, allow_nan=False)
    off = {name: network_cases.agrees(given_cases[name], found[name]) for name in mine}
    assert {name: lines for name, lines in off.items() if lines} == {}


def test_differences_are_named() -> None:
    case = {"expected": {"rates": ["5/2", 0], "open": [1]}, "rel_tol": 1e-9}
    assert network_cases.agrees(case, {"rates": [2.5, 1e-12]}) == []
    assert network_cases.agrees(case, {"rates": [2.6, 0.0]}) == ["rates[0]: 2.6 instead of '5/2'"]
    assert network_cases.agrees(case, {"rates": [2.5]}) == ["rates: 1 entries instead of 2"]
    assert network_cases.agrees(case, {}) == ["rates: 0 entries instead of 2"]
    assert network_cases.agrees({"expected": {"value": "infeasible"}}, {"value": 3.0}) == [
        "value: 3.0 instead of 'infeasible'"
    ]
    assert network_cases.agrees({"id": "unanswered"}, {"value": 3.0}) == []


@pytest.mark.parametrize(
    ("kind", "data", "place"),
    [
        ("maxmin", {"caps": [1], "flows": [{"links": [3]}]}, "input.flows[0].links: 3 does not"),
        ("maxmin", {"caps": ["x"], "flows": []}, "input.caps[0]: 'x' is no number"),
        ("maxmin", {"caps": [1], "flows": [{"links": [0], "weight": 0}]}, "weight of a flow"),
        ("maxmin", {"caps": [1], "flows": [{"links": [0], "prio": -1}]}, "flows[0].prio"),
        ("ecmp", {"n": 2, "edges": [[0, 1, 0]], "demands": []}, "edge 0 has metric 0"),
        ("ecmp", {"n": 2, "edges": [[0, 1]], "demands": []}, "input.edges[0]: give two vertices"),
        ("ecmp", {"n": 2, "edges": [[0, 1, 1]], "demands": [[0, 1, -2]]}, "input.demands[0]"),
        ("ecmp", {"n": 2, "edges": [[0, 1, 1]], "demands": [], "down": [1]}, "input.down[0]"),
        (
            "failure",
            {"n": 2, "cables": [[0, 1, 1]], "caps": [1], "demands": [], "order": 3, "what": "link"},
            "input.order: 3 does not fit",
        ),
        (
            "failure",
            {"n": 2, "cables": [[0, 1, 1]], "caps": [1], "demands": [], "order": 1, "what": "x"},
            "use link or node",
        ),
        ("mincut", {"n": 2, "edges": [[0, 1, 1]], "s": 0, "t": 0}, "itself"),
        ("mincut", {"n": 2, "edges": [[0, 1, float("nan")]], "s": 0, "t": 1}, "not finite"),
        ("bisection", {"n": 1, "cables": []}, "at least 2 hosts"),
        ("oversub", {"flows": 0, "uplinks": 2}, "input.flows: 0 does not fit"),
        ("oversub", {"oversubscription": 1, "host_rate": 1}, "input.topology: give an object"),
        ("placement", {}, "case wrong"),
        ("queue", {"hop": "none such", "hops": 2}, "input.hop: no case none such"),
        ("colour", {}, "use one of bisection, ecmp"),
    ],
)
def test_a_wrong_case_is_refused_with_its_place(
    kind: str, data: dict[str, Any], place: str
) -> None:
    with pytest.raises(CaseRefused) as refused:
        network_cases.compute({"id": "wrong", "kind": kind, "input": data})
    assert str(refused.value).startswith("case wrong, ")
    assert place in str(refused.value)
    assert "\n" not in str(refused.value)


def test_costs_may_be_fractions() -> None:
    case = {
        "id": "thirds",
        "kind": "ecmp",
        "input": {
            "n": 3,
            "edges": [[0, 1, "1/3"], [1, 2, "1/6"], [0, 2, 0.5]],
            "demands": [[0, 2, "3/2"]],
        },
    }
    assert network_cases.compute(case) == {"loads": [0.75, 0.75, 0.75], "unrouted": 0.0}
