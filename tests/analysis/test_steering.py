"""Which pool serves whom, by policy, residency and reach."""

import pytest

from designer.analysis.steering import allowed_at, candidates, choices
from designer.model.services import ModelCall, PlacedShare, Residency, Steering
from designer.model.things import Group, Site
from tests.analysis.small import chat, design, nodes, pool

FAR = {"a": 5.0, "b": 2.0, "c": 8.0, "x": 1.0}
"""One-way ms from the users."""


def distance(_, target):
    return FAR.get(target)


def place(id_, law, longitude):
    site = Site(jurisdiction=law, latitude_deg=50.0, longitude_deg=longitude)
    return Group(id=id_, kind="site", site=site)


def made(**fields):
    """Pools of m on a (2 replicas), b (1), c (3, prefill) in Germany, France and the US."""
    return design(
        place("de", "DE-BY", 11.0), place("fr", "FR", 3.0), place("us", "US", -80.0),
        *nodes("users", "u"), *nodes("server", "a", group="de"), *nodes("server", "b", group="fr"),
        *nodes("server", "c", group="us"), *nodes("server", "cut_off", "x"),
        pool("a", replicas=2), pool("b"), pool("c", replicas=3, role="prefill"),
        pool("cut_off"), pool("x", id="other", model="n"),
        pool("b", id="decoder", role="decode"), **fields,
    )  # fmt: skip


def shares(service):
    found = {}
    for choice in choices(made(), service, "u", distance):
        served = choice.serves[None]
        found[served[1] if served else None] = pytest.approx(choice.share)
    return found


def steered(**fields):
    return chat("u", 1.0, steering=Steering(**fields))


def test_the_nearest_takes_all():
    assert shares(chat("u", 1.0)) == {"b": 1.0}


def test_least_loaded_spreads_by_replicas():
    assert shares(steered(policy="least_loaded")) == {"a": 2 / 6, "b": 1 / 6, "c": 3 / 6}


def test_weights_are_over_what_can_be_reached():
    assert shares(
        steered(policy="weighted", targets=("m_a", "b", "cut_off"), weights=(1.0, 3.0, 6.0))
    ) == {"a": 0.25, "b": 0.75}


def test_a_groups_weight_goes_to_the_pools_in_it():
    assert shares(steered(policy="weighted", targets=("de", "us"), weights=(3.0, 1.0))) == {
        "a": 0.75,
        "c": 0.25,
    }


def test_weights_of_nobody_serve_nobody():
    assert shares(steered(policy="weighted", targets=("cut_off",), weights=(1.0,))) == {None: 1.0}


def test_fixed_targets_are_in_order_of_failover():
    assert shares(steered(policy="fixed", targets=("us", "de"))) == {"c": 1.0}
    assert shares(steered(policy="fixed", targets=("cut_off", "a", "b"))) == {"a": 1.0}


def test_targets_limit_the_nearest_too():
    assert shares(steered(targets=("a", "c"))) == {"a": 1.0}


@pytest.mark.parametrize(
    ("laws", "allowed"), [(("DE",), {"a"}), (("DE-BY", "US"), {"a", "c"}), (("DE-BE",), set())]
)
def test_residency_by_law(laws, allowed):
    service = chat("u", 1.0, residency=Residency(jurisdictions=laws))
    assert {each.node for each in candidates(made(), service, "m")} == allowed


def test_residency_by_area():
    ring = ((0.0, 45.0), (5.0, 45.0), (5.0, 55.0), (0.0, 55.0))
    service = chat("u", 1.0, residency=Residency(polygons=(ring,)))
    assert {each.node for each in candidates(made(), service, "m")} == {"b"}
    assert allowed_at(made(), service, "a") is False
    assert allowed_at(made(), service, "cut_off") is None


def test_an_unknown_place_is_not_allowed_unless_a_person_fixed_it():
    law = Residency(jurisdictions=("DE",))
    open_ = chat("u", 1.0, residency=law)
    assert allowed_at(made(), open_, "cut_off") is None
    fixed = chat(
        "u", 1.0, residency=law, steering=Steering(policy="fixed", targets=("us", "cut_off"))
    )
    assert {each.node for each in candidates(made(), fixed, "m")} == {"c", "cut_off"}


def test_a_decode_pool_takes_no_prompts():
    assert "decoder" not in {each.id for each in candidates(made(), chat("u", 1.0), "m")}


def test_a_further_model_goes_to_its_nearest_pool():
    service = chat("u", 1.0, workflow=ModelCall(model="n"))
    (choice,) = choices(made(), service, "u", distance)
    assert choice.serves["n"] == ("other", "x")
    assert choice.serves[None] == ("m_b", "b")


def test_no_pool_is_one_choice_of_nothing():
    assert shares(chat("u", 1.0, model="absent")) == {None: 1.0}


def placed(*shares, users="u", targets=("m_a", "m_b", "m_c", "m_cut_off")):
    given = tuple(PlacedShare(users=users, deployment=key, share=share) for key, share in shares)
    return steered(policy="placed", targets=targets, placed=given)


def test_a_plan_serves_as_it_says():
    assert shares(placed(("m_a", 0.25), ("m_c", 0.75))) == {"a": 0.25, "c": 0.75}


def test_what_is_cut_off_goes_to_the_rest_of_the_plan():
    assert shares(placed(("m_a", 0.3), ("m_b", 0.1), ("m_cut_off", 0.6))) == {"a": 0.75, "b": 0.25}


@pytest.mark.parametrize("given", [(("m_cut_off", 1.0),), ()])
def test_with_none_of_its_plan_left_the_targets_take_over_in_order(given):
    assert shares(placed(*given, targets=("m_c", "m_cut_off", "m_b"))) == {"c": 1.0}


def test_a_plan_is_of_one_population():
    assert shares(placed(("m_c", 1.0), users="others")) == {"a": 1.0}
