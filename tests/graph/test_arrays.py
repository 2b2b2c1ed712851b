"""Directed edges of a design: cost, capacity by direction, terminals and what is out."""

import numpy as np
import pytest

from designer.graph.arrays import MOST_METRIC, arrays, out_of_service
from designer.graph.expand import expand
from designer.model.things import Reverse
from tests.analysis.small import arrays_of, design, link, nodes


def edges(made, *delays):
    """The arrays with one-way delays by link, in order of the ids."""
    return arrays(made, expand(made), delays)


def costs(net, link_id):
    at = net.link_position(link_id)
    return net.network.cost[net.link == at].tolist()


def test_a_design_without_anything():
    net = edges(design())
    assert (net.edges, net.network.n, net.edges_by_link()) == (0, 0, [])
    assert out_of_service(net, frozenset(), frozenset()).tolist() == []


def test_capacity_and_background_by_direction():
    back = Reverse(capacity_gbps=1.0, background_gbps=0.25, metric=7)
    made = design(
        *nodes("olt", "o", "p"),
        link("o-p", 10.0, members=4, background_gbps=3.0, metric=2, b_to_a=back),
    )
    net = edges(made, 1.0)
    assert net.forward.tolist() == [True, False]
    assert net.capacity_gbps.tolist() == [4 * 10.0, 4 * 1.0]
    assert net.background_gbps.tolist() == [3.0, 0.25]
    assert net.members.tolist() == [4, 4]
    assert costs(net, "o-p") == [2, 7]


def test_the_way_back_is_as_the_way_there_unless_said():
    net = edges(design(*nodes("leaf", "a", "b"), link("a-b", 5.0, metric=3, b_to_a=Reverse())), 1.0)
    assert net.capacity_gbps.tolist() == [5.0, 5.0]
    assert costs(net, "a-b") == [3, 3]


def test_cost_is_the_metric_else_the_delay_in_whole_us_else_the_median_of_the_others():
    made = design(
        *nodes("leaf", *"abcde"),
        link("a-b", metric=40),
        link("b-c"),
        link("c-d"),
        link("d-e"),
        link("e-a"),
    )
    # 1.2344 ms are 1234 µs, 0.2 µs count as 1; the median of 500, 1234.4 and 0.2 µs is 500.
    net = edges(made, 0.5, 1.2344, 0.0002, None, None)
    assert [costs(net, key)[0] for key in net.expansion.link_ids] == [40, 1234, 1, 500, 500]


def test_without_any_delay_hops_are_counted():
    net = edges(design(*nodes("leaf", *"abc"), link("a-b"), link("b-c")), None, None)
    assert net.network.cost.tolist() == [1] * 4
    assert np.isnan(net.one_way_ms).all()


def test_a_delay_beyond_all_reason_is_the_largest_metric():
    net = edges(design(*nodes("leaf", *"ab"), link("a-b")), 1e300)
    assert costs(net, "a-b") == [MOST_METRIC] * 2


def test_unknown_capacity_is_nan():
    net = edges(design(*nodes("leaf", *"ab"), link("a-b", b_to_a=Reverse(capacity_gbps=2.0))), 1.0)
    assert np.isnan(net.capacity_gbps[0])
    assert net.capacity_gbps[1] == 2.0


def test_terminals_do_not_forward():
    made = design(
        *nodes("users", "u"), *nodes("server", "s"), *nodes("kv_store", "k"), *nodes("leaf", "l"),
        *nodes("tool_service", "t"), *nodes("api_gateway", "g"),
    )  # fmt: skip
    net = arrays_of(made)
    forwards = {net.node_of(v): bool(net.network.transit[v]) for v in range(net.network.n)}
    assert forwards == {"u": False, "s": False, "k": False, "t": False, "l": True, "g": True}


def test_what_is_out_takes_its_edges_with_it():
    made = design(*nodes("leaf", *"abc"), link("a-b"), link("b-c"), link("a-c"))
    net = edges(made, 1.0, 1.0, 1.0)
    one = out_of_service(net, frozenset(), frozenset({"a-c"}))
    assert one.tolist() == [False, False, True, True, False, False]  # a-b, a-c, b-c, both ways
    node = out_of_service(net, frozenset({"b"}), frozenset())
    assert node.tolist() == [True, True, False, False, True, True]


def test_edges_of_each_link_in_order():
    made = design(*nodes("server", "h", count=2), *nodes("leaf", *"lm"), link("h-l"), link("l-m"))
    found = [edges.tolist() for edges in edges_of(made)]
    assert found == [[0, 1, 2, 3], [4, 5]]


def edges_of(made):
    return arrays_of(made).edges_by_link()


def test_unknown_ids_have_no_position():
    net = edges(design(*nodes("leaf", "a")))
    for look_up in (net.node_position, net.link_position):
        with pytest.raises(KeyError):
            look_up("nowhere")
