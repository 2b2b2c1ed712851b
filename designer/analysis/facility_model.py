"""The placement problem as arrays, and its rows for a mixed-integer solver."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from designer.analysis.highs import Floats, Programme

Indices = NDArray[np.intp]
Sourcing = Literal["split", "single"]

SLACK: Final = 1e-7
"""Share of a quantity below which a violation is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class FacilityProblem:
    """Where to host replicas for users at least cost; S sites, U users, C configurations, L links.

    A "user" is one (service, place of users) pair; a configuration is one (model, accelerator,
    parallelism). Costs are of one period (say USD a month). Arrays are copied and read-only;
    infinity is no limit. Raises ValueError where shapes or signs do not fit.
    """

    fixed_cost: Floats
    """[S], of an open site: one with at least one replica."""
    replica_cost: Floats
    """[S, C], of one replica."""
    capacity: Floats
    """[S, U, C], requests/s that one replica bears from that user within the SLO; 0: none.

    Users of different capacity share a replica in proportion: their rates over their capacities
    add up to at most the number of replicas.
    """
    demand: Floats
    """[U], requests/s."""
    serving_cost: Floats
    """[S, U], of serving all of a user's demand from the site (unit cost times demand)."""
    allowed: NDArray[np.bool_]
    """[S, U, C], whether that site and configuration may serve that user."""
    most_replicas: Floats
    """[S, C]."""
    replica_gpus: Floats
    """[C], GPUs of one replica."""
    gpu_kind: Indices
    """[C], row of `most_gpus` that the GPUs are taken from."""
    most_gpus: Floats
    """[S, K], GPUs of each kind that the site can take."""
    replica_kw: Floats
    """[S, C], power of one replica at the site's meter."""
    most_kw: Floats
    """[S]."""
    sourcing: Sourcing = "split"
    """Whether a user may be split over sites, or is served by one site alone."""
    survive_any_single_site: bool = False
    """After any one site is lost, all demand must fit on the replicas elsewhere; then it may be
    split freely (also where `sourcing` is single) and the links must bear it as well."""
    most_sites: int | None = None
    link_load: Any = None
    """Sparse [L, S * U] (column site * U + user): load on each link per request/s, or None."""
    link_capacity: Floats = field(default_factory=lambda: np.zeros(0))
    """[L], in the unit of `link_load` times requests/s."""
    forced: frozenset[int] = frozenset()
    """Sites that must be open."""
    forbidden: frozenset[int] = frozenset()
    """Sites that must stay closed."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                copied = value.copy()
                copied.setflags(write=False)
                object.__setattr__(self, each.name, copied)
        _check(self)

    @property
    def sites(self) -> int:
        """Number of sites."""
        return len(self.fixed_cost)

    @property
    def users(self) -> int:
        """Number of users."""
        return len(self.demand)

    @property
    def configurations(self) -> int:
        """Number of configurations."""
        return len(self.replica_gpus)


def _check(problem: FacilityProblem) -> None:
    sites, users, kinds = problem.sites, problem.users, problem.configurations
    links = len(problem.link_capacity)
    shapes: Mapping[str, tuple[int, ...]] = {
        "replica_cost": (sites, kinds),
        "capacity": (sites, users, kinds),
        "serving_cost": (sites, users),
        "allowed": (sites, users, kinds),
        "most_replicas": (sites, kinds),
        "gpu_kind": (kinds,),
        "replica_kw": (sites, kinds),
        "most_kw": (sites,),
    }
    for name, shape in shapes.items():
        if getattr(problem, name).shape != shape:
            raise ValueError(f"{name} has shape {getattr(problem, name).shape}, not {shape}")
    if problem.most_gpus.ndim != 2 or len(problem.most_gpus) != sites:
        raise ValueError("most_gpus must have one row a site")
    loads = (0, sites * users) if problem.link_load is None else problem.link_load.shape
    if loads != (links, sites * users):
        raise ValueError(f"link_load has shape {loads}, not {(links, sites * users)}")
    for each in fields(problem):
        value = getattr(problem, each.name)
        if isinstance(value, np.ndarray) and (np.isnan(value).any() or (value < 0).any()):
            raise ValueError(f"{each.name} holds a negative or unknown value")
    for name in ("fixed_cost", "replica_cost", "serving_cost", "demand", "replica_gpus"):
        if not np.isfinite(getattr(problem, name)).all():
            raise ValueError(f"{name} must be finite")


def plain_problem(
    fixed_cost: ArrayLike,
    capacity: ArrayLike,
    demand: ArrayLike,
    serving_cost: ArrayLike,
    allowed: ArrayLike,
) -> FacilityProblem:
    """Capacitated facility location: each site holds one unit of its capacity [S] or none."""
    fixed = np.asarray(fixed_cost, dtype=np.float64)
    wanted = np.asarray(demand, dtype=np.float64)
    sites, users = len(fixed), len(wanted)
    able = np.asarray(capacity, dtype=np.float64)[:, None, None]
    return FacilityProblem(
        fixed_cost=fixed,
        replica_cost=np.zeros((sites, 1)),
        capacity=np.broadcast_to(able, (sites, users, 1)),
        demand=wanted,
        serving_cost=np.asarray(serving_cost, dtype=np.float64),
        allowed=np.asarray(allowed, dtype=bool).reshape(sites, users, 1),
        most_replicas=np.ones((sites, 1)),
        replica_gpus=np.zeros(1),
        gpu_kind=np.zeros(1, dtype=np.intp),
        most_gpus=np.full((sites, 1), np.inf),
        replica_kw=np.zeros((sites, 1)),
        most_kw=np.full(sites, np.inf),
    )


def room_for(problem: FacilityProblem) -> Floats:
    """[S, C]: most replicas that a site's own limits leave room for, were it alone there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        by_gpus = np.floor(problem.most_gpus[:, problem.gpu_kind] / problem.replica_gpus + 1e-9)
        by_kw = np.floor(problem.most_kw[:, None] / problem.replica_kw + 1e-9)
    by_gpus[:, problem.replica_gpus == 0] = np.inf
    by_kw[problem.replica_kw == 0] = np.inf
    room = np.minimum(np.floor(problem.most_replicas), np.minimum(by_gpus, by_kw))
    room[sorted(problem.forbidden)] = 0
    return room


def useful_replicas(problem: FacilityProblem) -> Floats:
    """[S, C]: `room_for`, cut to what all allowed demand could ever keep busy."""
    able = problem.allowed & (problem.capacity > 0)
    busy = np.divide(
        problem.demand[None, :, None],
        problem.capacity,
        out=np.zeros_like(problem.capacity),
        where=able,
    ).sum(axis=1)
    useful: Floats = np.minimum(room_for(problem), np.maximum(np.ceil(busy - 1e-9), 1.0))
    return useful


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Which column of the programme means what."""

    open_sites: Indices
    """[S]"""
    replicas: Indices
    """[S, C]"""
    shares: Indices
    """[T], one for each way (site, user, configuration) that may serve."""
    assigned: Indices
    """[A], one for each pair of `pair_site`, `pair_user` where users go to one site alone."""
    unserved: Indices
    """[U], held at 0 except when looking for what cannot be served."""
    site: Indices
    user: Indices
    configuration: Indices
    """[T] each: what a share column stands for."""
    pair_site: Indices
    pair_user: Indices
    pair_of: Indices
    """[T]: the (site, user) pair of each share column."""

    @property
    def total(self) -> int:
        """Number of columns."""
        return int(self.unserved[-1]) + 1 if len(self.unserved) else self.replicas.size


def columns_of(problem: FacilityProblem) -> Columns:
    """The columns: sites, replicas, ways to serve, assignments, unserved shares."""
    possible = problem.allowed & (problem.capacity > 0) & (useful_replicas(problem) > 0)[:, None, :]
    site, user, configuration = (each.astype(np.intp) for each in np.nonzero(possible))
    pairs, pair_of = np.unique(site * problem.users + user, return_inverse=True)
    single = problem.sourcing == "single"
    sizes = (
        problem.sites,
        problem.sites * problem.configurations,
        len(site),
        len(pairs) if single else 0,
        problem.users,
    )
    ends = np.cumsum((0, *sizes))
    parts = [np.arange(a, b, dtype=np.intp) for a, b in pairwise(ends)]
    return Columns(
        open_sites=parts[0],
        replicas=parts[1].reshape(problem.sites, problem.configurations),
        shares=parts[2],
        assigned=parts[3],
        unserved=parts[4],
        site=site,
        user=user,
        configuration=configuration,
        pair_site=pairs // problem.users if len(pairs) else pairs,
        pair_user=pairs % problem.users if len(pairs) else pairs,
        pair_of=pair_of.astype(np.intp),
    )


def busy_per_share(problem: FacilityProblem, columns: Columns) -> Floats:
    """[T]: replicas that all of a user's demand keeps busy when it is served that way."""
    able = problem.capacity[columns.site, columns.user, columns.configuration]
    return np.asarray(problem.demand[columns.user] / able, dtype=np.float64)


def programme_of(problem: FacilityProblem, columns: Columns) -> Programme:
    """The linear relaxation without the strong rows and without the rows of lost sites."""
    most = useful_replicas(problem)
    cost = np.zeros(columns.total)
    upper = np.ones(columns.total)
    lower = np.zeros(columns.total)
    cost[columns.open_sites] = problem.fixed_cost
    cost[columns.replicas] = problem.replica_cost
    cost[columns.shares] = problem.serving_cost[columns.site, columns.user]
    upper[columns.replicas] = most
    upper[columns.open_sites[most.sum(axis=1) == 0]] = 0.0
    upper[columns.unserved] = 0.0
    lower[columns.open_sites[sorted(problem.forced)]] = 1.0
    programme = Programme(cost, lower, np.maximum(lower, upper))
    _add_service(problem, columns, programme)
    _add_site_limits(problem, columns, programme, most)
    if problem.survive_any_single_site:
        _add_two_sites(problem, columns, programme)
    return programme


def _add_service(problem: FacilityProblem, columns: Columns, programme: Programme) -> None:
    """All of each user is served; replicas bear it; links bear it; one site each where asked."""
    programme.add_rows(
        np.concatenate((columns.user, np.arange(problem.users))),
        np.concatenate((columns.shares, columns.unserved)),
        1.0,
        np.ones(problem.users),
        1.0,
    )
    slot = columns.site * problem.configurations + columns.configuration
    slots = problem.sites * problem.configurations
    programme.add_rows(
        np.concatenate((slot, np.arange(slots))),
        np.concatenate((columns.shares, columns.replicas.ravel())),
        np.concatenate((busy_per_share(problem, columns), np.full(slots, -1.0))),
        np.full(slots, -np.inf),
        0.0,
    )
    if len(problem.link_capacity):
        loads = link_loads_per_share(problem, columns).tocoo()
        programme.add_rows(
            loads.row, columns.shares[loads.col], loads.data, -np.inf, problem.link_capacity
        )
    if len(columns.assigned):
        programme.add_rows(
            np.concatenate((columns.pair_of, np.arange(len(columns.assigned)))),
            np.concatenate((columns.shares, columns.assigned)),
            np.concatenate((np.ones(len(columns.shares)), np.full(len(columns.assigned), -1.0))),
            np.zeros(len(columns.assigned)),
            0.0,
        )


def link_loads_per_share(problem: FacilityProblem, columns: Columns) -> Any:
    """Sparse [L, T]: load on each link when all of a user is served that way."""
    chosen = csr_array(problem.link_load)[:, columns.site * problem.users + columns.user]
    return csr_array(chosen.multiply(problem.demand[columns.user][None, :]))


def _add_site_limits(
    problem: FacilityProblem, columns: Columns, programme: Programme, most: Floats
) -> None:
    """Replicas only at open sites and within GPUs and power; an open site has a replica."""
    sites, kinds = problem.sites, problem.configurations
    slots = np.arange(sites * kinds)
    programme.add_rows(
        np.concatenate((slots, slots)),
        np.concatenate((columns.replicas.ravel(), np.repeat(columns.open_sites, kinds))),
        np.concatenate((np.ones(sites * kinds), -most.ravel())),
        np.full(sites * kinds, -np.inf),
        0.0,
    )
    _add_at_open(columns, programme, np.full((sites, kinds), -1.0), np.full(sites, -1.0))
    _add_at_open(columns, programme, problem.replica_kw, problem.most_kw)
    for kind in range(problem.most_gpus.shape[1]):
        taken = np.where(problem.gpu_kind == kind, problem.replica_gpus, 0.0)
        _add_at_open(columns, programme, np.tile(taken, (sites, 1)), problem.most_gpus[:, kind])
    if problem.most_sites is not None:
        zeros = np.zeros(sites, dtype=np.intp)
        programme.add_rows(zeros, columns.open_sites, 1.0, -np.inf, float(problem.most_sites))


def _add_at_open(columns: Columns, programme: Programme, taken: Floats, limit: Floats) -> None:
    """taken[s, c] x replicas over a site <= limit[s] x open[s], where there is a limit."""
    bound = np.flatnonzero(np.isfinite(limit) & (taken != 0).any(axis=1))
    if not len(bound):
        return
    rows = np.arange(len(bound))
    kinds = taken.shape[1]
    programme.add_rows(
        np.concatenate((np.repeat(rows, kinds), rows)),
        np.concatenate((columns.replicas[bound].ravel(), columns.open_sites[bound])),
        np.concatenate((taken[bound].ravel(), -limit[bound])),
        np.full(len(bound), -np.inf),
        0.0,
    )


def _add_two_sites(problem: FacilityProblem, columns: Columns, programme: Programme) -> None:
    """Every user has two open sites that may serve it."""
    pairs = np.unique(columns.site * problem.users + columns.user)
    programme.add_rows(
        np.concatenate((pairs % max(problem.users, 1), np.arange(problem.users))),
        np.concatenate((columns.open_sites[pairs // max(problem.users, 1)], columns.unserved)),
        np.concatenate((np.ones(len(pairs)), np.full(problem.users, 2.0))),
        np.full(problem.users, 2.0),
        np.inf,
    )
