"""check, place, report, convert, diff, merge, schema and opening files: what each answers."""

import difflib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer.files.format import load


def test_check_lists_findings_only(small: Path, run: Callable[..., Any]) -> None:
    ran = run("check", small, "--json")
    assert ran.status == 0
    assert set(ran.json) == {"findings"}
    assert "nothing to object" in run("check", small).out


def test_check_objects_at_error_level(
    small_document: dict[str, Any], tmp_path: Path, run: Callable[..., Any]
) -> None:
    small_document["design"]["services"][0]["resilience"] = "any_one_site"
    path = tmp_path / "alone.promptpath"
    path.write_text(json.dumps(small_document))
    ran = run("check", path, "--json")
    assert ran.status == 1
    (lost,) = {each["rule"] for each in ran.json["findings"] if each["severity"] == "error"}
    assert lost == "single-point-of-failure"
    text = run("check", path).out
    assert "Home site" in text
    assert "Remedy" in text


def test_place_answers_and_applies(small: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    out = tmp_path / "placed.promptpath"
    ran = run("place", small, "--json", "--apply", out)
    assert ran.status == 0
    plan = ran.json["placement"]
    assert plan["status"] == "optimal"
    assert {each["site"] for each in plan["reasons"]} == {"home"}
    placed = load(out).topology.design.deployments
    replicas = sum(each["replicas"] for each in plan["replicas"])
    assert sum(each.replicas or 0 for each in placed.values()) >= replicas
    assert "Every candidate site" in run("place", small).out


def test_report_writes_a_pdf(small: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    out = tmp_path / "review.pdf"
    ran = run("report", small, "-o", out)
    assert (ran.status, ran.out) == (0, "")
    assert out.read_bytes().startswith(b"%PDF-")
    wrong = run("report", small, "-o", small)
    assert wrong.status == 2
    assert "ends in .pdf" in wrong.err
    assert load(small).topology.design.nodes


def test_open_prints_tables_and_writes_the_pdf_here(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    ran = run("open", small)
    assert ran.status == 0
    assert "Promises at the worst user site" in ran.out
    assert (here / "small.pdf").read_bytes().startswith(b"%PDF-")
    assert "Wrote small.pdf" in ran.err


def test_open_writes_nothing_where_one_file_is_wrong(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (tmp_path / "empty.promptpath").touch()
    assert run("open", small, tmp_path / "empty.promptpath").status == 2
    twice = run("open", small, small)
    assert twice.status == 2
    assert "2 designs would write it" in twice.err
    assert run("open").status == 2
    assert list(here.iterdir()) == []


def test_own_to_own_gives_the_same_bytes(
    sample: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    out = tmp_path / "again.promptpath"
    ran = run("convert", sample, out, "--json")
    design = load(sample).topology.design
    assert ran.json == {
        "nodes": len(design.nodes),
        "links": len(design.links),
        "groups": len(design.groups),
        "reconciliation": [],
    }
    assert out.read_bytes() == sample.read_bytes()


def test_a_changed_capacity_is_one_line_of_the_file(
    samples: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    before = samples / "metro-inference.promptpath"
    after = slower_dci(before, tmp_path)
    out = tmp_path / "canonical.promptpath"
    assert run("convert", after, out).status == 0
    lines = difflib.ndiff(before.read_text().splitlines(), out.read_text().splitlines())
    changed = [line for line in lines if line[0] in "+-"]
    assert changed == ['-     "capacity_gbps": 400,', '+     "capacity_gbps": 100,']


def slower_dci(sample: Path, folder: Path) -> Path:
    """The metro sample with 100G in place of 400G at the DCI."""
    document = json.loads(sample.read_text())
    (link,) = (each for each in document["design"]["links"] if each["id"] == "dci-regional")
    assert link["capacity_gbps"] == 400
    link["capacity_gbps"] = 100
    path = folder / "slower.promptpath"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("ending", "head"), [("svg", b"<"), ("png", b"\x89PNG"), ("pdf", b"%PDF-")]
)
def test_pictures(
    small: Path, tmp_path: Path, run: Callable[..., Any], ending: str, head: bytes
) -> None:
    out = tmp_path / f"picture.{ending}"
    assert run("convert", small, out).status == 0
    assert out.read_bytes().startswith(head)


def test_graphml_comes_with_a_reconciliation(
    checkout: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    source = checkout / "tests" / "files" / "data" / "kestrel.graphml"
    out = tmp_path / "kestrel.promptpath"
    ran = run("convert", source, out, "--json")
    assert ran.status == 0
    assert ran.json["nodes"] == len(load(out).topology.design.nodes) > 0
    assert ran.json["reconciliation"]
    for entry in ran.json["reconciliation"]:
        assert set(entry) == {"element", "field", "kind", "message"}
        assert entry["kind"] in {"guessed", "unknown", "merged", "dropped"}
    text = run("convert", source, out).out
    assert "To reconcile: " in text
    # content decides where the ending says nothing
    renamed = tmp_path / "kestrel.dat"
    renamed.write_bytes(source.read_bytes())
    assert run("convert", renamed, out, "--json").json == ran.json


def test_diff_by_meaning(
    small: Path, small_document: dict[str, Any], tmp_path: Path, run: Callable[..., Any]
) -> None:
    same = run("diff", small, small, "--json")
    assert (same.status, same.json) == (0, {"changes": [], "results": []})
    small_document["design"]["links"][1]["length_km"] = 550
    other = tmp_path / "far.promptpath"
    other.write_text(json.dumps(small_document))
    ran = run("diff", small, other, "--json")
    assert ran.status == 1
    (change,) = ran.json["changes"]
    assert "Access line" in change["message"]
    (row,) = ran.json["results"]
    before, after = row["ttft_p95_ms"]
    # 500 km more, there and back; the group index of fibre is near 1.468
    assert after - before == pytest.approx(2 * 500 * 1.468 / 299.792458, rel=0.02)
    text = run("diff", small, other).out
    assert "1 change:" in text
    assert "What that does" in text


def test_merge_of_both_sides_and_of_a_conflict(
    small: Path, small_document: dict[str, Any], tmp_path: Path, run: Callable[..., Any]
) -> None:
    links = small_document["design"]["links"]
    links[0]["capacity_gbps"] = 800
    ours = tmp_path / "ours.promptpath"
    ours.write_text(json.dumps(small_document))
    links[0]["capacity_gbps"] = 400
    links[1]["capacity_gbps"] = 40
    theirs = tmp_path / "theirs.promptpath"
    theirs.write_text(json.dumps(small_document))
    out = tmp_path / "merged.promptpath"
    assert run("merge", small, ours, theirs, "-o", out).status == 0
    merged = load(out).topology.design.links
    assert (merged["down"].capacity_gbps, merged["up"].capacity_gbps) == (800, 40)

    links[0]["capacity_gbps"] = 200
    theirs.write_text(json.dumps(small_document))
    out.unlink()
    ran = run("merge", small, ours, theirs, "-o", out)
    assert ran.status == 1
    assert not out.exists()
    assert "Pool port" in ran.err
    assert "Both sides changed the same value" in ran.err
    assert "800 Gb/s" in ran.err
    assert "200 Gb/s" in ran.err
    assert "nothing was written; settle the 1 conflict" in ran.err


@pytest.mark.parametrize("what", ["topology", "results"])
def test_schemas_are_of_the_draft_they_name(run: Callable[..., Any], what: str) -> None:
    schema = run("schema", what).json
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_samples_fit_the_schema(sample: Path, run: Callable[..., Any]) -> None:
    schema = run("schema", "topology").json
    jsonschema.Draft202012Validator(schema).validate(json.loads(sample.read_text()))
