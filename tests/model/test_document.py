"""The open design: history without limit, two revisions, gestures, listeners."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from immutables import Map

from designer.files.compare import differences
from designer.model.design import Design
from designer.model.document import Document
from designer.model.layout import Box, Layout
from designer.model.patch import Change, Patch, PatchConflict, apply
from designer.model.things import Node
from designer.model.topology import Topology
from tests.model.samples import random_topology, same

quick = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
randoms = st.integers(0, 2**32).map(random.Random)

PLAN = Topology(
    design=Design(nodes=Map({"n1": Node(id="n1", kind="leaf")})),
    layout=Layout(boxes=Map({"n1": Box(id="n1", x=0, y=0)})),
)


def named(before: str, after: str) -> Patch:
    return (Change("nodes", "n1", "name", before, after),)


def moved(before: float, after: float) -> Patch:
    return (Change("boxes", "n1", "x", before, after),)


@quick
@given(randoms, st.lists(st.sampled_from(("edit", "undo", "redo")), max_size=12))
def test_undo_and_redo_walk_the_states_that_were(rng: random.Random, steps: list[str]) -> None:
    start = random_topology(rng)
    document = Document(start)
    states, at = [start], 0
    replica = start
    heard: list[Patch] = []
    document.listen(heard.append)
    for step in steps:
        revisions = document.design_revision + document.layout_revision
        if step == "edit":
            after = random_topology(rng)
            patch = differences(document.topology, after)
            document.commit(patch, "edit")
            if patch:
                states, at = [*states[: at + 1], after], at + 1
        elif step == "undo":
            at -= bool(document.undo())
        else:
            at += bool(document.redo())
        same(document.topology, states[at], step)
        assert (document.undo_title is None) == (at == 0)
        assert (document.redo_title is None) == (at == len(states) - 1)
        assert document.design_revision + document.layout_revision >= revisions
        for patch in heard:
            replica = apply(replica, patch)
        heard.clear()
        same(replica, document.topology, "replica")


def test_moving_a_box_makes_no_result_stale() -> None:
    document = Document(PLAN)
    document.commit(moved(0.0, 5.0), "Move")
    assert (document.design_revision, document.layout_revision) == (0, 1)
    document.commit(named("", "Leaf"), "Name")
    assert (document.design_revision, document.layout_revision) == (1, 1)
    document.undo()
    assert (document.design_revision, document.layout_revision) == (2, 1)
    document.commit((*named("", "x"), *moved(5.0, 6.0)), "Both")
    assert (document.design_revision, document.layout_revision) == (3, 2)


def test_patches_of_one_gesture_are_one_step() -> None:
    document = Document(PLAN)
    for x in range(5):
        document.commit(moved(float(x), x + 1.0), f"Move {x}", gesture="drag 1")
    document.commit(moved(5.0, 6.0), "Move again", gesture="drag 2")
    assert document.undo_title == "Move again"
    document.undo()
    assert document.undo_title == "Move 0"
    assert document.undo() == moved(5.0, 0.0)
    assert document.topology == PLAN
    assert document.undo() == ()


def test_a_gesture_that_comes_back_leaves_no_step() -> None:
    document = Document(PLAN)
    document.commit(moved(0.0, 5.0), "Move", gesture="drag")
    document.commit(moved(5.0, 0.0), "Move", gesture="drag")
    assert document.undo_title is None
    assert document.topology == PLAN


def test_a_new_edit_ends_what_could_be_done_again() -> None:
    document = Document(PLAN)
    document.commit(named("", "a"), "One")
    document.undo()
    assert document.redo_title == "One"
    document.commit(named("", "b"), "Two")
    assert document.redo_title is None
    assert document.redo() == ()


def test_a_patch_that_does_not_fit_changes_nothing() -> None:
    document = Document(PLAN)
    heard: list[Patch] = []
    document.listen(heard.append)
    document.commit(named("", "a"), "One")
    document.undo()
    with pytest.raises(PatchConflict):
        document.commit(named("other", "b"), "Two")
    document.commit((), "Nothing")
    assert document.topology == PLAN
    assert document.redo_title == "One"
    assert len(heard) == 2


def test_saved_is_about_the_value_not_the_way_to_it() -> None:
    document = Document(PLAN)
    assert document.is_saved
    document.commit(named("", "a"), "One")
    assert not document.is_saved
    document.mark_saved()
    document.undo()
    assert not document.is_saved
    document.redo()
    assert document.is_saved


def test_a_listener_can_leave_even_while_it_is_told() -> None:
    document = Document(PLAN)
    heard: list[str] = []

    def once(_: Patch) -> None:
        heard.append("once")
        forget()

    forget = document.listen(once)
    document.listen(lambda _: heard.append("always"))
    document.commit(named("", "a"), "One")
    document.commit(named("a", "b"), "Two")
    forget()
    assert heard == ["once", "always", "always"]
