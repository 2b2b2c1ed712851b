"""Ratios at switches, tiers and borders of groups, by hand."""

from designer.analysis.oversubscription import by_uplink, oversubscription
from designer.model.things import Group, Reverse
from tests.analysis.small import arrays_of, design, link, nodes


def of(made):
    return oversubscription(made, arrays_of(made))


def leaf_spine(uplink_gbps=100.0, **fields):
    """12 hosts of 100 on each of 2 leaves, with an uplink to each of 4 spines."""
    return design(
        *nodes("server", "h", count=24), *nodes("leaf", "l", count=2, **fields),
        *nodes("spine", "s", count=4), link("h-l", 100.0),
        link("l-s", uplink_gbps, pairing="each_to_each"),
    )  # fmt: skip


def test_a_leaf_of_3_to_1():
    # 12 × 100 down over 4 × 100 up.
    (row,) = of(leaf_spine()).switches
    assert (row.id, row.downlink_gbps, row.uplink_gbps, row.ratio) == ("l", 1200.0, 400.0, 3.0)
    assert (row.tier, row.limit) == ("fabric", None)


def test_a_rail_of_2_to_1():
    made = design(
        *nodes("server", "g", count=16), *nodes("rail_switch", "r"), *nodes("spine", "s"),
        link("g-r", 400.0), link("r-s", 400.0, members=8),
    )  # fmt: skip
    (row,) = of(made).switches
    assert (row.downlink_gbps, row.uplink_gbps, row.ratio) == (6400.0, 3200.0, 2.0)


def test_the_worst_instance_stands_for_a_switch():
    # Three hosts on two leaves: two on the first.
    made = design(
        *nodes("server", "h", count=3), *nodes("leaf", "l", count=2), *nodes("spine", "s"),
        link("h-l", 100.0), link("l-s", 100.0),
    )  # fmt: skip
    (row,) = of(made).switches
    assert row.ratio == 2.0


def test_links_between_equals_and_to_boxes_beside_are_neither_up_nor_down():
    made = design(
        *nodes("server", "h", count=4), *nodes("leaf", "l", "m"), *nodes("api_gateway", "g"),
        *nodes("spine", "s"), link("h-l", 100.0), link("l-m", 800.0), link("g-l", 800.0),
        link("l-s", 200.0),
    )  # fmt: skip
    (row,) = of(made).switches
    assert (row.id, row.ratio) == ("l", 2.0)


def test_the_way_up_counts_by_its_own_direction():
    made = design(
        *nodes("users", "u", count=32), *nodes("olt", "o"), *nodes("aggregation_router", "a"),
        link("u-o", 1.0, b_to_a=Reverse(capacity_gbps=2.0)), link("o-a", 16.0),
    )  # fmt: skip
    (row,) = of(made).switches
    assert (row.downlink_gbps, row.uplink_gbps, row.ratio) == (64.0, 16.0, 4.0)


def test_an_unknown_capacity_gives_no_ratio_there_and_leaves_the_others():
    made = design(
        *nodes("server", "h", "i", count=4), *nodes("leaf", "l", "m"), *nodes("spine", "s"),
        link("h-l", 100.0), link("l-s"), link("i-m", 100.0), link("m-s", 100.0),
    )  # fmt: skip
    assert [(row.id, row.ratio) for row in of(made).switches] == [("m", 4.0)]


def test_limits_of_the_node_come_before_those_of_the_tier():
    made = leaf_spine()
    made = made.replace(settings=made.settings.replace(oversubscription_limits={"fabric": 2.5}))
    assert of(made).switches[0].limit == 2.5
    own = made.replace(
        nodes=made.nodes.set("l", made.nodes["l"].replace(oversubscription_limit=4.0))
    )
    assert of(own).switches[0].limit == 4.0


def test_a_tier_has_the_ratio_of_its_worst_switch():
    made = design(
        *nodes("server", "h", count=4), *nodes("leaf", "l"), *nodes("spine", "s"),
        *nodes("super_spine", "x"), link("h-l", 100.0), link("l-s", 200.0), link("s-x", 50.0),
        *nodes("users", "u", count=10), *nodes("olt", "o"), *nodes("aggregation_router", "a"),
        link("u-o", 1.0), link("o-a", 5.0),
    )  # fmt: skip
    found = of(made)
    assert [(row.tier, row.ratio, row.switch) for row in found.tiers] == [
        ("access", 2.0, "o"),
        ("fabric", 4.0, "s"),
    ]
    assert [row.ratio for row in found.switches] == [4.0, 2.0, 2.0]


def rack(uplink_gbps, **fields):
    return design(
        Group(id="rack", kind="rack", name="R1"),
        *nodes("server", "h", count=4, group="rack"), *nodes("leaf", "l", group="rack"),
        *nodes("spine", "s", "t"), link("h-l", 100.0), link("l-s", uplink_gbps),
        link("l-t", uplink_gbps), **fields,
    )  # fmt: skip


def test_what_a_rack_lets_out():
    # 4 × 100 over 2 × 50.
    (row,) = of(rack(50.0)).cuts
    assert (row.group, row.name) == ("rack", "R1")
    assert (row.inside_gbps, row.cut_gbps, row.ratio) == (400.0, 100.0, 4.0)


def test_a_wide_border_lets_all_out():
    (row,) = of(rack(1000.0)).cuts
    assert (row.cut_gbps, row.ratio) == (400.0, 1.0)


def test_the_least_cut_may_lie_inside():
    # Two leaves of 2 × 100 each over 50, then one border of 1000: 100 get out.
    made = design(
        Group(id="pod", kind="pod"), Group(id="rack", kind="rack", parent="pod"),
        *nodes("server", "h", count=4, group="rack"), *nodes("leaf", "l", count=2, group="rack"),
        *nodes("spine", "s", group="pod"), *nodes("core_router", "c"),
        link("h-l", 100.0), link("l-s", 50.0), link("s-c", 1000.0),
    )  # fmt: skip
    assert {(row.group, row.cut_gbps, row.ratio) for row in of(made).cuts} == {
        ("pod", 100.0, 4.0),
        ("rack", 100.0, 4.0),
    }


def test_hosts_lend_no_way_to_others():
    # h hangs on l alone; only i, on both leaves, reaches the border: its own 10 there get out.
    made = design(
        Group(id="rack", kind="rack"), *nodes("server", "h", "i", group="rack"),
        *nodes("leaf", "l", "m", group="rack"), *nodes("spine", "s"),
        link("h-l", 100.0), link("i-l", 100.0), link("i-m", 10.0), link("m-s", 1000.0),
    )  # fmt: skip
    (row,) = of(made).cuts
    assert (row.inside_gbps, row.cut_gbps, row.ratio) == (210.0, 10.0, 21.0)


def test_a_group_with_an_unknown_or_no_border_has_no_cut():
    assert of(rack(None)).cuts == ()
    closed = design(
        Group(id="rack", kind="rack"), *nodes("server", "h", group="rack"),
        *nodes("leaf", "l", group="rack"), link("h-l", 100.0),
    )  # fmt: skip
    assert of(closed).cuts == ()


def test_an_empty_design_has_no_ratios():
    found = of(design())
    assert (found.switches, found.tiers, found.cuts) == ((), (), ())


def test_an_uplink_has_the_ratio_of_the_switch_that_it_leaves():
    made = leaf_spine()
    assert by_uplink(made, {"l": 3.0}) == {("l-s", True): 3.0}
    turned = design(
        *nodes("server", "h"), *nodes("leaf", "l"), *nodes("spine", "s"), link("l-h"), link("s-l")
    )
    assert by_uplink(turned, {"l": 3.0}) == {("s-l", False): 3.0}
