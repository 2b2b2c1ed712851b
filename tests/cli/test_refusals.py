"""Wrong input of any kind: one sentence with file, place and remedy, status 2, nothing written."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BOMB = (
    '<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY a "aaaaaaaaaa">'
    '<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><graphml><graph><node id="&b;"/></graph></graphml>'
)
EXTERNAL = (
    '<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    '<graphml><graph><node id="&x;"/></graph></graphml>'
)


def changed(document: dict[str, Any], **fields: Any) -> bytes:
    """The small design with fields of its first link changed."""
    document["design"]["links"][0] |= fields
    return json.dumps(document).encode()


CONTENTS: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "empty": (lambda _: b"", "the file is empty; restore"),
    "truncated": (lambda d: json.dumps(d, indent=1).encode()[:500], "this is not JSON"),
    "wrong type": (lambda d: changed(d, capacity_gbps="fast"), "links[down].capacity_gbps: "),
    "NaN": (lambda d: changed(d, capacity_gbps=float("nan")), "NaN is no number"),
    "negative": (lambda d: changed(d, capacity_gbps=-1), "links[down].capacity_gbps: "),
    "deep": (lambda _: b"[" * 100_000, "nested too deeply"),
    "deep objects": (lambda _: b'{"a":' * 100_000 + b"1", "nested too deeply"),
    "unknown id": (lambda d: changed(d, a="nowhere"), "links[down].a: "),
    "unknown field": (lambda d: changed(d, colour="red"), "links[down].colour: "),
    "newer version": (lambda d: json.dumps(d | {"version": 99}).encode(), "use a newer Promptpath"),
    "twice": (
        lambda _: b'{"format": "promptpath", "format": "x"}',
        'the key "format" stands twice',
    ),
    "no design": (lambda _: b"[1, 2]", "this is no Promptpath design"),
    "UTF-16": (lambda d: json.dumps(d).encode("utf-16"), "UTF-16"),
    "Latin-1": (lambda _: b'{"format": "\xe4"}', "byte 12: this is not UTF-8"),
}


def assert_refused(ran: Any, path: Path, said: str) -> None:
    """Status 2, nothing on standard output, and one sentence a problem that names the file."""
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err
    named = str(path) if len(path.name) < 100 else str(path)[:40]
    for line in ran.err.splitlines():
        assert line.startswith(named)
        assert line.endswith(".")


@pytest.mark.parametrize("kind", CONTENTS)
def test_files_that_cannot_be_used(
    kind: str, small_document: dict[str, Any], tmp_path: Path, run: Callable[..., Any]
) -> None:
    make, said = CONTENTS[kind]
    path = tmp_path / "bad.promptpath"
    path.write_bytes(make(small_document))
    out = tmp_path / "out.promptpath"
    assert_refused(run("analyse", path), path, said)
    assert_refused(run("convert", path, out), path, said)
    assert not out.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["analyse", "IN"],
        ["check", "IN", "--json"],
        ["report", "IN", "-o", "OUT.pdf"],
        ["convert", "IN", "OUT.svg"],
        ["place", "IN", "--apply", "OUT.promptpath"],
        ["diff", "IN", "IN"],
        ["merge", "IN", "IN", "IN", "-o", "OUT.promptpath"],
        ["open", "IN"],
        ["validate", "network", "IN"],
        ["validate", "serving", "IN"],
        ["validate", "openloop", "IN", "--model", "Llama-3.1-8B", "--gpu", "h100_sxm"],
    ],
)
@pytest.mark.parametrize(("name", "said"), [("gone.promptpath", "no such file"), ("", "a folder")])
def test_missing_files_and_folders(
    words: list[str],
    name: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[..., Any],
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "in.promptpath"
    source.mkdir()
    path = source / name if name else source
    ran = run(*(word.replace("IN", str(path)) if word == "IN" else word for word in words))
    assert_refused(ran, path, said)
    assert [each.name for each in tmp_path.iterdir()] == ["in.promptpath"]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("missing/out.EXT", "there is no folder"),
        ("folder.EXT", "this is a folder"),
        (f"{'x' * 300}.EXT", "File name too long"),
    ],
)
@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (["report", "IN", "-o"], "pdf"),
        (["convert", "IN"], "svg"),
        (["place", "IN", "--apply"], "promptpath"),
        (["merge", "IN", "IN", "IN", "-o"], "promptpath"),
    ],
)
def test_outputs_that_cannot_be_written(
    out: str,
    said: str,
    words: list[str],
    ending: str,
    small: Path,
    tmp_path: Path,
    run: Callable[..., Any],
) -> None:
    goal = tmp_path / out.replace("EXT", ending)
    if out.startswith("folder"):
        goal.mkdir()
    before = sorted(tmp_path.rglob("*"))
    ran = run(*(small if word == "IN" else word for word in words), goal)
    assert_refused(ran, goal, said)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["analize", "x"], "promptpath: No such command"),
        (["analyse"], "promptpath analyse: Missing argument 'FILE'"),
        (["analyse", "x", "--jsn"], "promptpath analyse: No such option: --jsn"),
        (["analyse", "x", "--year", "soon"], "promptpath analyse: Invalid value for '--year'"),
        (["schema", "paper"], "promptpath schema: Invalid value"),
        (["validate", "openloop", "x"], "--model and --gpu are needed"),
        (["validate", "openloop", "x", "--tp", "0"], "promptpath validate: Invalid value"),
        (["merge", "a", "b", "c"], "promptpath merge: Missing option"),
    ],
)
def test_command_lines_that_cannot_be_used(
    words: list[str], said: str, run: Callable[..., Any]
) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("document", [BOMB, EXTERNAL, "<graphml><graph>", "no xml"])
def test_xml_that_cannot_be_used(document: str, tmp_path: Path, run: Callable[..., Any]) -> None:
    path = tmp_path / "bad.graphml"
    path.write_text(document)
    out = tmp_path / "out.promptpath"
    ran = run("convert", path, out)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(str(path))
    assert len(ran.err.splitlines()) == 1
    assert len(ran.err) < 1000
    assert not out.exists()


def test_formats_that_do_not_go_together(
    small: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    strange = run("convert", small, tmp_path / "out.docx")
    assert strange.status == 2
    assert "use one of promptpath, svg, png, pdf" in strange.err
    named = run("convert", small, tmp_path / "out.svg", "--from", "visio")
    assert named.status == 2
    assert "--from" in named.err
    over_itself = run("convert", small, small, "--to", "pdf")
    assert over_itself.status == 2
    assert "the design itself would be lost" in over_itself.err
    assert [each.name for each in tmp_path.iterdir()] == ["small.promptpath"]


def test_catalogues_that_cannot_be_used(
    small: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    folder = tmp_path / "ours"
    ran = run("check", small, "--catalogue", folder)
    assert_refused(ran, folder, "the catalogue folder cannot be read")
    folder.mkdir()
    (folder / "devices.json").write_text('{"rows": [{}]}')
    ran = run("check", small, "--catalogue", folder)
    assert_refused(ran, folder / "devices.json", "missing")


def test_many_problems_are_counted(
    small_document: dict[str, Any], tmp_path: Path, run: Callable[..., Any]
) -> None:
    node = {"kind": "users", "colour": "red"}
    small_document["design"]["nodes"] += [node | {"id": f"n{i}"} for i in range(50)]
    path = tmp_path / "bad.promptpath"
    path.write_text(json.dumps(small_document))
    ran = run("check", path)
    assert len(ran.err.splitlines()) == 21
    assert ran.err.splitlines()[-1].endswith("30 more problems; mend these first.")


def test_as_a_process_there_is_no_traceback(tmp_path: Path, checkout: Path) -> None:
    path = tmp_path / "bad.promptpath"
    path.write_bytes(b"[" * 100_000)
    done = subprocess.run(
        [sys.executable, "-m", "designer", str(path)],
        capture_output=True, text=True, cwd=checkout, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
