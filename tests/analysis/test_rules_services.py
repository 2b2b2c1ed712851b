"""Each rule about services on a design planted for it, and none on a clean one."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from designer.analysis import rules_services
from designer.analysis.objections import Objection
from designer.analysis.rules import findings
from designer.analysis.study import Study, network_study, with_services
from designer.model.design import Design, Exclusion
from designer.model.services import Residency, Slo, Steering
from designer.model.things import Group, Node, Site
from tests.analysis.worked import (
    answered,
    catalogue,
    chat,
    deployment,
    gateway,
    gpus,
    link,
    small,
    table,
)

RULES: dict[str, Callable[[Study], Iterator[Objection]]] = {
    name: getattr(rules_services, name)
    for name in (
        "unknown_on_path",
        "unreachable",
        "slo_broken",
        "slo_open",
        "model_does_not_fit",
        "pool_overloaded",
        "server_overloaded",
        "residency",
        "single_point_of_failure",
    )
}


def _slo(limit_ms: float) -> tuple[Slo, ...]:
    return (Slo(metric="ttft", percentile=95.0, limit_ms=limit_ms),)


def _clean(**fields: Any) -> Design:
    return small(chat(slos=_slo(5000.0), **fields))


def _found(design: Design) -> dict[str, list[Objection]]:
    study = with_services(network_study(design, catalogue()))
    return {name: list(rule(study)) for name, rule in RULES.items()}


def _only(design: Design, *names: str) -> dict[str, list[Objection]]:
    found = _found(design)
    assert {name for name, made in found.items() if made} == set(names), found
    for made in found.values():
        for objection in made:
            assert objection.message.endswith(".")
            assert objection.remedy.endswith(".")
    return found


def test_nothing_on_a_clean_design() -> None:
    _only(_clean())


@pytest.mark.parametrize("field", ["length_km", "capacity_gbps"])
def test_unknown_on_path(field: str) -> None:
    links = small().links.set("router-fw", link("router", "fw", **{field: None}))
    found = _only(_clean().model_copy(update={"links": links}), "unknown_on_path", "slo_open")
    (objection,) = found["unknown_on_path"]
    assert objection.elements == ("router-fw", "chat")
    assert field.partition("_")[0] in objection.message


def test_unreachable_without_a_link() -> None:
    cut = _clean().model_copy(update={"links": small().links.delete("gw-leaf")})
    found = _only(cut, "unreachable", "slo_broken")
    assert found["unreachable"][0].elements[:2] == ("chat", "users")


def test_unreachable_without_a_pool() -> None:
    found = _only(_clean().model_copy(update={"deployments": table()}), "unreachable", "slo_broken")
    assert "Llama-3.1-8B" in found["unreachable"][0].message


def test_slo_broken() -> None:
    """39 ms of handling alone are more than 20."""
    (objection,) = _only(small(chat(slos=_slo(20.0))), "slo_broken")["slo_broken"]
    assert "20 ms" in objection.message
    assert "TTFT p95" in objection.message


def test_slo_open() -> None:
    """A limit at the prediction itself is met as often as not."""
    value = answered(_clean()).ttft_ms.p95
    assert value is not None
    (objection,) = _only(small(chat(slos=_slo(value))), "slo_open")["slo_open"]
    assert "Measure" in objection.remedy


def test_model_does_not_fit_its_memory() -> None:
    """141 GB of weights on GPUs with 73 GB to give: 67 GB are missing."""
    design = small(
        chat(model="Llama-3.1-70B"), deployments=table(deployment(model="Llama-3.1-70B"))
    )
    (objection,) = _only(design, "model_does_not_fit")["model_does_not_fit"]
    weights = (
        2 * (80 * (8192 * 8192 * 2 + 2 * 8192 * 1024 + 3 * 8192 * 28672) + 128256 * 8192) / 1e9
    )
    assert f"{weights - (0.9 * 85.9 - 4):.1f} GB" in objection.message


def test_more_replicas_than_gpus() -> None:
    design = _clean().model_copy(update={"deployments": table(deployment(replicas=9))})
    (objection,) = _only(design, "model_does_not_fit")["model_does_not_fit"]
    assert "needs 9 GPUs" in objection.message
    assert "has 8" in objection.message


def test_a_pool_on_a_node_without_gpus() -> None:
    nodes = small().nodes.set("pool", Node(id="pool", kind="server"))
    found = _only(_clean().model_copy(update={"nodes": nodes}), "model_does_not_fit", "slo_open")
    assert "accelerator" in found["model_does_not_fit"][0].message


def test_pool_overloaded() -> None:
    (objection,) = _only(small(chat(rate=500.0)), "pool_overloaded")["pool_overloaded"]
    assert objection.elements == ("llama",)
    assert "500 requests/s" in objection.message


def test_server_overloaded() -> None:
    """One server at 3 ms bears 333 requests/s; 400 make its queue grow by 66.7."""
    nodes = small().nodes.set("gw", gateway(name="Front door", servers=1))
    pools = table(deployment(replicas=64))
    design = small(chat(rate=400.0, slos=_slo(5e3)), nodes=nodes, deployments=pools)
    found = _found(design)
    (objection,) = found["server_overloaded"]
    assert objection.elements == ("gw",)
    for said in ("Front door", "400 requests/s", "bears 333", "66.7"):
        assert said in objection.message
    two = nodes.set("gw", gateway(servers=1, count=2))
    assert not _found(design.model_copy(update={"nodes": two}))["server_overloaded"]


def _sited(jurisdiction: str | None, service: Any) -> Design:
    place = Group(id="dc", kind="site", site=Site(jurisdiction=jurisdiction))
    nodes = small().nodes.set("pool", gpus(group="dc"))
    return small(service, groups=table(place), nodes=nodes)


@pytest.mark.parametrize(
    ("jurisdiction", "says"), [("US", "outside its residency"), (None, "no known jurisdiction")]
)
def test_residency(jurisdiction: str | None, says: str) -> None:
    fixed = Steering(policy="fixed", targets=("llama",))
    service = chat(residency=Residency(jurisdictions=("DE",)), steering=fixed)
    (objection,) = _only(_sited(jurisdiction, service), "residency")["residency"]
    assert objection.elements == ("chat", "pool")
    assert says in objection.message


def test_a_subdivision_lies_inside_its_country() -> None:
    _only(_sited("DE-BY", chat(residency=Residency(jurisdictions=("DE",)))))


def test_single_point_of_failure() -> None:
    found = _only(_sited("DE", chat(resilience="any_one_site")), "single_point_of_failure")
    assert ("chat", "dc") in [each.elements for each in found["single_point_of_failure"]]


def test_an_excluded_finding_says_why_and_who() -> None:
    exclusion = Exclusion(
        id="x", rule="slo-broken", elements=("chat",), reason="A pilot.", owner="Ada"
    )
    design = small(chat(slos=_slo(20.0)), exclusions=table(exclusion))
    made = findings(with_services(network_study(design, catalogue())))
    (broken,) = [each for each in made if each.rule == "slo-broken"]
    assert broken.excluded == "A pilot. (Ada)"
    off = design.model_copy(update={"severities": design.severities.set("slo-broken", "off")})
    assert not [
        each
        for each in findings(with_services(network_study(off, catalogue())))
        if each.rule == "slo-broken"
    ]
