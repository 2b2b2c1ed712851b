"""One message on its way, from closed forms and sums by hand."""

import pytest

from tests.analysis.small import (
    SILICA_US_PER_KM,
    chat,
    design,
    elastic,
    flow,
    goodput,
    inelastic,
    link,
    nodes,
    pool,
    study,
)

G = goodput()


def line(*flows, classes=(), near=None, far=None):
    """Users - router of 7 µs - server; 100 and 250 km of fibre, 10 and 40 Gb/s."""
    first = {"length_km": 100.0, "medium": "smf", "fec": "rs544"} | (near or {})
    second = {"length_km": 250.0, "medium": "smf"} | (far or {})
    return study(
        design(
            *nodes("users", "u"), *nodes("core_router", "r", forwarding_us=7.0),
            *nodes("server", "s"), link("u-r", first.pop("gbps", 10.0), **first),
            link("r-s", second.pop("gbps", 40.0), **second), *classes, *flows,
        )
    )  # fmt: skip


def trip(found, cls="interactive"):
    (only,) = found.transit.trips("u", "s", cls)
    return only


def parts(found, cls="interactive"):
    return {(s.name, s.element): pytest.approx(ms) for s, ms in trip(found, cls).fixed_ms}


def test_every_constant_part_of_an_idle_way():
    # Packets of the class interactive have 600 B.
    assert parts(line()) == {
        ("propagation", "u-r"): (100 * SILICA_US_PER_KM + 0.1) / 1000,
        ("propagation", "r-s"): 250 * SILICA_US_PER_KM / 1000,
        ("forwarding", "r"): 0.007,
        ("serialisation", "u-r"): 600 * 8 / 10e9 * 1000,
        ("serialisation", "r-s"): 600 * 8 / 40e9 * 1000,
    }
    assert trip(line()).waits == ()
    assert trip(line()).unknown == ()
    assert trip(line()).one_way_ms == pytest.approx(
        350 * SILICA_US_PER_KM / 1000 + 0.0001 + 0.007 + 0.00048 + 0.00012
    )


def test_a_packet_rides_one_member_of_a_bundle():
    found = parts(line(near={"members": 4}))
    assert found["serialisation", "u-r"] == 600 * 8 / 10e9 * 1000


@pytest.mark.parametrize(
    ("near", "what"),
    [
        ({"length_km": None}, "delay of u-r"),
        ({"medium": "string"}, "delay of u-r"),
        ({"gbps": None}, "capacity of u-r"),
    ],
)
def test_what_is_not_known_is_said_and_never_counted_as_nothing(near, what):
    found = trip(line(near=near))
    assert found.unknown == (what,)
    counted = {(s.name, s.element) for s, _ in found.fixed_ms}
    assert ("propagation", "r-s") in counted
    missing = "propagation" if what.startswith("delay") else "serialisation"
    assert (missing, "u-r") not in counted
    assert (found.transfer_gbps is None) is what.startswith("capacity")


def test_unknown_forwarding_is_said():
    made = design(
        *nodes("users", "u"), *nodes("service_chain", "r"), *nodes("server", "s"),
        link("u-r", 1.0, one_way_ms=1.0), link("r-s", 1.0, one_way_ms=1.0),
    )  # fmt: skip
    assert trip(study(made)).unknown == ("forwarding of r",)


def md1_us(rho, packet_bytes, gbps):
    """Mean wait of M/D/1: ρ S / 2(1 − ρ) (Pollaczek and Khinchine)."""
    return rho / (2 * (1 - rho)) * packet_bytes * 8 / (gbps * 1000)


PROBE = inelastic("probe", 0, packet_bytes=1000.0)


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("members", [1, 4])
def test_one_class_waits_as_m_d_1_at_one_member(rho, members):
    whole = 10.0 * members
    found = line(
        flow("u-s", rho * whole * G, traffic_class="probe"), classes=(PROBE,),
        near={"members": members},
    )  # fmt: skip
    waits = {s.element: wait for s, wait in trip(found, "probe").waits}
    # Each member of 10 Gb/s has a queue of its own with its part of the load.
    assert waits["u-r"].mean_us == pytest.approx(md1_us(rho, 1000, 10.0))
    assert waits["r-s"].mean_us == pytest.approx(md1_us(rho * whole / 40, 1000, 40.0)) or (
        rho * whole >= 40
    )


def test_the_way_back_has_queues_of_its_own():
    found = line(flow("u-s", 5.0 * G, traffic_class="probe"), classes=(PROBE,))
    (back,) = found.transit.trips("s", "u", "probe")
    assert back.waits == ()


def test_more_urgent_classes_wait_for_the_packet_in_service_alone():
    # Residual of a lower class: λ E[S²] / 2 = ρ S / 2, and nothing of its own load.
    lower = inelastic("lower", 3, packet_bytes=1500.0)
    found = line(flow("u-s", 4.0 * G, traffic_class="lower"), classes=(PROBE, lower))
    waits = {s.element: wait for s, wait in trip(found, "probe").waits}
    assert waits["u-r"].mean_us == pytest.approx(0.4 * 1500 * 8 / 10_000 / 2)


def test_an_overloaded_queue_is_unknown_and_not_zero():
    found = line(flow("u-s", 13.0 * G, traffic_class="probe"), classes=(PROBE,))
    assert trip(found, "probe").unknown == ("queue of u-r",)
    assert trip(found, "probe").transfer_gbps == 0.0


def test_a_message_gets_what_is_left_of_the_tightest_link():
    found = trip(line(flow("u-s", 4.0 * G, traffic_class="probe"), classes=(PROBE,)))
    assert found.transfer_gbps == pytest.approx(6.0 * G)
    assert (found.transfer.name, found.transfer.element) == ("transfer", "u-r")


def test_lower_classes_leave_the_link_to_a_message():
    lower = inelastic("lower", 3)
    found = trip(line(flow("u-s", 4.0 * G, traffic_class="lower"), classes=(lower,)))
    assert found.transfer_gbps == pytest.approx(10.0 * G)


def test_a_message_shares_alike_with_elastic_flows_of_its_priority():
    # 4 of 10 are taken; three elastic connections and the message share the other 6.
    bulk = elastic("bulk", 2)
    found = line(
        flow("u-s", 4.0 * G, traffic_class="probe"),
        flow("u-s", traffic_class="bulk", flows=3, id="b"),
        classes=(PROBE, bulk),
    )  # fmt: skip
    assert trip(found, "bulk").transfer_gbps == pytest.approx(6.0 / 4 * G)


def test_a_message_gets_no_more_than_a_member():
    found = trip(line(near={"members": 8}, far={"gbps": 400.0}))
    assert found.transfer_gbps == pytest.approx(10.0 * G)


def test_equal_ways_come_with_their_shares():
    made = design(
        *nodes("users", "u"), *nodes("leaf", *"abcd"), *nodes("server", "s"),
        link("u-a", 1.0), link("a-b", 1.0), link("b-d", 1.0), link("a-c", 1.0), link("c-d", 1.0),
        link("d-s", 1.0),
    )  # fmt: skip
    assert [each.share for each in study(made).transit.trips("u", "s", "interactive")] == [0.5, 0.5]


def test_no_way_is_no_trip():
    made = design(*nodes("users", "u"), *nodes("server", "s"))
    assert study(made).transit.trips("u", "s", "interactive") == ()


def test_a_tiny_capacity_takes_its_time():
    found = parts(line(near={"gbps": 1e-6}))
    # A kilobit a second: 600 B take 4.8 s.
    assert found["serialisation", "u-r"] == 4800.0


def test_time_on_a_link_counts_for_the_later_tier_that_is_not_at_the_end():
    made = design(
        *nodes("users", "u"), *nodes("bng", "b"), *nodes("core_router", "c"), *nodes("leaf", "l"),
        *nodes("server", "s"), link("u-b", 1.0), link("b-c", 1.0), link("c-l", 1.0),
        link("l-s", 1.0), pool("s"), chat("u", 1.0),
    )  # fmt: skip
    found = study(made).transit
    assert [found.link_tier(key) for key in ("u-b", "b-c", "c-l", "l-s")] == [
        "service_edge", "transport", "fabric", "fabric",
    ]  # fmt: skip
