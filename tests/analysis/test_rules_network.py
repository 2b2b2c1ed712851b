"""Each rule about links and switches on a design with that one fault, and on one with none."""

import pytest

from designer.analysis import rules_network
from designer.analysis.rules import findings
from designer.model.design import Exclusion
from designer.model.services import TrafficClass
from designer.model.things import Group
from tests.analysis.small import (
    chat,
    design,
    flow,
    goodput,
    inelastic,
    link,
    nodes,
    pool,
    study,
    table,
)

G = goodput()
MODEL = "Llama-3.1-8B"
"""A model of the catalogue that fits the server."""


def sound(*things, near=None, far=None, **fields):
    """Users - leaf - server with everything known and room for all; 10 and 100 Gb/s."""
    first = {"capacity_gbps": 10.0, "one_way_ms": 1.0, "mtu_bytes": 9000} | (near or {})
    second = {"capacity_gbps": 100.0, "one_way_ms": 0.01, "mtu_bytes": 9000} | (far or {})
    return design(
        Group(id="room", kind="room"), *nodes("users", "u", name="Users"),
        *nodes("leaf", "l", name="Leaf", group="room"),
        *nodes("server", "s", name="Server", group="room", accelerator="h100_sxm", gpus=8),
        link("u-l", **first), link("l-s", **second), pool("s", model=MODEL), inelastic("gold", 0),
        TrafficClass(id="rdma", priority=0, elastic=False, lossless=True),
        chat("u", 1.0, model=MODEL), *things, **fields,
    )  # fmt: skip


def found(made):
    return list(findings(study(made)))


def test_a_sound_design_has_no_findings():
    rdma = flow("u-s", 1.0, traffic_class="rdma", id="r")
    gold = flow("u-s", 6.0 * G, traffic_class="gold", id="g")
    assert found(sound(rdma, gold)) == []


@pytest.mark.parametrize("direction", ["u-s", "s-u"])
def test_overload(direction):
    (only,) = found(sound(flow(direction, 13.0 * G, traffic_class="gold")))
    assert (only.rule, only.severity, only.elements) == ("overload", "error", ("u-l",))
    assert "13 Gb/s" in only.message
    assert "carries 10" in only.message


def test_overload_counts_the_background_of_the_link():
    made = sound(flow("u-s", 6.0 * G, traffic_class="gold"), near={"background_gbps": 5.0})
    assert [each.rule for each in found(made)] == ["overload"]


def test_overload_of_the_busiest_hour_only():
    # 6 in one hour and 6 in another are never 12.
    first, second = ([0.0] * 24 for _ in range(2))
    first[3] = second[20] = 1.0
    apart = sound(
        flow("u-s", 6.0 * G, traffic_class="gold", id="a", day=tuple(first)),
        flow("u-s", 6.0 * G, traffic_class="gold", id="b", day=tuple(second)),
    )
    together = sound(
        flow("u-s", 6.0 * G, traffic_class="gold", id="a", day=tuple(first)),
        flow("u-s", 6.0 * G, traffic_class="gold", id="b", day=tuple(first)),
    )
    assert found(apart) == []
    (only,) = found(together)
    assert "03:00 UTC" in only.message


def test_elastic_traffic_overloads_nothing():
    assert found(sound(flow("u-s", 500.0, traffic_class="replication"))) == []
    assert found(sound(flow("u-s", traffic_class="gold"))) == []


def test_hot_link():
    (only,) = found(sound(flow("u-s", 8.5 * G, traffic_class="gold")))
    assert (only.rule, only.severity, only.elements) == ("hot-link", "warning", ("u-l",))
    assert "85%" in only.message
    raised = sound(flow("u-s", 8.5 * G, traffic_class="gold"))
    raised = raised.replace(settings=raised.settings.replace(utilisation_limit=0.9))
    assert found(raised) == []


def test_lossless_over_lossy():
    rdma = flow("u-s", 1.0, traffic_class="rdma")
    for fault in ({"lossless": False}, {"loss": 0.001}):
        (only,) = found(sound(rdma, far=fault))
        assert (only.rule, only.severity) == ("lossless-over-lossy", "error")
        assert only.elements == ("l-s",)
    assert found(sound(flow("u-s", 1.0, traffic_class="gold"), far={"lossless": False})) == []


def test_mtu_shrinks():
    rdma = flow("u-s", 1.0, traffic_class="rdma")
    (only,) = found(sound(rdma, far={"mtu_bytes": 1500}))
    assert (only.rule, only.severity, only.elements) == ("mtu-shrinks", "warning", ("l-s", "u-l"))
    assert "9000 B" in only.message
    # Growing is no harm, nor is shrinking for traffic that can be split.
    assert found(sound(rdma, near={"mtu_bytes": 1500})) == []
    assert found(sound(far={"mtu_bytes": 1500})) == []


def test_oversubscription():
    made = sound(
        *nodes("server", "h", count=30), *nodes("spine", "x"), link("h-l", 100.0, one_way_ms=0.0),
        link("l-x", 1000.0, one_way_ms=0.0),
    )  # fmt: skip
    assert found(made) == []
    limited = made.replace(settings=made.settings.replace(oversubscription_limits={"fabric": 3.0}))
    # 30 × 100, the server's 100 and the users' 10 over 1,000; at 3:1 36.7 more uplink is needed.
    (only,) = found(limited)
    assert (only.rule, only.severity, only.elements) == ("oversubscription", "warning", ("l",))
    assert "3.11:1" in only.message
    assert "Add 37 Gb/s" in only.remedy


def test_equal_names():
    made = sound(*nodes("policy", "p", name="Server", group="room"), link("p-l", 1.0))
    (only,) = found(made)
    assert (only.rule, only.severity, only.elements) == ("equal-names", "info", ("p", "s"))
    assert found(sound(*nodes("policy", "p", name="Server"), link("p-l", 1.0))) == []
    assert found(sound(*nodes("policy", "p", "q"), link("p-l", 1.0))) == []


def overloaded(**fields):
    return sound(flow("u-s", 13.0 * G, traffic_class="gold"), **fields)


def test_a_project_sets_severities_and_switches_rules_off():
    (softer,) = found(overloaded(severities={"overload": "info"}))
    assert softer.severity == "info"
    assert found(overloaded(severities={"overload": "off"})) == []
    (odd,) = found(overloaded(severities={"overload": "catastrophe"}))
    assert odd.severity == "error"


@pytest.mark.parametrize(
    ("rule", "elements", "covers"),
    [
        ("overload", ("u-l",), True),
        ("overload", ("u-l", "l-s"), True),
        ("overload", (), True),
        ("overload", ("l-s",), False),
        ("hot-link", ("u-l",), False),
    ],
)
def test_exclusions_cover_a_rule_and_its_elements(rule, elements, covers):
    accepted = Exclusion(id="e", rule=rule, elements=elements, reason="until May", owner="ops")
    made = overloaded(exclusions=table(accepted))
    (only,) = found(made)
    assert only.excluded == ("until May (ops)" if covers else None)


def test_errors_come_first_and_excluded_ones_last():
    made = sound(
        flow("u-s", 13.0 * G, traffic_class="gold"),
        flow("u-s", 1.0, traffic_class="rdma", id="r"),
        *nodes("policy", "p", name="Server", group="room"), link("p-l", 1.0),
        far={"mtu_bytes": 1500, "lossless": False},
        exclusions=table(
            Exclusion(id="e", rule="overload", elements=("u-l",), reason="x", owner="y")
        ),
    )  # fmt: skip
    assert [each.rule for each in found(made)] == [
        "lossless-over-lossy", "mtu-shrinks", "equal-names", "overload",
    ]  # fmt: skip


def test_an_empty_design_and_unknown_capacities_break_no_rule_of_links():
    for made in (design(), sound(near={"capacity_gbps": None})):
        at = study(made)
        for rule in (
            rules_network.overload, rules_network.hot_link, rules_network.lossless_over_lossy,
            rules_network.mtu_shrinks, rules_network.oversubscription_limit,
            rules_network.equal_names,
        ):  # fmt: skip
            assert list(rule(at)) == []
