"""Waits at ports and servers against closed forms and queues served event by event."""

from math import exp, factorial, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from designer.analysis.queue_trace import fifo_waits, priority_waits
from designer.analysis.queueing import (
    ClassLoad,
    Wait,
    ceiling_wait_us,
    pfc_headroom_bytes,
    priority_wait,
    served_loads,
)
from designer.analysis.server_queues import erlang_c, mgc_wait, mmc_wait
from designer.analysis.transforms import BatchKind, Stream, WaitLaw, percentiles
from designer.analysis.wait_latency import port_latency, server_latency

FULL_SIZE = ((1250.0, 1.0),)
"""On a port of 10 Gb/s such a packet takes exactly one microsecond."""


def alone(load_gbps: float, burst: float = 1.0, kind: BatchKind = "constant") -> Wait:
    load = ClassLoad(load_gbps, FULL_SIZE, burst_packets=burst, burst_kind=kind)
    return priority_wait([load], 10.0)[0]


def known(value: float | None) -> float:
    assert value is not None
    return value


def slowest_mean_us(wait: Wait) -> float:
    assert wait.slowest is not None
    return known(wait.slowest.mean_us)


def test_single_class_is_pollaczek_khinchine() -> None:
    wait = alone(6.0)
    assert wait.state == "steady"
    assert wait.mean_us == pytest.approx(0.6 / (2 * 0.4))
    assert wait.second_moment_us2 == pytest.approx(2 * 0.75**2 + 0.6 / (3 * 0.4))
    assert wait.p_wait == pytest.approx(0.6)
    assert wait.percentile(0.39) == 0.0


def test_wait_in_md1_is_erlangs_sum() -> None:
    # Erlang 1909: P(W <= t) = (1-rho) sum_k (rho(k-t))^k / k! exp(-rho(k-t)), k to floor(t)
    rho, times = 0.7, (0.5, 1.5, 2.25, 5.5)
    exact = [
        (1 - rho)
        * sum((rho * (k - t)) ** k / factorial(k) * exp(-rho * (k - t)) for k in range(int(t) + 1))
        for t in times
    ]
    found = alone(7.0).cdf(np.array(times))
    assert found == pytest.approx(exact, abs=2e-4)


def test_cobham_for_three_classes() -> None:
    plan = ((2.0, 125.0), (3.0, 1250.0), (2.5, 5000.0))
    loads = [ClassLoad(gbps, ((size, 1.0),), place) for place, (gbps, size) in enumerate(plan)]
    waits = priority_wait(loads, 10.0)
    rhos, sizes = (0.2, 0.3, 0.25), (0.1, 1.0, 4.0)
    residual = sum(rho * size / 2 for rho, size in zip(rhos, sizes, strict=True))
    reached = (0.0, 0.2, 0.5, 0.75)
    for place, wait in enumerate(waits):
        cobham = residual / ((1 - reached[place]) * (1 - reached[place + 1]))
        assert wait.mean_us == pytest.approx(cobham, rel=1e-12)
        assert wait.slowest is None


@pytest.mark.parametrize(("kind", "times_longer"), [("constant", 26.0), ("geometric", 51.0)])
def test_bursts_of_sixteen(kind: BatchKind, times_longer: float) -> None:
    # Burke: 26 for constant batches; geometric ones: E[X^2] = 496, E[X(X-1)] = 480, so 51
    burst = alone(6.0, 16.0, kind)
    assert known(burst.mean_us) / known(alone(6.0).mean_us) == pytest.approx(times_longer)
    assert burst.p_wait == pytest.approx(1 - 0.4 / 16)


def arrivals_of(rng: np.random.Generator, rate: float, jobs: int, batch: int) -> list[float]:
    moments = np.cumsum(rng.exponential(batch / rate, jobs // batch))
    return [float(moment) for moment in moments for _ in range(batch)]


def test_priorities_and_bursts_match_events() -> None:
    rng = np.random.default_rng(7)
    plan = ((0.2, 0.5, 1), (0.35, 1.0, 4), (0.25, 3.0, 1))
    span, rows = 150_000.0, []
    for place, (rho, service, batch) in enumerate(plan):
        jobs = int(rho / service * span)
        rows += [(at, service, place) for at in arrivals_of(rng, rho / service, jobs, batch)]
    rows.sort()
    arrivals, services, classes = (list(column) for column in zip(*rows, strict=True))
    waits = np.array(priority_waits(arrivals, services, [int(c) for c in classes]))
    streams = [
        Stream(rho / service / batch, (service,), (1.0,), float(batch))
        for rho, service, batch in plan
    ]
    for place in range(3):
        simulated = waits[np.array(classes) == place]
        law = WaitLaw(tuple(streams[:place]), streams[place], tuple(streams[place + 1 :]))
        mean, second = law.moments()
        p50, p95 = percentiles(law, (0.5, 0.95))
        assert_sampled(simulated, mean)
        assert_sampled(simulated**2, second)
        assert_sampled(simulated <= p50, 0.5)
        assert_sampled(simulated <= p95, 0.95)


def assert_sampled(samples: NDArray[Any], expected: float) -> None:
    """Within 4 standard errors, taken from 40 blocks since neighbours wait alike."""
    blocks = np.array([block.mean() for block in np.array_split(samples, 40)])
    error = blocks.std(ddof=1) / sqrt(len(blocks))
    assert abs(samples.mean() - expected) < 4.0 * error


def test_queue_length_of_md1() -> None:
    # Pollaczek-Khinchine generating function of the number in the system, expanded by FFT
    rho, size = 0.8, 256
    z = 0.99 * np.exp(2j * np.pi * np.arange(size) / size)
    service = np.exp(-rho * (1 - z))
    chances = (np.fft.fft((1 - rho) * (1 - z) * service / (service - z)) / size).real
    chances /= 0.99 ** np.arange(size)
    wait = alone(8.0)
    for packets in (0, 1, 4, 10):
        more_wait = 1.0 - chances[: packets + 2].sum()
        assert wait.passing(packets * 1250.0) == pytest.approx(more_wait, rel=1e-6)
    assert wait.occupancy_bytes == pytest.approx(0.8 * 1250 * known(wait.mean_us))


def test_elastic_class_stands_at_its_threshold() -> None:
    bulk = ClassLoad(None, FULL_SIZE, 1, elastic=True, ecn_threshold_bytes=100_000.0)
    urgent = ClassLoad(5.0, FULL_SIZE, 0)
    first, second = priority_wait([urgent, bulk], 10.0)
    assert second.state == "at_threshold"
    assert second.mean_us == pytest.approx(80.0)
    assert slowest_mean_us(second) == pytest.approx(160.0)
    assert second.occupancy_bytes == pytest.approx(100_000.0)
    # the urgent class sees a port that is never idle: the rest of one packet and its own queue
    assert first.mean_us == pytest.approx(0.5 / (1 - 0.5))
    assert first.p_wait == pytest.approx(1.0)
    unknown = priority_wait([ClassLoad(None, FULL_SIZE, elastic=True)], 10.0)[0]
    assert unknown.mean_us is None
    assert unknown.percentile(0.5) is None


def test_overloaded_class_has_no_steady_state_and_breaks_no_other() -> None:
    loads = [
        ClassLoad(4.0, FULL_SIZE, 0),
        ClassLoad(9.0, FULL_SIZE, 1),
        ClassLoad(1.0, FULL_SIZE, 2),
    ]
    first, second, third = priority_wait(loads, 10.0)
    assert first.mean_us == pytest.approx(0.5 / (1 - 0.4))
    assert second.state == third.state == "overloaded"
    assert second.served_gbps == pytest.approx(6.0)
    assert second.growth_gbps == pytest.approx(3.0)
    assert third.growth_gbps == pytest.approx(1.0)
    assert second.percentile(0.5) is None
    assert second.cdf(np.array([1.0])) is None
    assert second.passing(1e4) is None


def test_weighted_classes_have_a_range() -> None:
    loads = [ClassLoad(2.0, FULL_SIZE, 0, weight=3.0), ClassLoad(4.0, FULL_SIZE, 0, weight=1.0)]
    first, second = priority_wait(loads, 10.0)
    # at full speed: own queue and the rest of a neighbour's packet; guaranteed: 7.5 Gb/s
    assert first.mean_us == pytest.approx((0.2 + 0.4) / 2 / 0.8)
    slow = 4 / 3
    own = 0.2 * slow
    guaranteed = (own * slow / 2 + 0.4 / 2) / (1 - own)
    assert slowest_mean_us(first) == pytest.approx(guaranteed)
    # 4 of a guaranteed 2.5 Gb/s: the bound is to be served behind the other
    behind = (0.6 / 2) / ((1 - 0.2) * (1 - 0.6))
    assert slowest_mean_us(second) == pytest.approx(behind)


def test_port_is_divided_by_priority_then_weight() -> None:
    loads = [
        ClassLoad(2.0, FULL_SIZE, 0),
        ClassLoad(1.0, FULL_SIZE, 1, weight=1.0),
        ClassLoad(9.0, FULL_SIZE, 1, weight=2.0),
        ClassLoad(None, FULL_SIZE, 1, weight=1.0, elastic=True),
        ClassLoad(1.0, FULL_SIZE, 2),
    ]
    assert served_loads(loads, 10.0) == pytest.approx((2.0, 1.0, 14 / 3, 7 / 3, 0.0))


def test_bad_ports_are_refused() -> None:
    with pytest.raises(ValueError, match="capacity above 0"):
        priority_wait([], 0.0)
    with pytest.raises(ValueError, match="add up to 1"):
        ClassLoad(1.0, ((1500.0, 0.5),))


def test_ceiling_and_headroom() -> None:
    assert ceiling_wait_us(9000, 16_000, 100) == pytest.approx(2.0)
    # 100 m of fibre, 4.9 us a km, both ways, at 400 Gb/s, and a largest packet at either end
    assert pfc_headroom_bytes(0.1, 4.9, 400, 9000, 0.0) == pytest.approx(49_000 + 18_000)


def test_erlang_c_of_two_servers() -> None:
    # 2 servers, offered a: C = a^2 / (2 + a)
    assert erlang_c(2, 1.6) == pytest.approx(1.6**2 / 3.6)
    wait = mmc_wait(1600.0, 1.0, 2)
    assert wait.exact
    tail = known(wait.p_wait) * exp(-0.4 * 3.0)
    assert wait.cdf(np.array([3.0])) == pytest.approx([1 - tail])


def test_pool_against_events() -> None:
    rng = np.random.default_rng(11)
    jobs, servers, rate = 200_000, 8, 6.4
    sigma = sqrt(np.log(3.0))
    services = rng.lognormal(-(sigma**2) / 2, sigma, jobs)
    arrivals = np.cumsum(rng.exponential(1 / rate, jobs))
    waits = np.array(fifo_waits(arrivals.tolist(), services.tolist(), servers))
    wait = mgc_wait(rate * 1000, 1.0, 2.0, servers)
    assert known(wait.mean_ms) == pytest.approx(waits.mean(), rel=0.2)
    for level in (0.95, 0.99):
        assert wait.percentile(level) == pytest.approx(np.quantile(waits, level), rel=0.2)


def test_pool_edges() -> None:
    over = mgc_wait(12.0, 1000.0, 1.0, 10)
    assert over.mean_ms is None
    assert over.percentile(0.5) is None
    assert over.growth_per_s == pytest.approx(2.0)
    idle = mgc_wait(0.0, 5.0, 1.0, 3)
    assert (idle.mean_ms, idle.percentile(0.99)) == (0.0, 0.0)
    assert mgc_wait(500.0, 1.0, 0.0, 1).mean_ms == pytest.approx(0.5)
    with pytest.raises(ValueError, match="needs a server"):
        mgc_wait(1.0, 1.0, 1.0, 0)


def test_waits_become_latencies() -> None:
    wait = alone(6.0)
    latency = port_latency("port", wait)
    assert latency is not None
    assert latency.atom == pytest.approx(0.4)
    assert latency.mean_ms == pytest.approx(0.00075)
    assert latency.grid_mean_ms == pytest.approx(0.00075, rel=1e-3)
    for level in (0.7, 0.95, 0.999):
        assert latency.percentile(level) * 1e3 == pytest.approx(
            known(wait.percentile(level)), rel=2e-3
        )
    pool = server_latency("pool", mmc_wait(1600.0, 1.0, 2))
    assert pool is not None
    assert pool.percentile(0.99) == pytest.approx(10.660608997543745, rel=1e-3)
    assert port_latency("port", Wait("overloaded", 1.0)) is None
    assert server_latency("pool", mgc_wait(12.0, 1000.0, 1.0, 10)) is None
