"""Placement on three sites where the answer is known by hand, with the reason for each site."""

from typing import Any

import pytest

from designer.analysis.placement_edit import placement_patch
from designer.analysis.results import Placement, SiteReason
from designer.analysis.site_choice import place
from designer.analysis.study import Study, network_study, with_services
from designer.model.design import Design
from designer.model.patch import apply
from designer.model.services import Demand, ModelCall, Residency, Slo, Tokens
from designer.model.things import Group, Node, Site
from designer.model.topology import Topology
from tests.analysis.worked import catalogue, chat, deployment, gpus, link, site, table, users

NEAR_USD, FAR_USD, ABROAD_USD = 4.0, 1.5, 1.0
HOURS = 730


def _service(limit_ms: float = 2000.0, rate: float = 6.0, **fields: Any) -> Any:
    given: dict[str, Any] = {
        "prompt_tokens": Tokens(mean=1000.0),
        "output_tokens": Tokens(mean=100.0),
        "workflow": ModelCall(),
        "demands": (Demand(users="users", requests_per_s=rate),),
        "residency": Residency(jurisdictions=("DE",)),
        "slos": (Slo(metric="ttft", percentile=95.0, limit_ms=limit_ms),),
    }
    return chat(**(given | fields))


def _design(*services: Any, far_km: float = 1000.0, **changes: Any) -> Design:
    """Near but dear, far but cheap, and abroad: all behind one router."""
    given: dict[str, Any] = {
        "groups": table(
            site("near", NEAR_USD),
            site("far", FAR_USD),
            site("abroad", ABROAD_USD, jurisdiction="US"),
        ),
        "nodes": table(
            users(),
            Node(id="router", kind="core_router", forwarding_us=10.0),
            gpus("near-gpus", group="near"),
            gpus("far-gpus", group="far"),
            gpus("abroad-gpus", group="abroad"),
        ),
        "links": table(
            link("users", "router", length_km=None),
            link("router", "near-gpus", length_km=10.0),
            link("router", "far-gpus", length_km=far_km),
            link("router", "abroad-gpus", length_km=7000.0),
        ),
        "deployments": table(deployment(node="near-gpus", replicas=4)),
        "services": table(*services),
    }
    return Design(**(given | changes))


def _study(design: Design) -> Study:
    return with_services(network_study(design, catalogue()))


def _reasons(placement: Placement, service: str = "chat") -> dict[str, SiteReason]:
    return {row.site: row for row in placement.reasons if row.service == service}


def test_the_cheap_site_in_reach_is_chosen() -> None:
    placement = place(_study(_design(_service())))
    assert placement.status == "optimal"
    (row,) = placement.replicas
    assert (row.site, row.node, row.users) == ("far", "far-gpus", ("users",))
    assert row.gpus == row.replicas
    assert row.usd_per_month == pytest.approx(row.replicas * HOURS * FAR_USD)
    assert placement.objective_usd_per_month == pytest.approx(row.usd_per_month)
    assert placement.proven_gap == pytest.approx(0.0, abs=1e-6)
    reasons = _reasons(placement)
    assert (reasons["far"].outcome, reasons["far"].by) == ("chosen", row.replicas)
    assert reasons["abroad"].outcome == "out_of_region"
    near = reasons["near"]
    assert (near.outcome, near.unit) == ("dearer", "USD/month")
    # As many replicas are needed there, since a TTFT of 2 s does not feel 10 ms of fibre.
    assert near.by == pytest.approx(row.replicas * HOURS * (NEAR_USD - FAR_USD))


def test_the_far_site_is_out_of_reach_by_its_fibre() -> None:
    """100 ms of TTFT hold near; 10,000 km are 97.9 ms more, there and back."""
    placement = place(_study(_design(_service(limit_ms=130.0, rate=1.0), far_km=10_000.0)))
    (row,) = placement.replicas
    assert row.site == "near"
    far = _reasons(placement)["far"]
    assert (far.outcome, far.unit) == ("out_of_reach", "ms")
    # Light load: 12 access + 39 handling + 27 prefill and little else, plus the fibre.
    fibre_ms = 2 * 10_000 * 1.468 / 299.792458
    near_ms = far.by + 130.0 - fibre_ms  # type: ignore[operator]
    assert 12 + 39 + 25 < near_ms < 130.0
    assert f"{far.by:.3g} ms over" in far.message


def test_out_of_region_counts_before_price() -> None:
    free = place(_study(_design(_service(residency=Residency()))))
    (row,) = free.replicas
    assert row.site == "abroad"


def test_a_site_too_small_has_no_capacity() -> None:
    design = _design(_service(rate=60.0))
    tiny = design.groups.set("far", site("far", FAR_USD, most_gpus=1))
    placement = place(_study(design.model_copy(update={"groups": tiny})))
    assert _reasons(placement)["far"].outcome in ("chosen", "no_capacity")
    assert sum(row.replicas for row in placement.replicas if row.site == "far") <= 1
    assert sum(row.replicas for row in placement.replicas if row.site == "near") >= 1


def test_a_model_larger_than_the_gpus_does_not_fit() -> None:
    design = _design(_service(model="Llama-3.1-405B"), deployments=table())
    placement = place(_study(design))
    assert placement.status == "infeasible"
    assert {row.outcome for row in placement.reasons if row.site != "abroad"} == {"does_not_fit"}
    assert "chat" in placement.message
    assert "users" in placement.message


def test_an_impossible_limit_names_who_and_where() -> None:
    placement = place(_study(_design(_service(limit_ms=20.0))))
    assert placement.status == "infeasible"
    assert placement.replicas == ()
    assert "chat" in placement.message
    assert _reasons(placement)["near"].outcome == "out_of_reach"


def test_surviving_any_one_site_takes_two() -> None:
    design = _design(_service(resilience="any_one_site", rate=2.0))
    placement = place(_study(design))
    assert placement.status == "optimal"
    by_site = {row.site: row.replicas for row in placement.replicas}
    assert set(by_site) == {"near", "far"}
    alone = place(_study(_design(_service(rate=2.0))))
    needed = sum(row.replicas for row in alone.replicas)
    # Each must bear everything when the other is lost.
    assert by_site == {"near": needed, "far": needed}
    assert placement.objective_usd_per_month == pytest.approx(needed * HOURS * (NEAR_USD + FAR_USD))


@pytest.mark.parametrize("rate", [6.0, 400.0])
def test_the_patch_gives_a_design_that_meets_the_limits(rate: float) -> None:
    """Also where the plan takes more GPUs than the node has: servers are added."""
    design = _design(_service(limit_ms=600.0, rate=rate))
    placement = place(_study(design))
    after = apply(Topology(design=design), placement_patch(design, placement)).design
    study = _study(after)
    (result,) = study.services
    (slo,) = result.slo
    assert slo.value_ms is not None
    assert slo.value_ms <= 600.0
    for made in after.deployments.values():
        node = after.nodes[made.node]
        assert node.gpus is not None
        assert made.replicas * made.tensor_parallel <= node.gpus * node.count
    assert {made.node for made in after.deployments.values()} == {"far-gpus"}
    if rate > 100:
        assert after.nodes["far-gpus"].count > 1


def test_a_second_plan_on_the_planned_design_changes_nothing() -> None:
    design = _design(_service())
    after = apply(Topology(design=design), placement_patch(design, place(_study(design)))).design
    assert placement_patch(after, place(_study(after))) == ()


def test_gpus_of_other_models_are_taken() -> None:
    """Seven of the eight GPUs at the far site hold another model, so that one is left."""
    other = deployment("other", "far-gpus", model="Qwen3-8B", replicas=7)
    design = _design(_service(rate=60.0))
    groups = design.groups.set("far", site("far", FAR_USD, most_gpus=8))
    design = design.model_copy(
        update={"groups": groups, "deployments": table(deployment(node="near-gpus"), other)}
    )
    placement = place(_study(design))
    assert sum(row.gpus for row in placement.replicas if row.site == "far") <= 1
    after = apply(Topology(design=design), placement_patch(design, placement)).design
    assert after.deployments["other"] == other


def test_drawn_gpus_limit_a_site_without_an_offer() -> None:
    """Two nodes of 8 GPUs at one site hold 16, and neither more than 8."""
    design = _design(_service(rate=150.0))
    bare = Group(id="far", kind="site", site=Site(candidate=True, jurisdiction="DE"))
    nodes = design.nodes.set("far-gpus-2", gpus("far-gpus-2", group="far"))
    links = design.links.set("x", link("router", "far-gpus-2", length_km=1000.0).replace(id="x"))
    design = design.model_copy(
        update={"groups": design.groups.set("far", bare), "nodes": nodes, "links": links}
    )
    placement = place(_study(design))
    by_node = {row.node: row.gpus for row in placement.replicas}
    assert by_node.get("far-gpus", 0) <= 8
    assert by_node.get("far-gpus-2", 0) <= 8


def test_an_unknown_price_is_asked_for() -> None:
    design = _design(_service())
    groups = design.groups.set("far", site("far", None))
    nodes = design.nodes.set(
        "far-gpus", gpus("far-gpus", group="far", accelerator="jetson_orin_nx")
    )
    placement = place(_study(design.model_copy(update={"groups": groups, "nodes": nodes})))
    assert placement.status == "unknown"
    assert "price" in placement.message


@pytest.mark.parametrize("services", [(), (chat(model=None),), (chat(demands=()),)])
def test_nothing_to_place_is_said(services: tuple[Any, ...]) -> None:
    placement = place(_study(_design(*services)))
    assert placement.status == "not_asked"
    assert placement.message


def test_no_candidate_site_is_said() -> None:
    placement = place(_study(_design(_service(), groups=table(), nodes=_bare_nodes())))
    assert placement.status == "not_asked"


def _bare_nodes() -> Any:
    nodes = _design().nodes
    return table(*(node.replace(group=None) for node in nodes.values()))


def _two_sites(*services: Any, most_at_a: int = 64, usd_a: float = 2.0, **more: Any) -> Design:
    """Users one and two, both nearer to a than to b; a GPU-hour costs 2 USD at a and 3 at b."""
    given: dict[str, Any] = {
        "groups": table(site("a", usd_a, most_gpus=most_at_a), site("b", 3.0)),
        "nodes": table(
            users("one"),
            users("two"),
            Node(id="router", kind="core_router", forwarding_us=10.0),
            gpus("gpus-a", group="a"),
            gpus("gpus-b", group="b"),
        ),
        "links": table(
            link("one", "router", length_km=None),
            link("two", "router", length_km=None),
            link("router", "gpus-a", length_km=10.0),
            link("router", "gpus-b", length_km=20.0),
        ),
        "deployments": table(deployment(node="gpus-a")),
        "services": table(*services),
    }
    return Design(**(given | more))


def _asking(*rates: tuple[str, float], **fields: Any) -> Any:
    demands = tuple(Demand(users=users, requests_per_s=rate) for users, rate in rates)
    return _service(demands=demands, residency=Residency(), **fields)


def _after(design: Design, placement: Placement) -> Study:
    return _study(apply(Topology(design=design), placement_patch(design, placement)).design)


def _asked_per_s(study: Study) -> dict[str, float]:
    asked: dict[str, float] = {}
    for plan in study.plans:
        node = study.design.deployments[plan.deployment or ""].node
        asked[node] = asked.get(node, 0.0) + plan.requests_per_s
    return asked


@pytest.mark.parametrize("rates", [(("one", 30.0),), (("one", 20.0), ("two", 20.0))])
def test_an_accepted_plan_serves_as_it_was_found(rates: tuple[tuple[str, float], ...]) -> None:
    """One GPU bears less than all of it, and a has one: both sites serve, and none too much."""
    design = _two_sites(_asking(*rates), most_at_a=1)
    placement = place(_study(design))
    assert placement.status == "optimal"
    assert {row.node for row in placement.replicas} == {"gpus-a", "gpus-b"}
    study = _after(design, placement)
    assert not any(answer.overloaded for answer in study.pools.values())
    planned: dict[str, float] = {}
    for row in placement.replicas:
        for each in row.serves:
            planned[row.node] = planned.get(row.node, 0.0) + each.share * dict(rates)[each.users]
    assert _asked_per_s(study) == pytest.approx(planned)
    (result,) = study.services
    assert all(slo.value_ms is not None and slo.value_ms <= slo.limit_ms for slo in result.slo)
    again = place(study)
    assert again.objective_usd_per_month == pytest.approx(placement.objective_usd_per_month)
    assert placement_patch(study.design, again) == ()


def test_services_of_a_model_share_its_replicas() -> None:
    """Two services of one request a second need one GPU: 2 USD for 730 hours."""
    first = _asking(("one", 1.0))
    design = _two_sites(first, first.replace(id="second"))
    placement = place(_study(design))
    assert placement.objective_usd_per_month == pytest.approx(2.0 * HOURS)
    (row,) = placement.replicas
    assert (row.gpus, row.users) == (1, ("one",))
    assert {(each.service, each.share) for each in row.serves} == {("chat", 1.0), ("second", 1.0)}
    for service in ("chat", "second"):
        assert _reasons(placement, service)["a"].outcome == "chosen"
        assert _reasons(placement, service)["b"].outcome == "dearer"


def test_a_service_beside_one_that_survives_shares_its_replicas() -> None:
    """One GPU at each site, for both services: 2 and 3 USD for 730 hours."""
    first = _asking(("one", 1.0), resilience="any_one_site")
    second = first.replace(id="second", resilience="none")
    placement = place(_study(_two_sites(first, second)))
    assert placement.objective_usd_per_month == pytest.approx(5.0 * HOURS)
    assert sorted((row.node, row.gpus) for row in placement.replicas) == [
        ("gpus-a", 1),
        ("gpus-b", 1),
    ]
    assert "second shares the replicas" in placement.message


def test_a_site_is_paid_once_and_its_power_is_one() -> None:
    """Of two models in two rounds the second finds the first's site open: 1,000 USD once."""
    first = _asking(("one", 1.0), resilience="any_one_site")
    second = _asking(("one", 1.0), model="Qwen3-8B").replace(id="second")
    design = _two_sites(first, second)
    groups = design.groups
    for key in ("a", "b"):
        group = groups[key]
        assert group.site is not None
        groups = groups.set(key, group.replace(site=group.site.replace(fixed_usd_per_month=1000.0)))
    placement = place(_study(design.model_copy(update={"groups": groups})))
    assert placement.objective_usd_per_month == pytest.approx((2 + 3 + 2) * HOURS + 2000)


def test_a_plan_that_fills_a_link_is_cut() -> None:
    """100 tokens at 10 a second are more than 2 Mb/s: the cheap site behind them cannot serve."""
    design = _two_sites(_asking(("one", 10.0), limit_ms=1e6), usd_a=4.0)
    narrow = link("router", "gpus-b", length_km=20.0, capacity_gbps=0.002)
    wide = place(_study(design))
    assert [row.node for row in wide.replicas] == ["gpus-b"]
    design = design.model_copy(update={"links": design.links.set(narrow.id, narrow)})
    placement = place(_study(design))
    assert [row.node for row in placement.replicas] == ["gpus-a"]
    assert placement.status == "feasible"
    # A GPU-hour is 4 USD rather than the 3 of the plan that was cut.
    assert placement.proven_gap == pytest.approx(0.25)
    study = _after(design, placement)
    assert study.loads.offered_gbps.max() < 0.1
    assert all(slo.value_ms is not None for slo in study.services[0].slo)
    assert placement_patch(study.design, place(study)) == ()


def test_where_no_plan_holds_it_is_said_what_breaks() -> None:
    design = _two_sites(_asking(("one", 10.0), limit_ms=1e6))
    links = design.links
    for key in ("gpus-a", "gpus-b"):
        narrow = link("router", key, length_km=20.0, capacity_gbps=0.002)
        links = links.set(narrow.id, narrow)
    placement = place(_study(design.model_copy(update={"links": links})))
    assert placement.status == "unknown"
    assert placement.replicas == ()
    assert "asked for" in placement.message


def test_what_holds_at_the_predicted_time_alone_is_said() -> None:
    """Just above the predicted gap a verdict rests on the error of predictions."""

    def limited(limit_ms: float) -> Design:
        slo = Slo(metric="itl", percentile=50.0, limit_ms=limit_ms)
        return _two_sites(_asking(("one", 1.0), slos=(slo,)))

    generous = limited(1e6)
    placement = place(_study(generous))
    assert placement.message == ""
    (slo,) = _after(generous, placement).services[0].slo
    assert slo.value_ms is not None
    tight = place(_study(limited(1.05 * slo.value_ms)))
    assert tight.status == "optimal"
    assert "ITL p50 of chat would be open" in tight.message


def test_users_go_to_the_nearest_of_what_the_plan_holds() -> None:
    """Surviving takes a GPU at each site; either bears all, and everyone is nearer to a."""
    service = _asking(("one", 2.0), ("two", 2.0), resilience="any_one_site")
    for usd_a in (2.0, 4.0):
        placement = place(_study(_two_sites(service, usd_a=usd_a)))
        served = {row.node: row.users for row in placement.replicas}
        assert served == {"gpus-a": ("one", "two"), "gpus-b": ()}
