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
    """A distribution of gaps: rising values in ms, and weights that add up to 1.

    jitter_ms: for each value the mean delay variation of one packet on its way; the difference of
    two independent exponentials of that mean is added. request_ms, request_weight: the mean gaps
    of whole requests (TPOT).
    """

    gap_ms: Floats
    weight: Floats
    jitter_ms: Floats
    request_ms: Floats
    request_weight: Floats

    def percentile(self, level: float, factor: float = 1.0) -> float:
        """The gap in ms not exceeded with that probability, engine times multiplied by `factor`."""
        values = self.gap_ms * factor
        most = float(self.jitter_ms.max())
        if most <= 0:
            return float(np.interp(level, np.cumsum(self.weight), values))
        if self._cdf(0.0, values) >= level:
            return 0.0
        top = float(values[-1]) + most * (1.0 - np.log(1.0 - level))
        found: float = brentq(lambda at: self._cdf(at, values) - level, 0.0, top, xtol=1e-6)
        return found

    def beyond(self, limit_ms: float) -> float:
        """The probability of a gap longer than a limit: a stall."""
        return max(0.0, 1.0 - self._cdf(limit_ms, self.gap_ms))

    @property
    def mean_ms(self) -> float:
        """The mean gap of the engine; jitter moves tokens but not their number in a time."""
        return float(self.gap_ms @ self.weight)

    def per_request(self) -> Gaps:
        """The mean gaps of requests (TPOT), in which jitter evens out."""
        still = np.zeros(len(self.request_ms))
        ones = (self.request_ms, self.request_weight)
        return Gaps(*ones, still, *ones)

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
        if at_ms < 0:
            return 0.0
        room = at_ms - values
        moved = self.jitter_ms > 0
        scale = np.where(moved, self.jitter_ms, 1.0)
        tail = 0.5 * np.exp(-np.abs(room) / scale)
        jittered = np.where(room >= 0, 1.0 - tail, tail)
        return float(self.weight @ np.where(moved, jittered, room >= 0))


def mixed(ways: Sequence[tuple[float, Gaps]]) -> Gaps:
    """The gaps of several populations together, by their shares (of any sum)."""
    total = sum(share for share, _ in ways)
    gap, weight, jitter = _sorted(
        [(share / total, each.gap_ms, each.weight, each.jitter_ms) for share, each in ways]
    )
    request, request_weight, _ = _sorted(
        [
            (share / total, each.request_ms, each.request_weight, np.zeros(len(each.request_ms)))
            for share, each in ways
        ]
    )
    return Gaps(gap, weight, jitter, request, request_weight)


def gaps_of(clock: Clock, users: str, pools: Sequence[tuple[float, str]]) -> Gaps | None:
    """The gaps of one population's answers over the pools that give them; None without a figure."""
    ways = []
    for share, key in pools:
        served = clock.pools[key].served
        if served is None or not len(served.gap_ms):
            return None
        order = np.argsort(served.gap_ms)
        gap, weight = served.gap_ms[order], served.gap_weight[order]
        tpot = np.sort(served.tpot_ms[~np.isnan(served.tpot_ms)])
        jitter = np.full(len(gap), _jitter(clock, users, key))
        even = np.full(len(tpot), 1.0 / max(len(tpot), 1))
        ways.append((share, Gaps(gap, weight / weight.sum(), jitter, tpot, even)))
    return mixed(ways) if ways else None


def _sorted(
    parts: Sequence[tuple[float, Floats, Floats, Floats]],
) -> tuple[Floats, Floats, Floats]:
    values = np.concatenate([each for _, each, _, _ in parts])
    weights = np.concatenate([share * each for share, _, each, _ in parts])
    jitter = np.concatenate([each for _, _, _, each in parts])
    order = np.argsort(values, kind="stable")
    return values[order], weights[order], jitter[order]


def _jitter(clock: Clock, users: str, pool: str) -> float:
    """Mean delay variation on the way down, one-way: of the access medium and of drawn links."""
    medium = clock.elements.access(clock.design.nodes[users])
    # Published jitter is of round trips; one way has half of it.
    total = (medium.jitter_ms or 0.0) / 2 if medium else 0.0
    trips = clock.transit.finder.paths(clock.design.deployments[pool].node, users)
    for link in trips[0].links if trips else ():
        total += clock.design.links[link].jitter_ms or 0.0
    return total
