"""The times of a service's requests, by population of users: to the first token, in all, gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from designer.analysis.clock import Clock
from designer.analysis.demand import Plan
from designer.analysis.distributions import Latency
from designer.analysis.gaps import Gaps, gaps_of
from designer.analysis.latency_algebra import either
from designer.analysis.request_parts import (
    Generate,
    Part,
    leaves,
)
from designer.analysis.timed import CannotTime, Timed, Why, missing_in


@dataclass(slots=True)
class Mixture:
    """Requests that are alike but for the part that each of them takes; shares add up to 1."""

    clock: Clock
    ways: tuple[tuple[float, Part], ...]
    _timed: Timed | None = field(default=None)

    def timed(self) -> Timed:
        """The latency of one of them, divided among segments; kept. Raises CannotTime."""
        if self._timed is None:
            each = [self.clock.time(part) for _, part in self.ways]
            latency = self._either([one.latency for one in each])
            self._timed = Timed(latency, missing_in(each))
        return self._timed

    def percentile(self, level: float, gpu_factor: float) -> float:
        """A percentile in ms when GPU times are off by that factor. Raises CannotTime."""
        each = [self.clock.plain(part, gpu_factor) for _, part in self.ways]
        return self._either(each).percentile(level)

    def _either(self, latencies: Sequence[Latency]) -> Latency:
        shares = [share for share, _ in self.ways]
        return either(list(zip(shares, latencies, strict=True)))


@dataclass(frozen=True, slots=True)
class Times:
    """One population's times. refused: the reason why there is no figure, and `why` its kind.

    plans: what was timed. first: None where no model is asked.
    """

    users: str
    per_s: float
    plans: tuple[Plan, ...]
    deployments: tuple[str, ...]
    engines: tuple[str, ...]
    first: Mixture | None = None
    whole: Mixture | None = None
    gaps: Gaps | None = None
    refused: str = ""
    why: Why = "unknown"


def times_of(clock: Clock, plans: Sequence[Plan]) -> Times:
    """The times of one service for one population, over the pools that serve it."""
    deployments = tuple(sorted({plan.deployment for plan in plans if plan.deployment}))
    engines = tuple(sorted({clock.design.deployments[key].engine for key in deployments}))
    per_s = sum(plan.requests_per_s for plan in plans)
    bare = (plans[0].users, per_s, tuple(plans), deployments, engines)
    refused = next((plan.refused for plan in plans if plan.request is None), "")
    if refused:
        return Times(*bare, refused=refused, why="no_way")
    requests = [(plan.share, plan.request) for plan in plans if plan.request is not None]
    first = _mixed(clock, [(share, request.to_first_token) for share, request in requests])
    whole = _mixed(clock, [(share, request.whole) for share, request in requests])
    try:
        for mixture in filter(None, (first, whole)):
            mixture.timed()
        gaps = gaps_of(clock, plans[0].users, _pools(plans))
    except CannotTime as error:
        return Times(*bare, refused=str(error), why=error.why)
    return Times(*bare, first, whole, gaps)


def _pools(plans: Sequence[Plan]) -> list[tuple[float, str]]:
    """Deployments whose tokens the users see, with their share of the requests."""
    seen: dict[str, float] = {}
    for plan in plans:
        if plan.request is None:
            continue
        last = [leaf for leaf, _ in leaves(plan.request.whole) if isinstance(leaf, Generate)]
        if last:
            seen[last[-1].deployment] = seen.get(last[-1].deployment, 0.0) + plan.share
    return [(share, key) for key, share in sorted(seen.items())]


def _mixed(clock: Clock, ways: Sequence[tuple[float, Part | None]]) -> Mixture | None:
    known = [(share, part) for share, part in ways if part is not None]
    total = sum(share for share, _ in known)
    if total <= 0:
        return None
    return Mixture(clock, tuple((share / total, part) for share, part in known))
