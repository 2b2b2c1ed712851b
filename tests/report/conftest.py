"""Results made up for the report's tests: long names, many rows, unknowns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from designer.analysis.results import Results
from designer.analysis.run import AnalysisRequest, analyse, last
from designer.drawing.marks import draw
from designer.drawing.overlays import utilisation
from designer.drawing.theme import load_theme
from designer.files.catalogue import load as load_catalogue
from designer.files.format import load
from designer.model.topology import Topology
from designer.report.blocks import Review
from designer.report.content import review
from designer.report.typeset import pdf

LONG = "Kundenberatung und Rückfragenbearbeitung im Außendienst, zweite Ausbaustufe (Regionen Nord)"
WORD = "dci-frankfurt-am-main-to-amsterdam-science-park-wave-0173-protected"


def topology(**title: Any) -> Topology:
    """A design with a title block and things to be named."""
    block = {
        "title": "Metro inference",
        "revision_label": "118",
        "date": "2026-03-12",
        "author": "A. Author",
        "story": "Voice and agents for a metro of two million, served from two sites.",
        "approvals": [{"name": "B. Checker", "role": "Network", "date": "2026-03-14"}],
    }
    design = {
        "title_block": block | title,
        "groups": [{"id": "gsite", "name": "Regional", "kind": "site"}],
        "nodes": [
            {"id": "nuser", "name": "Handsets", "kind": "users"},
            {"id": "npool", "name": "Pool R1", "kind": "serving_pool", "group": "gsite"},
        ],
        "links": [{"id": "ldci", "name": "DCI North", "a": "nuser", "b": "npool"}],
        "services": [{"id": "svoice", "name": "Voice assistant 8B"}],
    }
    return Topology.model_validate({"design": design})


def budget() -> list[dict[str, Any]]:
    """The segments of the mock-up's page: 118.0, 224.0 and 350.0 ms in all."""
    rows = (
        ("5G scheduling 8 ms", "access", "guessed", 24.6, 48.2, 79.4),
        ("API gateway", "service_edge", "catalogue", 10.0, 21.5, 32.9),
        ("policy", "service_edge", "catalogue", 5.8, 10.0, 20.0),
        ("80 km, 62 km ring", "transport", "given", 5.2, 10.4, 18.6),
        ("switch 0.6 µs", "fabric", "catalogue", 1.1, 2.3, 3.9),
        ("roofline, 8B on H200", "gpu", "derived", 71.3, 131.6, 195.2),
    )
    return [
        {"segment": segment, "tier": tier, "element": "npool", "kind": kind, "source": "a source",
         "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}
        for segment, tier, kind, p50, p95, p99 in rows
    ]  # fmt: skip


def slo(verdict: str = "open", **changes: Any) -> dict[str, Any]:
    """One promise."""
    return {
        "metric": "ttft", "percentile": 95.0, "limit_ms": 250.0, "whose": "worst_site",
        "value_ms": 224.0, "verdict": verdict, "probability": 0.62, "headroom_ms": 26.0,
        "settles": "prefill on H200", **changes,
    }  # fmt: skip


def service(**changes: Any) -> dict[str, Any]:
    """The service of the mock-up's page."""
    figure = {"p50": 118.0, "p95": 224.0, "p99": 350.0, "mean": 130.0}
    site = {
        "users": "nuser", "requests_per_s": 12.5, "deployments": ["npool"], "distance_km": 80.0,
        "ttft_ms": figure, "itl_ms": {"p95": 31.0}, "task_ms": {},
    }  # fmt: skip
    return {
        "id": "svoice", "name": "Voice assistant 8B", "slo": [slo()], "ttft_ms": figure,
        "itl_ms": {"p50": 20.0, "p95": 31.0}, "task_ms": {"p95": 4200.0, "at_least": True},
        "worst_site": "nuser", "served_from": ["npool"], "user_sites": [site], "budget": budget(),
        "error_bands": [{"metric": "prefill", "engine": "vllm", "p5": 0.61, "p25": 0.9,
                         "p50": 1.1, "p75": 1.9, "p95": 3.82}],
        "sensitivity": [
            {"change": "FP8 weights", "element": "npool", "tier": "gpu", "gain_ms": -41.0},
            {"change": "a second gateway", "element": "", "tier": "service_edge", "gain_ms": -6.1},
            {"change": "measure prefill on H200", "element": "npool", "tier": "gpu",
             "gain_ms": None, "settles": True},
        ],
        **changes,
    }  # fmt: skip


def flow(number: int, effective: float | None = 210.0) -> dict[str, Any]:
    """A flow on a 400 Gb/s port."""
    return {
        "id": f"f{number}", "service": "svoice", "class": "interactive", "from": "npool",
        "to": "nuser", "path": ["ldci"], "flows": 1, "demand_gbps": None, "port_gbps": 400.0,
        "after_overhead_gbps": 380.0, "after_balancing_gbps": 300.0, "after_contention_gbps": 250.0,
        "effective_gbps": effective, "bottleneck": "ldci",
    }  # fmt: skip


def link(number: int, share: float | None) -> dict[str, Any]:
    """One direction with a load share."""
    return {
        "id": "ldci", "name": f"{WORD}-{number}" if number % 7 == 0 else f"link {number}",
        "from": "npool", "to": "nuser", "direction": "a_to_b", "instances": 1,
        "capacity_gbps": 100.0, "load_gbps": {"interactive": 12.0, "background": 3.5},
        "utilisation": share, "oversubscription": None, "queue_wait_p95_us": 12.3,
    }  # fmt: skip


def placement() -> dict[str, Any]:
    """A plan at one site, and why four others lost."""
    reasons = [
        ("chosen", "Regional", "serves all users at least cost"),
        ("out_of_reach", "Far East", "38 ms too far for the p95 of 250 ms"),
        ("out_of_region", "Overseas", "outside DE and FR"),
        ("no_capacity", "Cabinet 7", "12 GPUs short"),
        ("dearer", LONG, "USD 1,200 a month dearer when forced"),
    ]
    return {
        "status": "optimal", "objective_usd_per_month": 48210.0, "proven_gap": 0.001,
        "replicas": [{"service": "svoice", "site": "gsite", "node": "npool", "model": "llama-8b",
                      "accelerator": "h200", "tensor_parallel": 1, "replicas": 12, "gpus": 12,
                      "usd_per_month": 48210.0, "users": ["nuser"]}],
        "reasons": [{"service": "svoice", "site": f"g{i}", "site_name": name, "outcome": outcome,
                     "by": 1.0, "unit": "ms", "message": message}
                    for i, (outcome, name, message) in enumerate(reasons)],
    }  # fmt: skip


def finding(severity: str = "warning", **changes: Any) -> dict[str, Any]:
    """One objection."""
    return {
        "rule": "hot-link", "severity": severity, "elements": ["ldci"],
        "message": "Two links above the 80 % limit in the busiest hour",
        "remedy": "Add a member to DCI North or move replicas.", **changes,
    }  # fmt: skip


def assumptions(count: int) -> list[dict[str, Any]]:
    """Values of every kind, each with its number in its source."""
    kinds = ("unknown", "guessed", "catalogue", "derived", "measured", "given")
    return [
        {"element": "npool", "field": f"provenance.field_{i}", "kind": kinds[i % 6],
         "value": None if i % 6 == 0 else 0.5 + i, "source": f"reason or source number {i}"}
        for i in range(count)
    ]  # fmt: skip


def results(**changes: Any) -> Results:
    """Results with something in every section."""
    body = {
        "program": "promptpath 0.1.0", "format": 1, "file": "metro.promptpath", "content": "c" * 64,
        "settings": {"percentiles": [50, 95, 99], "seed": 7, "year": None, "scenario": None},
        "services": [service()], "flows": [flow(1), flow(2, None)],
        "links": [link(1, 0.88), link(7, 1.17), link(2, None)],
        "oversubscription": {
            "switches": [{"id": "npool", "name": "leaf-1", "tier": "fabric", "downlink_gbps": 1200,
                          "uplink_gbps": 400, "ratio": 3, "limit": 1}],
            "tiers": [{"tier": "fabric", "ratio": 3, "switch": "npool"}],
            "cuts": [{"group": "gsite", "name": "Regional", "inside_gbps": 800, "cut_gbps": 400,
                      "ratio": 2}],
        },
        "placement": placement(),
        "scenarios": [{"id": "x1", "name": "Peak day", "service": "svoice", "ttft_p95_ms": 300.0,
                       "task_p95_ms": None, "ttft_p95_change_ms": 76.0, "task_p95_change_ms": None,
                       "verdict": "breaks", "bottleneck": "ldci"}],
        "findings": [finding(), finding("error", message="One route to Regional"),
                     finding("info", message="The GPU tier is 59 % of the total"),
                     finding(message="Cabinet runs hot",
                             excluded="Cooling arrives in May. Owner: C. Plant")],
        "assumptions": assumptions(12),
    } | changes  # fmt: skip
    return Results.model_validate(body)


def many() -> Results:
    """A large and awkward design: long names, hundreds of rows, unknown sums."""
    unknown = budget()
    unknown[3] |= {"p50_ms": None, "p95_ms": None, "p99_ms": None, "kind": "unknown"}
    at_least = {"p50": 112.8, "p95": 213.6, "p99": 331.4, "at_least": True}
    verdicts = ("meets", "likely", "open", "unlikely", "breaks", "unknown", "cannot_be_served")
    services = [
        service(id=f"s{i}", name=f"{LONG} {i}" if i % 3 == 0 else f"Service {i}",
                slo=[slo(verdicts[i % 7]), slo("meets", percentile=50.0, limit_ms=240.0),
                     slo("unknown", metric="itl", value_ms=None, probability=None,
                         headroom_ms=None)],
                **({"budget": unknown, "ttft_ms": at_least} if i % 2 else {}))
        for i in range(7)
    ]  # fmt: skip
    services.append(
        service(id="s9", name=WORD, slo=[], budget=[], ttft_ms={}, user_sites=[], sensitivity=[])
    )
    return results(
        services=services,
        flows=[flow(i, None if i % 5 == 0 else 400.0 - 7 * i) for i in range(40)],
        links=[link(i, None if i % 9 == 0 else i / 100) for i in range(130)],
        findings=[finding(severity, message=f"{LONG}: objection {i}", elements=[WORD, "ldci"])
                  for i, severity in enumerate(("error", "warning", "info") * 6)],
        assumptions=[*assumptions(60), {"element": WORD, "field": "x" * 80, "kind": "guessed",
                                        "value": WORD, "source": LONG * 3}],
    )  # fmt: skip


def nothing() -> Results:
    """Results of an empty design."""
    return results(
        services=[], flows=[], links=[], oversubscription={}, placement={"status": "not_asked"},
        scenarios=[], findings=[], assumptions=[],
    )  # fmt: skip


@pytest.fixture(scope="session")
def design() -> Topology:
    return topology()


@pytest.fixture(scope="session")
def full() -> Results:
    return results()


@pytest.fixture(scope="session")
def large() -> Results:
    return many()


@pytest.fixture(scope="session")
def empty() -> Results:
    return nothing()


SAMPLES = ("agent-platform-two-regions", "ai-factory", "metro-inference")


@pytest.fixture(scope="session")
def sample_reviews(checkout: Path) -> Mapping[str, tuple[Review, bytes]]:
    """The review of each sample, and its PDF; analysed once, up to the placement.

    The scenarios are left out: they analyse the whole design several times over.
    """
    catalogue = load_catalogue()
    theme = load_theme("light")
    made = {}
    for name in SAMPLES:
        topology = load(checkout / "sample_topologies" / f"{name}.promptpath").topology
        request = AnalysisRequest(file=f"{name}.promptpath", until="placement")
        found = last(analyse(topology.design, catalogue, request))
        drawn = [draw(topology, theme), draw(topology, theme, utilisation(found, theme))]
        content = review(topology, found, drawn)
        made[name] = (content, pdf(content))
    return made
