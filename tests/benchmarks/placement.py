"""The placement solver against the same problem written straight into HiGHS."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, vstack

from designer.analysis.facility import FacilityProblem, plain_problem, solve
from tests.benchmarks import Measured, benchmark, compared, quickest_s

SITES, USERS = 25, 100
GAP = 0.01


def drawn(seed: int) -> FacilityProblem:
    """Capacitated facility location as in the literature: places in a square, cost by distance."""
    rng = np.random.default_rng(seed)
    sites, users = rng.random((SITES, 2)), rng.random((USERS, 2))
    demand = rng.uniform(5, 35, USERS)
    raw = rng.uniform(10, 160, SITES)
    capacity = raw * 5 * demand.sum() / raw.sum()
    fixed = rng.uniform(0, 90, SITES) + rng.uniform(100, 110, SITES) * np.sqrt(capacity)
    away = np.linalg.norm(sites[:, None] - users[None, :], axis=2)
    return plain_problem(fixed, capacity, demand, 10 * away * demand, np.ones((SITES, USERS)))


def directly(problem: FacilityProblem) -> float:
    """Least cost within the gap: x of all pairs, y of all sites, every row at once."""
    sites, users = problem.sites, problem.users
    pairs = sites * users
    pair = np.arange(pairs)
    site, user = pair // users, pair % users
    served = coo_array((np.ones(pairs), (user, pair)), shape=(users, pairs + sites))
    opened = np.arange(sites)
    borne = coo_array(
        (
            np.concatenate((problem.demand[user], -problem.capacity[opened, 0, 0])),
            (np.concatenate((site, opened)), np.concatenate((pair, pairs + opened))),
        ),
        shape=(sites, pairs + sites),
    )
    strong = coo_array(
        (np.repeat([1.0, -1.0], pairs), (np.tile(pair, 2), np.concatenate((pair, pairs + site)))),
        shape=(pairs, pairs + sites),
    )
    found = milp(
        np.concatenate((problem.serving_cost.ravel(), problem.fixed_cost)),
        integrality=np.concatenate((np.zeros(pairs), np.ones(sites))),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(served.tocsr(), 1, 1),
            LinearConstraint(vstack((borne, strong)).tocsr(), -np.inf, 0),
        ],
        options={"mip_rel_gap": GAP},
    )
    assert found.fun is not None
    return float(found.fun)


@benchmark
def facility_s() -> Measured:
    """25 sites, 100 users, within 1 %; the peer is HiGHS with all rows of the strong form."""
    problem = drawn(4)
    ours, peer = solve(problem, 60.0, GAP).objective, directly(problem)
    assert ours is not None
    assert abs(ours - peer) <= GAP * max(ours, peer)
    return compared(
        "facility_s",
        quickest_s(lambda: solve(problem, 60.0, GAP), rounds=1),
        quickest_s(lambda: directly(problem), rounds=1),
        "at most 1.2 x HiGHS alone: ratio at least 0.83",
    )
