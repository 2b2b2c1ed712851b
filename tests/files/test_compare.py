"""Differences make the one design from the other; a merge loses nothing; changes read well."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from immutables import Map

from designer.files.compare import Merged, differences, merge
from designer.files.format import dumps, loads
from designer.files.wording import describe
from designer.model.base import NEWER_MINOR, Percentiles, Provenance
from designer.model.design import Design, TitleBlock
from designer.model.layout import Box, Layout
from designer.model.patch import WHOLE, Change, Patch, add, apply, invert, remove
from designer.model.references import problems
from designer.model.services import Service, Steering
from designer.model.things import Group, Link, Node, ServiceTime
from designer.model.topology import Topology
from tests.model.samples import item_types, random_topology, random_value, same

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
randoms = st.integers(0, 2**32).map(random.Random)


def small(**changes: object) -> Topology:
    design = Design(
        title_block=TitleBlock(title="Plan"),
        groups=Map({"g1": Group(id="g1", name="Paris"), "g2": Group(id="g2", parent="g1")}),
        nodes=Map(
            {
                "n1": Node(id="n1", kind="leaf", name="Leaf 1", group="g2"),
                "n2": Node(id="n2", kind="spine", name="Spine 1"),
                "n3": Node(id="n3", kind="spine"),
            }
        ),
        links=Map({"l1": Link(id="l1", a="n1", b="n2", capacity_gbps=100)}),
    )
    layout = Layout(boxes=Map({"n1": Box(id="n1", x=0, y=0)}))
    return Topology(design=design.model_copy(update=changes), layout=layout)


def changed(topology: Topology, *changes: Change) -> Topology:
    return apply(topology, changes)


def edited(topology: Topology, rng: random.Random, letters: str) -> Topology:
    """The topology with some fields of its own things changed and things of `letters` added."""
    patch: list[Change] = []
    kinds = item_types()
    for name in rng.sample(sorted(kinds), 4):
        part = topology.layout if name in Layout.model_fields else topology.design
        table = getattr(part, name)
        own = sorted(key for key in table if key.startswith("y"))
        if own and rng.random() < 0.7:
            key = rng.choice(own)
            new = random_value(kinds[name], rng, id=key)
            if rng.random() < 0.2:
                patch.append(remove(name, table[key]))
            elif new != table[key]:
                patch.append(Change(name, key, WHOLE, table[key], new))
        patch.append(add(name, random_value(kinds[name], rng, id=rng.choice(letters) + "9")))
    return apply(topology, tuple(patch))


@quick
@given(randoms, randoms)
def test_differences_make_the_one_from_the_other(one: random.Random, two: random.Random) -> None:
    before, after = random_topology(one), random_topology(two)
    patch = differences(before, after)
    same(apply(before, patch), after, "after")
    same(apply(after, invert(patch)), before, "before")
    same(apply(after, differences(after, before)), before, "back")
    assert differences(before, before) == ()
    addresses = [(change.collection, change.id, change.field) for change in patch]
    assert len(addresses) == len(set(addresses))
    for change in patch:
        if change.field == WHOLE:
            assert change.before is None or change.after is None


@quick
@given(randoms)
def test_a_change_of_fields_stays_a_change_of_fields(rng: random.Random) -> None:
    before = random_topology(rng)
    after = edited(before, rng, "z")
    patch = differences(before, after)
    same(apply(before, patch), after, "after")
    assert all(
        change.before is None or change.after is None for change in patch if change.field == WHOLE
    )


def accounted_for(merged: Merged, ours: Topology, theirs: Patch, mine: Patch) -> None:
    """Every change of theirs is taken, made by ours as well, or a clash; ours is all there."""
    left_out = [change for clash in merged.conflicts for change in clash.left_out]
    for change in theirs:
        homes = (change in merged.taken, change in mine, change in left_out)
        assert sum(homes) == 1, change.field
    same(apply(ours, merged.taken), merged.topology, "taken")


@quick
@given(randoms, randoms, randoms)
def test_a_merge_loses_nothing_and_fits(
    start: random.Random, one: random.Random, two: random.Random
) -> None:
    base = random_topology(start)
    ours, theirs = edited(base, one, "ab"), edited(base, two, "bc")
    merged = merge(base, ours, theirs)
    accounted_for(merged, ours, differences(base, theirs), differences(base, ours))
    assert problems(merged.topology) == problems(ours)
    swapped = merge(base, theirs, ours)
    assert bool(swapped.conflicts) == bool(merged.conflicts)
    if not merged.conflicts:
        same(merged.topology, swapped.topology, "swapped")


@quick
@given(randoms, randoms)
def test_disjoint_edits_commute(start: random.Random, rng: random.Random) -> None:
    base = random_topology(start)
    kinds = item_types()
    halves: list[list[Change]] = [[], []]
    for number, name in enumerate(rng.sample(sorted(kinds), 8)):
        halves[number % 2].append(add(name, random_value(kinds[name], rng, id="z1")))
    title = base.design.title_block
    halves[0].append(Change("title_block", "", "author", title.author, "Ada"))
    halves[1].append(Change("title_block", "", "story", title.story, "Why"))
    ours, theirs = (apply(base, tuple(half)) for half in halves)
    merged, swapped = merge(base, ours, theirs), merge(base, theirs, ours)
    assert not merged.conflicts
    assert not swapped.conflicts
    same(merged.topology, swapped.topology, "order")
    same(merged.topology, apply(ours, tuple(halves[1])), "both")


def test_one_side_alone_is_taken_whole() -> None:
    base = small()
    other = changed(base, Change("links", "l1", "capacity_gbps", 100.0, 400.0))
    assert merge(base, base, other).topology == other
    assert merge(base, other, base).topology == other
    assert merge(base, other, other) == Merged(other, (), ())


def test_one_value_changed_by_both_sides_is_a_clash() -> None:
    base = small()
    ours = changed(base, Change("links", "l1", "capacity_gbps", 100.0, 400.0))
    theirs = changed(
        base,
        Change("links", "l1", "capacity_gbps", 100.0, 800.0),
        Change("links", "l1", "note", "", "theirs"),
    )
    merged = merge(base, ours, theirs)
    assert merged.topology.design.links["l1"].capacity_gbps == 400
    assert merged.topology.design.links["l1"].note == "theirs"
    (clash,) = merged.conflicts
    assert clash.reason == "both sides changed the same value"
    assert [change.after for change in clash.left_out] == [800]
    assert [change.after for change in clash.kept] == [400]


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_thing_removed_here_and_changed_there_is_a_clash(*, is_swapped: bool) -> None:
    base = small()
    gone = changed(base, remove("links", base.design.links["l1"]))
    kept = changed(base, Change("links", "l1", "capacity_gbps", 100.0, 400.0))
    ours, theirs = (kept, gone) if is_swapped else (gone, kept)
    merged = merge(base, ours, theirs)
    assert merged.topology == ours
    (clash,) = merged.conflicts
    words = (
        "theirs removed it, ours changed it" if is_swapped else "ours removed it, theirs changed it"
    )
    assert clash.reason == words


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_link_to_a_node_that_the_other_side_removed_is_a_clash(*, is_swapped: bool) -> None:
    base = small()
    gone = changed(base, remove("nodes", base.design.nodes["n3"]))
    linked = changed(base, add("links", Link(id="l2", a="n1", b="n3")))
    ours, theirs = (linked, gone) if is_swapped else (gone, linked)
    merged = merge(base, ours, theirs)
    assert merged.topology == ours
    (clash,) = merged.conflicts
    assert clash.left_out == differences(base, theirs)
    assert clash.kept == differences(base, ours)
    assert "n3" in clash.reason


def test_groups_put_into_each_other_are_a_clash() -> None:
    base = small(
        groups=Map({"g1": Group(id="g1"), "g2": Group(id="g2"), "g3": Group(id="g3")}),
        nodes=Map(),
        links=Map(),
    )
    ours = changed(base, Change("groups", "g1", "parent", None, "g2"))
    theirs = changed(
        base,
        Change("groups", "g2", "parent", None, "g1"),
        Change("groups", "g2", "name", "", "Two"),
    )
    merged = merge(base, ours, theirs)
    assert problems(merged.topology) == ()
    assert merged.topology.design.groups["g1"].parent == "g2"
    assert merged.topology.design.groups["g2"].name == "Two"
    assert [change.field for clash in merged.conflicts for change in clash.left_out] == ["parent"]


def test_halves_of_a_rule_that_do_not_go_together_are_a_clash() -> None:
    steering = Steering(policy="nearest", targets=("n1", "n2"))
    base = small(services=Map({"s1": Service(id="s1", steering=steering)}))

    def steered(**changes: object) -> Topology:
        service = base.design.services["s1"]
        new = service.replace(steering=steering.replace(**changes))
        return changed(base, Change("services", "s1", WHOLE, service, new))

    ours = steered(policy="weighted", weights=(1.0, 2.0))
    theirs = steered(targets=("n1",))
    merged = merge(base, ours, theirs)
    assert merged.topology == ours
    (clash,) = merged.conflicts
    assert [change.field for change in clash.left_out] == ["steering.targets"]
    assert "weight" in clash.reason


def test_a_nested_value_that_changes_through_a_forbidden_state_is_changed_as_one() -> None:
    low = ServiceTime(percentiles_ms=Percentiles(p5=10, p50=11, p95=20, p99=25))
    high = ServiceTime(percentiles_ms=Percentiles(p5=1, p50=2, p95=30, p99=40))
    nodes = {key: Node(id="n1", kind="pe", service_time=t) for key, t in (("a", low), ("b", high))}
    before, after = (small(nodes=Map({"n1": nodes[key]}), links=Map()) for key in "ab")
    (change,) = differences(before, after)
    assert change.field == "service_time.percentiles_ms"
    assert apply(before, (change,)) == after
    assert apply(after, differences(after, before)) == before


def test_nested_values_that_rise_together_are_changed_one_by_one() -> None:
    times = [ServiceTime(percentiles_ms=Percentiles(p50=p, p95=2 * p)) for p in (1, 10)]
    before, after = (
        small(nodes=Map({"n1": Node(id="n1", kind="pe", service_time=time)}), links=Map())
        for time in times
    )
    for one, other in ((before, after), (after, before)):
        patch = differences(one, other)
        assert {change.field for change in patch} == {
            "service_time.percentiles_ms.p50",
            "service_time.percentiles_ms.p95",
        }
        assert apply(one, patch) == other
        assert apply(other, invert(patch)) == one


def test_unknown_fields_of_a_newer_minor_version_are_seen_and_kept() -> None:
    data = {"id": "n1", "kind": "leaf", "name": "Leaf 1", "group": "g2", "glow": 3}
    newer = Node.model_validate(data, context=NEWER_MINOR)
    before = small()
    after = small(nodes=before.design.nodes.set("n1", newer))
    (change,) = differences(before, after)
    assert change.field == WHOLE
    assert apply(before, (change,)).model_dump_json() == after.model_dump_json()
    nested = Service.model_validate({"id": "s1", "wire": {"colour": "red"}}, context=NEWER_MINOR)
    plain = small(services=Map({"s1": Service(id="s1")}))
    coloured = small(services=Map({"s1": nested}))
    (inner,) = differences(plain, coloured)
    assert inner.field == "wire"
    assert apply(plain, (inner,)).model_dump_json() == coloured.model_dump_json()


def test_provenance_of_a_nested_field_has_a_dotted_key() -> None:
    guessed = Provenance(kind="guessed", source="a table")
    before = small()
    group = before.design.groups["g1"].replace(provenance=Map({"site.power_kw": guessed}))
    after = small(groups=before.design.groups.set("g1", group))
    patch = differences(before, after)
    assert patch == (Change("groups", "g1", "provenance.site.power_kw", None, guessed),)
    assert apply(before, patch) == after
    assert apply(after, invert(patch)) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            Change("links", "l1", "capacity_gbps", 100.0, 400.0),
            "Link “Leaf 1 – Spine 1”: capacity from 100 Gb/s (12.5 GB/s) to 400 Gb/s (50 GB/s)",
        ),
        (
            Change("links", "l1", "b", "n2", "n1"),
            "Link “Leaf 1 – Spine 1”: b from “Spine 1” to “Leaf 1”",
        ),
        (
            Change("links", "l1", "lossless", None, True),
            "Link “Leaf 1 – Spine 1”: lossless from nothing to yes",
        ),
        (
            Change("nodes", "n1", "provenance.site.power_kw", None, Provenance(kind="guessed")),
            "Node “Leaf 1”: origin of site, power from given to kind “guessed”",
        ),
        (
            Change("nodes", "n1", "group", "g1", None),
            "Node “Leaf 1”: group from “Paris” to nothing",
        ),
        (Change("boxes", "n1", "x", 0.0, 12.0), "Place of “Leaf 1”: x from 0 to 12"),
        (add("nodes", Node(id="n9", kind="leaf", name="New")), "Node “New” added"),
        (remove("nodes", Node(id="n9", kind="leaf")), "Node “n9” removed"),
        (
            Change("title_block", "", "title", "Plan", "Plan B"),
            "Title block: title from “Plan” to “Plan B”",
        ),
        (Change("severities", "", "x.y", None, "info"), "Severities: x.y from nothing to “info”"),
        (
            Change("nodes", "n2", "chain", (), ("n1", "n3")),
            "Node “Spine 1”: chain from nothing to “Leaf 1”, “n3”",
        ),
        (
            Change("nodes", "n2", "service_time", None, ServiceTime(mean_ms=4)),
            "Node “Spine 1”: service time from nothing to mean 4 ms",
        ),
    ],
)
def test_changes_read_as_a_person_would_say_them(change: Change, words: str) -> None:
    assert describe(change, small()) == words


@quick
@given(randoms, randoms)
def test_every_change_has_words(one: random.Random, two: random.Random) -> None:
    before, after = random_topology(one), random_topology(two)
    for change in differences(before, after):
        line = describe(change, after)
        assert line
        assert "\n" not in line
        assert not line.endswith(".")


def of_minor(minor: int, unknown: str, design: str = "", layout: str = "") -> Topology:
    text = (
        f'{{"format":"promptpath","version":1,"minor":{minor},{unknown}'
        f'"design":{{"groups":[]{design}}},"layout":{{"boxes":[]{layout}}}}}'
    )
    return loads(text.encode(), "x").topology


def test_a_merge_keeps_what_newer_minor_versions_put_on_file_design_and_layout() -> None:
    base = of_minor(0, "")
    ours = of_minor(1, '"who":"us",', ',"weather":"wet"')
    theirs = of_minor(
        2, '"who":"them","when":3,', ',"weather":"dry","soil":[1]', ',"paper":{"a":4}'
    )
    merged = merge(base, ours, theirs).topology
    again = loads(dumps(merged), "x").topology
    assert again == merged
    written = again.model_dump(mode="json", exclude_defaults=True)
    assert written == {
        "minor": 2, "who": "us", "when": 3,
        "design": {"weather": "wet", "soil": [1]}, "layout": {"paper": {"a": 4}},
    }  # fmt: skip


def test_things_of_a_newer_minor_version_make_the_merged_file_one() -> None:
    theirs = of_minor(3, "", ',"nodes":[{"id":"n","kind":"quantum_box","spin":1}]')
    merged = merge(of_minor(0, ""), of_minor(0, ""), theirs).topology
    assert merged.minor == 3
    assert loads(dumps(merged), "x").topology == theirs
