"""The file: the same bytes again, and one sentence with place and remedy for every wrong input."""

import json
import os
import random
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from immutables import Map

from designer.files.format import (
    FileRefused,
    check_writable,
    content_hash,
    dumps,
    layout_hash,
    load,
    loads,
    parse_json,
    save,
)
from designer.model.design import Design, TitleBlock
from designer.model.layout import Box, Layout
from designer.model.references import MOST_STEPS_DEEP
from designer.model.services import Branch, Choice, ModelCall, Service
from designer.model.things import Node
from designer.model.topology import Topology
from tests.model.samples import random_topology, same

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
randoms = st.integers(0, 2**32).map(random.Random)

HEAD = '{"format":"promptpath","version":1'


def designed(design: str, more: str = "") -> bytes:
    return f'{HEAD}{more},"design":{design}}}'.encode()


def node(fields: str) -> bytes:
    return designed(f'{{"nodes":[{{"id":"a","kind":"leaf",{fields}}}]}}')


def workflow(step: str) -> bytes:
    return designed(f'{{"services":[{{"id":"s1","workflow":{step}}}]}}')


def nested(levels: int, before: str, after: str) -> bytes:
    return workflow(before * levels + '{"do":"model"}' + after * levels)


SERIES = ('{"do":"series","steps":[', "]}")
BRANCH = ('{"do":"branch","choices":[{"probability":1,"step":', "}]}")
NINES = "9" * 10_000

WRONG: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "", "empty"),
    "blank": (b" \n\t", "", "empty"),
    "truncated": (f'{HEAD},\n "design":{{"nodes":[{{"id":'.encode(), "line 2, column", "not JSON"),
    "something behind": (f"{HEAD}}} x".encode(), "line 1, column", "not JSON"),
    "a list": (b"[]", "format", "no Promptpath design"),
    "a number": (b"3", "format", "no Promptpath design"),
    "null": (b"null", "format", "no Promptpath design"),
    "another format": (b'{"format":"other","version":1}', "format", "no Promptpath design"),
    "no version": (b'{"format":"promptpath"}', "version", "whole number"),
    "version in words": (b'{"format":"promptpath","version":"1"}', "version", "whole number"),
    "version true": (b'{"format":"promptpath","version":true}', "version", "whole number"),
    "version 0": (b'{"format":"promptpath","version":0}', "version", "whole number"),
    "newer version": (b'{"format":"promptpath","version":2}', "version", "newer Promptpath"),
    "minor below 0": (f'{HEAD},"minor":-1}}'.encode(), "minor", "whole number"),
    "minor a fraction": (f'{HEAD},"minor":1.5}}'.encode(), "minor", "whole number"),
    "minor without end": (f'{HEAD},"minor":{"9" * 300}}}'.encode(), "minor", "whole number"),
    "UTF-16": (f"{HEAD}}}".encode("utf-16"), "", "UTF-8"),
    "UTF-16 without mark": (f"{HEAD}}}".encode("utf-16-le"), "", "UTF-8"),
    "UTF-32": (f"{HEAD}}}".encode("utf-32"), "", "UTF-8"),
    "Latin-1": (designed('{"title_block":{"title":"?"}}').replace(b"?", b"\xe9"), "byte", "UTF-8"),
    "a zip": (b"PK\x03\x04" + bytes(range(65, 90)), "line 1, column 1", "not JSON"),
    "binary": (bytes(range(256)), "", "UTF-8"),
    "NaN": (node('\n"price_usd":NaN'), "line 2, column 13", "NaN is no number"),
    "Infinity": (node('"name":"NaN","price_usd":-Infinity'), "line 1, column", "-Infinity is no"),
    "beyond the largest float": (node('"price_usd":1e999'), "design.nodes[a].price_usd", "finite"),
    "10,000 digits": (node(f'"count":{NINES}'), "line 1, column", "10,000 digits"),
    "10,000 digits below 0": (node(f'"count":-{NINES}'), "line 1, column", "10,001 digits"),
    "100 digits": (node(f'"count":{"9" * 100}'), "design.nodes[a].count", "at most 10,000,000"),
    "100,000 lists": (b"[" * 100_000, "", "nested too deeply"),
    "100,000 objects": (b'{"a":' * 100_000, "", "nested too deeply"),
    "100,000 levels that close": (
        designed("[" * 100_000 + "]" * 100_000),
        "",
        "nested too deeply",
    ),
    "900 levels": (designed("[" * 900 + "]" * 900), "", "nested too deeply"),
    "a workflow of 45 levels": (nested(45, *SERIES), "design.services[s1].workflow", "deep"),
    "a workflow of 300 levels": (nested(300, *SERIES), "", "nested too deeply"),
    "a workflow of 300 branches": (nested(300, *BRANCH), "", "nested too deeply"),
    "a workflow of 5,000 levels": (nested(5000, *SERIES), "", "nested too deeply"),
    "below 0": (node('"price_usd":-1'), "design.nodes[a].price_usd", "at least 0"),
    "a number past all measure": (
        node('"price_usd":1e308'), "design.nodes[a].price_usd", "at most 1e15, not 1e+308"
    ),
    "a speck of a number": (
        node('"price_usd":5e-324'), "design.nodes[a].price_usd", "0 or at least 1e-30"
    ),
    "a speck of a rate": (
        node('"throughput_gbps":5e-324'), "design.nodes[a].throughput_gbps", "at least 1e-12"
    ),
    "a number in words": (node('"price_usd":"10"'), "design.nodes[a].price_usd", '"10"'),
    "a number that is true": (node('"price_usd":true'), "design.nodes[a].price_usd", "true"),
    "a count of a half": (node('"count":1.5'), "design.nodes[a].count", "a whole number"),
    "a name that is a number": (node('"name":5'), "design.nodes[a].name", "text in quotes"),
    "too much text": (node(f'"name":"{"x" * 501}"'), "design.nodes[a].name", "500"),
    "a control character": (node('"name":"\\u0007"'), "design.nodes[a].name", "control"),
    "half a character": (node('"name":"\\ud800"'), "design.nodes[a].name", "broken"),
    "an unknown field": (node('"colour":1'), "design.nodes[a].colour", "not known"),
    "an unknown part": (f'{HEAD},"x":1}}'.encode(), "x", "not known"),
    "a very long field": (node(f'"{"k" * 9999}":1'), "design.nodes[a].kkk", "not known"),
    "an unknown word": (
        designed('{"nodes":[{"id":"a","kind":"leav"}]}'), "design.nodes[a].kind", "one of leaf"
    ),
    "no kind": (designed('{"nodes":[{"id":"a"}]}'), "design.nodes[a].kind", "missing"),
    "no id": (designed('{"nodes":[{"kind":"leaf"}]}'), "design.nodes[0].id", "missing"),
    "an id with a blank": (
        designed('{"nodes":[{"id":"a b","kind":"leaf"}]}'), "design.nodes[a b].id", "64 letters"
    ),
    "an id twice": (
        designed('{"nodes":[{"id":"a","kind":"leaf"},{"id":"a","kind":"leaf"}]}'),
        "design.nodes",
        '"a" is used twice',
    ),
    "a key twice": (
        designed('{"nodes":[{"id":"a","kind":"leaf"},\n{"id":"b","kind":"leaf","id":"c"}]}'),
        "line 2, column 25",
        'the key "id" stands twice',
    ),
    "a key twice, once escaped": (
        designed('{"title_block":{"title":"{","t\\u0069tle":"b"}}'),
        "line 1, column",
        'the key "title" stands twice',
    ),
    "a list for a design": (designed("[]"), "design", "object in braces"),
    "null for a design": (designed("null"), "design", "object in braces"),
    "text for a list": (designed('{"nodes":"a"}'), "design.nodes", "list"),
    "null in a list": (
        f'{HEAD},"layout":{{"boxes":[null]}}}}'.encode(), "layout.boxes[0]", "object in braces"
    ),
    "an unknown step": (workflow('{"do":"dance"}'), "design.services[s1].workflow", "series"),
    "a step that does not say": (workflow("{}"), "design.services[s1].workflow", "`do`"),
    "a wrong step inside": (
        workflow('{"do":"series","steps":[{"do":"repeat","times":0,"step":{"do":"model"}}]}'),
        "design.services[s1].workflow.steps[0].times",
        "at least 1",
    ),
    "a day of two hours": (
        designed('{"services":[{"id":"s","demands":[{"users":"u","requests_per_s":1,"day":[1,2]}]}]}'),
        "design.services[s].demands[0]",
        "24",
    ),
    "an unknown node": (
        designed('{"links":[{"id":"l1","a":"a","b":"b"}]}'),
        "design.links[l1].a",
        "not among the nodes",
    ),
    "a link to itself": (
        designed('{"nodes":[{"id":"a","kind":"leaf"}],"links":[{"id":"l1","a":"a","b":"a"}]}'),
        "design.links[l1]",
        "two different nodes",
    ),
    "groups in a circle": (
        designed('{"groups":[{"id":"a","parent":"b"},{"id":"b","parent":"a"}]}'),
        "design.groups[a].parent",
        "inside itself",
    ),
    "too many instances": (node('"count":10000000,"group":"g"').replace(
        b'{"nodes"', b'{"groups":[{"id":"g","count":2}],"nodes"'
    ), "design.nodes", "20,000,000"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_sentence_with_file_place_and_remedy(case: str) -> None:
    data, place, words = WRONG[case]
    with pytest.raises(FileRefused) as caught:
        loads(data, "plan.promptpath")
    sentence = str(caught.value)
    assert sentence.startswith(f"plan.promptpath, {place}" if place else "plan.promptpath: ")
    assert words in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert caught.value.problems
    assert caught.value.__cause__ is None


def test_every_problem_is_listed_with_its_place() -> None:
    data = designed(
        '{"groups":3,"settings":[],"nodes":[{"id":"a","kind":"leaf","count":0},'
        '{"id":"b","kind":"leaf","price_usd":-1}],"links":[4]}'
    )
    with pytest.raises(FileRefused) as caught:
        loads(data, "x")
    assert {problem.place for problem in caught.value.problems} == {
        "design.groups",
        "design.settings",
        "design.nodes[a].count",
        "design.nodes[b].price_usd",
        "design.links[0]",
    }
    assert "4 more like it" in str(caught.value)


def test_a_folder_a_missing_file_and_a_pipe_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="folder; name the file"):
        load(tmp_path)
    with pytest.raises(FileRefused, match="no such file"):
        load(tmp_path / "none.promptpath")
    with pytest.raises(FileRefused, match="another file"):
        load(Path("nul\x00name"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FileRefused, match="regular file"):
            load(tmp_path / "pipe")


def test_a_byte_order_mark_is_let_pass_and_not_written() -> None:
    opened = loads(b"\xef\xbb\xbf" + designed('{"title_block":{"title":"Plan"}}'), "x")
    assert opened.topology.design.title_block.title == "Plan"
    assert not dumps(opened.topology).startswith(b"\xef")


def test_the_deepest_workflow_allowed_is_written_and_read_again() -> None:
    step: Any = ModelCall()
    for _ in range(MOST_STEPS_DEEP - 1):
        step = Branch(choices=(Choice(probability=1, step=step),))
    service = Service(id="s1", workflow=step)
    topology = Topology(design=Design(services=Map({"s1": service})))
    data = dumps(topology)
    same(loads(data, "x").topology, topology, "deep")


NEWER = {
    "format": "promptpath",
    "version": 1,
    "minor": 7,
    "theme": {"name": "dark", "shades": [1, 2.5, None]},
    "design": {
        "moods": [True],
        "nodes": [{"id": "a", "kind": "teapot", "glow": {"b": 1, "a": "é"}}],
        "services": [{"id": "s", "wire": {"colour": "red"}, "steering": {"policy": "astrology"}}],
    },
    "layout": {"boxes": [{"id": "a", "x": 1, "y": 2, "angle": 30}]},
}


def test_what_a_newer_minor_version_knows_is_kept_and_written_back() -> None:
    data = json.dumps(NEWER).encode()
    opened = loads(data, "x")
    assert opened.topology.design.nodes["a"].kind == "teapot"
    written = dumps(opened.topology)
    assert parse_json(written, "x") == NEWER
    assert dumps(loads(written, "x").topology) == written
    renamed = opened.topology.design.nodes["a"].replace(name="New")
    design = opened.topology.design.model_copy(update={"nodes": Map({"a": renamed})})
    again = parse_json(dumps(opened.topology.model_copy(update={"design": design})), "x")
    assert again["design"]["nodes"][0]["glow"] == {"b": 1, "a": "é"}
    assert again["theme"] == NEWER["theme"]


def test_the_same_in_a_file_of_this_minor_version_is_a_mistake() -> None:
    with pytest.raises(FileRefused) as caught:
        loads(json.dumps(NEWER | {"minor": 0}).encode(), "x")
    places = {problem.place for problem in caught.value.problems}
    assert {"theme", "design.moods", "design.nodes[a].glow", "design.nodes[a].kind"} <= places


def test_a_newer_minor_version_is_no_excuse_for_wrong_values() -> None:
    wrong = {**NEWER, "design": {"nodes": [{"id": "a", "kind": "leaf", "price_usd": -1}]}}
    with pytest.raises(FileRefused, match="price_usd"):
        loads(json.dumps(wrong).encode(), "x")


@quick
@given(randoms)
def test_saving_what_was_read_gives_the_same_bytes(rng: random.Random) -> None:
    topology = random_topology(rng)
    data = dumps(topology)
    read = loads(data, "x").topology
    same(read, topology, "read")
    assert dumps(read) == data
    assert parse_json(data, "x")["version"] == 1


@quick
@given(randoms)
def test_order_and_blanks_of_a_file_do_not_matter(rng: random.Random) -> None:
    topology = random_topology(rng)

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shuffled(value[key]) for key in rng.sample(sorted(value), len(value))}
        if isinstance(value, list):
            return [shuffled(each) for each in value]
        return value

    document = shuffled(parse_json(dumps(topology), "x"))
    for part in document.values():
        for table in part.values() if isinstance(part, dict) else ():
            if isinstance(table, list):
                rng.shuffle(table)
    read = loads(json.dumps(document, indent=rng.randint(0, 4)).encode(), "x").topology
    assert dumps(read) == dumps(topology)


@quick
@given(st.binary(max_size=200))
def test_no_bytes_make_a_traceback(data: bytes) -> None:
    with pytest.raises(FileRefused):
        loads(data, "x")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "kind", "nodes", "links", "workflow", "do", "steps", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(Design.model_fields)), json_values, st.integers(0, 2))
def test_no_json_makes_a_traceback(part: str, value: Any, minor: int) -> None:
    document = {"format": "promptpath", "version": 1, "minor": minor, "design": {part: value}}
    try:
        topology = loads(json.dumps(document).encode(), "x").topology
    except FileRefused:
        return
    assert dumps(loads(dumps(topology), "x").topology) == dumps(topology)


def test_hashes_tell_meaning_from_drawing() -> None:
    plain = Topology(design=Design(nodes=Map({"n": Node(id="n", kind="leaf")})))
    moved = plain.model_copy(update={"layout": Layout(boxes=Map({"n": Box(id="n", x=1, y=2)}))})
    named = plain.model_copy(update={"design": Design(title_block=TitleBlock(title="x"))})
    assert content_hash(plain.design) == content_hash(moved.design)
    assert layout_hash(plain) != layout_hash(moved)
    assert content_hash(plain.design) != content_hash(named.design)


def test_saving_replaces_the_file_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "plan.promptpath"
    save(Topology(), path)
    if os.name == "posix":
        path.chmod(0o640)
    topology = Topology(design=Design(title_block=TitleBlock(title="Second")))
    save(topology, path)
    assert load(path).topology == topology
    assert [each.name for each in tmp_path.iterdir()] == ["plan.promptpath"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_where_nothing_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="no folder"):
        save(Topology(), tmp_path / "none" / "plan.promptpath")
    with pytest.raises(FileRefused, match="this is a folder"):
        save(Topology(), tmp_path)
    with pytest.raises(FileRefused, match="another name"):
        save(Topology(), tmp_path / ("x" * 300))
    with pytest.raises(FileRefused, match="another name"):
        save(Topology(), tmp_path / "a\x00b")
    check_writable(tmp_path / "fine.promptpath")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.promptpath"
    save(Topology(), path)
    old = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileRefused, match="No space left"):
        save(Topology(design=Design(title_block=TitleBlock(title="x"))), path)
    assert path.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == ["plan.promptpath"]


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        ('{"new":"\\ud800"}', "\\ud800"),
        ('{"new":{"\\udfff":1}}', "\\udfff"),
        ('{"nodes":[{"id":"n","kind":"leaf","new":[1e999]}]}', "1.8e308"),
    ],
)
def test_a_field_of_a_newer_version_that_could_not_be_written_back_is_refused(
    unknown: str, words: str
) -> None:
    text = f'{{"format":"promptpath","version":1,"minor":5,"design":{unknown}}}'
    with pytest.raises(FileRefused, match=re.escape(words)):
        loads(text.encode(), "plan.promptpath")
