"""Overlays say the results' figures, word for word, and colour them on the tokens' scale."""

import pytest

from designer.analysis.results import (
    BudgetRow,
    Figure,
    FlowResult,
    LinkResult,
    Oversubscription,
    Results,
    ServiceResult,
    SwitchRatio,
)
from designer.analysis.results import Settings as ResultSettings
from designer.drawing.overlays import effective_bandwidth, latency, oversubscription, utilisation
from designer.drawing.theme import blend, load_theme

LIGHT = load_theme("light")
STEPS = LIGHT.sequential


def results(**parts):
    """Results with some parts."""
    settings = ResultSettings(percentiles=(), seed=7, year=None, scenario=None)
    return Results(
        program="", format=1, file="", content="", revision=9, settings=settings, **parts
    )


def link_row(direction, load):
    """One direction of the link k."""
    return LinkResult(
        id="k", name="", source="a", target="b", direction=direction, instances=1,
        capacity_gbps=100.0, load_gbps={}, utilisation=load, oversubscription=None,
    )  # fmt: skip


def test_utilisation_is_that_of_the_worse_direction():
    rows = (link_row("a_to_b", 0.25), link_row("b_to_a", 0.5))
    style = utilisation(results(links=rows), LIGHT).styles["k"]
    assert style.label == "50 %"
    assert style.colour == STEPS[4]
    assert not style.must


@pytest.mark.parametrize(
    ("load", "mark"), [(0.79, ""), (0.8, "warning"), (1.0, "warning"), (1.01, "error")]
)
def test_utilisation_is_marked_by_limit(load, mark):
    style = utilisation(results(links=(link_row("a_to_b", load),)), LIGHT).styles["k"]
    assert style.mark == mark
    assert bool(style.dash) == (load > 1)


def test_an_unknown_load_has_no_colour_and_says_so():
    style = utilisation(results(links=(link_row("a_to_b", None),)), LIGHT).styles["k"]
    assert style.colour is None
    assert style.label == "load unknown"


def test_latency_adds_up_what_one_element_does():
    def row(element, p95):
        return BudgetRow(
            segment="", tier="", element=element, kind="given", p50_ms=1.0, p95_ms=p95, p99_ms=2.0
        )

    none = Figure()
    service = ServiceResult(
        id="s", name="Voice", slo=(), ttft_ms=none, itl_ms=none, task_ms=none,
        budget=(row("a", 4.0), row("b", 2.0), row("a", 6.0), row("c", None)),
    )  # fmt: skip
    styles = latency(results(services=(service,)), LIGHT).styles
    assert styles["a"].label == "10 ms"
    assert styles["a"].colour == STEPS[-1]
    assert styles["b"].colour == blend(STEPS, 0.2)
    assert styles["c"].colour is None
    assert (
        latency(results(services=(service,)), LIGHT, percentile="p50").styles["a"].label == "2 ms"
    )
    with pytest.raises(KeyError):
        latency(results(services=(service,)), LIGHT, "other")


def test_oversubscription_is_a_ratio():
    row = SwitchRatio(
        id="l1",
        name="",
        tier="fabric",
        downlink_gbps=1200.0,
        uplink_gbps=400.0,
        ratio=3.0,
        limit=2.0,
    )
    found = oversubscription(results(oversubscription=Oversubscription(switches=(row,))), LIGHT)
    assert found.styles["l1"].label == "3:1"
    assert found.styles["l1"].mark == "warning"
    assert found.revision == 9


def test_effective_bandwidth_names_the_worst_flow_and_the_bottleneck():
    def flow(name, got):
        return FlowResult(
            id=name, service=None, traffic_class="c", source="a", target="b", path=("k", "m"),
            flows=1, demand_gbps=None, port_gbps=400.0, after_overhead_gbps=None,
            after_balancing_gbps=None, after_contention_gbps=None, effective_gbps=got,
            bottleneck="k",
        )  # fmt: skip

    settings = {"flows": tuple(flow(n, g) for n, g in (("f", 210.0), ("g", 300.0)))}
    styles = effective_bandwidth(results(**settings), LIGHT).styles
    assert styles["k"].label == "210 of 400 Gb/s"
    assert styles["k"].mark == "bottleneck"
    assert styles["m"].mark == ""
    assert styles["m"].colour == blend(STEPS, 1 - 210 / 400)
