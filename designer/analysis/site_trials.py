"""What a candidate site could do for a service: configurations that fit, and the rate that each
bears for each population while all SLOs hold over that population's path."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from immutables import Map

from designer.analysis.demand import nearest_of
from designer.analysis.gaps import gaps_of
from designer.analysis.gpu_price import gpu_hour, offer_at
from designer.analysis.pools import Ask, PoolAnswer, Pools
from designer.analysis.request_parts import (
    Generate,
    leaves,
)
from designer.analysis.scale_up import CannotServe
from designer.analysis.serving import Replica
from designer.analysis.steering import allowed_at, choices
from designer.analysis.study import Study
from designer.analysis.timed import CannotTime
from designer.analysis.times import Mixture
from designer.analysis.tokens import Role
from designer.analysis.wire import wire_sizes
from designer.analysis.workflow import Request, Unresolved, Wiring, resolve
from designer.model.references import groups_around
from designer.model.services import Burst, Demand, Deployment, Service, Tokens
from designer.model.units import number

LOADS: Final = (0.9, 0.75, 0.6, 0.45, 0.3, 0.15)
"""Shares of saturation at which a replica is tried, the busiest first."""

PARALLEL_WAYS: Final = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for replicas: a GPU node of a candidate site, and what it holds.

    most_gpus: drawn in this node, over all instances. offered_gpus: of this kind that the site can
    take, drawn or not. None where nobody says.
    """

    site: str
    node: str
    accelerator: str
    gpus_per_server: int | None
    most_gpus: int | None
    offered_gpus: int | None
    usd_per_gpu_hour: float | None


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration of a model at a spot. refused: why it cannot be (then nothing else)."""

    model: str
    spot: Spot
    shape: Deployment
    replica: Replica | None
    refused: str


@dataclass(frozen=True, slots=True)
class Bearing:
    """What one replica of a trial bears for one population.

    per_s: 0 where the SLOs cannot be met. outcome and by (ms over the limit) say why.
    """

    per_s: float
    outcome: str
    by: float | None
    message: str


def spots(study: Study) -> tuple[Spot, ...]:
    """GPU nodes that stand in candidate sites, one for each kind of GPU that the site takes."""
    design = study.design
    found = []
    for key in sorted(design.nodes):
        node = design.nodes[key]
        if node.accelerator is None:
            continue
        site_id = next(
            (
                group
                for group in groups_around(design, key)
                if (site := design.groups[group].site) is not None and site.candidate
            ),
            None,
        )
        if site_id is None:
            continue
        count = int(study.arrays.expansion.count[study.arrays.node_position(key)])
        offer = offer_at(design, key)
        price = gpu_hour(design, study.catalogue, key)
        study.ledger.fact(key, "usd_per_gpu_hour", price)
        found.append(
            Spot(
                site_id,
                key,
                node.accelerator,
                node.gpus,
                None if node.gpus is None else node.gpus * count,
                None if offer is None else offer.most_gpus,
                price.value,
            )
        )
    return tuple(found)


def trials(study: Study, model: str, where: Sequence[Spot]) -> Iterator[Trial]:
    """One configuration a spot: the model's own shape there, else the fewest GPUs that fit.

    All services of a model share its replicas at a spot.
    """
    builder = Pools(study.design, study.catalogue, study.ledger)
    for spot in where:
        yield _trial(study, builder, model, spot)


def _trial(study: Study, builder: Pools, model: str, spot: Spot) -> Trial:
    own = next(
        (
            each
            for key in sorted(study.design.deployments)
            if (each := study.design.deployments[key]).model == model and each.node == spot.node
        ),
        None,
    )
    like = own or next(
        (
            study.design.deployments[key]
            for key in sorted(study.design.deployments)
            if study.design.deployments[key].model == model
        ),
        Deployment(id="trial", node=spot.node, model=model),
    )
    missing = None
    for ways in (own.tensor_parallel,) if own else PARALLEL_WAYS:
        if spot.gpus_per_server is not None and ways > spot.gpus_per_server and own is None:
            break
        shape = like.replace(
            id=f"trial-{spot.node}", node=spot.node, tensor_parallel=ways, replicas=1
        )
        try:
            replica = builder.replica_on(spot.accelerator, model, shape, spot.gpus_per_server, None)
        except CannotServe as refusal:
            return Trial(model, spot, shape, None, str(refusal))
        if replica.missing_gbytes is None and (replica.kv_room_tokens or 0) > 0:
            return Trial(model, spot, shape, replica, "")
        missing = replica.missing_gbytes
    lacks = f" by {missing:.0f} GB a GPU" if missing is not None else ""
    return Trial(model, spot, like, None, f"{model} does not fit {spot.accelerator}{lacks}")


@dataclass(slots=True)
class Runs:
    """Simulations of single replicas, kept: alike GPUs at several sites are simulated once."""

    builder: Pools
    seed: int
    _full: dict[Hashable, float] = field(default_factory=dict)
    _answers: dict[Hashable, PoolAnswer] = field(default_factory=dict)

    def saturation(self, trial: Trial, asks: tuple[Ask, ...]) -> float:
        """Prompts a second that one replica bears. Raises CannotServe."""
        assert trial.replica is not None
        key = (_alike(trial), asks)
        if key not in self._full:
            self._full[key] = self.builder.saturation(trial.shape, trial.replica, asks, self.seed)
        return self._full[key]

    def answer(self, trial: Trial, asks: tuple[Ask, ...], load: float, burst: Burst) -> PoolAnswer:
        """What one replica answers at a share of its saturation. Raises CannotServe."""
        assert trial.replica is not None
        key = (_alike(trial), asks, load, burst)
        if key not in self._answers:
            scale = load * self.saturation(trial, asks) / sum(ask.per_s for ask in asks)
            scaled = [replace(ask, per_s=ask.per_s * scale) for ask in asks]
            self._answers[key] = self.builder.run(
                trial.shape, trial.replica, 1, scaled, burst, self.seed
            )
        return self._answers[key]


def _alike(trial: Trial) -> Hashable:
    shape = trial.shape.replace(id="alike", name="", node="alike", provenance=Map())
    return trial.spot.accelerator, trial.spot.gpus_per_server, shape


def bearings(study: Study, service: Service, trial: Trial, runs: Runs) -> tuple[Bearing, ...]:
    """What one replica bears for each demand of the service, in their order."""
    allowed = allowed_at(study.design, service, trial.spot.node)
    if allowed is not True:
        said = "is outside its residency" if allowed is False else "has no known jurisdiction"
        refused = Bearing(0.0, "out_of_region", None, f"the site {said}")
        return (refused,) * len(service.demands)
    if trial.replica is None:
        return (Bearing(0.0, "does_not_fit", None, trial.refused),) * len(service.demands)
    ladder = _Ladder(study, service, trial, runs)
    return tuple(ladder.bearing(demand) for demand in service.demands)


class _Ladder:
    """Looks for the busiest load at which all SLOs hold; times do not fall with the load."""

    def __init__(self, study: Study, service: Service, trial: Trial, runs: Runs) -> None:
        assert study.clock is not None
        self.study = study
        self.service = service
        self.trial = trial
        self.runs = runs
        design = study.design.model_copy(
            update={"deployments": study.design.deployments.set(trial.shape.id, trial.shape)}
        )
        self._clock = replace(study.clock, design=design)

    def bearing(self, demand: Demand) -> Bearing:
        """The busiest load at which all SLOs hold for one population."""
        try:
            request = self._resolved(demand)
            asks = self._asks(request)
            if not asks:
                return Bearing(0.0, "unknown", None, "its token counts are not known")
            return self._highest(request, asks, demand)
        except (Unresolved, CannotTime) as refusal:
            return Bearing(0.0, "out_of_reach", None, str(refusal))
        except CannotServe as refusal:
            return Bearing(0.0, "does_not_fit", None, str(refusal))

    def _highest(self, request: Request, asks: tuple[Ask, ...], demand: Demand) -> Bearing:
        calls = sum(ask.per_s for ask in asks)
        full = self.runs.saturation(self.trial, asks)
        if full <= 0:
            return Bearing(0.0, "does_not_fit", None, "its prompts have no room there")

        def over(load: float) -> tuple[float, str] | None:
            return self._over(
                request, demand, self.runs.answer(self.trial, asks, load, demand.burst)
            )

        missed = over(LOADS[0])
        if missed is None:
            return Bearing(LOADS[0] * full / calls, "chosen", None, "")
        # LOADS[failed] is missed; LOADS[held] holds, or nothing does where held is past the end.
        failed, held = 0, len(LOADS)
        while held - failed > 1:
            middle = (failed + held) // 2
            here = over(LOADS[middle])
            if here is None:
                held = middle
            else:
                failed, missed = middle, here
        if held == len(LOADS):
            return Bearing(0.0, "out_of_reach", *missed)
        return Bearing(LOADS[held] * full / calls, "chosen", None, "")

    def _over(
        self, request: Request, demand: Demand, answer: PoolAnswer
    ) -> tuple[float, str] | None:
        """The SLO that is missed by most, by how many ms, at the predicted GPU time; None: none."""
        pools = {**self._clock.pools, self.trial.shape.id: answer}
        clock = self._clock.with_pools(pools)
        gaps = gaps_of(clock, demand.users, [(1.0, self.trial.shape.id)])
        worst: tuple[float, str] | None = None
        for slo in self.service.slos:
            level = slo.percentile / 100
            if slo.metric in ("itl", "tpot"):
                if gaps is None:
                    continue
                value = (gaps if slo.metric == "itl" else gaps.per_request()).percentile(level)
            else:
                part = request.to_first_token if slo.metric == "ttft" else request.whole
                if part is None:
                    continue
                value = Mixture(clock, ((1.0, part),)).percentile(level, 1.0)
            over = value - slo.limit_ms
            if over > 0 and (worst is None or over > worst[0]):
                name = f"{slo.metric.upper() if slo.metric != 'task' else 'task time'}"
                worst = (
                    over,
                    f"{name} p{slo.percentile:g} would be {number(value, 3)} ms, "
                    f"{number(over, 3)} ms over",
                )
        return worst

    def _asks(self, request: Request) -> tuple[Ask, ...]:
        asks = []
        for leaf, times in leaves(request.whole):
            if not isinstance(leaf, Generate) or leaf.deployment != self.trial.shape.id:
                continue
            prompt = self.study.laws.of(self.service, leaf.prompt, "prompt")
            output = self.study.laws.of(self.service, leaf.output, "output")
            if prompt is None or output is None:
                return ()
            asks.append(
                Ask(leaf.slot, times, prompt, output, leaf.growth_tokens, leaf.cached_share)
            )
        return tuple(asks)

    def _resolved(self, demand: Demand) -> Request:
        design, ledger = self.study.design, self.study.ledger
        sizes = wire_sizes(self.service, ledger)
        today = choices(design, self.service, demand.users, self.study.one_way_ms)[0].serves

        def mean(tokens: Tokens, role: Role) -> float | None:
            law = self.study.laws.of(self.service, tokens, role)
            return None if law is None else law.mean

        return resolve(
            self.service,
            Wiring(
                demand.users,
                nearest_of(design, self.study.one_way_ms),
                lambda node: design.nodes[node].kind,
                {**today, None: (self.trial.shape.id, self.trial.spot.node)},
                mean,
                sizes.request_per_token,
                sizes.request_overhead,
                sizes.stream_per_token,
                sizes.stream_packet,
            ),
        )
