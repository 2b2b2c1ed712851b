"""Scenarios and growth as changes of a design, worked out by hand."""

from typing import Any

import pytest

from designer.analysis.results import Figure, ServiceResult, SloResult
from designer.analysis.scenarios import (
    BadScenario,
    applied,
    grown,
    scenario_rows,
    worst_verdict,
)
from designer.model.design import Change, Design, Scenario, Settings
from designer.model.services import (
    Branch,
    Choice,
    Demand,
    Flow,
    ModelCall,
    Parallel,
    Repeat,
    Retry,
    Series,
    Tokens,
)
from designer.model.steps import model_calls
from tests.analysis.worked import catalogue, chat, small, studied, table


def _applied(design: Design, **fields: Any) -> Design:
    return applied(design, Scenario(id="s", **fields), catalogue())


def _changed(design: Design, *changes: Change) -> Design:
    return _applied(design, changes=changes)


def test_demand_factor_multiplies_each_demand() -> None:
    stressed = _applied(small(chat(rate=4.0)), demand_factor=2.5)
    assert stressed.services["chat"].demands[0].requests_per_s == 10.0


def test_token_factors_reach_means_percentiles_and_spread() -> None:
    service = chat(
        prompt_tokens=Tokens(mean=100.0, scv=0.5), output_tokens=Tokens(p50=10.0, p95=80.0)
    )
    stressed = _applied(small(service), prompt_factor=3.0, output_factor=0.5).services["chat"]
    assert stressed.prompt_tokens == Tokens(mean=300.0, scv=0.5)
    assert stressed.output_tokens == Tokens(p50=5.0, p95=40.0)


def test_token_factors_reach_every_model_call_of_a_workflow() -> None:
    call = ModelCall(prompt_tokens=Tokens(mean=10.0), output_tokens=Tokens(mean=4.0))
    workflow = Series(
        steps=(
            Parallel(steps=(call, Retry(timeout_ms=5.0, step=call))),
            Repeat(times=2, step=call),
            Branch(choices=(Choice(probability=0.5, step=call),)),
            ModelCall(),
        )
    )
    stressed = _applied(small(chat(workflow=workflow)), prompt_factor=2.0)
    found = [each.prompt_tokens for each in model_calls(stressed.services["chat"].workflow)]
    assert [tokens.mean for tokens in found if tokens] == [20.0] * 4
    assert None in found


def test_token_factors_reach_a_workloads_tokens() -> None:
    service = chat(
        prompt_tokens=Tokens(), output_tokens=Tokens(mean=2.0), workload="chat_azure_2023"
    )
    row = catalogue().workloads["chat_azure_2023"].prompt_tokens
    stressed = _applied(small(service), prompt_factor=2.0).services["chat"].prompt_tokens
    known = {
        name: value for name, value in row.model_dump().items() if name.startswith("p") and value
    }
    assert known
    for name, value in known.items():
        assert getattr(stressed, name) == pytest.approx(2 * value)


def test_a_node_goes_out_with_its_links_deployments_and_flows() -> None:
    flow = Flow(id="bulk", source="pool", target="users", rate_gbps=1.0)
    out = _changed(small(chat(), flows=table(flow)), Change(target="pool", out_of_service=True))
    assert "leaf-pool" not in out.links
    assert not out.deployments
    assert not out.flows
    assert "pool" in out.nodes


def test_a_link_or_a_deployment_goes_out_alone() -> None:
    link_out = _changed(small(chat()), Change(target="fw-gw", out_of_service=True))
    assert set(small().links) - set(link_out.links) == {"fw-gw"}
    assert link_out.deployments == small().deployments
    pool_out = _changed(small(chat()), Change(target="llama", out_of_service=True))
    assert not pool_out.deployments
    assert pool_out.links == small().links


@pytest.mark.parametrize(
    ("target", "field", "given", "expected"),
    [
        ("router-fw", "length_km", {"factor": 2.5}, 200.0),
        ("router-fw", "length_km", {"value": 10.0}, 10.0),
        ("llama", "replicas", {"factor": 3.0}, 3),
        ("llama", "replicas", {"value": 4.0}, 4),
        ("router-fw", "jitter_ms", {"value": 2.0}, 2.0),
        ("leaf", "servers", {"value": 16.0}, 16),
        ("gw", "service_time.mean_ms", {"factor": 2.0}, 6.0),
        ("chat", "caching.prefix_share", {"value": 0.5}, 0.5),
    ],
)
def test_fields_change_by_factor_or_value(
    target: str, field: str, given: dict[str, Any], expected: float
) -> None:
    changed = _changed(small(chat()), Change(target=target, field=field, **given))
    collections = (changed.nodes, changed.links, changed.deployments, changed.services)
    found: Any = next(items[target] for items in collections if target in items)
    for name in field.split("."):
        found = getattr(found, name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (Change(target="nobody", field="x", factor=2.0), "nobody.x"),
        (Change(target="nobody", out_of_service=True), "nobody"),
        (Change(target="leaf", factor=2.0), "name a field"),
        (Change(target="leaf", field="wings", factor=2.0), "wings"),
        (Change(target="leaf", field="servers", factor=2.0), "holds no number"),
        (Change(target="leaf", field="kind", factor=2.0), "holds no number"),
        (Change(target="leaf", field="local_breakout", factor=2.0), "holds no number"),
        (Change(target="llama", field="replicas", factor=0.0), "replicas"),
        (Change(target="llama", field="replicas", value=1.5), "replicas"),
        (Change(target="router-fw", field="capacity_gbps", value=-1.0), "capacity_gbps"),
    ],
)
def test_a_bad_change_is_refused_in_one_sentence(change: Change, says: str) -> None:
    with pytest.raises(BadScenario, match=says) as refusal:
        _changed(small(chat()), change)
    assert "scenario s" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_nine_times_by_2035() -> None:
    """From 2026 nine years lie between, so that the factor of a year is 9^(1/9) = 1.2765."""
    factor = 9 ** (1 / 9)
    design = small(chat(rate=10.0, growth_per_year=factor), settings=Settings(base_year=2026))
    assert grown(design, 2035).services["chat"].demands[0].requests_per_s == pytest.approx(90.0)
    assert grown(design, 2027).services["chat"].demands[0].requests_per_s == pytest.approx(
        12.765, abs=1e-3
    )
    assert grown(design, 2026) == design


def test_a_demands_own_growth_counts_before_the_services() -> None:
    demands = (
        Demand(users="users", requests_per_s=1.0, growth_per_year=2.0),
        Demand(users="users", requests_per_s=1.0),
    )
    design = small(chat(demands=demands, growth_per_year=3.0), settings=Settings(base_year=2026))
    rates = [each.requests_per_s for each in grown(design, 2028).services["chat"].demands]
    assert rates == [4.0, 9.0]


def test_without_growth_nothing_grows() -> None:
    design = small(chat(rate=5.0), settings=Settings(base_year=2026))
    assert grown(design, 2035).services["chat"].demands[0].requests_per_s == 5.0


def test_rows_compare_with_the_baseline() -> None:
    """200 km instead of 80: 120 km more each way at 1.468 / c."""
    longer = Scenario(
        id="far", name="Far", changes=(Change(target="router-fw", field="length_km", value=200.0),)
    )
    dark = Scenario(id="dark", changes=(Change(target="fw-gw", out_of_service=True),))
    rows = {
        row.id: row
        for row in scenario_rows(studied(small(chat(), scenarios=table(longer, dark))), catalogue())
    }
    more_ms = 2 * 120.0 * 1.468 / 299.792458
    assert rows["far"].ttft_p95_change_ms == pytest.approx(more_ms, abs=2e-3)
    assert rows["far"].task_p95_change_ms == pytest.approx(more_ms, abs=2e-3)
    assert rows["far"].bottleneck == "request handling at pool"
    assert rows["dark"].ttft_p95_ms is None
    assert rows["dark"].ttft_p95_change_ms is None


def test_a_service_out_of_service_asks_nothing() -> None:
    flow = Flow(id="copy", source="pool", target="users", rate_gbps=1.0, owner="chat")
    out = Scenario(id="out", changes=(Change(target="chat", out_of_service=True),))
    other = chat().replace(id="other")
    design = small(chat(), other, flows=table(flow), scenarios=table(out))
    stressed = _changed(design, *out.changes)
    assert stressed.services["chat"].demands == ()
    assert stressed.services["other"].demands == other.demands
    assert not stressed.flows
    rows = {row.service: row for row in scenario_rows(studied(design), catalogue())}
    assert (rows["chat"].ttft_p95_ms, rows["chat"].verdict) == (None, "unknown")
    assert rows["chat"].bottleneck == "out of service"
    assert rows["other"].ttft_p95_ms is not None


def test_the_worst_verdict_of_a_service() -> None:
    def slo(word: str) -> SloResult:
        return SloResult(
            metric="ttft", percentile=95.0, limit_ms=1.0, whose="worst_site", value_ms=None,
            verdict=word, probability=None, headroom_ms=None,  # type: ignore[arg-type]
        )  # fmt: skip

    def service(*words: str) -> ServiceResult:
        none = Figure()
        return ServiceResult(
            id="s", name="s", slo=tuple(map(slo, words)), ttft_ms=none, itl_ms=none, task_ms=none,
            budget=(),
        )  # fmt: skip

    assert worst_verdict(service("meets", "open", "likely")) == "open"
    assert worst_verdict(service("unknown", "breaks")) == "breaks"
    assert worst_verdict(service()) == "unknown"
