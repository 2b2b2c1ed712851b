"""Edits answer with a Patch that fits, or with a sentence; they change nothing themselves."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from immutables import Map

from designer.model.base import Provenance
from designer.model.design import Design
from designer.model.edits import (
    EditRefused,
    add_items,
    add_link,
    add_node,
    group_items,
    move,
    paste,
    remove_items,
    set_field,
)
from designer.model.layout import Box, Layout
from designer.model.patch import Change, apply, invert
from designer.model.references import (
    MOST_STEPS_DEEP,
    groups_around,
    homes_of,
    multiplicity,
    problems,
    references,
)
from designer.model.services import Demand, Deployment, ModelCall, Series, Service, Steering
from designer.model.things import Group, Link, Node, Site
from designer.model.topology import Topology
from tests.model.samples import random_topology, same

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

PLAN = Topology(
    design=Design(
        groups=Map(
            {
                "g1": Group(id="g1", name="Paris", count=3),
                "g2": Group(id="g2", name="Room", parent="g1", count=2),
            }
        ),
        nodes=Map(
            {
                "u1": Node(id="u1", kind="users", name="People"),
                "u2": Node(id="u2", kind="users"),
                "n1": Node(id="n1", kind="leaf", name="Leaf", group="g2", count=4),
                "n2": Node(id="n2", kind="serving_pool", chain=("n1",)),
            }
        ),
        links=Map({"l1": Link(id="l1", a="u1", b="n1"), "l2": Link(id="l2", a="n1", b="n2")}),
        deployments=Map({"d1": Deployment(id="d1", node="n2", model="m")}),
        services=Map(
            {
                "s1": Service(
                    id="s1",
                    demands=tuple(Demand(users=u, requests_per_s=1) for u in ("u1", "u2")),
                    steering=Steering(policy="weighted", targets=("d1", "n1"), weights=(1, 2)),
                )
            }
        ),
    ),
    layout=Layout(boxes=Map({"n1": Box(id="n1", x=0, y=0)})),
)  # fmt: skip


def test_a_node_comes_with_its_place() -> None:
    patch = add_node(PLAN, Node(id="n9", kind="leaf"), 3, 4)
    after = apply(PLAN, patch)
    assert after.layout.boxes["n9"] == Box(id="n9", x=3, y=4)
    with pytest.raises(EditRefused, match="n1 is taken"):
        add_node(PLAN, Node(id="n1", kind="leaf"), 0, 0)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("n1", "n1", "two different ends"),
        ("g1", "n1", "Paris is a group"),
        ("n1", "n9", "no node n9"),
        ("u1", "u2", "Users reach each other"),
    ],
)
def test_links_that_cannot_be_say_why(a: str, b: str, words: str) -> None:
    with pytest.raises(EditRefused, match=words):
        add_link(PLAN, Link(id="l9", a=a, b=b))
    assert apply(PLAN, add_link(PLAN, Link(id="l9", a="n1", b="n2"))).design.links["l9"].a == "n1"


@pytest.mark.parametrize(
    ("collection", "key", "field", "value", "words"),
    [
        ("nodes", "n1", "kind", "teapot", "teapot"),
        ("nodes", "n1", "count", 0, "greater"),
        ("nodes", "n1", "count", 10_000_000, "instances"),
        ("nodes", "n1", "price_usd", float("nan"), "finite"),
        ("nodes", "n1", "price_usd", "10", "number"),
        ("nodes", "n1", "id", "n9", "never changes"),
        ("nodes", "n1", "group", "g9", "not among"),
        ("nodes", "n1", "colour", "red", "no field"),
        ("nodes", "n1", "service_time", {"bogus": 1}, "not permitted"),
        ("nodes", "n9", "name", "x", "no n9"),
        ("things", "n1", "name", "x", "no collection"),
        ("groups", "g1", "parent", "g2", "inside itself"),
        ("links", "l1", "b", "u1", "same node"),
        ("settings", "", "seed", -1, "greater"),
        ("settings", "", "oversubscription_limits.leaf", 0, "greater"),
        ("severities", "", "a.rule", 5, "string"),
    ],
)
def test_values_that_do_not_fit_are_refused_in_a_sentence(
    collection: str, key: str, field: str, value: Any, words: str
) -> None:
    with pytest.raises(EditRefused, match=words) as caught:
        set_field(PLAN, collection, [key], field, value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_value_is_written_with_where_it_comes_from() -> None:
    guess = Provenance(kind="guessed", source="a table")
    patch = set_field(PLAN, "links", ["l1", "l2"], "capacity_gbps", 100, guess)
    after = apply(PLAN, patch)
    assert after.design.links["l2"].capacity_gbps == 100.0
    assert after.design.links["l2"].provenance["capacity_gbps"] == guess
    given_by_hand = set_field(after, "links", ["l1"], "capacity_gbps", 200)
    assert "capacity_gbps" not in apply(after, given_by_hand).design.links["l1"].provenance
    assert set_field(after, "links", ["l1"], "capacity_gbps", 100, guess) == ()
    site = apply(PLAN, set_field(PLAN, "groups", ["g1"], "site", Site()))
    powered = apply(site, set_field(site, "groups", ["g1"], "site.power_kw", 5, guess))
    assert powered.design.groups["g1"].provenance["site.power_kw"] == guess
    assert apply(PLAN, set_field(PLAN, "severities", [""], "a.rule", "info")).design.severities == (
        Map({"a.rule": "info"})
    )


def test_a_removed_node_takes_along_what_cannot_be_without_it() -> None:
    after = apply(PLAN, remove_items(PLAN, ["n1"]))
    assert problems(after) == ()
    assert set(after.design.links) == set()
    assert after.design.nodes["n2"].chain == ()
    assert after.design.services["s1"].steering.targets == ("d1",)
    assert after.design.services["s1"].steering.policy == "nearest"
    assert "n1" not in after.layout.boxes
    pool = apply(PLAN, remove_items(PLAN, ["n2", "u1"]))
    assert problems(pool) == ()
    assert set(pool.design.deployments) == set()
    assert [each.users for each in pool.design.services["s1"].demands] == ["u2"]


def test_a_removed_group_leaves_its_members_to_its_parent() -> None:
    after = apply(PLAN, remove_items(PLAN, ["g2"]))
    assert after.design.nodes["n1"].group == "g1"
    both = apply(PLAN, remove_items(PLAN, ["g1", "g2"]))
    assert both.design.nodes["n1"].group is None
    with pytest.raises(EditRefused, match="Nothing of that"):
        remove_items(PLAN, ["zz"])


@quick
@given(st.integers(0, 2**32).map(random.Random))
def test_whatever_is_removed_the_rest_fits_and_comes_back(rng: random.Random) -> None:
    topology = random_topology(rng)
    design = topology.design
    ids = sorted({key for name in ("nodes", "groups", "links", "services", "flows", "spans")
                  for key in getattr(design, name)})  # fmt: skip
    patch = remove_items(topology, rng.sample(ids, min(3, len(ids))))
    after = apply(topology, patch)
    assert problems(after) == ()
    same(apply(after, invert(patch)), topology, "back")


def test_things_are_grouped_where_they_stood() -> None:
    after = apply(PLAN, group_items(PLAN, ["n2", "u1"], "Pair"))
    (made,) = (group for key, group in after.design.groups.items() if key not in ("g1", "g2"))
    assert (made.name, made.parent) == ("Pair", None)
    assert after.design.nodes["u1"].group == made.id
    with pytest.raises(EditRefused, match="different groups"):
        group_items(PLAN, ["n1", "n2"], "x")
    with pytest.raises(EditRefused, match="Choose"):
        group_items(PLAN, [], "x")


def test_a_paste_has_fresh_ids_and_keeps_the_links_among_its_own() -> None:
    design = PLAN.design
    nodes = [("nodes", design.nodes[key]) for key in ("n1", "n2")]
    patch = paste(PLAN, (*nodes, ("links", design.links["l2"])))
    after = apply(PLAN, patch)
    fresh = set(after.design.nodes) - set(design.nodes)
    (link,) = (each for key, each in after.design.links.items() if key not in design.links)
    assert {link.a, link.b} == fresh
    assert problems(after) == ()


def test_a_move_changes_no_meaning() -> None:
    patch = move(PLAN, {"n1": (5, 0), "g1": (1, 2)})
    assert all(change.is_layout for change in patch)
    assert Change("boxes", "n1", "x", 0.0, 5.0) in patch
    assert apply(PLAN, patch).layout.boxes["g1"] == Box(id="g1", x=1, y=2)
    with pytest.raises(EditRefused, match="no node or group"):
        move(PLAN, {"zz": (0, 0)})


def test_references_say_who_names_whom() -> None:
    found = {
        (each.collection, each.id, each.field, each.target) for each in references(PLAN.design)
    }
    assert ("links", "l1", "a", "u1") in found
    assert ("services", "s1", "demands", "u2") in found
    assert ("services", "s1", "steering.targets", "d1") in found
    assert homes_of("nodes", "group") == ("groups",)
    assert homes_of("nodes", "name") == ()
    assert multiplicity(PLAN.design, "n1") == 4 * 2 * 3
    assert groups_around(PLAN.design, "n1") == ("g2", "g1")


def test_a_workflow_that_could_not_be_written_is_refused() -> None:
    step: Any = ModelCall()
    for _ in range(MOST_STEPS_DEEP):
        step = Series(steps=(step,))
    with pytest.raises(EditRefused, match="deep"):
        add_items(PLAN, (("services", Service(id="s2", workflow=step)),))
    add_items(PLAN, (("services", Service(id="s2", workflow=step.steps[0])),))
