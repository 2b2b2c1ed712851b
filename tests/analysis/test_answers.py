"""Answers: the worst user site, verdicts with their error, and what stays unknown."""

from typing import Any

import numpy as np
import pytest

from designer.analysis.results import ServiceResult, SloResult
from designer.analysis.verdict import Band
from designer.model.design import Design, Settings
from designer.model.services import (
    Branch,
    Caching,
    Call,
    Choice,
    Demand,
    Hedge,
    ModelCall,
    Repeat,
    Retry,
    Series,
    Slo,
    Tokens,
)
from designer.model.things import Node, ServiceTime
from tests.analysis.worked import (
    answered,
    catalogue,
    chat,
    constant_ms,
    deployment,
    gateway,
    link,
    small,
    studied,
    table,
    users,
)

FAR_MS = 50.0


def _two_sites(service: Any, near: float = 3.0, far: float = 1.0, **far_fields: Any) -> Design:
    """A second population 50 ms of access further away, on its own line to the router."""
    fields: dict[str, Any] = {"access_rtt_ms": constant_ms(12.0 + FAR_MS)} | far_fields
    demands = (
        Demand(users="users", requests_per_s=near * 1e-4),
        Demand(users="far", requests_per_s=far * 1e-4),
    )
    return small(
        service.replace(demands=demands),
        nodes=small().nodes.set("far", users("far", **fields)),
        links=small().links.set("far-router", link("far", "router", length_km=None)),
    )


def _slo(limit_ms: float, metric: str = "ttft", percentile: float = 95.0, **fields: Any) -> Slo:
    return Slo(metric=metric, percentile=percentile, limit_ms=limit_ms, **fields)


def _only(result: ServiceResult) -> SloResult:
    (slo,) = result.slo
    return slo


def test_figures_are_those_of_the_worst_site() -> None:
    seen = answered(_two_sites(chat()))
    assert seen.worst_site == "far"
    near, far = (next(s for s in seen.user_sites if s.users == key) for key in ("users", "far"))
    assert far.ttft_ms.p95 == pytest.approx(near.ttft_ms.p95 + FAR_MS, abs=1e-3)  # type: ignore[operator]
    assert seen.ttft_ms == far.ttft_ms


def test_all_requests_are_one_mixture() -> None:
    """Three quarters are near: p70 is the near figure, p80 the far one, for both constants."""
    slos = tuple(
        _slo(5000.0, percentile=percentile, whose="all_requests") for percentile in (70.0, 80.0)
    )
    seen = answered(_two_sites(chat(slos=slos)))
    near = next(s for s in seen.user_sites if s.users == "users").ttft_ms.p50
    assert near is not None
    assert seen.slo[0].value_ms == pytest.approx(near, abs=0.1)
    assert seen.slo[1].value_ms == pytest.approx(near + FAR_MS, abs=0.1)
    assert seen.slo[0].headroom_ms == pytest.approx(5000 - near, abs=0.1)


@pytest.mark.parametrize(
    ("times", "word"),
    [(6.0, "meets"), (1.9, "likely"), (1.1, "open"), (0.66, "unlikely"), (0.3, "breaks")],
)
def test_words_follow_the_measured_band(times: float, word: str) -> None:
    """The band of any engine: 0.58 / 0.81 / 1.03 / 1.41 / 3.79 at 5 / 25 / 50 / 75 / 95 %."""
    plain = answered(small(chat()))
    gpu_ms = sum(row.p95_ms or 0.0 for row in plain.budget if row.tier == "gpu")
    assert plain.ttft_ms.p95 is not None
    limit_ms = plain.ttft_ms.p95 - gpu_ms + times * gpu_ms
    slo = _only(answered(small(chat(slos=(_slo(limit_ms),)))))
    assert slo.verdict == word


@pytest.mark.parametrize("times", [0.7, 0.95, 1.2, 2.5])
def test_probability_against_numeric_integration(times: float) -> None:
    """The network is fixed and the GPU time is scaled: P(factor <= times), by a fine sum over the
    log-linear band."""
    plain = answered(small(chat()))
    gpu_ms = sum(row.p95_ms or 0.0 for row in plain.budget if row.tier == "gpu")
    assert plain.ttft_ms.p95 is not None
    limit_ms = plain.ttft_ms.p95 - gpu_ms + times * gpu_ms
    slo = _only(answered(small(chat(slos=(_slo(limit_ms),)))))
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    logs = np.log([0.58, 0.81, 1.03, 1.41, 3.79])
    first, last = (logs[1] - logs[0]) / 0.2, (logs[4] - logs[3]) / 0.2
    grid = (np.arange(100_000) + 0.5) / 100_000
    inner = np.interp(grid, levels, logs)
    low, high = logs[0] + first * (grid - 0.05), logs[4] + last * (grid - 0.95)
    factors = np.exp(np.where(grid < 0.05, low, np.where(grid > 0.95, high, inner)))
    network_ms = plain.ttft_ms.p95 - gpu_ms
    expected = float((network_ms + factors * gpu_ms <= limit_ms).mean())
    assert slo.probability == pytest.approx(expected, abs=2e-3)


def test_the_engine_names_the_band() -> None:
    """TPOT and decoding err as gaps do: vLLM's 95 % point of ITL is 1.36; the rest as TTFT does.

    The chance of a task is that of fixed + early x TTFT's factor + decode x ITL's <= limit, by a
    fine sum over both bands.
    """
    design = small(
        chat(output_tokens=Tokens(mean=100.0), slos=(_slo(1e5, "task"), _slo(1e4, "tpot"))),
        deployments=table(deployment(engine="vllm")),
    )
    plain = answered(design)
    assert plain.task_ms.p95 is not None
    bands = {(band.engine, band.metric): band.p95 for band in plain.error_bands}
    assert bands["vllm", "itl"] == pytest.approx(1.36)
    gpu_ms = sum(row.p95_ms or 0.0 for row in plain.task_budget if row.tier == "gpu")
    limit_ms = plain.task_ms.p95 + 0.36 * gpu_ms
    judged = answered(
        small(
            chat(output_tokens=Tokens(mean=100.0), slos=(_slo(limit_ms, "task"),)),
            deployments=table(deployment(engine="vllm")),
        )
    )
    decode_ms = sum(row.p95_ms or 0.0 for row in plain.task_budget if row.segment == "decode")
    row = catalogue().error_band("vllm")
    fine = (np.arange(1000) + 0.5) / 1000
    ttft, itl = (
        np.array([Band.through(band).quantile(level) for level in fine])
        for band in (row.ttft, row.itl)
    )
    total = np.add.outer((gpu_ms - decode_ms) * ttft, decode_ms * itl)
    expected = float((total <= limit_ms - (plain.task_ms.p95 - gpu_ms)).mean())
    assert _only(judged).probability == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("limit_ms", [700.0, 1000.0, 1300.0, 3000.0])
@pytest.mark.parametrize("output", [1.0, 40.0])
def test_a_task_is_never_likelier_than_its_first_token(limit_ms: float, output: float) -> None:
    slos = (_slo(limit_ms), _slo(limit_ms, "task"))
    service = chat(
        prompt_tokens=Tokens(mean=20_000.0), output_tokens=Tokens(mean=output), slos=slos
    )
    first, task = (slo.probability for slo in answered(small(service)).slo)
    assert first is not None
    assert task is not None
    assert task <= first
    if output == 1.0:
        assert task == first


def test_unknown_on_the_way_is_at_least_and_never_met() -> None:
    unknown = small().links.set("router-fw", link("router", "fw", length_km=None))
    seen = answered(small(chat(slos=(_slo(1e6),)), links=unknown))
    assert seen.ttft_ms.at_least
    slo = _only(seen)
    assert (slo.verdict, slo.probability) == ("unknown", None)
    assert "router-fw" in slo.settles


def test_a_limit_already_broken_stays_broken() -> None:
    unknown = small().links.set("router-fw", link("router", "fw", length_km=None))
    slo = _only(answered(small(chat(slos=(_slo(10.0),)), links=unknown)))
    assert slo.verdict == "breaks"
    assert slo.value_ms is not None


def test_one_site_broken_beats_another_unknown() -> None:
    design = _two_sites(chat(slos=(_slo(30.0),)), access="no_such_medium", access_rtt_ms=None)
    assert _only(answered(design)).verdict == "breaks"
    generous = _two_sites(chat(slos=(_slo(1e6),)), access="no_such_medium", access_rtt_ms=None)
    assert _only(answered(generous)).verdict == "unknown"


def test_an_overloaded_pool_breaks_every_limit() -> None:
    seen = answered(small(chat(rate=500.0, slos=(_slo(1e6), _slo(1e6, "itl")))))
    assert [slo.verdict for slo in seen.slo] == ["breaks", "breaks"]
    assert seen.ttft_ms.p95 is None
    assert seen.budget == ()


def test_an_overloaded_gateway_breaks_every_limit() -> None:
    """One server at 3 ms bears 333 requests/s."""
    nodes = small().nodes.set("gw", gateway(servers=1))
    many = table(deployment(replicas=64))
    design = small(chat(rate=400.0, slos=(_slo(1e6),)), nodes=nodes, deployments=many)
    assert _only(answered(design)).verdict == "breaks"
    notes = [line.source for line in studied(design).ledger.lines()]
    assert any("333" in note for note in notes)


def test_a_full_link_breaks_every_limit() -> None:
    """5 prompts of 5000 bytes a second are 200 kb/s and more with headers."""
    thin = small().links.set("router-fw", link("router", "fw", capacity_gbps=0.0001))
    design = small(chat(rate=5.0, slos=(_slo(1e6),)), links=thin)
    assert _only(answered(design)).verdict == "breaks"


def test_no_pool_or_no_way_cannot_be_served() -> None:
    none = answered(small(chat(slos=(_slo(1e6),)), deployments=table()))
    assert _only(none).verdict == "cannot_be_served"
    cut = answered(small(chat(slos=(_slo(1e6),)), links=small().links.delete("fw-gw")))
    assert _only(cut).verdict == "cannot_be_served"
    big = answered(
        small(chat(slos=(_slo(1e6),)), deployments=table(deployment(model="Llama-3.1-405B")))
    )
    assert _only(big).verdict == "cannot_be_served"


def test_further_percentiles_are_those_of_settings_and_slos() -> None:
    seen = answered(
        small(chat(slos=(_slo(900.0, percentile=90.0),)), settings=Settings(percentiles=(99.9,)))
    )
    assert set(seen.ttft_ms.others) == {"p90", "p99.9"}
    assert _only(seen).value_ms == pytest.approx(seen.ttft_ms.others["p90"])


def test_stalls_are_gaps_beyond_the_limit() -> None:
    calm = chat(output_tokens=Tokens(mean=50.0), stall_limit_ms=1000.0)
    assert answered(small(calm)).stall_probability == pytest.approx(0.0, abs=1e-9)
    # One request alone decodes in some 8 ms a step, far above 1 ms.
    tight = calm.replace(stall_limit_ms=1.0)
    assert answered(small(tight)).stall_probability == pytest.approx(1.0)


# ---- steps of a workflow, timed ----------------------------------------------------------------

_TOOL_MS = 40.0


def _with_tool(step: Any) -> Design:
    tool = Node(
        id="tool", kind="tool_service", servers=1000,
        service_time=ServiceTime(percentiles_ms=constant_ms(_TOOL_MS)),
    )  # fmt: skip
    call = Call(
        name="lookup", at="tool", reached="from_path", request_bytes=100.0, response_bytes=100.0
    )
    workflow = Series(steps=(Call(name="gateway", at="gw"), step(call), ModelCall()))
    return small(
        chat(workflow=workflow),
        nodes=small().nodes.set("tool", tool),
        links=small().links.set("gw-tool", link("gw", "tool")),
    )


def _added_ms(design: Design) -> float:
    plain, seen = answered(small(chat())).ttft_ms.mean, answered(design).ttft_ms.mean
    assert plain is not None
    assert seen is not None
    return seen - plain


_TRIP_MS = _TOOL_MS + 2 * 1500 * 8 / 1e7
"""The tool's time and one packet's serialisation each way; 100 bytes take under a microsecond."""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda call: call, _TRIP_MS),
        (lambda call: call.replace(hit_share=0.75), 0.25 * _TRIP_MS),
        (lambda call: Branch(choices=(Choice(probability=0.3, step=call),)), 0.3 * _TRIP_MS),
        # Abandoned after 25 ms twice, the third try is waited for.
        (lambda call: Retry(timeout_ms=25.0, attempts=3, step=call), 50.0 + _TRIP_MS),
        (lambda call: Retry(timeout_ms=90.0, attempts=3, step=call), _TRIP_MS),
        # A second try of the same length never overtakes the first.
        (lambda call: Hedge(after_ms=10.0, step=call), _TRIP_MS),
    ],
)
def test_steps_take_the_time_that_the_algebra_says(step: Any, expected: float) -> None:
    assert _added_ms(_with_tool(step)) == pytest.approx(expected, abs=0.02)


def test_a_cached_response_takes_the_network_alone() -> None:
    """With hits h the mean is h × what passes the gateway + (1 - h) × the whole."""
    whole = answered(small(chat())).ttft_ms.mean
    cached = answered(small(chat(caching=Caching(response_hits=0.5)))).ttft_ms.mean
    every = answered(small(chat(caching=Caching(response_hits=0.999)))).ttft_ms.p50
    assert whole is not None
    assert every is not None
    assert cached == pytest.approx((whole + every) / 2, abs=0.05)


def test_calls_from_the_users_pay_the_access_each_time() -> None:
    """Ten model calls in a row are ten exchanges over an access of 12 ms."""
    loop = answered(small(chat(workflow=Repeat(times=10, step=ModelCall()))))
    once = answered(small(chat(workflow=ModelCall())))
    for result, times in ((loop, 10), (once, 1)):
        rows = [row.p50_ms for row in result.task_budget if row.segment == "access round trip"]
        assert rows == [pytest.approx(times * 12.0)]
    assert loop.task_ms.p50 == pytest.approx(10 * once.task_ms.p50, abs=0.02)  # type: ignore[operator]
    assert loop.ttft_ms.p50 == pytest.approx(once.ttft_ms.p50, abs=0.02)


def test_a_cached_response_without_a_waypoint_still_travels() -> None:
    """The access, 80 km of fibre both ways and the devices on it; no GPU."""
    hit = chat(workflow=ModelCall(), caching=Caching(response_hits=0.999))
    seen = answered(small(hit)).ttft_ms.p50
    fibre_ms = 2 * 80 * 1.468 / 299.792458
    assert seen == pytest.approx(12 + fibre_ms + 2 * (0.01 + 0.05 + 0.0005), abs=0.05)


# ---- nothing crashes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "service",
    [
        chat(demands=()),
        chat(rate=0.0),
        chat(prompt_tokens=Tokens(), output_tokens=Tokens()),
        chat(model=None),
        chat(model="no_such_model"),
        chat(output_tokens=Tokens(mean=1.0)),
        chat(prompt_tokens=Tokens(mean=1e6), output_tokens=Tokens(mean=1e6)),
        chat(rate=1e7),
        chat(demands=(Demand(users="gw", requests_per_s=1e-4),)),
        chat(demands=(Demand(users="pool", requests_per_s=1e-4),)),
        chat(workflow=Call(at="gw")),
        chat(prompt_tokens=Tokens(p50=0.0, p95=0.0)),
    ],
)
def test_strange_services_have_answers_or_reasons(service: Any) -> None:
    slos = (_slo(1e3), _slo(1e2, "itl"), _slo(1e2, "tpot"), _slo(1e5, "task", whose="all_requests"))
    study = studied(small(service.replace(slos=slos)))
    (result,) = study.services
    for slo, judged in zip(slos, result.slo, strict=True):
        assert judged.metric == slo.metric
        if judged.value_ms is None:
            assert judged.verdict in ("unknown", "breaks", "cannot_be_served")
    if result.ttft_ms.p95 is None and service.demands:
        assert study.ledger.lines()


def test_no_services_and_no_gpus() -> None:
    assert studied(small()).services == ()
    bare = small().nodes.set("pool", Node(id="pool", kind="server"))
    assert _only(answered(small(chat(slos=(_slo(1e3),)), nodes=bare))).verdict == "unknown"


def test_a_model_that_the_catalogue_lacks_is_unknown() -> None:
    pools = table(deployment(model="no_such_model"))
    service = chat(model="no_such_model", slos=(_slo(1e3),))
    assert _only(answered(small(service, deployments=pools))).verdict == "unknown"


def test_a_prompt_without_room_cannot_be_served() -> None:
    """1000 tokens and an answer of 2 do not go into a room of 900: no queue, but no way."""
    pools = table(deployment(kv_tokens=900))
    study = studied(small(chat(slos=(_slo(1e6),)), deployments=pools))
    assert _only(study.services[0]).verdict == "cannot_be_served"
    (said,) = {line.source for line in study.ledger.lines() if "no room" in line.source}
    assert "1,000 tokens" in said
    assert "(900 tokens)" in said


@pytest.mark.parametrize(("rate", "at_least"), [(6.0, False), (7.0, True), (400.0, True)])
def test_unknown_servers_are_missing_where_one_would_make_wait(rate: float, at_least: bool) -> None:
    """Wait of M/D/1 over service: ρ / 2(1 - ρ), 0.917 % at ρ = 0.018 and 1.07 % at 0.021."""
    nodes = small().nodes.set("gw", gateway(servers=None))
    pools = table(deployment(replicas=64))
    seen = answered(small(chat(rate=rate, slos=(_slo(1e6),)), nodes=nodes, deployments=pools))
    assert seen.ttft_ms.at_least == at_least
    assert _only(seen).verdict == ("unknown" if at_least else "meets")
    assert _only(seen).settles == ("servers of gw" if at_least else "")


def test_one_output_token_has_no_gaps() -> None:
    seen = answered(small(chat(output_tokens=Tokens(mean=1.0), slos=(_slo(10.0, "itl"),))))
    assert _only(seen).verdict == "unknown"
    assert seen.itl_ms.p95 is None
    assert seen.task_ms.p95 == pytest.approx(seen.ttft_ms.p95)
