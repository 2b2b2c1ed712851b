"""The open loop of a service: requests arrive at a rate, engines batch them step by step.

The engine model: first come first served while KV room and sequences last; prefill in chunks
within the token budget; one token for every decoding request a step; a mixed step lasts
t(decoding, mean context) plus 0.8 T_p of every chunk, the whole T_p where nothing decodes.
Seeded: the same arguments give the same figures.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from designer.analysis import batching_kernel as kernel
from designer.analysis.batching_kernel import Coefficients, Floats, Ints, Records
from designer.analysis.scale_up import CannotServe
from designer.analysis.serving import Replica, touched_share

Balancer = Literal["random", "round_robin", "least_loaded", "prefix_affine"]
KvPolicy = Literal["watermark", "preempt"]
BurstKind = Literal["single", "constant", "geometric"]
Sampler = Callable[[Generator, int], Floats]
"""Draws that many values: token counts, or shares."""


WARM_UP_SHARE: Final = 0.1
FLOOD_REQUESTS: Final = 2000


def _zeros(_generator: Generator, n: int) -> Floats:
    return np.zeros(n)


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What an engine admits at once, and what it does when KV runs out."""

    most_sequences: int = 256
    token_budget: int = 2048
    """Tokens of one step."""
    kv_tokens: float | None = None
    """Room for KV of one replica; None: by the memory formula."""
    kv_policy: KvPolicy = "watermark"
    """watermark: admission keeps room free for running requests, so that few are pre-empted;
    preempt: admission takes what is there, and the latest gives way."""
    watermark: float = 0.01
    """Share of the room that admission keeps free; only under `watermark`."""
    share_still_cached: float = 0.9
    """Of a pre-empted request's KV, what need not be computed again."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What arrives: token counts, how much of a prompt is cached, how many come together."""

    prompt: Sampler
    output: Sampler
    cached_share: Sampler = _zeros
    """Of the prompt, found in the prefix cache: a share a request."""
    burst_kind: BurstKind = "single"
    burst_mean: float = 1.0
    prefixes: int = 64
    """Different prefixes that a prefix-affine balancer spreads by hash."""


@dataclass(frozen=True, slots=True)
class Served:
    """Requests in the order of arrival (NaN: turned away, larger than the room), and use.

    `gap_ms` and `gap_weight` are the gaps between tokens: a value and how many tokens saw it.
    """

    arrival_s: Floats
    queue_wait_ms: Floats
    ttft_ms: Floats
    request_ms: Floats
    """From arrival to the last token."""
    tpot_ms: Floats
    """Mean gap of a request; NaN where it has one token."""
    gap_ms: Floats
    gap_weight: Floats
    replica: Ints
    duty_cycle: float
    """Share of time in which a replica runs a step, mean over replicas."""
    kv_use: float
    """Share of the KV room that is taken, mean over time and replicas."""
    mean_sequences: float
    """Requests in one replica's batch, mean over time."""
    preemptions: int
    turned_away: int
    counted_s: float
    """The span over which gaps and use were counted."""
    overloaded: bool = False
    """More is offered than can be served: waits grow for as long as it lasts."""
    saturation_per_s: float | None = None
    """Requests a second that all replicas can serve; None: not asked."""

    def gap_percentile_ms(self, percent: float) -> float | None:
        """A percentile of the gaps between tokens; None where no request has two tokens."""
        total = self.gap_weight.sum()
        if total == 0:
            return None
        place = int(np.searchsorted(np.cumsum(self.gap_weight), percent / 100 * total))
        return float(self.gap_ms[min(place, len(self.gap_ms) - 1)])


def coefficients(replica: Replica) -> Coefficients:
    """The formulas of `serving` as the kernel takes them.

    Raises CannotServe where a link is not known.
    """
    model, c = replica.model, replica.constants
    ways, groups = replica.tensor_parallel, replica.groups
    reading = 1 / (c.memory_share * replica.accelerator.memory_gbytes_per_s * 1e9)
    other_s = replica.other_bytes / ways * reading
    experts_s = replica.expert_bytes / (ways * groups) * reading
    head_s = replica.product_s(0, 1)
    token_s = replica.product_s(1, 0)
    reduce_, hop, exchange = replica.all_reduce, replica.stage_hop, replica.expert_exchange
    talking_s = 2 * model.layers * reduce_.fixed_s + hop.fixed_s + exchange.fixed_s
    talking_token_s = 4.0 * model.layers * model.hidden * reduce_.s_per_byte
    talking_token_s += hop.s_per_byte + exchange.s_per_byte
    attention_s = 2.0 * model.query_heads / replica.attention_flops_per_s
    prefill_s = attention_s * (model.qk_dim + model.v_dim)
    decode_s = attention_s * replica.decode_width + replica.kv_layer_bytes * reading
    return Coefficients(
        decode_s=other_s + talking_s + c.decode_layer_s * model.layers + c.step_s,
        decode_token_s=token_s + head_s + talking_token_s,
        decode_full_s=model.full_layers * decode_s,
        decode_window_s=model.window_layers * decode_s,
        decode_experts_s=experts_s / c.moe_memory_share,
        parts=float(replica.pipeline_parallel * groups),
        groups=float(groups),
        untouched=1.0 - touched_share(model, 1),
        window=float(model.window_tokens or np.inf),
        prefill_s=head_s,
        prefill_token_s=token_s,
        prefill_full_s=model.full_layers * prefill_s,
        prefill_window_s=model.window_layers * prefill_s,
        reading_s=other_s,
        reading_experts_s=experts_s,
        talking_s=talking_s + c.prefill_layer_s * model.layers,
        talking_token_s=talking_token_s,
        interference=c.interference,
    )


def room_tokens(replica: Replica, limits: EngineLimits) -> float:
    """Room for KV of one replica in tokens. Raises CannotServe where the weights do not fit."""
    room = replica.kv_room_tokens if limits.kv_tokens is None else limits.kv_tokens
    if room is None:
        raise CannotServe(
            f"{replica.model.id} lacks {replica.missing_gbytes:.1f} GB on each "
            f"{replica.accelerator.id}; use more accelerators or a smaller format."
        )
    return float(room)


def _kernel_limits(room: float, limits: EngineLimits, span_s: tuple[float, float]) -> kernel.Limits:
    if limits.most_sequences < 1 or limits.token_budget < 1:
        raise ValueError("An engine needs at least 1 sequence and 1 token a step; raise its limit.")
    return kernel.Limits(
        most_sequences=limits.most_sequences,
        token_budget=limits.token_budget,
        room=room,
        kept_free=limits.watermark * room if limits.kv_policy == "watermark" else 0.0,
        still_cached=float(limits.share_still_cached),
        count_from_s=span_s[0],
        count_until_s=span_s[1],
    )


def _requests(
    arrival_s: Floats, prompt: Ints, output: Ints, cached: Ints, replica: Ints
) -> Records:
    made = np.zeros(len(arrival_s), kernel.REQUEST)
    given = {"arrival_s": arrival_s, "prompt": prompt, "output": output, "replica": replica}
    unknown = dict.fromkeys(("scheduled_s", "first_s", "last_s"), np.nan)
    start = {"need": prompt, "kv": np.minimum(cached, prompt - 1), "entered": -1, "next": -1}
    for name, value in (given | unknown | start).items():
        made[name] = value
    return made


def _pool(replicas: int) -> Records:
    made = np.zeros(replicas, kernel.REPLICA)
    for name, value in {"end_s": -1.0, "head": -1, "tail": -1, "next_finish": kernel.NEVER}.items():
        made[name] = value
    return made


def _tokens(values: ArrayLike, least: int) -> Ints:
    return np.maximum(np.rint(np.asarray(values, np.float64)).astype(np.int64), least)


def _frozen(values: NDArray[np.float64]) -> Floats:
    values.flags.writeable = False
    return values


def _serve(
    replica: Replica,
    replicas: int,
    requests: Records,
    limits: EngineLimits,
    first: int,
    fixed_s: float,
) -> Served:
    """Leaves the requests before `first` out and adds `fixed_s` to the first and last token."""
    arrival = requests["arrival_s"]
    span = (float(arrival[first]), float(arrival[-1])) if len(arrival) else (0.0, 0.0)
    bounds = _kernel_limits(room_tokens(replica, limits), limits, span)
    pool = _pool(replicas)
    order = np.zeros((replicas, limits.most_sequences), np.int64)
    gaps = np.zeros((2, kernel.GAP_BINS))
    kernel.serve(pool, requests, order, gaps, coefficients(replica), bounds)
    kept = requests[first:]
    arrival, first_s, last_s = kept["arrival_s"], kept["first_s"], kept["last_s"]
    tpot = np.full(len(kept), np.nan)
    np.divide(last_s - first_s, kept["output"] - 1, out=tpot, where=kept["output"] > 1)
    count, sum_s = gaps[:, gaps[0] > 0]
    total = (span[1] - span[0]) * replicas or np.nan
    return Served(
        arrival_s=_frozen(arrival.copy()),
        queue_wait_ms=_frozen(1e3 * (kept["scheduled_s"] - arrival)),
        ttft_ms=_frozen(1e3 * (first_s - arrival + fixed_s)),
        request_ms=_frozen(1e3 * (last_s - arrival + fixed_s)),
        tpot_ms=_frozen(1e3 * tpot),
        gap_ms=_frozen(1e3 * sum_s / count),
        gap_weight=_frozen(count),
        replica=kept["replica"].copy(),
        duty_cycle=float(pool["busy_s"].sum() / total),
        kv_use=float(pool["kv_time"].sum() / total / bounds.room),
        mean_sequences=float(pool["sequence_time"].sum() / total),
        preemptions=int(kept["preempted"].sum()),
        turned_away=int(np.isnan(last_s).sum()),
        counted_s=span[1] - span[0],
    )


def simulate(
    replica: Replica,
    arrivals_s: ArrayLike,
    prompt_tokens: ArrayLike,
    output_tokens: ArrayLike,
    cached_tokens: ArrayLike,
    limits: EngineLimits,
) -> Served:
    """Serves given requests on one replica; times are the engine's own, from its queue on.

    Arrivals must rise. Use is counted from the first arrival to the last. Raises CannotServe where
    the weights do not fit or a link is not known, ValueError where the arrivals do not rise.
    """
    arrival = np.ascontiguousarray(arrivals_s, np.float64)
    if np.any(np.diff(arrival) < 0):
        raise ValueError("The arrivals do not rise; sort the requests by arrival.")
    prompt = _tokens(prompt_tokens, 1)
    cached = np.broadcast_to(_tokens(cached_tokens, 0), prompt.shape).copy()
    output = _tokens(output_tokens, 1)
    replica_of = np.zeros(len(arrival), np.int64)
    requests = _requests(arrival, prompt, output, cached, replica_of)
    return _serve(replica, 1, requests, limits, 0, 0.0)


def arrivals(
    generator: Generator, rate_per_s: float, kind: BurstKind, burst_mean: float, requests: int
) -> Floats:
    """Times in s at which requests arrive: Poisson bursts of one, a constant or a geometric size.

    `rate_per_s` counts requests, not bursts. Raises ValueError for a rate that is not above 0.
    """
    if not rate_per_s > 0:
        raise ValueError(f"A rate of {rate_per_s} requests a second has no arrivals; give more.")
    mean = 1.0 if kind == "single" else burst_mean
    bursts = int(requests / mean) + 8 * int(np.sqrt(requests)) + 8
    if kind == "geometric":
        sizes = generator.geometric(1 / mean, bursts)
    elif kind == "constant":
        sizes = np.diff(np.rint(mean * np.arange(bursts + 1))).astype(np.int64)
    else:
        sizes = np.ones(bursts, np.int64)
    times = np.cumsum(generator.exponential(mean / rate_per_s, bursts))
    made = np.repeat(times, sizes)[:requests]
    if len(made) < requests:
        more = arrivals(generator, rate_per_s, kind, burst_mean, requests - len(made))
        made = np.concatenate([made, more + times[-1]])
    return np.ascontiguousarray(made)


def _assignment(
    generator: Generator, balancer: Balancer, replicas: int, prefixes: int, requests: int
) -> Ints:
    if balancer == "least_loaded" and replicas > 1:
        return np.full(requests, kernel.LEAST_LOADED, np.int64)
    if balancer == "random":
        return generator.integers(0, replicas, requests)
    if balancer == "prefix_affine":
        home = generator.integers(0, replicas, max(prefixes, 1))
        return home[generator.integers(0, max(prefixes, 1), requests)]
    return np.arange(requests, dtype=np.int64) % replicas


def open_loop(
    replica: Replica,
    replicas: int,
    balancer: Balancer,
    rate_per_s: float,
    workload: Workload,
    limits: EngineLimits,
    seed: int,
    requests: int = 20_000,
) -> Served:
    """A service of `replicas` alike behind a balancer at a rate over all of them.

    The first tenth of the requests is warm-up and left out. TTFT and request time include the
    constant of a request outside the engine's steps. Raises CannotServe as `simulate` does.
    """
    generator = np.random.default_rng(seed)
    warm_up = int(WARM_UP_SHARE * requests)
    total = requests + warm_up
    times = arrivals(generator, rate_per_s, workload.burst_kind, workload.burst_mean, total)
    prompt = _tokens(workload.prompt(generator, total), 1)
    output = _tokens(workload.output(generator, total), 1)
    cached = (workload.cached_share(generator, total) * prompt).astype(np.int64)
    home = _assignment(generator, balancer, replicas, workload.prefixes, total)
    made = _requests(times, prompt, output, cached, home)
    served = _serve(replica, replicas, made, limits, warm_up, replica.constants.request_s)
    most = replicas * saturation_rate(replica, workload, limits, seed)
    return replace(served, overloaded=bool(rate_per_s >= most), saturation_per_s=most)


def saturation_rate(replica: Replica, workload: Workload, limits: EngineLimits, seed: int) -> float:
    """Requests a second that one replica serves when its queue is never empty.

    Counted between the first and the last quarter of a flood that arrives at once. Raises
    CannotServe as `simulate` does.
    """
    generator = np.random.default_rng(seed)
    prompt = workload.prompt(generator, FLOOD_REQUESTS)
    output = workload.output(generator, FLOOD_REQUESTS)
    cached = workload.cached_share(generator, FLOOD_REQUESTS) * np.asarray(prompt)
    served = simulate(replica, np.zeros(FLOOD_REQUESTS), prompt, output, cached, limits)
    ends = np.sort(served.request_ms[~np.isnan(served.request_ms)])
    low, high = len(ends) // 4, 3 * len(ends) // 4
    if high <= low or ends[high] <= ends[low]:
        return 0.0 if len(ends) < 2 else 1e3 * len(ends) / float(ends[-1])
    return 1e3 * (high - low) / float(ends[high] - ends[low])


def constant(tokens: float) -> Sampler:
    """Always that many tokens."""
    return lambda _generator, n: np.full(n, float(tokens))


def quantiles(points: tuple[tuple[float, float], ...]) -> Sampler:
    """Token counts between known quantiles (probability, tokens), linear, flat beyond the ends."""
    levels = np.array([level for level, _ in points])
    values = np.array([value for _, value in points])
    return lambda generator, n: np.interp(generator.random(n), levels, values)


def warm() -> None:
    """Compiles the kernel, or loads what an earlier run compiled: half a minute, or a second."""
    tokens = np.array([8, 8], np.int64)
    requests = _requests(np.array([0.0, 0.1]), tokens, tokens, 0 * tokens, 0 * tokens)
    bounds = _kernel_limits(64.0, EngineLimits(most_sequences=2), (0.0, 0.1))
    order, gaps = np.zeros((1, 2), np.int64), np.zeros((2, kernel.GAP_BINS))
    any_replica = Coefficients(*[1e-3] * len(Coefficients._fields))
    kernel.serve(_pool(1), requests, order, gaps, any_replica, bounds)
