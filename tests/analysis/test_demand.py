"""Requests as streams of traffic, from bytes and rates by hand."""

import pytest

from designer.analysis.demand import calls_by_node, nearest_of, prompts_by_deployment
from designer.model.services import Burst, Call, Demand, ModelCall, Repeat, Series, Steering, Tokens
from tests.analysis.small import chat, design, flow, link, nodes, pool, study


def plain(service, *things):
    """Users u - leaf l - server s, with a policy node p on the leaf."""
    return study(
        design(
            *nodes("users", "u"), *nodes("leaf", "l"), *nodes("server", "s"),
            *nodes("policy", "p"), link("u-l", 10.0), link("l-s", 100.0), link("p-l", 10.0),
            pool("s"), service, *things,
        )
    )  # fmt: skip


def gbps(found):
    return {(s.source, s.target): pytest.approx(s.payload_gbps) for s in found.streams}


def test_a_prompt_up_and_an_answer_down():
    found = plain(chat("u", 250.0))
    # 500 tokens × 2 B up; 10 tokens × 100 B down.
    assert gbps(found) == {("u", "s"): 250 * 8000 / 1e9, ("s", "u"): 250 * 8000 / 1e9}
    up, down = found.streams
    assert (up.traffic_class, up.elastic, up.connections) == ("interactive", False, 251)
    # A packet of the answer carries one token.
    assert (up.payload_bytes, down.payload_bytes) == (1448.0, 100.0)


def test_waypoints_and_calls_add_their_messages():
    steps = Series(
        steps=(
            Call(at="p", request_bytes=300.0, response_bytes=700.0, reached="from_path"),
            Repeat(times=3, step=ModelCall()),
        )
    )
    found = plain(chat("u", 10.0, workflow=steps))
    each = 10 * 8 / 1e9
    totals = {}
    for stream in found.streams:
        key = (stream.source, stream.target)
        totals[key] = totals.get(key, 0.0) + stream.payload_gbps
    assert totals["u", "p"] == pytest.approx(300 * each)
    assert totals["p", "u"] == pytest.approx(700 * each)
    # Three prompts and three answers, before the answer that comes home.
    assert totals["u", "s"] == pytest.approx(3 * 1000 * each)
    assert totals["s", "u"] >= 3 * 1000 * each * (1 - 1e-12)
    assert calls_by_node(found.plans) == pytest.approx({"p": 10.0})


def test_what_pools_are_asked():
    found = plain(chat("u", 10.0, workflow=Repeat(times=3, step=ModelCall())))
    ((plan, prompt, rate),) = prompts_by_deployment(found.plans)["m_s"]
    assert (plan.users, prompt.deployment, rate) == ("u", "m_s", pytest.approx(30.0))


def test_zero_demand_is_zero_traffic():
    found = plain(chat("u", 0.0))
    assert gbps(found) == {("u", "s"): 0.0, ("s", "u"): 0.0}
    assert {s.connections for s in found.streams} == {1}


def test_a_million_requests():
    found = plain(chat("u", 1e6))
    assert {s.connections for s in found.streams} == {1_000_001}
    assert gbps(found)["u", "s"] == 8.0


def test_two_demands_from_the_same_users_stay_apart():
    demands = (
        Demand(users="u", requests_per_s=1.0),
        Demand(users="u", requests_per_s=2.0, burst=Burst(kind="constant", mean=4.0)),
    )
    found = plain(chat("u", 0.0, demands=demands))
    assert len({s.id for s in found.streams}) == 4
    assert sorted(s.payload_gbps * 1e9 / 8000 for s in found.streams) == pytest.approx([1, 1, 2, 2])


def test_shares_of_several_pools_keep_the_total():
    made = design(
        *nodes("users", "u"), *nodes("leaf", "l"), *nodes("server", "s", "t"),
        link("u-l", 10.0), link("l-s", 100.0), link("l-t", 100.0),
        pool("s"), pool("t", replicas=3),
        chat("u", 100.0, steering=Steering(policy="least_loaded")),
    )  # fmt: skip
    found = gbps(study(made))
    assert found["u", "s"] == 25 * 8000 / 1e9
    assert found["u", "t"] == 75 * 8000 / 1e9


def test_users_without_a_link_are_refused_with_a_reason():
    made = design(*nodes("users", "u"), *nodes("server", "s"), pool("s"), chat("u", 1.0))
    (plan,) = study(made).plans
    assert plan.request is None
    assert "nobody serves" in plan.refused
    assert study(made).streams == ()


def test_unknown_tokens_are_an_unknown_rate():
    found = plain(chat("u", 1.0, prompt_tokens=Tokens()))
    up = next(s for s in found.streams if s.source == "u")
    assert (up.payload_gbps, up.elastic) == (None, False)
    assert next(r for r in found.flow_rows if r.id == up.id).demand_gbps is None


def test_flows_of_the_design_come_as_they_are():
    found = plain(chat("u", 0.0), flow("s-p", 3.5, flows=4), flow("s-u"))
    given = {s.id: s for s in found.streams if s.service is None}
    assert (given["s-p"].payload_gbps, given["s-p"].connections) == (3.5, 4)
    assert (given["s-u"].payload_gbps, given["s-u"].elastic) == (None, True)


def test_the_nearest_of_a_kind():
    made = design(*nodes("policy", "far", "near", "cut_off"), *nodes("leaf", "l"))
    distance = {"far": 9.0, "near": 2.0}
    nearest = nearest_of(made, lambda _, target: distance.get(target))
    assert nearest("policy", "l") == "near"
    assert nearest("policy", "far") == "far"
    assert nearest("far", "l") == "far"
    assert nearest("cut_off", "l") is None
    assert nearest("auth", "l") is None


def two_pools(to_s, to_t, access):
    """Users u - leaf l - servers s and t; the pool that answers, s coming first by name."""
    made = design(
        *nodes("users", "u"), *nodes("leaf", "l"), *nodes("server", "s", "t"),
        link("u-l", 10.0, **access), link("l-s", 10.0, metric=1, **to_s),
        link("l-t", 10.0, metric=1, **to_t), pool("s"), pool("t"), chat("u", 1.0),
    )  # fmt: skip
    (plan,) = study(made).plans
    return plan.deployment


@pytest.mark.parametrize("access", [{"one_way_ms": 1.0}, {}])
def test_a_way_of_unknown_length_is_not_the_nearest(access):
    far, farther = {"one_way_ms": 40.0}, {"one_way_ms": 60.0}
    assert two_pools({}, far, access) == "m_t"
    assert two_pools(farther, far, access) == "m_t"
    assert two_pools({}, {}, access) == "m_s"
