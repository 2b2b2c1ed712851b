"""Loads of links by class and max-min shares, from sums by hand."""

import numpy as np
import pytest
from pydantic import ValidationError

from designer.analysis.link_rows import link_rows
from designer.graph.expand import TooLarge
from designer.model.services import Flow
from designer.model.things import Group
from tests.analysis.small import (
    chat,
    design,
    elastic,
    flow,
    goodput,
    inelastic,
    link,
    load_of,
    nodes,
    pool,
    study,
)

G = goodput()
ANSWER = 100 / 212
"""Payload share of a streamed token alone: 100 B, TLS record 22, TCP 32, IPv4 20, Ethernet 38."""


def small(**fields):
    """Users - leaf - server, and a second server on the leaf."""
    return design(
        *nodes("users", "u", count=fields.pop("users", 1)),
        *nodes("leaf", "l"),
        *nodes("server", "s", count=fields.pop("servers", 1)),
        link("u-l", 10.0),
        link("l-s", 100.0),
        pool("s"),
        *fields.pop("more", ()),
        **fields,
    )


def test_requests_go_up_and_answers_down():
    # 1,000 prompts of 500 × 2 B a second; as many answers of 10 × 100 B in packets of one token.
    up, down = 1000 * 8000 / 1e9, 1000 * 10 * 100 * 8 / 1e9
    found = study(small(more=(chat("u", 1000.0),)))
    for each in ("u-l", "l-s"):
        assert load_of(found, each) == pytest.approx({"interactive": up / G})
        assert load_of(found, each, "b_to_a") == pytest.approx({"interactive": down / ANSWER})


def test_classes_are_added_up_and_background_comes_on_top():
    made = small(
        more=(
            inelastic("gold", 0),
            flow("u-s", 2.0, id="g", traffic_class="gold"),
            flow("u-s", 1.5, id="h", traffic_class="gold"),
            flow("s-u", 3.0, id="o", traffic_class="observability"),
        )
    )
    busy = made.replace(links=made.links.set("u-l", made.links["u-l"].replace(background_gbps=0.5)))
    found = study(busy)
    assert load_of(found, "u-l") == pytest.approx({"gold": 3.5 / G, "background": 0.5})
    assert load_of(found, "u-l", "b_to_a") == pytest.approx(
        {"observability": 3.0 / G, "background": 0.5}
    )
    rows = {(r.id, r.direction): r for r in link_rows(found)}
    assert rows["u-l", "a_to_b"].utilisation == pytest.approx((3.5 / G + 0.5) / 10)
    assert rows["u-l", "a_to_b"].capacity_gbps == 10.0


@pytest.mark.parametrize(("users", "servers"), [(1, 1), (4, 1), (1, 5), (4, 5)])
def test_counts_share_the_same_total(users, servers):
    made = small(
        users=users,
        servers=servers,
        more=(inelastic("gold", 0), flow("u-s", 6.0, traffic_class="gold")),
    )
    found = study(made)
    net = found.arrays
    for each, instances in (("u-l", users), ("l-s", servers)):
        edges = np.flatnonzero((net.link == net.link_position(each)) & net.forward)
        total = found.loads.by_class["gold"][edges]
        assert total.sum() == pytest.approx(6.0 / G)
        assert total == pytest.approx(np.full(instances, 6.0 / G / instances))
        assert load_of(found, each) == pytest.approx({"gold": 6.0 / G / instances})


def day(**hours):
    """A day at 0.2 of its largest hour but for these, as h3=1.0."""
    return tuple(hours.get(f"h{hour}", 0.2) for hour in range(24))


def test_the_busiest_hour_is_that_of_the_sum():
    # gold: 10 at 3 h, 5 at 20 h; silver: 2 at 3 h, 10 at 20 h. The sum peaks at 20 h with 15,
    # not with the sum of peaks of 20.
    made = small(
        more=(
            inelastic("gold", 0),
            inelastic("silver", 1),
            flow("s-u", 10.0, id="g", traffic_class="gold", day=day(h3=1.0, h20=0.5)),
            flow("s-u", 10.0, id="s", traffic_class="silver", day=day(h20=1.0)),
        )
    )
    found = study(made)
    assert load_of(found, "l-s", "b_to_a") == pytest.approx({"gold": 5 / G, "silver": 10 / G})
    edge = found.arrays.edges_by_link()[found.arrays.link_position("l-s")][1]
    assert found.loads.hour[edge] == 20
    assert found.loads.total_gbps[edge] == pytest.approx(15 / G)


def test_a_day_is_relative_to_its_largest_hour():
    twice = tuple(2 * each for each in day(h3=1.0))
    made = small(more=(inelastic("gold", 0), flow("u-s", 4.0, traffic_class="gold", day=twice)))
    assert load_of(study(made), "u-l") == pytest.approx({"gold": 4.0 / G})


@pytest.mark.parametrize("hours", [(1.0,) * 5, (0.0,) * 24])
def test_a_day_that_is_none_is_refused(hours):
    with pytest.raises(ValidationError, match="hourly values"):
        Flow(id="f", source="a", target="b", day=hours)


def test_equal_ways_carry_half_and_parallel_cables_their_part():
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", *"abcd"), inelastic("gold", 0),
        link("h-a", 100.0), link("a-b", 100.0), link("b-d", 100.0), link("a-c", 100.0),
        link("c-d", 100.0), link("d-t", 100.0), link("a-c", 100.0, id="a-c2"),
        flow("h-t", 12.0, traffic_class="gold"),
    )  # fmt: skip
    found = study(made)
    # Three next hops at a: b by one, c by two cables.
    loads = {key: load_of(found, key)["gold"] * G for key in ("a-b", "b-d", "a-c", "a-c2", "c-d")}
    assert loads == pytest.approx({"a-b": 4.0, "b-d": 4.0, "a-c": 4.0, "a-c2": 4.0, "c-d": 8.0})


def test_separate_copies_of_a_drawing_keep_their_traffic():
    # Two shops, each with its own users and server: half of 10 each, and nothing is lost.
    made = design(
        Group(id="shop", kind="site", count=2),
        *nodes("users", "u", group="shop"), *nodes("leaf", "l", group="shop"),
        *nodes("server", "s", group="shop", count=2), inelastic("gold", 0),
        link("u-l", 100.0), link("l-s", 100.0), flow("u-s", 10.0, traffic_class="gold"),
    )  # fmt: skip
    found = study(made)
    assert load_of(found, "u-l") == pytest.approx({"gold": 5.0 / G})
    assert load_of(found, "l-s") == pytest.approx({"gold": 2.5 / G})


def test_what_finds_no_way_loads_nothing():
    made = small(more=(inelastic("gold", 0), flow("u-s", 6.0, traffic_class="gold")))
    found = study(made, "u-l")
    assert (load_of(found, "u-l"), load_of(found, "l-s")) == ({}, {})
    assert found.shares.rates_gbps.tolist() == [0.0]


def test_an_elastic_class_carries_what_it_gets():
    # 400 asked of a line of 10; a flow without a rate in an inelastic class yields as well.
    for asked in (400.0, None):
        cls = "silver" if asked else "gold"
        made = small(
            more=(
                inelastic("gold", 0),
                elastic("silver", 1),
                flow("u-s", asked, traffic_class=cls),
            )
        )
        found = study(made)
        assert load_of(found, "u-l") == pytest.approx({cls: 10.0})
        assert found.loads.offered_gbps.max() == 0.0


def test_an_inelastic_class_carries_what_it_asks_for_even_too_much():
    made = small(more=(inelastic("gold", 0), flow("u-s", 13.0, traffic_class="gold")))
    found = study(made)
    assert load_of(found, "u-l") == pytest.approx({"gold": 13.0 / G})
    over = next(r for r in link_rows(found) if (r.id, r.direction) == ("u-l", "a_to_b"))
    assert over.utilisation == pytest.approx(1.3 / G)
    assert over.grows_gbps_per_s == pytest.approx(13.0 / G - 10)


def shared(*flows, classes):
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", "l"), *classes,
        link("h-l", 100.0), link("l-t", 400.0), *flows,
    )  # fmt: skip
    found = study(made)
    return dict(zip((s.id for s in found.streams), found.shares.rates_gbps.tolist(), strict=True))


def test_strict_priority_then_what_is_left():
    rates = shared(
        flow("h-t", 30 * G, id="g", traffic_class="gold"),
        flow("h-t", 50 * G, id="s", traffic_class="silver"),
        flow("h-t", id="b", traffic_class="bronze"),
        classes=(inelastic("gold", 0), inelastic("silver", 1), elastic("bronze", 2)),
    )
    assert rates == pytest.approx({"g": 30.0, "s": 50.0, "b": 20.0})


def test_weights_are_of_a_class_and_flows_of_a_class_share_by_connections():
    # 8:2 between classes; the three connections of one bulk flow against one of the other.
    rates = shared(
        flow("h-t", id="d", traffic_class="decode"),
        flow("h-t", id="b", traffic_class="bulk", flows=3),
        flow("h-t", id="c", traffic_class="bulk"),
        classes=(elastic("decode", 1, weight=8.0), elastic("bulk", 1, weight=2.0)),
    )
    assert rates == pytest.approx({"d": 80.0, "b": 15.0, "c": 5.0})


def test_unknown_capacity_limits_nothing_and_unknown_rates_ask_for_nothing():
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", "l"), elastic("bulk", 1),
        link("h-l"), link("l-t"), flow("h-t", traffic_class="bulk"),
    )  # fmt: skip
    found = study(made)
    assert np.isnan(found.shares.rates_gbps).all()
    assert {(r.capacity_gbps, r.utilisation) for r in link_rows(found)} == {(None, None)}


def test_too_many_pairs_are_refused_by_name():
    with pytest.raises(TooLarge, match="flow u-s joins 1,000,000 pairs"):
        study(small(users=1000, servers=1000, more=(flow("u-s", 1.0),)))


def test_a_streamed_token_of_100_bytes_weighs_212_on_the_wire():
    # 100 + TLS record 22 + TCP with time stamps 32 + IPv4 20 + Ethernet 38, 10,000 times a second.
    found = study(small(more=(chat("u", 1000.0),)))
    assert load_of(found, "u-l", "b_to_a") == pytest.approx({"interactive": 212 * 8 * 1e4 / 1e9})


def test_a_tunnel_adds_its_headers_to_its_own_link_alone():
    made = design(
        *nodes("server", "a", "b"), *nodes("leaf", "r"), inelastic("gold", 0), link("a-r", 100.0),
        link("r-b", 100.0, encapsulations=("vxlan",)), flow("a-b", 10.0, traffic_class="gold"),
    )  # fmt: skip
    found = study(made)
    assert load_of(found, "a-r") == pytest.approx({"gold": 10 / 1448 * (1448 + 112)})
    assert load_of(found, "r-b") == pytest.approx({"gold": 10 / 1448 * (1448 + 112 + 50)})
