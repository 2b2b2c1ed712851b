"""Single points of failure, found by hand in a chain, a ring and two regions."""

import pytest

from designer.analysis.resilience import Losses
from designer.model.services import Call, ModelCall, Series
from designer.model.things import Group, Site
from tests.analysis.small import chat, design, link, nodes, pool, study


def lost(made):
    found = study(made)
    return {loss.element for loss in Losses(found).of(made.services["chat"])}


SERVICE = chat("u", 1.0, resilience="any_one_site")


def chain(*things, service=SERVICE):
    """u - a - b - c - s, none in a site."""
    return design(
        *nodes("users", "u"), *nodes("core_router", *"abc"), *nodes("server", "s"),
        link("u-a"), link("a-b"), link("b-c"), link("c-s"), pool("s"), service, *things,
    )  # fmt: skip


def test_a_chain_is_lost_with_each_of_its_nodes_but_the_users_own_way_in():
    assert lost(chain()) == {"b", "c", "s"}


def test_a_ring_with_two_pools_survives():
    made = chain(
        *nodes("core_router", "d"), *nodes("server", "t"), link("a-d"), link("d-c"), link("d-t"),
        pool("t"),
    )  # fmt: skip
    assert lost(made) == set()


def test_a_ring_with_one_pool_is_lost_with_what_the_pool_hangs_on():
    made = chain(*nodes("core_router", "d"), link("a-d"), link("d-c"))
    assert lost(made) == {"c", "s"}


def test_what_is_drawn_twice_is_no_single_point():
    made = design(
        *nodes("users", "u"), *nodes("core_router", "a"), *nodes("leaf", "l", count=2),
        *nodes("server", "s", count=2), link("u-a"), link("a-l"), link("l-s"), pool("s"), SERVICE,
    )  # fmt: skip
    assert lost(made) == set()


def test_a_server_does_not_lead_past_a_lost_node():
    # t hangs on b and c, but carries nothing for others.
    made = chain(*nodes("server", "t"), link("a-t"), link("t-c"))
    assert lost(made) == {"b", "c", "s"}


def sites(*placed, second=True, service=SERVICE):
    """Site x with router b and pool s; site y with router d and pool t where `second`."""
    more = (*nodes("server", "t", group="y"), pool("t"), link("d-t")) if second else ()
    return design(
        Group(id="r", kind="region"), Group(id="x", kind="site", site=Site(), parent="r"),
        Group(id="y", kind="site", site=Site(), parent=placed[0] if placed else "r"),
        *(Group(id=each, kind="region") for each in placed),
        *nodes("users", "u"), *nodes("core_router", "a"),
        *nodes("core_router", "b", group="x"), *nodes("core_router", "d", group="y"),
        *nodes("server", "s", group="x"), link("u-a"), link("a-b"), link("a-d"), link("b-s"),
        pool("s"), service, *more,
    )  # fmt: skip


def test_a_site_that_holds_the_only_pool_is_lost():
    assert lost(sites(second=False)) == {"x"}


def test_a_second_site_saves_it():
    assert lost(sites()) == set()


@pytest.mark.parametrize(("placed", "gone"), [((), {"r"}), (("q",), set())])
def test_two_regions_need_pools_in_two(placed, gone):
    service = chat("u", 1.0, resilience="two_regions")
    assert lost(sites(*placed, service=service)) == gone


def test_the_users_own_site_does_not_count():
    made = sites()
    own = made.replace(nodes=made.nodes.set("u", made.nodes["u"].replace(group="x")))
    assert lost(own) == set()


def test_a_step_that_is_in_one_place_only():
    steps = Series(steps=(Call(at="policy"), ModelCall()))
    service = chat("u", 1.0, resilience="any_one_site", workflow=steps)
    one = sites(service=service)
    one = one.replace(
        nodes=one.nodes.set("p", nodes("policy", "p", group="x")[0]),
        links=one.links.set("p-b", link("p-b")),
    )
    assert lost(one) == {"x"}
    two = one.replace(
        nodes=one.nodes.set("q", nodes("policy", "q", group="y")[0]),
        links=one.links.set("q-d", link("q-d")),
    )
    assert lost(two) == set()


def test_what_is_not_served_anyhow_is_lost_with_nothing():
    made = design(*nodes("users", "u"), *nodes("server", "s"), pool("s"), SERVICE)
    assert lost(made) == set()
