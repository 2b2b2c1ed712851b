"""validate: shapes of --json, status by agreement, and cases that cannot be used."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXTBOOK = {
    "id": "textbook",
    "kind": "maxmin",
    "input": {
        "caps": [10, 10, 5],
        "flows": [{"links": [0]}, {"links": [0, 1]}, {"links": [1, 2]}, {"links": [2]}],
    },
    "expected": {"rates": [5, 5, "5/2", "5/2"]},
    "rel_tol": 1e-9,
    "how": "by hand",
}
HEAD = "case_id,model,gpu,weight_dtype,tp,concurrency,isl,osl,ttft_ms,itl_ms"
ROW = "a,Llama-3.1-8B,h100_sxm,bf16,1,4,512,128,,"


def cases(folder: Path, *listed: Any) -> Path:
    """A file of network cases."""
    path = folder / "cases.json"
    path.write_text(json.dumps(listed))
    return path


def test_network_answers_by_case(tmp_path: Path, run: Callable[..., Any]) -> None:
    unanswered = {key: value for key, value in TEXTBOOK.items() if key != "expected"}
    ran = run("validate", "network", cases(tmp_path, TEXTBOOK, unanswered | {"id": "b"}), "--json")
    assert ran.status == 0
    assert set(ran.json) == {"textbook", "b"}
    assert set(ran.json["textbook"]) == {"rates"}
    assert ran.json["textbook"]["rates"] == pytest.approx([5, 5, 2.5, 2.5])
    assert ran.json["b"] == ran.json["textbook"]


def test_a_wrong_answer_is_a_difference(tmp_path: Path, run: Callable[..., Any]) -> None:
    wrong = TEXTBOOK | {"expected": {"rates": [5, 5, 2.5, 2.6]}}
    path = cases(tmp_path, wrong)
    assert run("validate", "network", path, "--json").status == 1
    ran = run("validate", "network", path)
    assert ran.status == 1
    assert "off" in ran.out
    assert "textbook: rates[3]: 2.5 instead of 2.6" in ran.out
    assert "0 of 1 case agree" in ran.out


def test_given_cases_are_read_and_each_has_its_keys(
    reference_dir: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    given = json.loads((reference_dir / "cases" / "network_cases.json").read_text())
    few = [case for case in given if case["kind"] in ("queue", "mincut", "maxmin")]
    ran = run("validate", "network", cases(tmp_path, *few), "--json")
    assert ran.status == 0
    for case in few:
        keys = {key for key in case["expected"] if not key.startswith("sim_")}
        assert ran.json[case["id"]].keys() >= keys


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("{}", "the file must hold a list of cases"),
        ("[3]", "case 1 of the list: give an object"),
        ("[{}]", 'case 1 of the list: "id" is missing'),
        ('[{"id": "a"}, {"id": "a"}]', "case a: the id stands twice"),
        ('[{"id": "a", "kind": "x", "input": {}}]', "case a, kind: 'x' is not known"),
        ('[{"id": "a", "kind": "maxmin"}]', "case a, input: give an object"),
        ('[{"id": "a", "expected": 3}]', "case a, expected: give an object"),
        ('[{"id": "a", "rel_tol": -1}]', "case a, rel_tol: give a number"),
        ('[{"id": "a", "kind": "maxmin", "input": {"caps": [-1]}}]', "case a, input.caps[0]"),
        ('[{"id": "a", "kind": "queue", "input": {"lam": 1, "c": 0}}]', "case a, input"),
        ('[{"id": "a", "kind": "queue", "input": {"hop": "b", "hops": 2}}]', "case a, input.hop"),
        ('[{"id": "a", "kind": "placement", "input": {}}]', "case a, input: give"),
        ('[{"id": NaN}]', "line 1, column 9: NaN"),
        ("[" * 100_000, "nested too deeply"),
        ("", "the file is empty"),
    ],
)
def test_network_cases_that_cannot_be_used(
    listed: str, said: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    path = tmp_path / "cases.json"
    path.write_text(listed)
    assert_refused(run("validate", "network", path, "--json"), path, said)


def assert_refused(ran: Any, path: Path, said: str) -> None:
    """Status 2 and one sentence that names the file."""
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(str(path))
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.err.endswith(".\n")


def test_serving_predicts_rows_and_names_those_it_cannot(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"{HEAD}\n{ROW}\nb,No-Such-Model,h100_sxm,bf16,1,4,512,128,,\n")
    ran = run("validate", "serving", path, "--json")
    assert ran.status == 0
    assert ran.json["b"] == {"ttft_ms": None, "itl_ms": None, "request_ms": None}
    made = ran.json["a"]
    # the mean request of a closed loop: first token, then a gap for each further token
    assert made["request_ms"] == pytest.approx(made["ttft_ms"] + 127 * made["itl_ms"], rel=0.02)
    text = run("validate", "serving", path).out
    assert "1 of 2 measured runs predicted" in text
    assert "No-Such-Model is not in the catalogue" in text
    assert "nothing measured" in text


def test_serving_status_follows_the_goals(tmp_path: Path, run: Callable[..., Any]) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"{HEAD}\n{ROW}\n")
    made = run("validate", "serving", path, "--json").json["a"]
    for factor, status in ((1.0, 0), (3.0, 1)):
        row = ROW.removesuffix(",,") + f",{made['ttft_ms'] * factor},{made['itl_ms'] * factor}"
        path.write_text(f"{HEAD}\n{row}\n")
        assert run("validate", "serving", path, "--json").status == status


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "line 1: the header lacks case_id, model, gpu"),
        (f"{HEAD}\n", "no row below the header"),
        (f"{HEAD}\n{ROW},9\n", "line 2: the row has more or fewer cells"),
        (f"{HEAD}\na,b\n", "line 2: the row has more or fewer cells"),
        (f"{HEAD}\n{ROW}\n{ROW}\n", "line 3: case_id 'a' is empty or used twice"),
        (f"{HEAD}\n{ROW.replace('512', '-5')}\n", "case a: isl is '-5'"),
        (f"{HEAD}\n{ROW.replace(',1,4', ',nan,4')}\n", "case a: tp is 'nan'"),
        (f"{HEAD}\n{ROW}fast\n", "line 2, itl_ms: 'fast' is no time"),
        (f'{HEAD}\n"{ROW}\n', "this is no CSV"),
    ],
)
def test_measured_runs_that_cannot_be_used(
    text: str, said: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    assert_refused(run("validate", "serving", path), path, said)


SERVED = ("--model", "Llama-3.1-8B", "--gpu", "h100_sxm", "--max-seqs", "8")


def test_openloop_prints_measured_beside_predicted(tmp_path: Path, run: Callable[..., Any]) -> None:
    path = tmp_path / "trace.jsonl"
    record = {"input_toks": 100, "output_toks": 11, "queued_ts": 5.0, "first_token_ts": 5.1,
              "last_token_ts": 6.1}  # fmt: skip
    path.write_text("".join(json.dumps(record) + "\n" for _ in range(3)))
    ran = run("validate", "openloop", path, *SERVED, "--json")
    assert ran.status == 0
    assert ran.json["requests"] == 3
    levels = {"p50", "p90", "p95", "p99"}
    for part in ("measured", "predicted"):
        assert set(ran.json[part]) == {"ttft_ms", "tpot_ms", "request_ms"}
        assert all(set(each) == levels for each in ran.json[part].values())
    measured = ran.json["measured"]
    assert measured["ttft_ms"]["p95"] == pytest.approx(100)
    assert measured["tpot_ms"]["p50"] == pytest.approx(100)
    assert measured["request_ms"]["p99"] == pytest.approx(1100)
    assert "Measured and predicted" in run("validate", "openloop", path, *SERVED).out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("{}\n", "line 1, input_toks: None is no count"),
        ('{"input_toks": 1, "output_toks": 0}', "line 1, output_toks: 0 is no count"),
        ('{"input_toks": 1, "output_toks": 1}', "line 1, queued_ts: None is no time"),
        ('{"input_toks": 1, "output_toks": 1, "queued_ts": 9, "first_token_ts": 8}', "before"),
        ('{"input_toks": NaN}', "line 1: NaN"),
        ("[1]\n", "line 1: give an object"),
        ('{"input_toks": 1, "output_toks": 1, "queued_ts": 1}\n\n{}', "line 2: the line is empty"),
        ("{", "line 1: this is not JSON"),
    ],
)
def test_traces_that_cannot_be_used(
    text: str, said: str, tmp_path: Path, run: Callable[..., Any]
) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    assert_refused(run("validate", "openloop", path, *SERVED), path, said)


def test_what_cannot_serve_a_trace_is_named(tmp_path: Path, run: Callable[..., Any]) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"input_toks": 1, "output_toks": 1, "queued_ts": 1}\n')
    words = ("--model", "No-Such-Model", "--gpu", "h100_sxm")
    assert_refused(run("validate", "openloop", path, *words), path, "No-Such-Model is not in")
    words = ("--model", "Llama-3.1-405B", "--gpu", "h100_sxm")
    assert_refused(run("validate", "openloop", path, *words), path, "lacks")


def test_given_rows_are_read(reference_dir: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    with (reference_dir / "cases" / "silicon_given.csv").open() as file:
        rows = list(csv.DictReader(file))[:20]
    path = tmp_path / "few.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    ran = run("validate", "serving", path, "--json")
    assert list(ran.json) == [row["case_id"] for row in rows]
