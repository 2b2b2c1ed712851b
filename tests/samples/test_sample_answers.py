"""What the samples answer, and why that is right: each figure from arithmetic written out here."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from designer.analysis.results import FlowResult, LinkResult, Results, ServiceResult
from designer.analysis.run import AnalysisRequest, StageName, analyse, last
from designer.files import catalogue as catalogue_files
from designer.files.format import load
from designer.model.design import Design

CHECKOUT = Path(__file__).resolve().parents[2]
HOURS_A_MONTH = 730


@cache
def design_of(name: str) -> Design:
    path = CHECKOUT / "sample_topologies" / f"{name}.promptpath"
    return load(path).topology.design


@cache
def answers(name: str, scenario: str | None = None, until: StageName = "placement") -> Results:
    request = AnalysisRequest(scenario=scenario, until=until)
    return last(analyse(design_of(name), catalogue_files.load(), request))


def flow(results: Results, key: str) -> FlowResult:
    return next(row for row in results.flows if row.id == key)


def link(results: Results, key: str, direction: str) -> LinkResult:
    return next(row for row in results.links if (row.id, row.direction) == (key, direction))


def service(results: Results, key: str) -> ServiceResult:
    return next(row for row in results.services if row.id == key)


def with_capacity(name: str, key: str, gbps: float) -> Results:
    """The network's answers with one link changed, as a person would change it."""
    design = design_of(name)
    changed = design.links[key].replace(capacity_gbps=gbps)
    design = design.model_copy(update={"links": design.links.set(key, changed)})
    return last(analyse(design, catalogue_files.load(), AnalysisRequest(until="network")))


# Bytes of one packet: Ethernet 38 with preamble and gap, IPv4 20; RoCEv2 UDP 8, BTH 12, ICRC 4;
# TLS over TCP 32 and a record of 22. The payload is 1448 bytes.
ROCE_GOODPUT = 1448 / (1448 + 38 + 20 + 24)
TLS_GOODPUT = 1448 / (1448 + 38 + 20 + 32 + 22)
ADAPTIVE = 0.95


def test_every_budget_adds_up_to_its_figure() -> None:
    for name in ("metro-inference", "agent-platform-two-regions", "ai-factory"):
        for row in answers(name).services:
            for rows, figure in ((row.budget, row.ttft_ms), (row.task_budget, row.task_ms)):
                for column in ("p50", "p95", "p99"):
                    total = sum(getattr(each, f"{column}_ms") for each in rows)
                    assert total == pytest.approx(getattr(figure, column), rel=1e-9)


# ---- AI factory: 4 pods of 32 servers with 8 x 400G, 8 rail switches a pod, 16 uplinks each


def test_factory_rails_are_two_to_one() -> None:
    ratios = {row.id: row.ratio for row in answers("ai-factory").oversubscription.switches}
    assert ratios["rail"] == pytest.approx(32 * 400 / (16 * 400))


def test_factory_exchange_is_held_back_by_the_uplinks() -> None:
    row = flow(answers("ai-factory"), "all-to-all")
    # A pod's uplinks, 8 rails x 16 x 400G, serve 32 servers with 96 partners in other pods each.
    across = 8 * 16 * 400 / (32 * 96)
    # A pair inside a pod gets what it asks for: 384,000 Gb/s of payload over all 128 x 127 pairs.
    inside = 384_000 / ROCE_GOODPUT / (128 * 127)
    assert across == pytest.approx(16.667, abs=1e-3)
    wire = 96 * across + 31 * inside
    assert row.port_gbps == pytest.approx(8 * 400)
    assert row.after_overhead_gbps == pytest.approx(3200 * ROCE_GOODPUT, rel=1e-6)
    assert row.effective_gbps == pytest.approx(wire * ROCE_GOODPUT * ADAPTIVE, rel=1e-3)
    assert row.bottleneck == "rail-spine"


def test_factory_without_oversubscription_is_held_back_by_its_ports() -> None:
    row = flow(answers("ai-factory", "one-to-one", "network"), "all-to-all")
    assert row.bottleneck == "server-rail"
    # Every uplink still has room for what all ports send, so spreading costs nothing.
    assert row.effective_gbps == pytest.approx(3200 * ROCE_GOODPUT, rel=1e-3)


def test_factory_uplinks_at_100g_give_a_quarter_across_pods() -> None:
    row = flow(answers("ai-factory", "rail-100g", "network"), "all-to-all")
    across = 8 * 16 * 100 / (32 * 96)
    # Inside a pod a pair asks for no more than before; the ports have room for it.
    wire = 96 * across + 31 * 384_000 / ROCE_GOODPUT / (128 * 127)
    assert row.bottleneck == "rail-spine"
    assert row.effective_gbps == pytest.approx(wire * ROCE_GOODPUT * ADAPTIVE, rel=1e-3)


def test_factory_checkpoint_is_held_back_by_the_filers() -> None:
    row = flow(answers("ai-factory"), "checkpoint")
    # Eight filers with a port of 400G to each of two storage switches, less the ingest of 120 Gb/s
    # of payload, over 128 servers.
    ports = design_of("ai-factory").links["filer-port"]
    assert ports.capacity_gbps == 400
    assert row.bottleneck == "filer-port"
    left = (8 * 2 * 400 - 120 / TLS_GOODPUT) / 128
    # The storage switch spreads over the two members of each filer's bundle.
    assert row.effective_gbps == pytest.approx(left * TLS_GOODPUT * ADAPTIVE, rel=1e-3)


# ---- metro inference: one 400G wave between Munich and Nuremberg


def test_metro_weights_arrive_as_fast_as_the_cache_takes_them() -> None:
    row = flow(answers("metro-inference"), "model-sync")
    assert row.bottleneck == "metro-cache-nic"
    assert row.effective_gbps is not None
    # Two ports of 100G, less headers.
    assert row.effective_gbps == pytest.approx(2 * 100 * ROCE_GOODPUT, rel=0.01)


def test_metro_bottleneck_moves_to_the_dci_at_100g() -> None:
    before = flow(answers("metro-inference"), "model-sync")
    changed = with_capacity("metro-inference", "dci-regional", 100.0)
    after = flow(changed, "model-sync")
    assert design_of("metro-inference").links["dci-regional"].capacity_gbps == 400
    assert (before.bottleneck, after.bottleneck) == ("metro-cache-nic", "dci-regional")
    assert after.bottleneck_name == design_of("metro-inference").links["dci-regional"].name
    assert after.effective_gbps is not None
    assert before.effective_gbps is not None
    assert after.effective_gbps < before.effective_gbps
    # Nothing that takes what is left can pass the whole wave.
    wave = link(changed, "dci-regional", "b_to_a")
    assert wave.utilisation == pytest.approx(1.0, rel=1e-3)


def test_metro_prompts_go_before_bulk() -> None:
    """Interactive traffic is served first, so the 100G wave costs a prompt microseconds."""
    before = service(answers("metro-inference"), "rag").ttft_ms.p95
    after = service(answers("metro-inference", "dci-100g", "services"), "rag").ttft_ms.p95
    assert before is not None
    assert after is not None
    assert abs(after - before) < 0.1


def test_metro_light_travels_the_drawn_way() -> None:
    """Document search crosses the fibre to Nuremberg at 4.897 us/km, an even number of times."""
    rows = service(answers("metro-inference"), "rag").budget
    dci = [row for row in rows if row.element == "dci-regional" and row.segment == "propagation"]
    times = dci[0].p95_ms or 0.0
    length_km = design_of("metro-inference").links["dci-regional"].length_km
    assert length_km is not None
    coherent_fec_ms = 0.010
    one_way_ms = length_km * 1.468 / 299_792.458 * 1000 + coherent_fec_ms
    trips = times / one_way_ms
    # To the index and back, to the model and back.
    assert trips == pytest.approx(4, rel=1e-6)


def test_metro_promises_are_kept() -> None:
    words = {
        (row.id, slo.metric): slo.verdict
        for row in answers("metro-inference").services
        for slo in row.slo
    }
    assert words.pop(("voice", "ttft")) == "likely"
    assert set(words.values()) == {"meets"}
    errors = [
        each
        for each in answers("metro-inference").findings
        if each.severity == "error" and each.excluded is None
    ]
    assert not errors


def test_metro_cost_is_gpu_hours_and_sites() -> None:
    placement = answers("metro-inference").placement
    design = design_of("metro-inference")
    gpus = {
        (group.id, offer.accelerator): offer.usd_per_gpu_hour or 0.0
        for group in design.groups.values()
        if group.site
        for offer in group.site.offers
    }
    hours = sum(
        row.gpus * gpus[row.site, row.accelerator] * HOURS_A_MONTH for row in placement.replicas
    )
    sites = sum(
        site.fixed_usd_per_month or 0.0
        for key in {row.site for row in placement.replicas}
        if (site := design.groups[key].site)
    )
    assert placement.status == "optimal"
    assert placement.objective_usd_per_month == pytest.approx(hours + sites, rel=1e-6)
    # Nuremberg is 180 km away, 2 ms there and back, and has the cheapest hours: price decides.
    assert {row.site for row in placement.replicas} == {"regional-dc"}


# ---- agent platform: Frankfurt, Dublin, and cheaper GPUs near Ashburn


def test_agents_documents_stay_in_the_union() -> None:
    reasons = {
        (row.service, row.site): row.outcome
        for row in answers("agent-platform-two-regions").placement.reasons
    }
    assert reasons["docs", "site-us"] == "out_of_region"
    assert reasons["docs", "site-de"] == "chosen"
    assert reasons["docs", "site-ie"] == "chosen"


def test_agents_survive_a_site_with_one_replica_each() -> None:
    """Two sites or more for each service: with one lost, the rest still serve everyone."""
    placement = answers("agent-platform-two-regions").placement
    for key in ("agent", "docs"):
        assert len({row.site for row in placement.replicas if row.service == key}) >= 2


def test_agents_bottleneck_moves_to_the_wave_at_100g() -> None:
    name = "agent-platform-two-regions"
    before = flow(answers(name), "model-sync-ie")
    after = flow(with_capacity(name, "wan-de-ie-north", 100.0), "model-sync-ie")
    assert (before.bottleneck, after.bottleneck) == ("objects-nic-de", "wan-de-ie-north")


def test_agents_pay_for_every_round_trip() -> None:
    """40 calls in a row: the task takes at least 40 times what one call's prefill and decode do."""
    row = service(answers("agent-platform-two-regions"), "agent")
    assert row.task_ms.p50 is not None
    assert row.ttft_ms.p50 is not None
    assert row.task_ms.p50 > 40 * 39  # the fixed time of a request alone, 39 ms each


def test_agents_guessed_length_is_said() -> None:
    lines = [
        line
        for line in answers("agent-platform-two-regions").assumptions
        if (line.element, line.field) == ("wave-ny", "length_km")
    ]
    assert [line.kind for line in lines] == ["guessed"]
    assert "1.3" in lines[0].source


@pytest.mark.parametrize("name", ["metro-inference", "agent-platform-two-regions", "ai-factory"])
def test_unknown_is_never_zero(name: str) -> None:
    """Every figure of a sample is there, and none of them is 0 for want of knowledge."""
    figures: Callable[[ServiceResult], list[float | None]] = lambda row: [  # noqa: E731
        row.ttft_ms.p95,
        row.itl_ms.p95,
        row.task_ms.p95,
    ]
    for row in answers(name).services:
        assert all(value is not None and value > 0 for value in figures(row))
