"""For each service and candidate site: chosen, or why not and by how much."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from designer.analysis.facility import FacilityProblem, Plan, solve
from designer.analysis.objections import called
from designer.analysis.results import SiteReason
from designer.analysis.site_rounds import LEAST_SHARE, Round
from designer.analysis.study import Study
from designer.model.services import Service

REASONS_LIMIT_S: Final = 10.0


def reasons_of(
    study: Study, round_: Round, problem: FacilityProblem, plan: Plan
) -> tuple[SiteReason, ...]:
    """For each service and candidate site: chosen, or why not and by how much."""
    services = {user.service.id: user.service for user in round_.users}
    return tuple(
        _reason(study, round_, problem, plan, service, site)
        for service in services.values()
        for site in round_.sites
    )


def _reason(
    study: Study, round_: Round, problem: FacilityProblem, plan: Plan, service: Service, site: str
) -> SiteReason:
    row = round_.sites.index(site)
    columns = [
        at
        for at, trial in enumerate(round_.trials)
        if trial.model == service.model and trial.spot.site == site
    ]
    mine = [at for at, user in enumerate(round_.users) if user.service.id == service.id]
    name = called(study.design, site)
    made = _Said(service.id, site, name)
    known = [
        round_.bearing[user, at] for user in mine for at in columns if (user, at) in round_.bearing
    ]
    count = sum(int(plan.replicas[row, at]) for at in columns)
    is_served = plan.share_by_configuration[np.ix_([row], mine, columns)].sum() > LEAST_SHARE
    is_spare = round_.survive and any(bearing.per_s > 0 for bearing in known)
    if count and (is_served or is_spare):
        word = "replica" if count == 1 else "replicas"
        return made.because("chosen", float(count), word, f"{count} {word} at {name}")
    if not known:
        return made.because("no_capacity", None, "", f"{name} has no GPUs")
    short = [bearing for bearing in known if bearing.per_s <= 0]
    if len(short) == len(known) or (short and not problem.survive_any_single_site):
        worst = max(short, key=lambda each: each.by or 0.0)
        some = "" if len(short) == len(known) else " for some users"
        unit = "" if worst.by is None else "ms"
        return made.because(worst.outcome, worst.by, unit, f"{name}{some}: {worst.message}")
    return _dearer(problem, plan, row, mine, made)


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
    problem: FacilityProblem, plan: Plan, row: int, mine: list[int], made: _Said
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
        elsewhere = np.arange(problem.sites) != row
        allowed[np.ix_(elsewhere, mine)] = False
        other = solve(replace(problem, allowed=allowed), REASONS_LIMIT_S, 1e-4)
    if other.objective is None:
        lacks = "has too few GPUs or too little power for it"
        if problem.link_load is not None:
            lacks = "has too few GPUs or too little power for it, or its links carry too little"
        return made.because("no_capacity", None, "", f"{made.name} {lacks}")
    more = other.objective - plan.objective
    if more <= 1e-6 * max(plan.objective, 1.0):
        return made.because("dearer", 0.0, "USD/month", f"{made.name} would cost as much")
    return made.because(
        "dearer", more, "USD/month", f"{made.name} would cost {more:,.0f} USD a month more"
    )


def conflict_of(study: Study, round_: Round, plan: Plan) -> str:
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
