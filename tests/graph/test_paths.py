"""Drawn paths and the share of traffic on each."""

import numpy as np
import pytest

from designer.graph.arrays import out_of_service
from designer.graph.paths import MOST_PATHS, PathFinder
from tests.analysis.small import arrays_of, design, link, nodes


def finder(made, *out):
    net = arrays_of(made)
    gone = frozenset(out)
    return PathFinder(net, out_of_service(net, gone, gone))


def drawn(made, source, target, *out):
    paths = finder(made, *out).paths(source, target)
    return {path.links: pytest.approx(path.share) for path in paths}


def square(**fields):
    return design(
        *nodes("leaf", *"abcd"), link("a-b"), link("b-d"), link("a-c"), link("c-d"), **fields
    )


def test_two_equal_ways_take_half_each():
    assert drawn(square(), "a", "d") == {("a-b", "b-d"): 0.5, ("a-c", "c-d"): 0.5}


def test_the_cheaper_way_takes_all():
    made = design(
        *nodes("leaf", *"abcd"), link("a-b", metric=1), link("b-d", metric=2),
        link("a-c", metric=2), link("c-d", metric=2),
    )  # fmt: skip
    assert drawn(made, "a", "d") == {("a-b", "b-d"): 1.0}
    assert drawn(made, "a", "d", "b") == {("a-c", "c-d"): 1.0}
    assert drawn(made, "a", "d", "a-b") == {("a-c", "c-d"): 1.0}


def test_instances_and_their_cables_are_one_drawn_way():
    made = design(
        *nodes("leaf", "a", "d"), *nodes("spine", "s", count=4),
        link("a-s"), link("s-d"),
    )  # fmt: skip
    assert drawn(made, "a", "d") == {("a-s", "s-d"): 1.0}


def test_parallel_drawn_links_split_by_cables():
    # Three instances of s over one link, one t: a hash picks each of four next hops alike.
    made = design(
        *nodes("leaf", "a", "d"), *nodes("spine", "s", count=3), *nodes("spine", "t"),
        link("a-s"), link("s-d"), link("a-t"), link("t-d"),
    )  # fmt: skip
    assert drawn(made, "a", "d") == {("a-s", "s-d"): 0.75, ("a-t", "t-d"): 0.25}


def test_members_of_a_bundle_are_one_next_hop():
    made = design(
        *nodes("leaf", "a", "d"), link("a-d", id="thin"), link("a-d", id="thick", members=4)
    )
    assert drawn(made, "a", "d") == {("thin",): 0.5, ("thick",): 0.5}


def test_no_way_goes_through_a_terminal():
    made = design(*nodes("leaf", "a", "b"), *nodes("server", "h"), link("a-h"), link("h-b"))
    assert drawn(made, "a", "b") == {}
    assert drawn(made, "a", "h") == {("a-h",): 1.0}
    assert drawn(made, "h", "b") == {("h-b",): 1.0}


def test_terminals_are_not_crossed_though_nearer():
    made = design(
        *nodes("leaf", *"abc"), *nodes("server", "h"),
        link("a-h", metric=1), link("h-b", metric=1), link("a-c", metric=9), link("c-b", metric=9),
    )  # fmt: skip
    assert drawn(made, "a", "b") == {("a-c", "c-b"): 1.0}


def test_hops_name_the_nodes_crossed():
    (path,) = finder(square(), "c").paths("a", "d")
    assert path.crossed == ("b",)
    assert [hop.node for hop in path.hops] == ["b", "d"]


def test_the_farthest_instance_stands_for_a_drawn_node():
    # Each of two hosts has a leaf of its own; only the second leaf is a hop further from t.
    made = design(
        *nodes("server", "h", count=2), *nodes("leaf", "l", count=2), *nodes("leaf", "t"),
        link("h-l", pairing="one_to_one"), link("l-t"),
    )  # fmt: skip
    assert drawn(made, "h", "t") == {("h-l", "l-t"): 1.0}
    assert drawn(made, "h", "h") == {("h-l", "l-t", "l-t", "h-l"): 1.0}


def test_a_single_node_has_no_way_to_itself():
    assert drawn(square(), "a", "a") == {}


def test_only_some_of_many_ways_are_kept_and_their_shares_scaled():
    middle = [f"m{k}" for k in range(2 * MOST_PATHS)]
    made = design(
        *nodes("leaf", "a", "d"), *nodes("spine", *middle),
        *(link(f"a-{m}") for m in middle), *(link(f"{m}-d") for m in middle),
    )  # fmt: skip
    paths = finder(made).paths("a", "d")
    assert [path.share for path in paths] == [pytest.approx(1 / MOST_PATHS)] * MOST_PATHS


def test_edges_lead_from_hop_to_hop():
    found = finder(square())
    for path in found.paths("a", "d"):
        net = found.arrays.network
        ends = [int(net.tail[path.hops[0].edge])] + [int(net.head[hop.edge]) for hop in path.hops]
        assert [found.arrays.node_of(v) for v in ends] == ["a", *(hop.node for hop in path.hops)]
        assert np.all(~found.down[[hop.edge for hop in path.hops]])
