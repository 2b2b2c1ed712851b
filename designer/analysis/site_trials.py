"""What a candidate site could do for a service: configurations that fit, and the rate that each
bears for each population while all SLOs hold over that population's path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from designer.analysis.demand import nearest_of
from designer.analysis.gaps import gaps_of
from designer.analysis.pools import Ask, PoolAnswer, Pools
from designer.analysis.results import FactKind
from designer.analysis.scale_up import CannotServe
from designer.analysis.serving import Replica
from designer.analysis.steering import allowed_at, choices
from designer.analysis.study import Study
from designer.analysis.timed import CannotTime
from designer.analysis.times import Mixture
from designer.analysis.tokens import Role
from designer.analysis.wire import wire_sizes
from designer.analysis.workflow import Generate, Request, Unresolved, Wiring, leaves, resolve
from designer.model.references import groups_around
from designer.model.services import Burst, Demand, Deployment, Service, Tokens
from designer.model.things import GpuOffer

LOADS: Final = (0.9, 0.75, 0.6, 0.45, 0.3, 0.15)
"""Shares of saturation at which a replica is tried, the busiest first."""

PARALLEL_WAYS: Final = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place for replicas: a GPU node of a candidate site, and what it holds.

    most_gpus: over all instances; None where nobody says.
    """

    site: str
    node: str
    accelerator: str
    gpus_per_server: int | None
    most_gpus: int | None
    usd_per_gpu_hour: float | None


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration of a service at a spot. refused: why it cannot be (then nothing else)."""

    service: str
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
        offer = next(
            (each for each in _offers(study, site_id) if each.accelerator == node.accelerator),
            None,
        )
        here = None if node.gpus is None else node.gpus * count
        most = offer.most_gpus if offer and offer.most_gpus is not None else here
        usd, kind, source = _gpu_hour(
            study, node.accelerator, offer.usd_per_gpu_hour if offer else None
        )
        study.ledger.note(key, "usd_per_gpu_hour", usd, kind, source)
        found.append(Spot(site_id, key, node.accelerator, node.gpus, most, usd))
    return tuple(found)


def _offers(study: Study, site_id: str) -> tuple[GpuOffer, ...]:
    site = study.design.groups[site_id].site
    return site.offers if site else ()


def _gpu_hour(
    study: Study, accelerator: str, given: float | None
) -> tuple[float | None, FactKind, str]:
    """USD a GPU-hour: as the site offers it, else the cheapest typical price on demand."""
    if given is not None:
        return given, "given", "the site's offer"
    family = f"gpu_{accelerator.split('_')[0]}_"
    rows = [
        row
        for key, row in study.catalogue.prices.items()
        if key.startswith(family) and key.endswith("on_demand") and row.typical is not None
    ]
    if not rows:
        return None, "unknown", f"no price of {accelerator} in the catalogue"
    cheapest = min(rows, key=lambda row: (row.typical or 0.0, row.id))
    return cheapest.typical, "catalogue", f"{cheapest.name}: {cheapest.source}"


def trials(study: Study, service: Service, where: Sequence[Spot]) -> Iterator[Trial]:
    """One configuration a spot: the service's own shape there, else the fewest GPUs that fit."""
    builder = Pools(study.design, study.catalogue, study.ledger)
    for spot in where:
        yield _trial(study, builder, service, spot)


def _trial(study: Study, builder: Pools, service: Service, spot: Spot) -> Trial:
    own = next(
        (
            each
            for key in sorted(study.design.deployments)
            if (each := study.design.deployments[key]).model == service.model
            and each.node == spot.node
        ),
        None,
    )
    like = own or next(
        (
            study.design.deployments[key]
            for key in sorted(study.design.deployments)
            if study.design.deployments[key].model == service.model
        ),
        Deployment(id="trial", node=spot.node, model=service.model or ""),
    )
    missing = None
    for ways in (own.tensor_parallel,) if own else PARALLEL_WAYS:
        if spot.gpus_per_server is not None and ways > spot.gpus_per_server and own is None:
            break
        shape = like.replace(
            id=f"trial-{spot.node}", node=spot.node, tensor_parallel=ways, replicas=1
        )
        try:
            replica = builder.replica_on(
                spot.accelerator, service.model or "", shape, spot.gpus_per_server, None
            )
        except CannotServe as refusal:
            return Trial(service.id, spot, shape, None, str(refusal))
        if replica.missing_gbytes is None and (replica.kv_room_tokens or 0) > 0:
            return Trial(service.id, spot, shape, replica, "")
        missing = replica.missing_gbytes
    lacks = f" by {missing:.0f} GB a GPU" if missing is not None else ""
    return Trial(
        service.id, spot, like, None, f"{service.model} does not fit {spot.accelerator}{lacks}"
    )


def bearings(study: Study, service: Service, trial: Trial) -> dict[str, Bearing]:
    """What one replica bears for each population of the service, by users' node."""
    found: dict[str, Bearing] = {}
    allowed = allowed_at(study.design, service, trial.spot.node)
    ladder = _Ladder(study, service, trial)
    for demand in service.demands:
        if allowed is not True:
            word = "is outside its residency" if allowed is False else "has no known jurisdiction"
            found[demand.users] = Bearing(0.0, "out_of_region", None, f"the site {word}")
        elif trial.replica is None:
            found[demand.users] = Bearing(0.0, "does_not_fit", None, trial.refused)
        else:
            found[demand.users] = ladder.bearing(demand)
    return found


class _Ladder:
    """Tries a replica at falling loads; each load is simulated once for all populations."""

    def __init__(self, study: Study, service: Service, trial: Trial) -> None:
        assert study.clock is not None
        self.study = study
        self.service = service
        self.trial = trial
        self._builder = Pools(study.design, study.catalogue, study.ledger)
        design = study.design.model_copy(
            update={"deployments": study.design.deployments.set(trial.shape.id, trial.shape)}
        )
        self._clock = replace(study.clock, design=design)
        self._answers: dict[tuple[tuple[Ask, ...], float], PoolAnswer] = {}

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
        assert self.trial.replica is not None
        calls = sum(ask.per_s for ask in asks)
        full = self._builder.saturation(
            self.trial.shape, self.trial.replica, asks, self.study.design.settings.seed
        )
        over: tuple[float, str] | None = (0.0, "it serves nothing")
        for load in LOADS if full > 0 else ():
            answer = self._answer(asks, load * full, demand.burst)
            over = self._over(request, demand, answer)
            if over is None:
                return Bearing(load * full / calls, "chosen", None, "")
        assert over is not None
        return Bearing(0.0, "out_of_reach", *over)

    def _answer(self, asks: tuple[Ask, ...], per_s: float, burst: Burst) -> PoolAnswer:
        assert self.trial.replica is not None
        key = (asks, per_s)
        if key not in self._answers:
            total = sum(ask.per_s for ask in asks)
            scaled = [replace(ask, per_s=ask.per_s * per_s / total) for ask in asks]
            self._answers[key] = self._builder.run(
                self.trial.shape,
                self.trial.replica,
                1,
                scaled,
                burst,
                self.study.design.settings.seed,
            )
        return self._answers[key]

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
                    f"{name} p{slo.percentile:g} would be {value:.3g} ms, {over:.3g} ms over",
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
