"""Every queue case of the reference agrees within the tolerance stated there."""

import json
from pathlib import Path
from typing import Any

import pytest

from designer.analysis.queue_cases import compute


@pytest.fixture(scope="module")
def cases(reference_dir: Path) -> dict[str, Any]:
    text = (reference_dir / "cases" / "network_cases.json").read_text(encoding="utf-8")
    return {case["id"]: case for case in json.loads(text) if case["kind"] == "queue"}


def assert_agrees(found: Any, expected: Any, rel_tol: float, place: str) -> None:
    if isinstance(expected, dict):
        for key, value in expected.items():
            if not key.startswith("sim_"):
                assert_agrees(found[key], value, rel_tol, f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for position, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_agrees(one, other, rel_tol, f"{place}[{position}]")
    else:
        assert found == pytest.approx(float(expected), rel=rel_tol, abs=1e-12), place


def test_all_queue_cases_agree(cases: dict[str, Any]) -> None:
    inputs = {name: case["input"] for name, case in cases.items()}
    assert len(cases) >= 19
    for name, case in cases.items():
        assert_agrees(compute(case["input"], inputs), case["expected"], case["rel_tol"], name)


def test_numbers_may_be_fractions() -> None:
    answer = compute({"model": "M/M/c", "c": 2, "lam": "8/5", "mean_service": 1})
    assert answer["mean"] == pytest.approx(16 / 9, rel=1e-12)


def test_hop_may_be_given_in_place() -> None:
    hop = {"lambdas_per_ns": [0.5], "service_ns": [1.0]}
    answer = compute({"hop": hop, "hops": 3})
    # Pollaczek-Khinchine: 0.5 a hop for M/D/1 at one half
    assert answer["classes"][0]["mean"] == pytest.approx(1.5, rel=1e-9)


def test_overload_has_no_figures() -> None:
    answer = compute({"model": "M/G/1", "lam": 2, "sizes": [1], "probs": [1]})
    assert answer == {
        "rho": 2.0,
        "mean": None,
        "second": None,
        "p50": None,
        "p95": None,
        "p99": None,
    }


def test_unknown_forms_are_refused() -> None:
    with pytest.raises(ValueError, match="not known"):
        compute({"model": "G/G/1"})
    with pytest.raises(ValueError, match="not among the cases"):
        compute({"hop": "elsewhere", "hops": 2})
