"""The gaps between tokens as users see them: the engine's own, shaken by the jitter on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from immutables import Map
from scipy.optimize import brentq

from designer.analysis.clock import Clock
from designer.analysis.results import Figure
from designer.graph.arrays import Floats


@dataclass(frozen=True, slots=True)
class Gaps:
    """A distribution of gaps: values in ms and weights that add up to 1.

    request_ms, request_weight: the mean gaps of whole requests (TPOT). jitter_ms: mean delay
    variation of one packet; the difference of two independent exponentials of that mean is added.
    """

    gap_ms: Floats
    weight: Floats
    request_ms: Floats
    request_weight: Floats
    jitter_ms: float

    def percentile(self, level: float, factor: float = 1.0) -> float:
        """The gap in ms not exceeded with that probability, engine times multiplied by `factor`."""
        values = self.gap_ms * factor
        still = float(np.interp(level, np.cumsum(self.weight), values))
        if self.jitter_ms <= 0:
            return still
        top = float(values.max()) + 60 * self.jitter_ms
        found: float = brentq(lambda at: self._cdf(at, values) - level, 0.0, top, xtol=1e-6)
        return found

    def beyond(self, limit_ms: float) -> float:
        """The probability of a gap longer than a limit: a stall."""
        return 1.0 - self._cdf(limit_ms, self.gap_ms)

    @property
    def mean_ms(self) -> float:
        """The mean gap; jitter does not change it."""
        return float(self.gap_ms @ self.weight)

    def per_request(self) -> Gaps:
        """The mean gaps of requests (TPOT), in which jitter evens out."""
        return Gaps(self.request_ms, self.request_weight, self.request_ms, self.request_weight, 0.0)

    def figure(self, levels: Sequence[float]) -> Figure:
        """Percentiles of the gaps."""
        return Figure(
            p50=self.percentile(0.50),
            p95=self.percentile(0.95),
            p99=self.percentile(0.99),
            mean=self.mean_ms,
            others=Map({f"p{level:g}": self.percentile(level / 100) for level in levels}),
        )

    def _cdf(self, at_ms: float, values: Floats) -> float:
        """P(gap + J1 - J2 <= t), a gap below 0 seen as 0: tokens that arrive together."""
        if self.jitter_ms <= 0:
            return float(self.weight[values <= at_ms].sum())
        room = (at_ms - values) / self.jitter_ms
        tail = 0.5 * np.exp(-np.abs(room))
        return float(self.weight @ np.where(room >= 0, 1.0 - tail, tail))


def gaps_of(clock: Clock, users: str, pools: Sequence[tuple[float, str]]) -> Gaps | None:
    """The gaps of one population's answers over the pools that give them; None without a figure."""
    parts = []
    for share, key in pools:
        served = clock.pools[key].served
        if served is None or not len(served.gap_ms):
            return None
        order = np.argsort(served.gap_ms)
        weight = served.gap_weight[order]
        tpot = np.sort(served.tpot_ms[~np.isnan(served.tpot_ms)])
        parts.append((share, served.gap_ms[order], weight / weight.sum(), tpot))
    if not parts:
        return None
    gap, weight = _merged([(share, values, weights) for share, values, weights, _ in parts])
    request, each = _merged(
        [
            (share, tpot, np.full(len(tpot), 1 / len(tpot)))
            for share, _, _, tpot in parts
            if len(tpot)
        ]
    )
    return Gaps(gap, weight, request, each, _jitter(clock, users, pools))


def _merged(parts: Sequence[tuple[float, Floats, Floats]]) -> tuple[Floats, Floats]:
    total = sum(share for share, _, _ in parts) or 1.0
    values = np.concatenate([each for _, each, _ in parts]) if parts else np.empty(0)
    weights = np.concatenate([w * share / total for share, _, w in parts]) if parts else values
    order = np.argsort(values, kind="stable")
    return values[order], weights[order]


def _jitter(clock: Clock, users: str, pools: Sequence[tuple[float, str]]) -> float:
    """Mean delay variation on the way down, one-way: of the access medium and of drawn links."""
    medium = clock.elements.access(clock.design.nodes[users])
    # Published jitter is of round trips; one way has half of it.
    total = (medium.jitter_ms or 0.0) / 2 if medium else 0.0
    node = clock.design.deployments[pools[0][1]].node
    trips = clock.transit.finder.paths(node, users)
    for link in trips[0].links if trips else ():
        total += clock.design.links[link].jitter_ms or 0.0
    return total
