"""Where the models should live: candidate sites, replicas and users at least cost under all SLOs.

Replicas of a model are shared by all its services. Services that must survive the loss of a site
are placed first, each site being lost in turn; the others then use what GPUs are left. Costs are
GPU-hours of a month and a site's fixed cost. The plan found is analysed in full; what it breaks is
cut off and the solve repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.analysis.facility import FacilityProblem, Plan, solve
from designer.analysis.objections import called
from designer.analysis.placement_edit import placement_patch
from designer.analysis.pools import Pools
from designer.analysis.results import PlacedReplicas, Placement
from designer.analysis.site_checks import breaks_of, cut, doubts_of
from designer.analysis.site_reasons import conflict_of, reasons_of
from designer.analysis.site_rounds import (
    Cuts,
    Held,
    Pair,
    Round,
    held_by,
    problem_of,
    replicas_of,
    round_of,
    staying,
)
from designer.analysis.site_shares import Way, nearest_shares
from designer.analysis.site_trials import Runs, spots
from designer.analysis.study import Study, network_study, with_services
from designer.model.patch import apply
from designer.model.services import Service
from designer.model.topology import Topology

TIME_LIMIT_S: Final = 20.0
MOST_SOLVES: Final = 5
"""A first one, and four with what was found to break cut off."""
MOST_SAID: Final = 3
PROVEN: Final = 1e-6


@dataclass(frozen=True, slots=True)
class _Solved:
    round: Round
    problem: FacilityProblem
    plan: Plan


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
    held = staying(study, builder, where, {each.model for each in placed if each.model})
    surviving, others, message = _by_resilience(study, placed)
    rounds = [
        round_of(study, mine, where, survive, runs)
        for survive, mine in ((True, surviving), (False, others))
        if mine
    ]
    found = _holding(study, rounds, held, [each.id for each in placed])
    return found.model_copy(
        update={"message": " ".join(part for part in (found.message, message) if part)}
    )


def _holding(
    study: Study, rounds: Sequence[Round], held: Held, services: Sequence[str]
) -> Placement:
    """The cheapest plan that still holds when the design that it makes is analysed in full."""
    cuts, said, bound = Cuts(), "", None
    for _ in range(MOST_SOLVES):
        solved = _solved(study, rounds, cuts, held)
        if not all(each.plan.has_plan for each in solved):
            break
        rows = _rows(solved)
        after = _analysed(study, rows)
        bound = _bound(solved) if bound is None else bound
        breaks = breaks_of(after, services)
        if not breaks:
            found = _proven(_together([_placement(study, each) for each in solved]), bound)
            return found.model_copy(update={"message": doubts_of(after, services)})
        said = "; ".join(dict.fromkeys(each.said for each in breaks[:MOST_SAID]))
        tighter = cut(cuts, breaks, _loads(solved))
        if tighter == cuts:
            break
        cuts = tighter
    found = _together([_placement(study, each) for each in solved])
    if not said:
        return found
    return Placement(
        status="unknown",
        reasons=tuple(each for each in found.reasons if each.outcome != "chosen"),
        message=f"No plan was found that holds when it is analysed in full: {said}.",
    )


def _analysed(study: Study, rows: tuple[PlacedReplicas, ...]) -> Study:
    """The study of the design with the plan accepted; the same where it changes nothing."""
    patch = placement_patch(study.design, Placement(status="feasible", replicas=rows))
    if not patch:
        return study
    after = apply(Topology(design=study.design), patch).design
    return with_services(network_study(after, study.catalogue))


def _rows(solved: Sequence[_Solved]) -> tuple[PlacedReplicas, ...]:
    return tuple(row for each in solved for row in replicas_of(each.round, each.problem, each.plan))


def _bound(solved: Sequence[_Solved]) -> float:
    """What no plan is cheaper than, with or without cuts."""
    return sum(
        (each.plan.objective or 0.0) * (1.0 - (each.plan.proven_gap or 0.0)) for each in solved
    )


def _proven(found: Placement, bound: float) -> Placement:
    """Against the bound of the first solve: cuts are measured, so that they prove nothing."""
    cost = found.objective_usd_per_month
    if found.status != "optimal" or cost is None or cost - bound <= PROVEN * max(cost, 1.0):
        return found
    return found.model_copy(update={"status": "feasible", "proven_gap": (cost - bound) / cost})


def _loads(solved: Sequence[_Solved]) -> dict[Pair, float]:
    """Load of the replicas that serve each pair, as share of what they are trusted to bear."""
    found: dict[Pair, float] = {}
    for each in solved:
        for column, trial in enumerate(each.round.trials):
            row = each.round.sites.index(trial.spot.site)
            count = int(each.plan.replicas[row, column])
            if not count:
                continue
            rates = each.plan.share_by_configuration[row, :, column] * each.problem.demand
            able = each.problem.capacity[row, :, column]
            users = [int(user) for user in np.flatnonzero(rates > 0)]
            load = sum(float(rates[user] / able[user]) for user in users) / count
            found.update({each.round.pair(user, column): load for user in users})
    return found


def _by_resilience(
    study: Study, placed: Sequence[Service]
) -> tuple[list[Service], list[Service], str]:
    """Services placed to survive the loss of a site, the others, and what is to be said of it.

    A service that shares its model with one that must survive shares its replicas and its fate.
    """
    models = {each.model for each in placed if each.resilience != "none"}
    surviving = [each for each in placed if each.model in models]
    others = [each for each in placed if each.model not in models]
    carried = [called(study.design, each.id) for each in surviving if each.resilience == "none"]
    if not carried:
        return surviving, others, ""
    return (
        surviving,
        others,
        f"{', '.join(carried)} shares the replicas of a service that survives the loss of a site, "
        "and is placed to survive it too.",
    )


def _solved(study: Study, rounds: Sequence[Round], cuts: Cuts, held: Held) -> list[_Solved]:
    """Each round with what those before it left."""
    made = []
    for each in rounds:
        now = each.with_cuts(cuts, held)
        problem = problem_of(study, now)
        plan = _near(study, now, problem, solve(problem, TIME_LIMIT_S, 1e-6))
        made.append(_Solved(now, problem, plan))
        held = held_by(study, now, plan)
    return made


def _near(study: Study, round_: Round, problem: FacilityProblem, plan: Plan) -> Plan:
    """Of plans that cost the same, the one whose requests travel least."""

    def one_way_ms(way: Way) -> float | None:
        _, user, column = way
        where = round_.trials[column].spot.node
        return study.one_way_ms(round_.users[user].demand.users, where)

    return nearest_shares(problem, plan, one_way_ms)


def _placement(study: Study, solved: _Solved) -> Placement:
    round_, problem, plan = solved.round, solved.problem, solved.plan
    if not plan.has_plan:
        return Placement(
            status="infeasible" if plan.status == "infeasible" else "unknown",
            reasons=reasons_of(study, round_, problem, plan),
            message=conflict_of(study, round_, plan),
        )
    return Placement(
        status="optimal" if plan.status == "optimal" else "feasible",
        objective_usd_per_month=plan.objective,
        proven_gap=plan.proven_gap,
        replicas=replicas_of(round_, problem, plan),
        reasons=reasons_of(study, round_, problem, plan),
    )


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
