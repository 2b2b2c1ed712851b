"""What a change would do for a service's time to first token: by tier, and by concrete steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from designer.analysis.clock import Clock
from designer.analysis.judging import MEASURE
from designer.analysis.pools import PoolAnswer, Pools
from designer.analysis.request_parts import (
    Generate,
    leaves,
)
from designer.analysis.results import BudgetRow, Sensitivity, ServiceResult
from designer.analysis.scale_up import CannotServe
from designer.analysis.timed import CannotTime
from designer.analysis.times import Mixture, Times
from designer.model.kinds import TIER_NAMES, tier_of

LEVEL: Final = 0.95
ONE_PER_CENT: Final = 0.01


@dataclass(frozen=True, slots=True)
class Steps:
    """Evaluates steps honestly: the same seed, the pool simulated again with the change made."""

    clock: Clock
    pools: Pools
    more: dict[str, PoolAnswer]
    """Answers with one more replica, kept for the services that share a pool."""

    def one_more(self, deployment_id: str) -> PoolAnswer | None:
        """A pool's answer with one replica more; None where it answers nothing then either."""
        if deployment_id not in self.more:
            design, had = self.clock.design, self.clock.pools[deployment_id]
            if had.replica is None or not had.asks:
                return None
            deployment = design.deployments[deployment_id]
            try:
                self.more[deployment_id] = self.pools.run(
                    deployment,
                    had.replica,
                    deployment.replicas + 1,
                    had.asks,
                    had.burst,
                    design.settings.seed,
                )
            except CannotServe:
                return None
        return self.more[deployment_id]


def sensitivity(
    steps: Steps, result: ServiceResult, all_times: Sequence[Times]
) -> tuple[Sensitivity, ...]:
    """Changes of the p95 of TTFT at the worst user site, the largest gain first.

    A share of the percentile is the derivative of the percentile with respect to a scaling of that
    segment (Euler's allocation), so 1 % less of a tier gains 1 % of its share, to first order.
    """
    worst = next((times for times in all_times if times.users == result.worst_site), None)
    made = [*_tiers(result.budget)]
    if worst is not None:
        made += _replicas(steps, worst)
    for said in dict.fromkeys(slo.settles for slo in result.slo if slo.settles):
        tier = "gpu" if said == MEASURE else ""
        change = said if said == MEASURE else f"{said}, measured or given"
        made.append(Sensitivity(change=change, element="", tier=tier, gain_ms=None, settles=True))
    return tuple(
        sorted(made, key=lambda each: (each.gain_ms is None, each.gain_ms or 0.0, each.change))
    )


def _tiers(budget: Sequence[BudgetRow]) -> Iterator[Sensitivity]:
    for tier in dict.fromkeys(row.tier for row in budget):
        share = sum(row.p95_ms or 0.0 for row in budget if row.tier == tier)
        name = TIER_NAMES.get(tier, tier)
        yield Sensitivity(
            change=f"1 % less time in {name}",
            element="",
            tier=tier,
            gain_ms=-ONE_PER_CENT * share,
        )


def _replicas(steps: Steps, worst: Times) -> Iterator[Sensitivity]:
    """One more replica in each pool that serves the worst site."""
    clock = steps.clock
    asked = dict.fromkeys(
        leaf.deployment
        for plan in worst.plans
        if plan.request is not None
        for leaf, _ in leaves(plan.request.whole)
        if isinstance(leaf, Generate)
    )
    for key in asked:
        answer = steps.one_more(key)
        if answer is None or answer.overloaded:
            continue
        deployment = clock.design.deployments[key]
        node = clock.design.nodes[deployment.node]
        try:
            gain = _gain_ms(clock.with_pools({**clock.pools, key: answer}), worst)
        except CannotTime:
            continue
        yield Sensitivity(
            change=f"one more replica in {deployment.name or key}",
            element=key,
            tier=tier_of(node.kind, node.tier),
            gain_ms=gain,
            settles=worst.first is None,
        )


def _gain_ms(clock: Clock, worst: Times) -> float | None:
    """Change of the percentile; None where there was no figure before."""
    if worst.first is None:
        return None
    after = Mixture(clock, worst.first.ways).percentile(LEVEL, 1.0)
    return after - worst.first.percentile(LEVEL, 1.0)
