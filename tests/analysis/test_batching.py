"""The step-level batching model against a plain event loop, conservation laws and limits."""

import json
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from designer.analysis import batching_kernel as kernel
from designer.analysis.batching import (
    Balancer,
    EngineLimits,
    Served,
    Workload,
    arrivals,
    coefficients,
    constant,
    open_loop,
    quantiles,
    saturation_rate,
    simulate,
    warm,
)
from designer.analysis.closed_loop import closed_loop
from designer.analysis.scale_up import CannotServe
from designer.analysis.serving import Replica
from designer.model.silicon import Accelerator, LanguageModel

CHIP = Accelerator(
    id="chip", vendor="NVIDIA", memory_gb=80, memory_usable_gbytes=80.0,
    memory_gbytes_per_s=3000, bf16_tflops=1000, fp8_tflops=2000, link_gbytes_per_s=450,
    link_kind="NVLink", scale_up_domain=8,
)  # fmt: skip
MODEL = LanguageModel(
    id="dense", layers=32, hidden=4096, vocab=128_000, query_heads=32, attention="GQA", kv_heads=8,
    head_dim=128, qk_dim=128, v_dim=128, total_params=8_028_576_000, active_params=7_504_288_000,
)  # fmt: skip
REPLICA = Replica(MODEL, CHIP)
MIX = Workload(
    prompt=quantiles(((0, 20), (0.5, 600), (0.9, 2000), (1, 6000))),
    output=quantiles(((0, 1), (0.5, 150), (0.9, 500), (1, 1200))),
)


@dataclass
class _Job:
    arrival: float
    need: int
    kv: int
    left: int
    done: int = 0
    decodes: bool = False
    scheduled: float = -1.0
    first: float = -1.0
    last: float = -1.0
    preempted: int = 0


@dataclass
class _Plain:
    """An engine written for reading: every step looks at every request."""

    replica: Replica
    limits: EngineLimits
    room: float

    def serve(self, jobs: list[_Job]) -> None:
        future, waiting = deque(jobs), deque[_Job]()
        running: list[_Job] = []
        now = 0.0
        while future or waiting or running:
            if not waiting and not running:
                now = max(now, future[0].arrival)
            while future and future[0].arrival <= now:
                waiting.append(future.popleft())
            now = self._step(now, waiting, running)

    def _step(self, now: float, waiting: deque[_Job], running: list[_Job]) -> float:
        decoding = [job for job in running if job.decodes]
        evicted = False
        while sum(self._held(job) for job in running) + len(decoding) > self.room:
            loser = running.pop()
            # its last token is not in the cache yet
            loser.need = loser.kv + 1 if loser.decodes else loser.need
            loser.kv = int(self.limits.share_still_cached * loser.kv)
            loser.decodes, loser.preempted, evicted = False, loser.preempted + 1, True
            waiting.appendleft(loser)
            decoding = [job for job in running if job.decodes]
        budget = self.limits.token_budget - len(decoding)
        chunks: list[tuple[_Job, int]] = []
        for job in running:
            if not job.decodes and budget > 0:
                chunks.append((job, min(job.need - job.kv, budget)))
                budget -= chunks[-1][1]
        while waiting and not evicted and budget > 0:
            job, held = waiting[0], sum(self._held(job) for job in running) + len(decoding)
            keeps = self.limits.kv_policy == "watermark" and running
            kept = self.limits.watermark * self.room if keeps else 0.0
            if len(running) == self.limits.most_sequences or held + job.need + kept > self.room:
                break
            running.append(waiting.popleft())
            job.kv = min(job.kv, job.need - 1)
            job.scheduled = now if job.scheduled < 0 else job.scheduled
            chunks.append((job, min(job.need - job.kv, budget)))
            budget -= chunks[-1][1]
        prefill = sum(self.replica.prefill_s(tokens, job.kv) for job, tokens in chunks)
        if decoding:
            context = sum(job.kv + 1 for job in decoding) / len(decoding)
            prefill = 0.8 * prefill + self.replica.decode_s(len(decoding), context)
        now += prefill
        for job in decoding:
            job.kv, job.need = job.kv + 1, job.need + 1
            self._token(job, now)
        for job, tokens in chunks:
            job.kv += tokens
            if job.kv == job.need:
                job.decodes = True
                self._token(job, now)
        running[:] = [job for job in running if job.left > 0]
        return now

    @staticmethod
    def _held(job: _Job) -> int:
        return job.kv if job.decodes else job.need

    @staticmethod
    def _token(job: _Job, now: float) -> None:
        job.first = now if job.done == 0 else job.first
        job.done, job.left, job.last = job.done + 1, job.left - 1, now


def _requests(
    seed: int, count: int, rate: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    times = arrivals(generator, rate, "geometric", 2.0, count)
    prompt = np.maximum(MIX.prompt(generator, count).astype(int), 1)
    output = np.maximum(MIX.output(generator, count).astype(int), 1)
    return times, prompt, output, (prompt * generator.random(count) * 0.5).astype(int)


@pytest.mark.parametrize(
    ("limits", "rate", "preempts"),
    [
        (EngineLimits(), 8.0, False),
        (EngineLimits(most_sequences=4, token_budget=300), 8.0, False),
        (EngineLimits(kv_tokens=9000, kv_policy="preempt", share_still_cached=0.5), 30.0, True),
        (EngineLimits(kv_tokens=9000, watermark=0.02, token_budget=512), 30.0, True),
        (EngineLimits(kv_tokens=12_000, kv_policy="preempt", share_still_cached=0.0), 99.0, True),
    ],
)
def test_the_kernel_does_what_a_plain_event_loop_does(
    limits: EngineLimits, rate: float, preempts: bool
) -> None:
    times, prompt, output, cached = _requests(5, 200, rate)
    served = simulate(REPLICA, times, prompt, output, cached, limits)
    jobs = [
        _Job(arrival, int(need), min(int(kv), int(need) - 1), int(left))
        for arrival, need, left, kv in zip(times, prompt, output, cached, strict=True)
    ]
    room = limits.kv_tokens or REPLICA.kv_room_tokens
    assert room is not None
    _Plain(REPLICA, limits, room).serve(jobs)
    ours = np.array([served.queue_wait_ms, served.ttft_ms, served.request_ms]) / 1e3
    plain = np.array(
        [
            [job.scheduled - job.arrival for job in jobs],
            [job.first - job.arrival for job in jobs],
            [job.last - job.arrival for job in jobs],
        ]
    )
    np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-9)
    assert served.preemptions == sum(job.preempted for job in jobs)
    assert (served.preemptions > 0) == preempts


@pytest.mark.parametrize("chip", ["h100_sxm", "b200_sxm"])
@pytest.mark.parametrize(("ways", "stages", "experts"), [(8, 1, 8), (4, 2, 1), (2, 1, 8)])
def test_kernel_formulas_are_those_of_serving(
    reference_dir: Path, chip: str, ways: int, stages: int, experts: int
) -> None:
    chips = json.loads((reference_dir / "accelerators.json").read_text())["accelerators"]
    models = json.loads((reference_dir / "models.json").read_text())
    for key, row in models.items():
        replica = Replica(
            LanguageModel.from_row(row, key),
            Accelerator.from_row(chips[chip], chip),
            ways,
            stages,
            experts,
            "fp4",
            "fp8",
        )
        c = coefficients(replica)
        for batch, context in ((1.0, 10.0), (17.0, 3000.0), (200.0, 20_000.0)):
            ours = kernel.decode_time(c, batch, context)
            assert ours == pytest.approx(replica.decode_s(batch, context), rel=1e-12)
        for tokens, prefix in ((1.0, 0.0), (1000.0, 0.0), (2048.0, 9000.0)):
            ours = kernel.prefill_time(c, tokens, prefix)
            assert ours == pytest.approx(replica.prefill_s(tokens, prefix), rel=1e-12)


def _one(prompt: int, output: int, limits: EngineLimits, cached: int = 0) -> Served:
    return simulate(REPLICA, [3.0], [prompt], [output], [cached], limits)


def test_a_lone_request_takes_its_prefill_and_its_steps() -> None:
    served = _one(1000, 4, EngineLimits())
    # three more tokens, at contexts of prompt and the tokens given so far
    steps = sum(REPLICA.decode_s(1, 1000 + given) for given in (1, 2, 3))
    assert served.queue_wait_ms[0] == 0
    assert served.ttft_ms[0] == pytest.approx(1e3 * REPLICA.prefill_s(1000))
    assert served.request_ms[0] == pytest.approx(1e3 * (REPLICA.prefill_s(1000) + steps))
    assert served.tpot_ms[0] == pytest.approx(1e3 * steps / 3)


def test_a_long_prompt_comes_in_chunks_of_the_budget() -> None:
    served = _one(1200, 1, EngineLimits(token_budget=512))
    chunks = [(512, 0), (512, 512), (176, 1024)]
    expected = sum(REPLICA.prefill_s(tokens, prefix) for tokens, prefix in chunks)
    assert served.ttft_ms[0] == pytest.approx(1e3 * expected)
    assert np.isnan(served.tpot_ms[0])


def test_a_cached_prefix_is_not_computed() -> None:
    served = _one(1200, 1, EngineLimits(), cached=1000)
    assert served.ttft_ms[0] == pytest.approx(1e3 * REPLICA.prefill_s(200, 1000))
    # all of it cached: the last token is computed all the same
    whole = _one(1200, 1, EngineLimits(), cached=1200)
    assert whole.ttft_ms[0] == pytest.approx(1e3 * REPLICA.prefill_s(1, 1199))


def test_a_prefill_rides_on_the_step_of_others() -> None:
    # the second comes during the first one's second decode step and joins the third
    first_step = REPLICA.prefill_s(500)
    one, two = REPLICA.decode_s(1, 501), REPLICA.decode_s(1, 502)
    arrives = first_step + one + two / 2
    served = simulate(REPLICA, [0.0, arrives], [500, 800], [50, 2], 0, EngineLimits())
    mixed = REPLICA.decode_s(1, 503) + 0.8 * REPLICA.prefill_s(800)
    assert served.queue_wait_ms[1] == pytest.approx(1e3 * two / 2)
    assert served.ttft_ms[1] == pytest.approx(1e3 * (two / 2 + mixed))
    both = REPLICA.decode_s(2, (504 + 801) / 2)
    assert served.tpot_ms[1] == pytest.approx(1e3 * both)


def test_at_light_load_the_first_token_takes_the_prefill() -> None:
    load = Workload(constant(700), constant(20))
    served = open_loop(REPLICA, 1, "round_robin", 0.01, load, EngineLimits(), 3, 500)
    assert np.median(served.ttft_ms) == pytest.approx(39 + 1e3 * REPLICA.prefill_s(700))


def test_a_newcomer_waits_half_a_step_on_average() -> None:
    generator = np.random.default_rng(11)
    count = 4000
    # one request decodes all the while; the others come far apart and are short
    times = np.concatenate([[0.0], 5 + np.cumsum(generator.uniform(0.05, 0.15, count))])
    prompt = np.full(count + 1, 10)
    output = np.concatenate([[10**6], np.ones(count, int)])
    limits = EngineLimits(kv_tokens=3e6)
    served = simulate(REPLICA, times, prompt, output, 0, limits)
    waits = served.queue_wait_ms[1:]
    # steps lengthen evenly with the context, which grows by one a step
    step_ms = 1e3 * REPLICA.decode_s(1, served.gap_weight.sum() / 2)
    assert waits.mean() == pytest.approx(step_ms / 2, rel=0.05)


def test_tokens_are_conserved() -> None:
    times, prompt, output, cached = _requests(9, 3000, 30.0)
    times = np.append(times, times[-1] + 1e5)
    # a last request far behind: all gaps of the others lie in the counted span
    limits = EngineLimits(kv_tokens=30_000, kv_policy="preempt")
    served = simulate(
        REPLICA, times, np.append(prompt, 10), np.append(output, 1), np.append(cached, 0), limits
    )
    assert served.preemptions > 0
    assert served.gap_weight.sum() == (output - 1).sum()
    total = np.nansum(served.tpot_ms[:-1] * (output - 1))
    assert np.sum(served.gap_ms * served.gap_weight) == pytest.approx(total, rel=1e-9)
    assert 0 < served.kv_use <= 1


def test_littles_law() -> None:
    served = open_loop(REPLICA, 1, "round_robin", 12.0, MIX, EngineLimits(), 5, 20_000)
    inside_s = (served.request_ms - 39 - served.queue_wait_ms) / 1e3
    rate = len(inside_s) / served.counted_s
    assert not served.overloaded
    # requests in the batch by the kernel's clock, and arrivals times their time in it
    assert served.mean_sequences == pytest.approx(rate * inside_s.mean(), rel=0.01)
    assert served.duty_cycle <= 1 + 1e-9


def test_gap_percentiles_are_those_of_all_gaps() -> None:
    served = simulate(REPLICA, np.zeros(3), [10, 10, 10], [1, 400, 400], 0, EngineLimits())
    assert served.gap_percentile_ms(50) is None
    far = simulate(
        REPLICA, [0.0, 0.0, 1e4], [10, 10, 10], [400, 400, 1], 0, EngineLimits(token_budget=10**6)
    )
    middle = far.gap_percentile_ms(50)
    assert middle == pytest.approx(1e3 * REPLICA.decode_s(2, 210), rel=0.01)


def test_a_full_engine_serves_what_a_closed_loop_does() -> None:
    load = Workload(constant(800), constant(200))
    most = saturation_rate(REPLICA, load, EngineLimits(most_sequences=64), 1)
    closed = closed_loop(REPLICA, 64, 800, 200)
    # the closed loop counts a client's own prefill in full besides those of the others
    assert most == pytest.approx(closed.requests_per_s, rel=0.1)


def test_more_than_it_serves_is_called_overload() -> None:
    load = Workload(constant(800), constant(200))
    limits = EngineLimits(most_sequences=64)
    most = saturation_rate(REPLICA, load, limits, 1)
    calm = open_loop(REPLICA, 1, "round_robin", 0.8 * most, load, limits, 1, 4000)
    over = open_loop(REPLICA, 1, "round_robin", 1.2 * most, load, limits, 1, 4000)
    assert (calm.overloaded, over.overloaded) == (False, True)
    # the queue grows by the excess: the last of 4400 waits for about 4400 (1/most - 1/1.2 most)
    growth_ms = 1e3 * 4400 * (1 / most - 1 / (1.2 * most))
    assert over.queue_wait_ms[-1] == pytest.approx(growth_ms, rel=0.1)


def test_least_loaded_beats_round_robin_beats_random() -> None:
    limits, mean = EngineLimits(most_sequences=24), {}
    rate = 0.85 * 4 * saturation_rate(REPLICA, MIX, limits, 2)
    balancers: tuple[Balancer, ...] = ("least_loaded", "round_robin", "random")
    for balancer in balancers:
        served = open_loop(REPLICA, 4, balancer, rate, MIX, limits, 2, 8000)
        mean[balancer] = served.ttft_ms.mean()
    assert mean["least_loaded"] < mean["round_robin"] < mean["random"]


def test_a_prefix_stays_with_its_replica() -> None:
    load = replace(MIX, prefixes=1)
    served = open_loop(REPLICA, 4, "prefix_affine", 4.0, load, EngineLimits(), 2, 500)
    assert len(set(served.replica.tolist())) == 1


def test_a_request_larger_than_the_room_is_turned_away() -> None:
    limits = EngineLimits(kv_tokens=1000)
    served = simulate(REPLICA, [0.0, 0.0, 1.0], [900, 990, 900], [100, 11, 1], 0, limits)
    assert served.turned_away == 1
    assert np.isnan(served.request_ms).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("kind", "mean", "dispersion"),
    # the count of a compound Poisson process: variance over mean is E[size^2] / E[size]
    [("single", 5.0, 1.0), ("constant", 4.0, 4.0), ("geometric", 4.0, 7.0)],
)
def test_arrivals_have_their_rate_and_burstiness(kind: str, mean: float, dispersion: float) -> None:
    generator = np.random.default_rng(1)
    times = arrivals(generator, 10.0, kind, mean, 400_000)  # type: ignore[arg-type]
    assert len(times) == 400_000
    assert np.all(np.diff(times) >= 0)
    assert len(times) / times[-1] == pytest.approx(10.0, rel=0.02)
    counts = np.histogram(times, np.arange(0, times[-1], 5.0))[0]
    assert counts.var() / counts.mean() == pytest.approx(dispersion, rel=0.06)


def test_the_same_seed_gives_the_same_figures() -> None:
    load = replace(MIX, burst_kind="geometric", burst_mean=3.0)
    one, two, other = (
        open_loop(REPLICA, 2, "random", 8.0, load, EngineLimits(), seed, 1000) for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(one.request_ms, two.request_ms)
    assert not np.array_equal(one.request_ms, other.request_ms)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="do not rise"):
        simulate(REPLICA, [1.0, 0.0], [1, 1], [1, 1], 0, EngineLimits())
    with pytest.raises(ValueError, match="at least 1 sequence"):
        simulate(REPLICA, [0.0], [1], [1], 0, EngineLimits(most_sequences=0))
    with pytest.raises(ValueError, match="has no arrivals"):
        open_loop(REPLICA, 1, "random", 0.0, MIX, EngineLimits(), 1)
    small = Replica(MODEL, CHIP.replace(memory_usable_gbytes=16.0))
    with pytest.raises(CannotServe, match="lacks"):
        simulate(small, [0.0], [1], [1], 0, EngineLimits())


def test_warming_compiles_what_simulations_use() -> None:
    warm()
    before = len(kernel.serve.signatures)  # type: ignore[attr-defined]
    _one(100, 3, EngineLimits(kv_tokens=500, share_still_cached=1))
    open_loop(REPLICA, 2, "least_loaded", 1, MIX, EngineLimits(), 1, 20)
    assert len(kernel.serve.signatures) == before  # type: ignore[attr-defined]


def test_nothing_arrives() -> None:
    served = simulate(REPLICA, [], [], [], 0, EngineLimits())
    assert len(served.ttft_ms) == 0
    assert served.gap_percentile_ms(50) is None
