"""Times of parts of requests: queues, jitter, ways in parallel, and the same law twice over."""

from typing import Any

import numpy as np
import pytest

from designer.analysis.clock import Clock
from designer.analysis.request_parts import (
    Again,
    Chain,
    Fork,
    Generate,
    Maybe,
    Move,
    Part,
    Serve,
    Tries,
    Twice,
)
from designer.analysis.timed import CannotTime
from designer.model.design import Design
from designer.model.services import Tokens, Wire
from designer.model.things import ServiceTime
from tests.analysis.worked import chat, deployment, gateway, link, small, studied, table


def _clock(design: Design) -> Clock:
    clock = studied(design).clock
    assert clock is not None
    return clock


def _gpu_part(clock: Clock) -> Generate:
    (ask,) = clock.pools["llama"].asks
    return Generate(ask.slot, None, "llama", Tokens(), Tokens(), 0.0, 0.0, first_token_only=True)


def _served(mean_ms: float, scv: float, servers: int, rate: float) -> Clock:
    node = gateway(service_time=ServiceTime(mean_ms=mean_ms, scv=scv), servers=servers)
    design = small(
        chat(rate=rate),
        nodes=small().nodes.set("gw", node),
        deployments=table(deployment(replicas=64)),
    )
    return _clock(design)


@pytest.mark.parametrize(("scv", "rate"), [(0.0, 50.0), (1.0, 50.0), (3.0, 30.0)])
def test_one_server_waits_by_pollaczek_and_khinchine(scv: float, rate: float) -> None:
    """Mean wait of M/G/1: ρ / (1 - ρ) × (1 + scv) / 2 × service."""
    clock = _served(10.0, scv, 1, rate)
    timed = clock.time(Serve("gw", None, "work"))
    load = rate * 10.0 / 1000
    wait_ms = load / (1 - load) * (1 + scv) / 2 * 10.0
    assert timed.latency.mean_ms == pytest.approx(10.0 + wait_ms, rel=1e-3)
    assert timed.missing == ()


def test_several_servers_wait_by_erlang() -> None:
    """M/M/3 at ρ = 0.8: C = 0.6472 by Erlang's formula, wait C / (3μ - λ)."""
    clock = _served(10.0, 1.0, 3, 240.0)
    offered = 2.4
    terms = [offered**k / np.prod(range(1, k + 1)) for k in range(3)]
    last = offered**3 / 6 / (1 - 0.8)
    wait_ms = last / (sum(terms) + last) * 1000 / (300.0 - 240.0)
    assert clock.time(Serve("gw", None, "w")).latency.mean_ms == pytest.approx(
        10 + wait_ms, rel=2e-3
    )


def test_servers_work_for_all_services_that_call_them() -> None:
    """Two services at 25/s load the one server as one at 50/s does."""
    node = gateway(service_time=ServiceTime(mean_ms=10.0, scv=1.0), servers=1)
    shared = small(
        chat(rate=25.0),
        chat(rate=25.0).replace(id="second"),
        nodes=small().nodes.set("gw", node),
        deployments=table(deployment(replicas=64)),
    )
    work = Serve("gw", None, "w")
    both, one = _clock(shared).time(work).latency, _served(10.0, 1.0, 1, 50.0).time(work).latency
    assert both.mean_ms == pytest.approx(one.mean_ms)


def test_instances_share_the_calls() -> None:
    node = gateway(service_time=ServiceTime(mean_ms=10.0, scv=1.0), servers=1, count=2)
    design = small(
        chat(rate=100.0),
        nodes=small().nodes.set("gw", node),
        deployments=table(deployment(replicas=64)),
    )
    work = Serve("gw", None, "w")
    alone = _served(10.0, 1.0, 1, 50.0).time(work).latency.mean_ms
    assert _clock(design).time(work).latency.mean_ms == pytest.approx(alone)


def test_a_server_beyond_its_rate_has_no_figure() -> None:
    clock = _served(10.0, 1.0, 1, 90.0)
    busy = Clock(
        clock.design, clock.transit, clock.elements, clock.pools, {"gw": 101.0}, clock.ledger
    )
    with pytest.raises(CannotTime, match="grows by 1/s") as refusal:
        busy.time(Serve("gw", None, "w"))
    assert refusal.value.why == "grows"


def test_unknown_servers_have_no_queue_and_say_so() -> None:
    clock = _served(10.0, 1.0, 1000, 1.0)
    nodes = clock.design.nodes.set("gw", gateway(servers=None))
    study = studied(clock.design.model_copy(update={"nodes": nodes}))
    assert any((line.element, line.field) == ("gw", "servers") for line in study.ledger.lines())


def test_parallel_calls_take_as_long_as_the_slower() -> None:
    """Two exponentials of 10 and 30 ms: E max = 10 + 30 - 1 / (1/10 + 1/30) = 32.5."""
    nodes = small().nodes
    for key, mean_ms in (("a", 10.0), ("b", 30.0)):
        time = ServiceTime(mean_ms=mean_ms, scv=1.0)
        nodes = nodes.set(key, gateway(key, service_time=time))
    links = small().links.set("gw-a", link("gw", "a")).set("gw-b", link("gw", "b"))
    clock = _clock(small(chat(), nodes=nodes, links=links))
    latency = clock.time(Fork((Serve("a", None, "a"), Serve("b", None, "b")))).latency
    assert latency.mean_ms == pytest.approx(32.5, rel=1e-3)
    # 99 %: (1 - e^(-t/10)) (1 - e^(-t/30)) = 0.99; the 10 ms one is over by then.
    assert latency.percentile(0.99) == pytest.approx(-30 * np.log(0.01), rel=2e-3)


def test_jitter_of_links_is_an_exponential_each() -> None:
    shaky = small().links.set("router-fw", link("router", "fw", length_km=80.0, jitter_ms=3.0))
    move = Move("users", "gw", "interactive", 5000.0, 5000.0, "request")
    still = _clock(small(chat())).time(move).latency
    seen = _clock(small(chat(), links=shaky)).time(move).latency
    assert seen.mean_ms - still.mean_ms == pytest.approx(3.0, abs=1e-3)
    assert seen.percentile(0.99) - still.percentile(0.99) == pytest.approx(
        3 * np.log(100), rel=2e-3
    )


def test_equal_ways_are_taken_by_share() -> None:
    """Two ways of one metric, 100 km and 500 km long: half of the messages take each."""
    nodes = small().nodes.set("other", small().nodes["fw"].replace(id="other"))
    links = small().links
    for a, b, km in (("router", "fw", 100.0), ("fw", "gw", 0.0)):
        links = links.set(f"{a}-{b}", link(a, b, length_km=km, metric=10))
    links = links.set("r2", link("router", "other", length_km=500.0, metric=10).replace(id="r2"))
    links = links.set("g2", link("other", "gw", metric=10).replace(id="g2"))
    clock = _clock(small(chat(), nodes=nodes, links=links))
    move = Move("router", "gw", "interactive", None, None, "call")
    latency = clock.time(move).latency
    short_ms, long_ms = (
        km * 1.468 / 299.792458 + 0.05 + 2 * 1500 * 8 / 1e7 for km in (100.0, 500.0)
    )
    assert latency.mean_ms == pytest.approx((short_ms + long_ms) / 2, abs=1e-3)
    assert latency.percentile(0.25) == pytest.approx(short_ms, abs=2e-3)
    assert latency.percentile(0.75) == pytest.approx(long_ms, abs=2e-3)


def test_a_message_of_unknown_size_is_at_least() -> None:
    timed = _clock(small(chat())).time(Move("users", "gw", "interactive", None, None, "request"))
    assert timed.missing == ("size of request from users to gw",)


def test_slow_start_ends_where_the_pipe_is_full() -> None:
    """At 10 Mb/s and 13 ms the pipe holds some 15 kB, so that the first window nearly fills it."""
    slow = small().links.set("router-fw", link("router", "fw", length_km=80.0, capacity_gbps=0.01))
    wire = Wire(handshakes=("tcp",), request_bytes_per_token=399.0)
    fresh, kept = (
        studied(small(chat(wire=each), links=slow)).services[0].ttft_ms.p50
        for each in (wire, wire.replace(handshakes=()))
    )
    round_trip_ms = 12 + 2 * (80 * 1.468 / 299.792458 + 0.06) + 4 * 0.0012 + 2 * 1.2
    pipe = 0.01e6 / 8 * round_trip_ms * 1448 / 1560
    rounds = 1 if pipe > 14_480 else 0
    assert fresh is not None
    assert kept is not None
    assert fresh - kept == pytest.approx((1 + rounds) * round_trip_ms, abs=0.05)


_KINDS: list[Any] = [
    lambda work, gpu: Chain((work, Chain((gpu, work)), work)),
    lambda work, gpu: Again(5, Chain((work, gpu))),
    lambda work, gpu: Maybe(((0.4, Chain((work, gpu))), (0.3, work))),
    lambda work, gpu: Fork((Chain((work, gpu)), work)),
    lambda work, gpu: Tries(120.0, 2, Chain((work, gpu))),
    lambda work, gpu: Twice(80.0, Chain((work, gpu))),
]


@pytest.mark.parametrize("make", _KINDS)
@pytest.mark.parametrize("factor", [0.7, 1.0, 2.5])
def test_divided_and_plain_are_one_law(make: Any, factor: float) -> None:
    clock = _clock(small(chat(rate=12.0, prompt_tokens=Tokens(mean=900.0, scv=1.0))))
    part: Part = make(Serve("gw", None, "w"), _gpu_part(clock))
    divided, plain = clock.time(part, factor).latency, clock.plain(part, factor)
    for level in (0.5, 0.95, 0.99):
        assert plain.percentile(level) == pytest.approx(divided.percentile(level), rel=2e-3)
    assert sum(divided.shares(0.95).values()) == pytest.approx(divided.percentile(0.95), rel=1e-9)


def test_gpu_error_scales_the_gpu_alone() -> None:
    clock = _clock(small(chat()))
    gpu = _gpu_part(clock)
    chain = Chain((Serve("gw", None, "w"), gpu))
    nominal = clock.time(gpu).latency.percentile(0.5)
    assert clock.plain(chain, 2.0).percentile(0.5) == pytest.approx(3.0 + 2 * nominal, abs=1e-3)


def test_samples_come_back_as_they_were() -> None:
    """The GPU segment's percentiles are those of the simulated requests."""
    clock = _clock(small(chat(rate=15.0, prompt_tokens=Tokens(mean=900.0, scv=1.0))))
    served = clock.pools["llama"].served
    assert served is not None
    latency = clock.time(_gpu_part(clock)).latency
    for level in (0.5, 0.95, 0.99):
        expected = float(np.quantile(served.ttft_ms, level))
        assert latency.percentile(level) == pytest.approx(expected, rel=5e-3)
    shares = latency.mean_shares()
    wait = next(ms for name, ms in shares.items() if name.startswith("GPU queue"))
    assert wait == pytest.approx(float(served.queue_wait_ms.mean()), rel=0.02)
