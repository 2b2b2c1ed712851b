"""A Patch and its inverse, patches of one gesture as one, and patches that do not fit."""

import json
import random
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from immutables import Map

from designer.files.compare import differences
from designer.model.base import Provenance
from designer.model.design import Design
from designer.model.layout import Box, Layout
from designer.model.patch import (
    WHOLE,
    Change,
    PatchConflict,
    add,
    apply,
    check_value,
    from_json,
    get_field,
    invert,
    merge,
    remove,
    to_json,
    with_field,
)
from designer.model.services import Service
from designer.model.things import Group, Link, Node, ServiceTime, Site
from designer.model.topology import Topology
from tests.model.samples import random_topology, same

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
randoms = st.integers(0, 2**32).map(random.Random)

LEAF = Node(id="n1", kind="leaf", name="Leaf", service_time=ServiceTime(mean_ms=4))
PLAN = Topology(
    design=Design(
        nodes=Map({"n1": LEAF, "n2": Node(id="n2", kind="spine")}),
        links=Map({"l1": Link(id="l1", a="n1", b="n2", capacity_gbps=100)}),
    ),
    layout=Layout(boxes=Map({"n1": Box(id="n1", x=0, y=0)})),
)


@quick
@given(randoms, randoms)
def test_a_patch_and_its_inverse_cancel(one: random.Random, two: random.Random) -> None:
    before, after = random_topology(one), random_topology(two)
    patch = differences(before, after)
    same(apply(before, patch), after, "there")
    same(apply(after, invert(patch)), before, "back")
    assert invert(invert(patch)) == patch
    assert from_json(json.loads(json.dumps(to_json(patch)))) == patch


@quick
@given(randoms, st.integers(2, 5))
def test_patches_of_one_gesture_are_one_patch(rng: random.Random, length: int) -> None:
    states = [random_topology(rng) for _ in range(length)]
    patches = [differences(a, b) for a, b in pairwise(states)]
    merged = merge(patches)
    same(apply(states[0], merged), states[-1], "there")
    same(apply(states[-1], invert(merged)), states[0], "back")
    addresses = [(change.collection, change.id, change.field) for change in merged]
    assert len(addresses) == len(set(addresses))


def test_what_comes_back_in_a_gesture_is_left_out() -> None:
    there = Change("boxes", "n1", "x", 0.0, 5.0)
    back = Change("boxes", "n1", "x", 5.0, 0.0)
    assert merge(((there,), (back,))) == ()
    made = Node(id="n9", kind="leaf")
    assert merge(((add("nodes", made),), (remove("nodes", made),))) == ()
    named = Change("nodes", "n9", "name", "", "New")
    assert merge(((add("nodes", made),), (named,))) == (add("nodes", made.replace(name="New")),)
    gone = remove("nodes", LEAF.replace(name="Last"))
    renamed = Change("nodes", "n1", "name", "Leaf", "Last")
    assert merge(((renamed,), (gone,))) == (remove("nodes", LEAF),)


def test_nothing_changes_where_one_change_does_not_fit() -> None:
    good = Change("nodes", "n1", "name", "Leaf", "New")
    for bad in (
        Change("nodes", "n1", "name", "Other", "x"),
        Change("nodes", "n9", "name", "", "x"),
        Change("nodes", "n1", "nonsense", None, 1),
        Change("nodes", "n1", "service_time.nonsense", None, 1),
        Change("nodes", "n2", "service_time.mean_ms", None, 1.0),
        Change("nodes", "n1", "count", 1, 0),
        Change("nodes", "n1", "id", "n1", "n3"),
        Change("nothing", "n1", "name", "", "x"),
        add("nodes", LEAF.replace(name="other")),
        remove("nodes", LEAF.replace(name="other")),
        Change("nodes", "n3", WHOLE, None, LEAF),
    ):
        with pytest.raises(PatchConflict):
            apply(PLAN, (good, bad))
    assert PLAN.design.nodes["n1"].name == "Leaf"


def test_only_what_is_named_is_new() -> None:
    after = apply(PLAN, (Change("nodes", "n1", "name", "Leaf", "New"),))
    assert after.design.links is PLAN.design.links
    assert after.layout is PLAN.layout
    assert after.design.nodes["n2"] is PLAN.design.nodes["n2"]
    moved = apply(PLAN, (Change("boxes", "n1", "x", 0.0, 5.0),))
    assert moved.design is PLAN.design


def test_a_key_of_a_mapping_is_the_whole_rest_of_the_path() -> None:
    group = Group(id="g", site=Site(power_kw=5))
    guess = Provenance(kind="guessed")
    marked = with_field(group, "provenance.site.power_kw", guess)
    assert marked.provenance == Map({"site.power_kw": guess})
    assert get_field(marked, "provenance.site.power_kw") == guess
    assert get_field(marked, "provenance.site") is None
    assert with_field(marked, "provenance.site.power_kw", None) == group
    assert get_field(with_field(group, "site.power_kw", 7), "site.power_kw") == 7
    entries = to_json((Change("groups", "g", "provenance.site.power_kw", None, guess),))
    assert from_json(entries)[0].after == guess


def test_a_layout_change_is_told_from_a_change_of_meaning() -> None:
    assert Change("boxes", "n1", "x", 0.0, 1.0).is_layout
    assert not Change("nodes", "n1", "name", "", "x").is_layout


@pytest.mark.parametrize(
    "entries",
    [
        [{}],
        [{"collection": "nodes", "id": "n1", "field": "name", "before": ""}],
        [{"collection": "nothing", "id": "n1", "field": "name", "before": "", "after": "x"}],
        [{"collection": "nodes", "id": 5, "field": "name", "before": "", "after": "x"}],
        [{"collection": "nodes", "id": "n1", "field": "nothing", "before": "", "after": "x"}],
        [{"collection": "nodes", "id": "n1", "field": 5, "before": "", "after": "x"}],
        [{"collection": ["nodes"], "id": "n1", "field": "name", "before": "", "after": "x"}],
        [{"collection": "nodes", "id": "n1", "field": "name", "before": "", "after": 5}],
        [{"collection": "nodes", "id": "n1", "field": "", "before": None, "after": {"id": "n1"}}],
        [5],
        [None],
    ],
)
def test_what_is_no_patch_is_refused(entries: list[object]) -> None:
    with pytest.raises(PatchConflict):
        from_json(entries)  # type: ignore[arg-type]


def test_words_of_a_newer_version_may_come_back_but_not_be_written() -> None:
    change = Change("nodes", "n1", "kind", "leaf", "teapot")
    later = apply(PLAN, (change,))
    assert later.design.nodes["n1"].kind == "teapot"
    assert from_json(to_json((change,))) == (change,)
    with pytest.raises(PatchConflict, match="teapot"):
        check_value("nodes", "kind", "teapot")
    check_value("nodes", "kind", "leaf")
    check_value("severities", "a.rule", "info")
    service = Service(id="s1")
    check_value("services", "steering", service.steering)
