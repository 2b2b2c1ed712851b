"""The GPU segment of a request as a latency: queue, prefill and decode from simulated requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from designer.analysis.batching import room_tokens
from designer.analysis.distributions import Latency
from designer.analysis.latency_algebra import in_sequence
from designer.analysis.latency_sources import constant, from_samples
from designer.analysis.pools import PoolAnswer, limits_of
from designer.analysis.request_parts import (
    Generate,
)
from designer.analysis.results import FactKind
from designer.analysis.timed import CannotTime, Names, divided
from designer.analysis.transit import Segment
from designer.graph.arrays import Floats, Ints
from designer.model.kinds import tier_of
from designer.model.services import Deployment
from designer.model.things import Node
from designer.model.units import number

SOURCE: Final = "step-level batching model"
DECODE: Final = "decode"
"""The segment after the first token."""


def generated(
    names: Names, part: Generate, answer: PoolAnswer, deployment: Deployment, node: Node
) -> Latency:
    """The time of one kind of prompt in its pool, charged to the pool's node. Raises CannotTime."""
    served, title = answer.served, deployment.name or deployment.id
    if served is None:
        raise CannotTime(f"{title}: {answer.refused}", answer.why)
    mine = answer.of_slot.get(part.slot)
    if mine is not None and not len(mine):
        raise _turned_away(part, answer, deployment)
    if answer.overloaded:
        raise CannotTime(
            f"{title} is asked {number(answer.per_s, 3)} requests/s and bears "
            f"{number(served.saturation_per_s or 0, 3)}; its queue grows without end",
            "grows",
        )
    if mine is None:
        raise CannotTime(
            f"{title} is asked nothing of it, or its token counts are not known", "unknown"
        )
    return _samples(names, part, answer, mine, node)


def _turned_away(part: Generate, answer: PoolAnswer, deployment: Deployment) -> CannotTime:
    """Why none of a kind of prompt is answered: no room, or too rare to have been drawn."""
    title, replica = deployment.name or deployment.id, answer.replica
    ask = next(ask for ask in answer.asks if ask.slot == part.slot)
    assert replica is not None
    prompt, output = ask.prompt.mean + ask.growth_tokens, ask.output.mean
    room = room_tokens(replica, limits_of(deployment))
    if prompt + output <= room:
        return CannotTime(f"{title} is asked it too rarely beside the rest to tell", "unknown")
    return CannotTime(
        f"a prompt of {prompt:,.0f} tokens and its answer of {output:,.0f} have no room in "
        f"{title} ({room:,.0f} tokens)",
        "no_way",
    )


def _samples(names: Names, part: Generate, answer: PoolAnswer, mine: Ints, node: Node) -> Latency:
    served, replica = answer.served, answer.replica
    assert served is not None
    assert replica is not None
    wait, first, last = (
        array[mine] for array in (served.queue_wait_ms, served.ttft_ms, served.request_ms)
    )
    handling_ms = 1000 * replica.constants.request_s
    rows = {"GPU queue": wait, "prefill": first - wait - handling_ms}
    if not part.first_token_only:
        rows[DECODE] = last - first
    total = (first if part.first_token_only else last) - handling_ms
    calibrated = replica.is_calibrated
    kind: FactKind = "derived" if calibrated else "guessed"
    source = SOURCE + ("" if calibrated else ", not calibrated here")
    tier = tier_of(node.kind, node.tier)
    named = {
        names.of(Segment(name, tier, node.id, kind, source)): samples
        for name, samples in rows.items()
    }
    working = divided(
        from_samples("GPU", total),
        list(named),
        lambda latency: _conditional(latency, total, list(named.values())),
    )
    handling = names.of(Segment("request handling", tier, node.id, kind, "fitted constant"))
    return in_sequence((constant(handling, handling_ms), working))


def _conditional(whole: Latency, total: Floats, parts: Sequence[Floats]) -> Floats:
    """(parts, points) share of each part in the samples that lie at each point of the grid."""
    points = len(whole.mass)
    if points == 1:
        sums = np.array([[part.sum()] for part in parts])
    else:
        place = np.clip((total - whole.origin_ms) / whole.step_ms, 0, points - 1)
        low = np.floor(place).astype(np.int64)
        up, high = place - low, np.minimum(low + 1, points - 1)
        sums = np.array(
            [
                np.bincount(low, part * (1 - up), points) + np.bincount(high, part * up, points)
                for part in parts
            ]
        )
    whole_sum = sums.sum(axis=0)
    mean = np.array([[part.sum()] for part in parts])
    mean = mean / max(float(mean.sum()), 1e-300)
    shares: Floats = np.where(whole_sum > 0, sums / np.where(whole_sum > 0, whole_sum, 1.0), mean)
    return shares
