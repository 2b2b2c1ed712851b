"""What the GPU pools of a design answer: each deployment simulated under all that it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.random import Generator

from designer.analysis.batching import (
    EngineLimits,
    KvPolicy,
    Served,
    Workload,
    open_loop,
    saturation_rate,
)
from designer.analysis.demand import Plan
from designer.analysis.facts import Ledger
from designer.analysis.request_parts import (
    Generate,
)
from designer.analysis.scale_up import CannotServe, Fabric
from designer.analysis.serving import Replica, native_format
from designer.analysis.timed import Why
from designer.analysis.tokens import TokenLaw, TokenLaws
from designer.graph.arrays import Floats, Ints
from designer.model.catalog import Catalogue, Unknown
from designer.model.design import Design
from designer.model.services import Burst, Deployment
from designer.model.silicon import Accelerator, AllReduceFigure, LanguageModel, ServingConstants

REQUESTS: Final = 20_000
WARM_UP: Final = 2_000
"""A tenth: as `open_loop` leaves out."""
SINGLE: Final = Burst()
IDLE_PER_S: Final = 1e-6
"""A rate at which no request meets another."""


class UnknownHardware(CannotServe):
    """A pool's accelerator or model is not known, so that nothing can be said of it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One kind of prompt that a pool is asked: its token laws and how many a second."""

    slot: str
    per_s: float
    prompt: TokenLaw
    output: TokenLaw
    growth_tokens: float
    cached_share: float


@dataclass(frozen=True, slots=True)
class PoolAnswer:
    """What a deployment answers. served None: it cannot be predicted, and `refused` says why;
    `why` is "no_way" where the model does not fit, "unknown" where an input is missing.

    of_slot: slot to the positions of its requests in the arrays of `served`. asks, burst: what it
    is asked.
    """

    deployment: str
    per_s: float
    replica: Replica | None
    served: Served | None
    of_slot: Mapping[str, Ints]
    refused: str
    asks: tuple[Ask, ...] = ()
    burst: Burst = SINGLE
    why: Why = "unknown"

    @property
    def overloaded(self) -> bool:
        """Whether more is asked than it can serve."""
        return self.served is not None and self.served.overloaded


class Pools:
    """Builds replicas from the design and catalogue, and runs them."""

    def __init__(self, design: Design, catalogue: Catalogue, ledger: Ledger) -> None:
        self.design = design
        self.catalogue = catalogue
        self.ledger = ledger
        self._figures = tuple(
            AllReduceFigure.from_row(row.row()) for row in catalogue.allreduce.values()
        )
        self._constants = ServingConstants.from_row(catalogue.serving_constants().row())

    def replica(self, deployment: Deployment) -> Replica:
        """One replica of a deployment. Raises CannotServe with one sentence; UnknownHardware."""
        node = self.design.nodes[deployment.node]
        if node.accelerator is None:
            raise UnknownHardware(
                f"{node.name or node.id} names no accelerator; give its kind of GPU."
            )
        return self.replica_on(
            node.accelerator,
            deployment.model,
            deployment,
            node.gpus,
            node.nic_gbps_per_gpu,
        )

    def replica_on(
        self,
        accelerator_id: str,
        model_id: str,
        shape: Deployment,
        gpus: int | None,
        nic_gbps: float | None,
    ) -> Replica:
        """A replica of a deployment's shape on some accelerator. Raises CannotServe."""
        try:
            accelerator = Accelerator.from_row(self.catalogue.accelerator(accelerator_id).row())
            model = LanguageModel.from_row(self.catalogue.model(model_id).row())
        except Unknown as error:
            raise UnknownHardware(f"{shape.name or shape.id}: {error}.") from error
        nic = nic_gbps or accelerator.nic_gbits_per_s
        return Replica(
            model,
            accelerator,
            shape.tensor_parallel,
            shape.pipeline_parallel,
            shape.expert_parallel,
            shape.weight_format or native_format(model),
            shape.kv_format or "bf16",
            self._constants,
            self._figures,
            gpus,
            Fabric(nic / 8, 5e-6) if nic else None,
        )

    def answer(
        self, deployment_id: str, asks: Sequence[Ask], burst: Burst, seed: int
    ) -> PoolAnswer:
        """Simulates a deployment under what it is asked, with a seed."""
        deployment = self.design.deployments[deployment_id]
        per_s = sum(ask.per_s for ask in asks)
        try:
            replica = self.replica(deployment)
            self._note(deployment, replica)
            if not asks or per_s <= 0:
                reason = "it is asked nothing whose token counts are known"
                return PoolAnswer(deployment_id, 0.0, replica, None, {}, reason)
            return self.run(deployment, replica, deployment.replicas, asks, burst, seed)
        except CannotServe as refusal:
            why: Why = "unknown" if isinstance(refusal, UnknownHardware) else "no_way"
            return PoolAnswer(deployment_id, per_s, None, None, {}, str(refusal), why=why)

    def run(
        self,
        deployment: Deployment,
        replica: Replica,
        replicas: int,
        asks: Sequence[Ask],
        burst: Burst,
        seed: int,
    ) -> PoolAnswer:
        """The open loop of so many replicas under some asks. Raises CannotServe."""
        per_s = sum(ask.per_s for ask in asks)
        mix = _Mix(tuple(asks), seed)
        served = open_loop(
            replica,
            replicas,
            deployment.balancer,  # type: ignore[arg-type]
            per_s,
            mix.workload(burst),
            limits_of(deployment),
            seed,
            REQUESTS,
        )
        slots = mix.slots(WARM_UP + REQUESTS)[WARM_UP:]
        answered = ~np.isnan(served.request_ms)
        of_slot = {
            ask.slot: np.flatnonzero((slots == at) & answered) for at, ask in enumerate(mix.asks)
        }
        if served.turned_away:
            self.ledger.note(
                deployment.id,
                "turned_away",
                served.turned_away,
                "derived",
                "simulated prompts that are larger than the room for KV; not in the figures",
            )
        return PoolAnswer(deployment.id, per_s, replica, served, of_slot, "", tuple(asks), burst)

    def saturation(
        self, deployment: Deployment, replica: Replica, asks: Sequence[Ask], seed: int
    ) -> float:
        """Prompts a second that one replica serves when its queue is never empty.

        Raises CannotServe.
        """
        mix = _Mix(tuple(asks), seed)
        return saturation_rate(replica, mix.workload(Burst()), limits_of(deployment), seed)

    def _note(self, deployment: Deployment, replica: Replica) -> None:
        if deployment.weight_format is None:
            self.ledger.note(
                deployment.id,
                "weight_format",
                replica.weight_format,
                "catalogue",
                f"native format of {replica.model.id}",
            )
        if deployment.role == "prefill":
            self.ledger.note(
                deployment.id,
                "role",
                deployment.role,
                "guessed",
                "predicted as one pool that also decodes; the hand-off is left out",
            )
        for reason in replica.reasons:
            self.ledger.note(deployment.id, "calibration", None, "guessed", reason)


def limits_of(deployment: Deployment) -> EngineLimits:
    """What a deployment's engine admits; what the design leaves open is the engine default."""
    limits = EngineLimits(deployment.most_sequences, deployment.token_budget, deployment.kv_tokens)
    if deployment.kv_policy is not None:
        policy: KvPolicy = "preempt" if deployment.kv_policy == "preempt" else "watermark"
        limits = replace(limits, kv_policy=policy)
    if deployment.watermark is not None:
        limits = replace(limits, watermark=deployment.watermark)
    if deployment.share_still_cached is not None:
        limits = replace(limits, share_still_cached=deployment.share_still_cached)
    return limits


class _Mix:
    """Draws the requests of several asks in one stream; the same seed gives the same sequence."""

    def __init__(self, asks: tuple[Ask, ...], seed: int) -> None:
        self.asks = asks
        self.seed = seed
        rates = np.array([ask.per_s for ask in asks])
        self._share = rates / rates.sum()

    def workload(self, burst: Burst) -> Workload:
        """What arrives, in bursts of that kind."""
        return Workload(
            self.prompt,
            self.output,
            self.cached,
            burst.kind,  # type: ignore[arg-type]
            burst.mean,
        )

    def slots(self, count: int) -> Ints:
        """(count,) which ask each request belongs to."""
        generator = np.random.default_rng([self.seed, 1])
        return generator.choice(len(self.asks), size=count, p=self._share)

    def prompt(self, generator: Generator, count: int) -> Floats:
        """(count,) prompt tokens."""
        return self._drawn(
            count, lambda ask, many: ask.prompt.sample(generator, many) + ask.growth_tokens
        )

    def output(self, generator: Generator, count: int) -> Floats:
        """(count,) output tokens."""
        return self._drawn(count, lambda ask, many: ask.output.sample(generator, many))

    def cached(self, _: Generator, count: int) -> Floats:
        """(count,) share of the prompt whose KV is already there."""
        return self._drawn(count, lambda ask, many: np.full(many, ask.cached_share))

    def _drawn(self, count: int, draw: Callable[[Ask, int], Floats]) -> Floats:
        slots = self.slots(count)
        made = np.empty(count)
        for at, ask in enumerate(self.asks):
            mine = slots == at
            made[mine] = draw(ask, int(mine.sum()))
        return made


def asks_of(
    design: Design,
    asked: Sequence[tuple[Plan, Generate, float]],
    laws: TokenLaws,
) -> tuple[tuple[Ask, ...], Burst]:
    """The kinds of prompt among what a deployment is asked, and the burst that they come in.

    Prompts of unknown length are left out: their services' figures are unknown anyway. A pool of
    which nothing at all is asked gets each prompt very rarely, so that it answers as when idle.
    """
    total = sum(per_s for _, _, per_s in asked)
    idle = IDLE_PER_S if total <= 0 else 0.0
    asks: dict[str, Ask] = {}
    bursts: dict[Burst, float] = {}
    for plan, leaf, per_s in asked:
        service = design.services[plan.service]
        burst = service.demands[plan.demand].burst
        per_s = per_s or idle
        bursts[burst] = bursts.get(burst, 0.0) + per_s
        prompt = laws.of(service, leaf.prompt, "prompt")
        output = laws.of(service, leaf.output, "output")
        if prompt is None or output is None or per_s <= 0:
            continue
        had = asks.get(leaf.slot)
        asks[leaf.slot] = Ask(
            leaf.slot,
            per_s + (had.per_s if had else 0.0),
            prompt,
            output,
            leaf.growth_tokens,
            leaf.cached_share,
        )
    usual = max(bursts, key=lambda burst: bursts[burst]) if bursts else Burst()
    return tuple(asks[key] for key in sorted(asks)), usual
