"""Where the models should live: candidate sites, replicas and users at least cost under all SLOs.

Services that must survive the loss of a site are placed first, each site being lost in turn; the
others then use what GPUs are left. Costs are GPU-hours of a month and a site's fixed cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from designer.analysis.facility import FacilityProblem, Plan, solve
from designer.analysis.objections import called
from designer.analysis.pools import Pools
from designer.analysis.results import PlacedReplicas, Placement, SiteReason
from designer.analysis.scale_up import CannotServe
from designer.analysis.site_trials import (
    Bearing,
    Runs,
    Spot,
    Trial,
    bearings,
    spots,
    trials,
)
from designer.analysis.study import Study
from designer.model.services import Demand, Service

HOURS_A_MONTH: Final = 730.0
TIME_LIMIT_S: Final = 20.0
REASONS_LIMIT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class _User:
    service: Service
    demand: Demand


@dataclass(frozen=True, slots=True)
class _Round:
    """One solve: users, sites, configurations (a trial for each service and spot)."""

    users: tuple[_User, ...]
    sites: tuple[str, ...]
    spots: tuple[Spot, ...]
    trials: tuple[Trial, ...]
    bearing: Mapping[tuple[int, int], Bearing]
    """(user, trial) to what a replica bears."""
    survive: bool
    used: Mapping[tuple[str, str], int]
    """(site, accelerator) to GPUs that other deployments hold."""


def place(study: Study) -> Placement:
    """The least-cost placement that meets all SLOs as predicted, proven, with reasons."""
    where = spots(study)
    services = [study.design.services[key] for key in sorted(study.design.services)]
    placed = [each for each in services if each.model is not None and each.demands]
    if not where or not placed:
        what = "no candidate site has GPUs" if placed else "no service asks for a model"
        return Placement(status="not_asked", message=f"{what}; nothing to place")
    unpriced = [spot for spot in where if spot.usd_per_gpu_hour is None]
    if unpriced:
        names = ", ".join(sorted({called(study.design, spot.node) for spot in unpriced}))
        return Placement(
            status="unknown",
            message=f"the price of the GPUs at {names} is not known; give the site's offer a price",
        )
    builder = Pools(study.design, study.catalogue, study.ledger)
    runs = Runs(builder, study.design.settings.seed)
    used = _staying(study, builder, where, {each.model for each in placed})
    parts = []
    for survive in (True, False):
        mine = [each for each in placed if (each.resilience != "none") == survive]
        if mine:
            parts.append(_solved(study, mine, where, survive, used, runs))
    return _together(parts)


def _staying(
    study: Study, builder: Pools, where: Sequence[Spot], placed: set[str | None]
) -> dict[tuple[str, str], int]:
    """GPUs of deployments of models that are not placed here, by site and kind of GPU."""
    used: dict[tuple[str, str], int] = {}
    homes = {spot.node: (spot.site, spot.accelerator) for spot in where}
    for deployment in study.design.deployments.values():
        if deployment.model in placed or deployment.node not in homes:
            continue
        try:
            gpus = builder.replica(deployment).accelerators * deployment.replicas
        except CannotServe:
            continue
        key = homes[deployment.node]
        used[key] = used.get(key, 0) + gpus
    return used


def _solved(
    study: Study,
    services: Sequence[Service],
    where: Sequence[Spot],
    survive: bool,
    used: dict[tuple[str, str], int],
    runs: Runs,
) -> Placement:
    round_ = _round(study, services, where, survive, dict(used), runs)
    problem = _problem(study, round_)
    plan = solve(problem, TIME_LIMIT_S, 1e-6)
    if not plan.has_plan:
        return Placement(
            status="infeasible" if plan.status == "infeasible" else "unknown",
            reasons=_reasons(study, round_, problem, plan),
            message=_conflict(study, round_, plan),
        )
    replicas = _replicas(study, round_, problem, plan)
    for row in replicas:
        key = (row.site, row.accelerator)
        used[key] = used.get(key, 0) + row.gpus
    return Placement(
        status="optimal" if plan.status == "optimal" else "feasible",
        objective_usd_per_month=plan.objective,
        proven_gap=plan.proven_gap,
        replicas=replicas,
        reasons=_reasons(study, round_, problem, plan),
    )


def _round(
    study: Study,
    services: Sequence[Service],
    where: Sequence[Spot],
    survive: bool,
    used: Mapping[tuple[str, str], int],
    runs: Runs,
) -> _Round:
    users = tuple(
        _User(service, demand)
        for service in services
        for demand in service.demands
        if demand.requests_per_s > 0
    )
    made = tuple(trial for service in services for trial in trials(study, service, where))
    bearing: dict[tuple[int, int], Bearing] = {}
    for column, trial in enumerate(made):
        service = study.design.services[trial.service]
        found = dict(zip(service.demands, bearings(study, service, trial, runs), strict=True))
        for row, user in enumerate(users):
            if user.service.id == trial.service:
                bearing[row, column] = found[user.demand]
    sites = tuple(sorted({spot.site for spot in where}))
    return _Round(users, sites, tuple(where), made, bearing, survive, used)


def _problem(study: Study, round_: _Round) -> FacilityProblem:
    sites, users, kinds = len(round_.sites), len(round_.users), len(round_.trials)
    chips = sorted({spot.accelerator for spot in round_.spots})
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
        kw[row, column] = _kw(study, trial)
        most[row, column] = _most_replicas(trial)
        for user in range(users):
            known = round_.bearing.get((user, column))
            capacity[row, user, column] = known.per_s if known else 0.0
    limits = np.array([[_gpus_left(round_, site, chip) for chip in chips] for site in round_.sites])
    groups = [study.design.groups[key].site for key in round_.sites]
    power = [np.inf if site is None or site.power_kw is None else site.power_kw for site in groups]
    fixed = [0.0 if site is None else site.fixed_usd_per_month or 0.0 for site in groups]
    return FacilityProblem(
        fixed_cost=np.array(fixed),
        replica_cost=cost,
        capacity=capacity,
        demand=np.array([user.demand.requests_per_s for user in round_.users]),
        serving_cost=np.zeros((sites, users)),
        allowed=capacity > 0,
        most_replicas=most,
        replica_gpus=gpus,
        gpu_kind=np.array(
            [chips.index(trial.spot.accelerator) for trial in round_.trials], dtype=np.intp
        ),
        most_gpus=limits,
        replica_kw=kw,
        most_kw=np.array(power),
        survive_any_single_site=round_.survive,
    )


def _most_replicas(trial: Trial) -> float:
    """What the node's drawn GPUs hold; a site's offer may add servers to the node."""
    assert trial.replica is not None
    if trial.spot.offered_gpus is not None or trial.spot.most_gpus is None:
        return np.inf
    return trial.spot.most_gpus // trial.replica.accelerators


def _gpus_left(round_: _Round, site: str, chip: str) -> float:
    """What the site offers of a kind, else what is drawn there, less what others hold."""
    here = [spot for spot in round_.spots if (spot.site, spot.accelerator) == (site, chip)]
    offered = [spot.offered_gpus for spot in here if spot.offered_gpus is not None]
    drawn = [spot.most_gpus for spot in here]
    if offered:
        most = max(offered)
    elif None in drawn:
        return np.inf
    else:
        most = sum(gpus or 0 for gpus in drawn)
    return float(max(0, most - round_.used.get((site, chip), 0)))


def _kw(study: Study, trial: Trial) -> float:
    """Power of one replica's GPUs at the site's meter, kW; unknown power limits nothing."""
    assert trial.replica is not None
    site = study.design.groups[trial.spot.site].site
    watts = trial.replica.accelerator.tdp_w or 0.0
    factor = (site.power_usage_effectiveness if site else None) or 1.0
    return watts * trial.replica.accelerators * factor / 1000


def _replicas(
    study: Study, round_: _Round, problem: FacilityProblem, plan: Plan
) -> tuple[PlacedReplicas, ...]:
    rows = []
    for column, trial in enumerate(round_.trials):
        row = round_.sites.index(trial.spot.site)
        count = int(plan.replicas[row, column])
        if not count or trial.replica is None:
            continue
        served = [
            user.demand.users
            for at, user in enumerate(round_.users)
            if plan.share_by_configuration[row, at, column] > 1e-9
        ]
        rows.append(
            PlacedReplicas(
                service=trial.service,
                site=trial.spot.site,
                node=trial.spot.node,
                model=trial.replica.model.id,
                accelerator=trial.spot.accelerator,
                tensor_parallel=trial.replica.tensor_parallel,
                replicas=count,
                gpus=count * trial.replica.accelerators,
                usd_per_month=float(problem.replica_cost[row, column] * count),
                users=tuple(served),
            )
        )
    return tuple(rows)


def _reasons(
    study: Study, round_: _Round, problem: FacilityProblem, plan: Plan
) -> tuple[SiteReason, ...]:
    """For each service and candidate site: chosen, or why not and by how much."""
    services = dict.fromkeys(user.service.id for user in round_.users)
    return tuple(
        _reason(study, round_, problem, plan, service, site)
        for service in services
        for site in round_.sites
    )


def _reason(
    study: Study, round_: _Round, problem: FacilityProblem, plan: Plan, service: str, site: str
) -> SiteReason:
    row = round_.sites.index(site)
    columns = [
        at
        for at, trial in enumerate(round_.trials)
        if trial.service == service and trial.spot.site == site
    ]
    name = called(study.design, site)
    made = _Said(service, site, name)
    count = sum(int(plan.replicas[row, at]) for at in columns)
    if count:
        word = "replica" if count == 1 else "replicas"
        return made.because("chosen", float(count), word, f"{count} {word} at {name}")
    known = [bearing for (_, at), bearing in sorted(round_.bearing.items()) if at in columns]
    if not known:
        return made.because("no_capacity", None, "", f"{name} has no GPUs")
    short = [bearing for bearing in known if bearing.per_s <= 0]
    if len(short) == len(known) or (short and not problem.survive_any_single_site):
        worst = max(short, key=lambda each: each.by or 0.0)
        some = "" if len(short) == len(known) else " for some users"
        unit = "" if worst.by is None else "ms"
        return made.because(worst.outcome, worst.by, unit, f"{name}{some}: {worst.message}")
    return _dearer(round_, problem, plan, row, made)


@dataclass(frozen=True, slots=True)
class _Said:
    service: str
    site: str
    name: str

    def because(self, outcome: str, by: float | None, unit: str, message: str) -> SiteReason:
        return SiteReason(
            service=self.service,
            site=self.site,
            site_name=self.name,
            outcome=outcome,  # type: ignore[arg-type]
            by=by,
            unit=unit,
            message=message,
        )


def _dearer(
    round_: _Round, problem: FacilityProblem, plan: Plan, row: int, made: _Said
) -> SiteReason:
    """Solved again with the service at this site: by how much dearer, or what it lacks.

    Where a loss must be survived the site is forced open beside others; else it serves alone.
    """
    if plan.objective is None:
        return made.because("no_capacity", None, "", "no plan serves everyone, whatever this site")
    if problem.survive_any_single_site:
        other = solve(replace(problem, forced=problem.forced | {row}), REASONS_LIMIT_S, 1e-4)
    else:
        allowed = problem.allowed.copy()
        mine = [at for at, user in enumerate(round_.users) if user.service.id == made.service]
        elsewhere = np.arange(problem.sites) != row
        allowed[np.ix_(elsewhere, mine)] = False
        other = solve(replace(problem, allowed=allowed), REASONS_LIMIT_S, 1e-4)
    if other.objective is None:
        return made.because(
            "no_capacity", None, "", f"{made.name} has too few GPUs or too little power for it"
        )
    more = other.objective - plan.objective
    if more <= 1e-6 * max(plan.objective, 1.0):
        return made.because("dearer", 0.0, "USD/month", f"{made.name} would cost as much")
    return made.because(
        "dearer", more, "USD/month", f"{made.name} would cost {more:,.0f} USD a month more"
    )


def _conflict(study: Study, round_: _Round, plan: Plan) -> str:
    """Who cannot be served and what stands in the way, by name."""
    sentences = []
    for conflict in plan.conflict:
        users = ", ".join(
            f"{called(study.design, round_.users[at].service.id)} for "
            f"{called(study.design, round_.users[at].demand.users)}"
            for at in conflict.users
        )
        sites = ", ".join(called(study.design, round_.sites[at]) for at in conflict.sites)
        sentences.append(
            f"{users or 'All services'} cannot be placed"
            + (f" at {sites}" if sites else " at any candidate site")
            + f" ({conflict.kind.replace('_', ' ')})."
        )
    return " ".join(sentences) or "the time ran out before a plan was found"


def _together(parts: Sequence[Placement]) -> Placement:
    """Rounds as one plan: the weakest status, summed costs, the widest gap."""
    if len(parts) == 1:
        return parts[0]
    order = ("optimal", "feasible", "unknown", "infeasible")
    costs = [part.objective_usd_per_month for part in parts]
    gaps = [part.proven_gap for part in parts if part.proven_gap is not None]
    known = all(cost is not None for cost in costs)
    return Placement(
        status=max((part.status for part in parts), key=order.index),
        objective_usd_per_month=sum(cost or 0.0 for cost in costs) if known else None,
        proven_gap=max(gaps) if gaps and known else None,
        replicas=tuple(row for part in parts for row in part.replicas),
        reasons=tuple(row for part in parts for row in part.reasons),
        message=" ".join(part.message for part in parts if part.message),
    )
