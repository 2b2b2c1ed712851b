"""One solve of a placement: who asks, where replicas may stand, what they bear, what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from designer.analysis.facility import FacilityProblem, Plan
from designer.analysis.pools import Pools
from designer.analysis.results import PlacedReplicas, ServedShare
from designer.analysis.scale_up import CannotServe
from designer.analysis.site_trials import Bearing, Runs, Spot, Trial, bearings, trials
from designer.analysis.study import Study
from designer.model.services import Demand, Service

HOURS_A_MONTH: Final = 730.0
LEAST_SHARE: Final = 1e-9

Pair = tuple[str, str, str]
"""Service, users and the node of the replicas that would serve them."""


@dataclass(frozen=True, slots=True)
class User:
    """Requests of one service from one population."""

    service: Service
    demand: Demand


@dataclass(frozen=True, slots=True)
class LinkCut:
    """A link that a plan asked for too much: Gb/s per request/s of each pair that crossed it, and
    the Gb/s that these pairs may take together."""

    link: str
    gbps_per_request_s: Mapping[Pair, float]
    most_gbps: float


@dataclass(frozen=True, slots=True)
class Cuts:
    """What analysing earlier plans has shown.

    factor: share of its bearing that a pair is still trusted with; 0: none, and `said` has why.
    """

    factor: Mapping[Pair, float] = field(default_factory=dict)
    said: Mapping[Pair, str] = field(default_factory=dict)
    links: tuple[LinkCut, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """What others hold already: GPUs by pool of them, kW by site, and sites that are open."""

    gpus: Mapping[tuple[str, str], int] = field(default_factory=dict)
    kw: Mapping[str, float] = field(default_factory=dict)
    open_sites: frozenset[str] = frozenset()

    def with_rows(self, rows: Sequence[tuple[Spot, int, float]]) -> Held:
        """After more replicas were put at spots: (spot, GPUs, kW) each."""
        gpus, kw = dict(self.gpus), dict(self.kw)
        for spot, count, power in rows:
            key = (spot.site, pool_of(spot))
            gpus[key] = gpus.get(key, 0) + count
            kw[spot.site] = kw.get(spot.site, 0.0) + power
        opened = self.open_sites | {spot.site for spot, count, _ in rows if count}
        return Held(gpus, kw, opened)


@dataclass(frozen=True, slots=True)
class Round:
    """Users, sites, configurations (a trial for each model and spot) of one solve."""

    users: tuple[User, ...]
    sites: tuple[str, ...]
    spots: tuple[Spot, ...]
    trials: tuple[Trial, ...]
    bearing: Mapping[tuple[int, int], Bearing]
    """(user, trial) to what a replica bears."""
    survive: bool
    held: Held
    links: tuple[LinkCut, ...] = ()

    def pair(self, user: int, column: int) -> Pair:
        """Who would be served by which node's replicas."""
        who = self.users[user]
        return who.service.id, who.demand.users, self.trials[column].spot.node

    def with_cuts(self, cuts: Cuts, held: Held) -> Round:
        """The same round with what earlier plans broke cut off."""
        bearing = {}
        for (user, column), found in self.bearing.items():
            pair = self.pair(user, column)
            factor = cuts.factor.get(pair, 1.0)
            if factor < 1.0 and found.per_s > 0:
                outcome = "chosen" if factor > 0 else "out_of_reach"
                found = Bearing(found.per_s * factor, outcome, None, cuts.said.get(pair, ""))
            bearing[user, column] = found
        return replace(self, bearing=bearing, held=held, links=cuts.links)


def pool_of(spot: Spot) -> str:
    """GPUs that replicas at the spot are taken from: its kind in the site's offer, else the node's.

    A site's offer may add servers to a node; without one a node holds what is drawn.
    """
    return f"node {spot.node}" if spot.offered_gpus is None else f"offer {spot.accelerator}"


def staying(study: Study, builder: Pools, where: Sequence[Spot], placed: set[str]) -> Held:
    """What deployments of models that are not placed here hold."""
    spots = {spot.node: spot for spot in where}
    rows = []
    for _, deployment in sorted(study.design.deployments.items()):
        spot = spots.get(deployment.node)
        if deployment.model in placed or spot is None:
            continue
        try:
            replica = builder.replica(deployment)
        except CannotServe:
            continue
        gpus = replica.accelerators * deployment.replicas
        rows.append((spot, gpus, _kw(study, spot, replica.accelerator.tdp_w, gpus)))
    return replace(Held().with_rows(rows), open_sites=frozenset())


def round_of(
    study: Study, services: Sequence[Service], where: Sequence[Spot], survive: bool, runs: Runs
) -> Round:
    """Everything that a solve for these services rests on, with nothing held by others yet."""
    users = tuple(
        User(service, demand)
        for service in services
        for demand in service.demands
        if demand.requests_per_s > 0
    )
    models = dict.fromkeys(service.model for service in services if service.model is not None)
    made = tuple(trial for model in models for trial in trials(study, model, where))
    bearing: dict[tuple[int, int], Bearing] = {}
    for column, trial in enumerate(made):
        for service in services:
            if service.model != trial.model:
                continue
            found = bearings(study, service, trial, runs)
            at = {id(demand): each for demand, each in zip(service.demands, found, strict=True)}
            for row, user in enumerate(users):
                if user.service.id == service.id:
                    bearing[row, column] = at[id(user.demand)]
    sites = tuple(sorted({spot.site for spot in where}))
    return Round(users, sites, tuple(where), made, bearing, survive, Held())


def problem_of(study: Study, round_: Round) -> FacilityProblem:
    """The round as arrays."""
    sites, users, kinds = len(round_.sites), len(round_.users), len(round_.trials)
    pools = sorted({pool_of(spot) for spot in round_.spots})
    capacity = np.zeros((sites, users, kinds))
    cost, most = np.zeros((sites, kinds)), np.zeros((sites, kinds))
    gpus, kw = np.zeros(kinds), np.zeros((sites, kinds))
    for column, trial in enumerate(round_.trials):
        row = round_.sites.index(trial.spot.site)
        if trial.replica is None:
            continue
        gpus[column] = trial.replica.accelerators
        hourly = (trial.spot.usd_per_gpu_hour or 0.0) * trial.replica.accelerators
        cost[row, column] = hourly * HOURS_A_MONTH
        kw[row, column] = replica_kw(study, trial)
        most[row, column] = np.inf
        for user in range(users):
            known = round_.bearing.get((user, column))
            capacity[row, user, column] = known.per_s if known else 0.0
    load, carries = _links(round_)
    return FacilityProblem(
        fixed_cost=np.array([_fixed_usd(study, round_, site) for site in round_.sites]),
        replica_cost=cost,
        capacity=capacity,
        demand=np.array([user.demand.requests_per_s for user in round_.users]),
        serving_cost=np.zeros((sites, users)),
        allowed=capacity > 0,
        most_replicas=most,
        replica_gpus=gpus,
        gpu_kind=np.array(
            [pools.index(pool_of(trial.spot)) for trial in round_.trials], dtype=np.intp
        ),
        most_gpus=np.array(
            [[_gpus_left(round_, site, pool) for pool in pools] for site in round_.sites]
        ),
        replica_kw=kw,
        most_kw=np.array([_kw_left(study, round_, site) for site in round_.sites]),
        survive_any_single_site=round_.survive,
        link_load=load,
        link_capacity=carries,
    )


def _links(round_: Round) -> tuple[csr_array | None, np.ndarray]:
    """Rows for the links that earlier plans asked for too much."""
    if not round_.links:
        return None, np.zeros(0)
    users = len(round_.users)
    load = np.zeros((len(round_.links), len(round_.sites) * users))
    for row, cut in enumerate(round_.links):
        for user, column in round_.bearing:
            site = round_.sites.index(round_.trials[column].spot.site)
            taken = cut.gbps_per_request_s.get(round_.pair(user, column), 0.0)
            load[row, site * users + user] = max(load[row, site * users + user], taken)
    return csr_array(load), np.array([cut.most_gbps for cut in round_.links])


def _fixed_usd(study: Study, round_: Round, site: str) -> float:
    """A month of a site that is not open already."""
    known = study.design.groups[site].site
    if known is None or site in round_.held.open_sites:
        return 0.0
    return known.fixed_usd_per_month or 0.0


def _kw_left(study: Study, round_: Round, site: str) -> float:
    known = study.design.groups[site].site
    if known is None or known.power_kw is None:
        return np.inf
    return max(0.0, known.power_kw - round_.held.kw.get(site, 0.0))


def _gpus_left(round_: Round, site: str, pool: str) -> float:
    """What the site offers of a kind, else what a node there has, less what others hold."""
    here = [spot for spot in round_.spots if spot.site == site and pool_of(spot) == pool]
    if not here:
        return 0.0
    said = [spot.most_gpus if spot.offered_gpus is None else spot.offered_gpus for spot in here]
    known = [gpus for gpus in said if gpus is not None]
    if not known:
        return np.inf
    return float(max(0, max(known) - round_.held.gpus.get((site, pool), 0)))


def replica_kw(study: Study, trial: Trial) -> float:
    """Power of one replica's GPUs at the site's meter, kW; unknown power limits nothing."""
    assert trial.replica is not None
    return _kw(study, trial.spot, trial.replica.accelerator.tdp_w, trial.replica.accelerators)


def _kw(study: Study, spot: Spot, watts: float | None, gpus: int) -> float:
    site = study.design.groups[spot.site].site
    factor = (site.power_usage_effectiveness if site else None) or 1.0
    return (watts or 0.0) * gpus * factor / 1000


def held_by(study: Study, round_: Round, plan: Plan) -> Held:
    """What is held after the plan: for the round that comes next."""
    rows = []
    for column, trial in enumerate(round_.trials):
        count = int(plan.replicas[round_.sites.index(trial.spot.site), column])
        if count and trial.replica is not None:
            power = count * replica_kw(study, trial)
            rows.append((trial.spot, count * trial.replica.accelerators, power))
    return round_.held.with_rows(rows)


def replicas_of(round_: Round, problem: FacilityProblem, plan: Plan) -> tuple[PlacedReplicas, ...]:
    """One row a configuration, with everyone whom it serves."""
    rows = []
    for column, trial in enumerate(round_.trials):
        row = round_.sites.index(trial.spot.site)
        count = int(plan.replicas[row, column])
        if not count or trial.replica is None:
            continue
        serves, busiest = _served(round_, plan, row, column)
        rows.append(
            PlacedReplicas(
                service=busiest,
                site=trial.spot.site,
                node=trial.spot.node,
                model=trial.model,
                accelerator=trial.spot.accelerator,
                tensor_parallel=trial.replica.tensor_parallel,
                replicas=count,
                gpus=count * trial.replica.accelerators,
                usd_per_month=float(problem.replica_cost[row, column] * count),
                users=tuple(dict.fromkeys(each.users for each in serves)),
                serves=serves,
            )
        )
    return tuple(rows)


def _served(
    round_: Round, plan: Plan, row: int, column: int
) -> tuple[tuple[ServedShare, ...], str]:
    """Who is served by a configuration at a site, and the service that asks it most."""
    whole: dict[tuple[str, str], float] = {}
    part: dict[tuple[str, str], float] = {}
    by_service: dict[str, float] = {}
    for at, user in enumerate(round_.users):
        if user.service.model != round_.trials[column].model:
            continue
        key, rate = (user.service.id, user.demand.users), user.demand.requests_per_s
        taken = rate * float(plan.share_by_configuration[row, at, column])
        whole[key] = whole.get(key, 0.0) + rate
        part[key] = part.get(key, 0.0) + taken
        by_service[key[0]] = by_service.get(key[0], 0.0) + taken
    serves = tuple(
        ServedShare(service=key[0], users=key[1], share=min(1.0, round(part[key] / whole[key], 9)))
        for key in whole
        if part[key] / whole[key] > LEAST_SHARE
    )
    return serves, max(by_service, key=lambda key: by_service[key])
