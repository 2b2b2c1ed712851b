"""What a port gives, step by step, from capacities by hand and published hashing figures."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer.analysis.fanout import ADAPTIVE_SHARE
from designer.graph.shares import usage
from tests.analysis.small import (
    design,
    elastic,
    flow,
    goodput,
    inelastic,
    link,
    nodes,
    row,
    study,
    table,
)

G = goodput()


def bars(found):
    return (
        found.port_gbps,
        found.after_overhead_gbps,
        found.after_balancing_gbps,
        found.after_contention_gbps,
        found.effective_gbps,
    )


def chain(*gbps, **fields):
    """Host h, leaves l1, l2, ..., host t, with links of these capacities between them."""
    inner = [f"l{k}" for k in range(1, len(gbps))]
    ends = ["h", *inner, "t"]
    links = [link(f"{a}-{b}", each) for a, b, each in zip(ends[:-1], ends[1:], gbps, strict=True)]
    return design(*nodes("server", "h", "t"), *nodes("leaf", *inner), *links, flow("h-t"), **fields)


def test_a_slower_link_on_the_way_is_the_bottleneck_and_is_named():
    found = row(study(chain(400.0, 100.0, 200.0)), "h-t")
    assert bars(found) == pytest.approx((400.0, 400 * G, 400 * G, 100 * G, 100 * G))
    assert found.path == ("h-l1", "l1-l2", "l2-t")
    assert (found.bottleneck, found.next_bottleneck) == ("l1-l2", "l2-t")


def test_of_equal_links_the_first_on_the_way_is_named():
    found = row(study(chain(100.0, 100.0, 100.0)), "h-t")
    assert bars(found) == pytest.approx((100.0, *[100 * G] * 4))
    assert (found.bottleneck, found.next_bottleneck) == ("h-l1", "l1-l2")


def test_background_is_taken_last():
    made = chain(400.0, 100.0)
    busy = made.replace(
        links=made.links.set("l1-t", made.links["l1-t"].replace(background_gbps=30.0))
    )
    assert bars(row(study(busy), "h-t")) == pytest.approx(
        (400.0, 400 * G, 400 * G, 100 * G, 70 * G)
    )


def test_background_above_the_capacity_leaves_nothing():
    made = chain(400.0, 100.0)
    busy = made.replace(
        links=made.links.set("l1-t", made.links["l1-t"].replace(background_gbps=130.0))
    )
    assert row(study(busy), "h-t").effective_gbps == 0.0


def test_behind_an_oversubscribed_leaf_each_port_gets_its_part_of_the_uplink():
    # 6 hosts of 100 on 200 of uplink: 3:1.
    made = design(
        *nodes("server", "h", count=6), *nodes("server", "t"), *nodes("leaf", "l"),
        *nodes("spine", "s"), link("h-l", 100.0), link("l-s", 200.0), link("s-t", 800.0),
        flow("h-t", flows=6),
    )  # fmt: skip
    found = row(study(made), "h-t")
    assert bars(found) == pytest.approx((100.0, 100 * G, 100 * G, 200 / 6 * G, 200 / 6 * G))
    assert found.bottleneck == "l-s"


def clos(hosts, uplinks, uplink_gbps, connections, **fields):
    """Hosts of 100 on leaf l, spines, and as many hosts on leaf m."""
    return design(
        *nodes("server", "h", "t", count=hosts), *nodes("leaf", "l", "m"),
        *nodes("spine", "s", count=uplinks), link("h-l", 100.0), link("l-s", uplink_gbps),
        link("s-m", uplink_gbps), link("m-t", 100.0), flow("h-t", flows=connections), **fields,
    )  # fmt: skip


@pytest.mark.parametrize(("each", "mean"), [(1, 0.410), (8, 0.665), (16, 0.737)])
def test_hashing_on_8_uplinks_costs_what_is_published(each, mean):
    # 8/8, 64/8 and 128/8 flows on 8 uplinks at 1:1 (MODEL section 2).
    found = row(study(clos(8, 8, 100.0, 8 * each)), "h-t")
    assert found.after_overhead_gbps == pytest.approx(100 * G)
    assert found.after_balancing_gbps == pytest.approx(100 * G * mean, rel=0.01)
    assert found.effective_gbps == pytest.approx(100 * G * mean, rel=0.01)
    assert found.bottleneck == "l-s"


def test_hashing_and_oversubscription_multiply():
    # 8 hosts of 100 on 8 uplinks of 50 (2:1): the worst of 8 flows gets .410 of its half.
    found = row(study(clos(8, 8, 50.0, 8)), "h-t")
    assert found.after_balancing_gbps == pytest.approx(100 * G * 0.410, rel=0.01)
    assert found.after_contention_gbps == pytest.approx(50 * G * 0.410, rel=0.01)


def test_collisions_cost_nothing_where_the_uplinks_have_room_for_them():
    # 8 flows of a host of 100 are 12.5 each; all 8 on one uplink of 100 would still fit.
    found = row(study(clos(1, 8, 100.0, 8)), "h-t")
    assert bars(found) == pytest.approx((100.0, *[100 * G] * 4))


@pytest.mark.parametrize("how", ["adaptive", "spraying", "flowlet"])
def test_adaptive_routing_and_spraying_reach_the_stated_share(how):
    made = clos(8, 8, 100.0, 8)
    made = made.replace(settings=made.settings.replace(balancing=how))
    found = row(study(made), "h-t")
    assert found.after_balancing_gbps == pytest.approx(100 * G * ADAPTIVE_SHARE)


def test_a_million_connections_spread_evenly():
    found = row(study(clos(8, 8, 100.0, 1_000_000)), "h-t")
    assert bars(found) == pytest.approx((100.0, *[100 * G] * 4))


def test_different_targets_behind_one_switch_are_no_fan_out():
    # 16 flows of two hosts leave the leaf for 8 targets by one way each: nothing is hashed.
    made = design(
        *nodes("server", "h", count=2), *nodes("server", "t", count=8), *nodes("leaf", "l"),
        link("h-l", 100.0), link("l-t", 100.0), flow("h-t", flows=16),
    )  # fmt: skip
    assert bars(row(study(made), "h-t")) == pytest.approx((100.0, *[100 * G] * 4))


def test_two_ports_of_one_host_add_up():
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", "l", "m"), link("h-l", 100.0),
        link("h-m", 100.0), link("l-t", 300.0), link("m-t", 300.0), flow("h-t"),
    )  # fmt: skip
    assert bars(row(study(made), "h-t")) == pytest.approx((200.0, *[200 * G] * 4))


def test_an_unknown_capacity_is_no_figure():
    found = row(study(chain(400.0, None, 100.0)), "h-t")
    assert bars(found) == (400.0, pytest.approx(400 * G), None, None, None)
    assert (found.bottleneck, found.next_bottleneck) == (None, None)
    assert bars(row(study(chain(None, 100.0)), "h-t")) == (None,) * 5


def test_without_a_way_there_are_no_figures():
    made = design(*nodes("server", "h", "t"), *nodes("leaf", "l"), link("h-l", 1.0), flow("h-t"))
    found = row(study(made), "h-t")
    assert (found.path, bars(found)) == ((), (None,) * 5)


def test_a_flow_to_itself_alone_has_no_figures():
    made = design(*nodes("server", "h"), *nodes("leaf", "l"), link("h-l", 1.0), flow("h-h"))
    assert bars(row(study(made), "h-h")) == (None,) * 5


def test_a_flow_among_the_instances_of_one_node():
    # 4 hosts of 100 on one leaf, each to the 3 others: the port is the limit.
    made = design(
        *nodes("server", "h", count=4), *nodes("leaf", "l"), link("h-l", 100.0),
        flow("h-h", flows=12),
    )  # fmt: skip
    assert bars(row(study(made), "h-h")) == pytest.approx((100.0, *[100 * G] * 4))


def test_no_demand_still_shows_what_the_port_would_give():
    made = chain(400.0, 100.0)
    idle = made.replace(flows=made.flows.set("h-t", flow("h-t", 0.0)))
    assert bars(row(study(idle), "h-t")) == pytest.approx(
        (400.0, 400 * G, 400 * G, 100 * G, 100 * G)
    )


def test_more_urgent_classes_are_out_of_the_way_first():
    # 100: gold asks 40 of payload; silver may have the rest; bronze gets what is left: nothing.
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", "l"), link("h-l", 100.0), link("l-t", 400.0),
        inelastic("gold", 0), elastic("silver", 1), elastic("bronze", 2),
        flow("h-t", 40.0, id="g", traffic_class="gold"),
        flow("h-t", id="s", traffic_class="silver"), flow("h-t", id="b", traffic_class="bronze"),
    )  # fmt: skip
    found = study(made)
    assert row(found, "g").effective_gbps == pytest.approx(100 * G)
    assert row(found, "s").effective_gbps == pytest.approx(100 * G - 40)
    assert row(found, "b").effective_gbps == pytest.approx(0.0, abs=1e-9)


def test_the_instance_that_gets_least_is_shown():
    # Three hosts on two leaves of 100 uplink: two share the first, 50 each; the third has 100.
    made = design(
        *nodes("server", "h", count=3), *nodes("server", "t"), *nodes("leaf", "l", count=2),
        *nodes("spine", "s"), link("h-l", 100.0), link("l-s", 100.0), link("s-t", 400.0),
        flow("h-t", flows=3),
    )  # fmt: skip
    found = study(made)
    assert sorted(found.shares.rates_gbps) == pytest.approx([50.0, 50.0, 100.0])
    assert row(found, "h-t").effective_gbps == pytest.approx(50 * G)


def bundle(members, connections, how="hash"):
    """Hosts h and t on switches l and m, and `members` cables of 100 in each of the bundles."""
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", "l", "m"),
        *(link(ends, 100.0, members=members) for ends in ("h-l", "l-m", "m-t")),
        flow("h-t", flows=connections),
    )  # fmt: skip
    return row(study(made.replace(settings=made.settings.replace(balancing=how))), "h-t")


@pytest.mark.parametrize("how", ["hash", "flowlet", "adaptive"])
def test_one_connection_rides_one_member_of_a_bundle(how):
    assert bundle(2, 1, how).port_gbps == 200.0
    assert bundle(2, 1, how).effective_gbps == pytest.approx(100 * G)


def test_eight_connections_on_a_bundle_of_eight_collide_as_on_eight_links():
    # 8/8 of MODEL section 2: .410 of 800.
    assert bundle(8, 8).effective_gbps == pytest.approx(800 * G * 0.410, rel=0.01)


def test_spraying_uses_all_members():
    assert bundle(2, 1, "spraying").effective_gbps == pytest.approx(200 * G * ADAPTIVE_SHARE)


def test_background_takes_nothing_from_more_urgent_classes():
    # Background is served last: gold may have all 100, bronze of the same priority what is left.
    for priority, left in ((1, 100.0), (6, 70.0)):
        made = design(
            *nodes("server", "h", "t"), *nodes("leaf", "l"), link("h-l", 400.0),
            link("l-t", 100.0, background_gbps=30.0), elastic("some", priority),
            flow("h-t", traffic_class="some"),
        )  # fmt: skip
        found = study(made)
        assert row(found, "h-t").after_contention_gbps == pytest.approx(100 * G)
        assert row(found, "h-t").effective_gbps == pytest.approx(left * G)
        (trip,) = found.transit.trips("h", "t", "some")
        # One more flow shares with the one that is there.
        assert trip.transfer_gbps == pytest.approx(left / 2 * G)
        assert found.loads.total_gbps.max() == pytest.approx(100.0)


def test_a_port_loses_its_own_headers_and_not_those_of_a_tunnel_on_the_way():
    # VXLAN's 50 bytes are carried by a link that has room for them.
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", "l", "m"), link("h-l", 100.0),
        link("l-m", 400.0, encapsulations=("vxlan",)), link("m-t", 100.0), flow("h-t"),
    )  # fmt: skip
    assert bars(row(study(made), "h-t")) == pytest.approx((100.0, *[100 * G] * 4))
    tight = made.replace(links=made.links.set("l-m", made.links["l-m"].replace(capacity_gbps=50.0)))
    tunnel = 1448 / (1448 + 112 + 50)
    assert row(study(tight), "h-t").effective_gbps == pytest.approx(50 * tunnel)
    assert row(study(tight), "h-t").bottleneck == "l-m"


def test_equal_cost_hops_of_unequal_capacity_are_said():
    made = design(
        *nodes("server", "h", "t"), *nodes("leaf", "l", "m"), link("h-l", 400.0),
        link("l-m", 100.0, id="x"), link("l-m", 40.0, id="y"), link("m-t", 400.0),
        flow("h-t", flows=10_000),
    )  # fmt: skip
    found = study(made)
    # Halves: the smaller one is full at 40, so the larger carries 40 as well.
    assert row(found, "h-t").effective_gbps == pytest.approx(80 * G)
    (line,) = [each for each in found.ledger.lines() if each.field == "equal_cost_gbps"]
    assert (line.element, line.value) == ("l", "40 and 100")


CAPACITIES = (0.001, 1.0, 10.0, 25.0, 100.0, 400.0)


@st.composite
def networks(draw):
    """A connected network of up to six switches, hosts on them, and flows of up to four classes."""
    size = draw(st.integers(1, 6))
    capacity = st.sampled_from(CAPACITIES)
    switches = [f"x{k}" for k in range(size)]
    links = [
        link(f"x{draw(st.integers(0, k - 1))}-x{k}", draw(capacity), id=f"tree{k}", metric=1)
        for k in range(1, size)
    ]
    for k in range(draw(st.integers(0, 4)) if size > 1 else 0):
        a = draw(st.integers(0, size - 2))
        b = draw(st.integers(a + 1, size - 1))
        background = draw(st.sampled_from([None, 0.5, 20.0]))
        links.append(
            link(f"x{a}-x{b}", draw(capacity), id=f"more{k}", metric=1, background_gbps=background)
        )
    hosts = [f"h{k}" for k in range(draw(st.integers(2, 4)))]
    links += [
        link(f"{h}-{draw(st.sampled_from(switches))}", draw(capacity), metric=1) for h in hosts
    ]
    classes = (
        inelastic("p0", 0), elastic("p1a", 1, weight=4.0), elastic("p1b", 1), elastic("p2", 2)
    )  # fmt: skip
    flows = []
    for k in range(draw(st.integers(1, 6))):
        source, target = draw(st.permutations(hosts))[:2]
        cls = draw(st.sampled_from(classes)).id
        rate = draw(st.sampled_from([0.0, 0.3, 5.0])) if cls == "p0" else None
        flows.append(
            flow(f"{source}-{target}", rate, id=f"f{k}", traffic_class=cls,
                 flows=draw(st.sampled_from([1, 3, 50])))
        )  # fmt: skip
    return design(
        *nodes("leaf", *switches), *nodes("server", *hosts, count=draw(st.integers(1, 2))),
        *links, *classes, *flows,
    )  # fmt: skip


@settings(max_examples=120, deadline=None, derandomize=True)
@given(made=networks())
def test_each_step_takes_something_away_and_no_link_carries_more_than_it_can(made):
    found = study(made)
    for each in found.flow_rows:
        steps = bars(each)
        assert all(after <= before * (1 + 1e-9) for before, after in pairwise(steps))
        assert steps[-1] >= 0
    net, routes = found.arrays, found.flows.routes
    # All these classes are more urgent than background, and lose nothing to it.
    for rates in (found.shares.rates_gbps, found.shares.without_background_gbps):
        used = usage(net.edges, routes.indptr, routes.edge, routes.share, np.nan_to_num(rates))
        assert np.all(used <= net.capacity_gbps * (1 + 1e-7) + 1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(made=networks(), factor=st.sampled_from([1.5, 10.0]), data=st.data())
def test_more_capacity_never_lowers_the_smallest_share_of_one_class(made, factor, data):
    flows = [flow(f"{f.source}-{f.target}", id=f.id) for f in made.flows.values()]
    made = made.replace(flows=table(*flows))
    chosen = data.draw(st.sampled_from(sorted(made.links)))
    wider = made.links[chosen].replace(capacity_gbps=made.links[chosen].capacity_gbps * factor)
    before = study(made).shares.rates_gbps.min()
    after = study(made.replace(links=made.links.set(chosen, wider))).shares.rates_gbps.min()
    assert after >= before * (1 - 1e-8)


@pytest.mark.parametrize("gbps", [1e-9, 1e-3, 1e6])
def test_an_elastic_flow_gets_its_max_min_rate(gbps):
    found = study(chain(gbps, 100.0 * gbps, 3 * gbps))
    assert found.shares.rates_gbps.tolist() == pytest.approx([gbps])
    assert row(found, "h-t").effective_gbps == pytest.approx(gbps * G)
