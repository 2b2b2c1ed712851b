"""Why a placement problem has no solution: which users, which sites, how much is missing."""

import time
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from designer.analysis.facility_model import (
    Columns,
    FacilityProblem,
    Indices,
    columns_of,
    programme_of,
    room_for,
)
from designer.analysis.highs import Programme

_MISSING: Final = 1e-6
"""A smaller share of all demand is rounding."""

Kind = Literal[
    "no_allowed_site", "no_room", "one_site_only", "forced_site", "capacity", "whole_replicas"
]


@dataclass(frozen=True, slots=True)
class Conflict:
    """One reason; `message` is a sentence with indices, the rest is for a caller with names."""

    kind: Kind
    message: str
    users: tuple[int, ...] = ()
    sites: tuple[int, ...] = ()
    """Sites that could serve these users (or that must be open and cannot)."""
    links: tuple[int, ...] = ()
    """Links whose capacity is part of the reason."""
    lost_site: int | None = None
    asked_per_s: float | None = None
    borne_per_s: float | None = None
    """The most of `asked_per_s` that can be served."""


def conflicts(problem: FacilityProblem, time_limit_s: float) -> tuple[Conflict, ...]:
    """Reasons why the problem has no solution, plainest first; never empty."""
    deadline = time.monotonic() + time_limit_s
    found = _forced_sites(problem) + _unreachable_users(problem)
    if found:
        return tuple(found)
    every = _short(problem, None)
    if every is not None:
        return (every,)
    if problem.survive_any_single_site:
        losses = (_short(problem, site) for site in range(problem.sites))
        found = [each for each in losses if each is not None]
        if found:
            return tuple(found)
    return (_whole(problem, deadline - time.monotonic()),)


def _listed(word: str, indices: tuple[int, ...]) -> str:
    if len(indices) == 1:
        return f"{word} {indices[0]}"
    return f"{word}s {', '.join(map(str, indices[:-1]))} and {indices[-1]}"


def _tuple(indices: Indices) -> tuple[int, ...]:
    return tuple(int(each) for each in indices)


def _forced_sites(problem: FacilityProblem) -> list[Conflict]:
    closed = tuple(sorted(s for s in problem.forced if room_for(problem)[s].max(initial=0) < 1))
    found = [
        Conflict(
            "forced_site", f"Site {site} must be open but has no room for a replica.", sites=(site,)
        )
        for site in closed
    ]  # fmt: skip
    if problem.most_sites is not None and len(problem.forced) > problem.most_sites:
        forced = tuple(sorted(problem.forced))
        found.append(
            Conflict(
                "forced_site",
                f"{_listed('Site', forced)} must be open but at most {problem.most_sites} may be.",
                sites=forced,
            )
        )
    return found


def _unreachable_users(problem: FacilityProblem) -> list[Conflict]:
    """Users with no site, or with a single one where the loss of one is to be survived."""
    columns = columns_of(problem)
    possible = np.zeros((problem.sites, problem.users), dtype=bool)
    possible[columns.site, columns.user] = True
    count = possible.sum(axis=0)
    found = []
    for user in np.flatnonzero(count == 0):
        allowed = _tuple(np.flatnonzero(problem.allowed[:, user].any(axis=1)))
        if allowed:
            message = f"User {user} may be served at {_listed('site', allowed)}, but no replica "
            message += "there bears any of its requests."
            found.append(Conflict("no_room", message, (int(user),), allowed))
        else:
            message = f"User {user} has no allowed site."
            found.append(Conflict("no_allowed_site", message, (int(user),)))
    if problem.survive_any_single_site:
        for user in np.flatnonzero(count == 1):
            site = int(np.flatnonzero(possible[:, user])[0])
            message = f"User {user} can be served at site {site} alone, so its loss cannot be "
            message += "survived."
            found.append(Conflict("one_site_only", message, (int(user),), (site,), (), site))
    return found


def _elastic(problem: FacilityProblem, columns: Columns) -> Programme:
    """The programme that minimises unserved demand instead of cost."""
    programme = programme_of(problem, columns)
    cost = np.zeros(columns.total)
    cost[columns.unserved] = problem.demand
    programme.set_costs(cost)
    programme.set_bounds(columns.unserved, 0.0, 1.0)
    return programme


def _short(problem: FacilityProblem, lost: int | None) -> Conflict | None:
    """The set of users that asks for more than its sites bear, fractions of replicas allowed.

    The set is where the dual of a user's row is not zero (Hall's condition).
    """
    if lost is not None:
        problem = replace(
            problem,
            forbidden=problem.forbidden | {lost},
            forced=problem.forced - {lost},
            survive_any_single_site=False,
        )
    columns = columns_of(problem)
    programme = _elastic(problem, columns)
    if programme.run(60.0) != "optimal":
        return None
    missing = programme.objective()
    if missing <= _MISSING * max(problem.demand.sum(), 1e-12):
        return None
    duals = programme.row_duals()
    inside = duals[: problem.users] > _MISSING * problem.demand
    users = _tuple(np.flatnonzero(inside))
    sites = _tuple(np.unique(columns.site[inside[columns.user]]))
    first_link = problem.users + problem.sites * problem.configurations
    links = _tuple(np.flatnonzero(duals[first_link:][: len(problem.link_capacity)] < -1e-9))
    asked = float(problem.demand[inside].sum())
    message = f"{_listed('User', users)} ask for {asked:.6g} requests/s, but "
    message += f"{_listed('site', sites)} can bear" if sites else "no site is left for"
    message += f" at most {asked - missing:.6g} of them" if sites else " them"
    if links:
        message += f" within the capacity of {_listed('link', links)}"
    if lost is not None:
        message += f" after the loss of site {lost}"
    return Conflict("capacity", f"{message}.", users, sites, links, lost, asked, asked - missing)


def _whole(problem: FacilityProblem, seconds: float) -> Conflict:
    """Fractions of replicas would do; whole ones leave demand unserved."""
    columns = columns_of(problem)
    programme = _elastic(problem, columns)
    programme.set_integer(
        np.concatenate((columns.open_sites, columns.replicas.ravel(), columns.assigned))
    )
    asked = float(problem.demand.sum())
    how = "one site for each user" if problem.sourcing == "single" else "whole replicas"
    if programme.run(max(seconds, 1.0)) == "optimal":
        missing = programme.objective()
        if missing > _MISSING * max(asked, 1e-12):
            users = _tuple(np.flatnonzero(programme.values()[columns.unserved] > _MISSING))
            message = f"With {how}, at most {asked - missing:.6g} of {asked:.6g} requests/s can "
            message += f"be served ({_listed('user', users)} not fully)."
            return Conflict(
                "whole_replicas", message, users, asked_per_s=asked, borne_per_s=asked - missing
            )
    after = " that survives the loss of each site" if problem.survive_any_single_site else ""
    message = f"With {how}, no choice{after} was found within the limits of the sites."
    return Conflict("whole_replicas", message, asked_per_s=asked)
