"""A service's scorecard: what a benchmark of it would collect, predicted from its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from immutables import Map

from designer.analysis.clock import Clock
from designer.analysis.pools import Ask
from designer.analysis.request_parts import (
    Generate,
    Move,
    leaves,
)
from designer.analysis.results import Figure, Scorecard
from designer.analysis.times import Times
from designer.analysis.trip_latency import loss_on
from designer.graph.arrays import Floats
from designer.model.services import Service

GpuHour = Callable[[str], float | None]
"""USD of one GPU for an hour at a node; None: not known."""


def scorecard(
    clock: Clock,
    service: Service,
    all_times: Sequence[Times],
    usd_per_gpu_hour: GpuHour,
    levels: Sequence[float],
) -> Scorecard:
    """The scorecard over all users of a service, in the busiest hour.

    Bytes are payload of requests, answers and calls. Money is that of GPU-hours alone: a pool's,
    divided among services by the tokens that they have it read and write; idle GPUs are paid too.
    A million tokens are output tokens.
    """
    per_s = sum(times.per_s for times in all_times)
    prompts = list(_prompts(clock, all_times))
    usd_per_s = _usd_per_s(clock, prompts, usd_per_gpu_hour)
    out_per_s = sum(rate * ask.output.mean for _, ask, rate in prompts)
    moved, again = _bytes(clock, all_times)
    return Scorecard(
        queue_wait_ms=_queue_wait(clock, prompts, levels),
        gpu_duty_cycle=_duty(clock, prompts),
        cache_hit_rate=service.caching.prefix_share,
        bytes_per_completed_request=moved,
        retransmitted_bytes_per_request=again,
        usd_per_request=None if usd_per_s is None or per_s <= 0 else usd_per_s / per_s,
        usd_per_million_tokens=(
            None if usd_per_s is None or out_per_s <= 0 else 1e6 * usd_per_s / out_per_s
        ),
    )


def _prompts(clock: Clock, all_times: Sequence[Times]) -> Iterator[tuple[str, Ask, float]]:
    """Each kind of prompt: its deployment, its tokens, and how many a second."""
    for times in all_times:
        for plan in times.plans:
            if plan.request is None:
                continue
            for leaf, many in leaves(plan.request.whole):
                if not isinstance(leaf, Generate):
                    continue
                asks = {ask.slot: ask for ask in clock.pools[leaf.deployment].asks}
                if leaf.slot in asks:
                    yield leaf.deployment, asks[leaf.slot], many * plan.requests_per_s


def _queue_wait(
    clock: Clock, prompts: Sequence[tuple[str, Ask, float]], levels: Sequence[float]
) -> Figure:
    """Wait before the engine takes a prompt up, over all prompts of the service."""
    values, weights = [np.empty(0)], [np.empty(0)]
    for deployment, ask, rate in prompts:
        answer = clock.pools[deployment]
        if answer.served is None or answer.overloaded:
            return Figure()
        mine = answer.served.queue_wait_ms[answer.of_slot[ask.slot]]
        if len(mine):
            values.append(mine)
            weights.append(np.full(len(mine), rate / len(mine)))
    wait, weight = np.concatenate(values), np.concatenate(weights)
    if weight.sum() <= 0:
        return Figure()
    order = np.argsort(wait)
    wait, weight = wait[order], weight[order] / weight.sum()
    return Figure(
        p50=_at(wait, weight, 0.50),
        p95=_at(wait, weight, 0.95),
        p99=_at(wait, weight, 0.99),
        mean=float(wait @ weight),
        others=Map({f"p{level:g}": _at(wait, weight, level / 100) for level in levels}),
    )


def _at(values: Floats, weight: Floats, level: float) -> float:
    place = int(np.searchsorted(np.cumsum(weight), level - 1e-12))
    return float(values[min(place, len(values) - 1)])


def _duty(clock: Clock, prompts: Sequence[tuple[str, Ask, float]]) -> float | None:
    """Share of time in which the replicas that serve it run a step, over their GPUs."""
    busy = total = 0.0
    for deployment in sorted({deployment for deployment, _, _ in prompts}):
        answer = clock.pools[deployment]
        if answer.served is None or answer.replica is None:
            return None
        gpus = clock.design.deployments[deployment].replicas * answer.replica.accelerators
        busy += gpus * answer.served.duty_cycle
        total += gpus
    return busy / total if total else None


def _bytes(clock: Clock, all_times: Sequence[Times]) -> tuple[float | None, float | None]:
    """Payload bytes that one request moves on average, and what of it is sent again.

    Lost packets are sent until one arrives: p / (1 - p) times the bytes at a loss p.
    """
    moved: float | None = 0.0
    again: float | None = 0.0
    total = sum(times.per_s for times in all_times)
    for times in all_times:
        for plan in times.plans:
            if plan.request is None or total <= 0:
                return None, None
            for leaf, many in leaves(plan.request.whole):
                if not isinstance(leaf, Move) or leaf.source == leaf.target:
                    continue
                size = leaf.carried_bytes
                share = many * plan.requests_per_s / total
                moved = None if moved is None or size is None else moved + share * size
                lost = _lost(clock, leaf)
                known = again is not None and size is not None and lost is not None
                again = (again or 0.0) + share * (size or 0.0) * (lost or 0.0) if known else None
    return moved, again


def _lost(clock: Clock, move: Move) -> float | None:
    """Bytes sent again for one that arrives; None where no link on the way says what it loses."""
    trips = clock.transit.trips(move.source, move.target, move.traffic_class)
    losses = [(trip.share, loss_on(clock.design, trip)) for trip in trips]
    known = [(share, loss) for share, loss in losses if loss is not None and loss < 1.0]
    if not trips or len(known) < len(losses):
        return None
    total = sum(share for share, _ in known)
    return sum(share / total * loss / (1.0 - loss) for share, loss in known)


def _usd_per_s(
    clock: Clock,
    prompts: Sequence[tuple[str, Ask, float]],
    usd_per_gpu_hour: GpuHour,
) -> float | None:
    usd = 0.0
    for deployment in sorted({deployment for deployment, _, _ in prompts}):
        answer = clock.pools[deployment]
        drawn = clock.design.deployments[deployment]
        price = usd_per_gpu_hour(drawn.node)
        if price is None or answer.replica is None:
            return None
        everyone = sum(ask.per_s * _tokens(ask) for ask in answer.asks)
        mine = sum(rate * _tokens(ask) for key, ask, rate in prompts if key == deployment)
        if everyone > 0:
            gpus = drawn.replicas * answer.replica.accelerators
            usd += gpus * price / 3600 * mine / everyone
    return usd if prompts else None


def _tokens(ask: Ask) -> float:
    return ask.prompt.mean + ask.growth_tokens + ask.output.mean


_WHY_UNKNOWN: Final = {
    "queue_wait_ms": "no pool answers the service's prompts in a steady state",
    "gpu_duty_cycle": "no pool answers the service's prompts",
    "host_cpu_share": "the host's work for each byte and message is not modelled yet",
    "cache_hit_rate": "no prefix_share is given; the times count no hit",
    "remote_fetch_ms": "fetches of KV and context are in the budget, not summed here yet",
    "bytes_per_completed_request": "the size of a message is not known",
    "retransmitted_bytes_per_request": "no link on the way says what it loses",
    "usd_per_request": "the price of a GPU-hour is not known, or nothing is asked",
    "usd_per_million_tokens": "the price of a GPU-hour is not known, or nothing is asked",
}


def why_unknown(card: Scorecard) -> Iterator[tuple[str, str]]:
    """The figures of a scorecard that are not known, each with the reason."""
    for name, reason in _WHY_UNKNOWN.items():
        value = getattr(card, name)
        if value is None or (isinstance(value, Figure) and value.mean is None):
            yield name, reason
