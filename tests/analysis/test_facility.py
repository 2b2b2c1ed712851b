"""The placement solver against enumeration, and what it says where there is no placement."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from designer.analysis.facility import FacilityProblem, plain_problem, reasons, solve
from designer.analysis.highs import Programme, silent_stdout


def random_problem(seed: int, sites: int, users: int, kinds: int) -> FacilityProblem:
    rng = np.random.default_rng(seed)
    return FacilityProblem(
        fixed_cost=rng.integers(10, 60, sites).astype(float),
        replica_cost=rng.integers(5, 40, (sites, kinds)).astype(float),
        capacity=rng.integers(4, 14, (sites, users, kinds)).astype(float),
        demand=rng.integers(1, 9, users).astype(float),
        serving_cost=rng.integers(0, 50, (sites, users)).astype(float),
        allowed=rng.random((sites, users, kinds)) < 0.8,
        most_replicas=rng.integers(1, 3, (sites, kinds)).astype(float),
        replica_gpus=rng.integers(1, 4, kinds).astype(float),
        gpu_kind=(np.arange(kinds) % 2).astype(np.intp),
        most_gpus=rng.integers(2, 7, (sites, 2)).astype(float),
        replica_kw=rng.integers(1, 4, (sites, kinds)).astype(float),
        most_kw=rng.integers(4, 9, sites).astype(float),
    )


def with_links(problem: FacilityProblem, seed: int) -> FacilityProblem:
    rng = np.random.default_rng(seed)
    load = rng.integers(0, 3, (2, problem.sites * problem.users)).astype(float)
    return replace(problem, link_load=csr_array(load), link_capacity=np.full(2, 9.0))


def shares_lp(
    problem: FacilityProblem, replicas: np.ndarray, lost: int | None
) -> tuple[np.ndarray, Any]:
    """Dense rows of the share problem at fixed replicas: (cost, constraints of linprog)."""
    shape = problem.capacity.shape
    able = problem.allowed & (problem.capacity > 0) & (replicas[:, None, :] > 0)
    if lost is not None:
        able = able.copy()
        able[lost] = False
    cost = np.broadcast_to(problem.serving_cost[:, :, None], shape).ravel()
    serve = np.zeros((shape[1], *shape))
    bear = np.zeros((shape[0], shape[2], *shape))
    for s, u, c in np.ndindex(*shape):
        serve[u, s, u, c] = 1
        if able[s, u, c]:
            bear[s, c, s, u, c] = problem.demand[u] / problem.capacity[s, u, c]
    rows = [bear.reshape(shape[0] * shape[2], -1)]
    limits = [replicas.ravel().astype(float)]
    if problem.link_load is not None:
        load = problem.link_load.toarray().reshape(-1, shape[0], shape[1]) * problem.demand
        wide = np.broadcast_to(load[:, :, :, None], (len(load), *shape))
        rows.append(wide.reshape(len(load), -1))
        limits.append(problem.link_capacity)
    return cost, {
        "A_ub": np.vstack(rows),
        "b_ub": np.concatenate(limits),
        "A_eq": serve.reshape(shape[1], -1),
        "b_eq": np.ones(shape[1]),
        "bounds": [(0, 1 if ok else 0) for ok in able.ravel()],
    }


def cheapest_shares(
    problem: FacilityProblem, replicas: np.ndarray, lost: int | None = None
) -> float | None:
    cost, rows = shares_lp(problem, replicas, lost)
    if problem.sourcing == "split" or lost is not None:
        found = linprog(cost, **rows)
        return float(found.fun) if found.status == 0 else None
    best = None
    shape = problem.capacity.shape
    for homes in itertools.product(range(problem.sites), repeat=problem.users):
        chosen = np.zeros(shape, dtype=bool)
        for user, site in enumerate(homes):
            chosen[site, user] = True
        pairs = zip(rows["bounds"], chosen.ravel(), strict=True)
        bounds = [(0, high if ok else 0) for (_, high), ok in pairs]
        found = linprog(cost, **(rows | {"bounds": bounds}))
        if found.status == 0 and (best is None or found.fun < best):
            best = float(found.fun)
    return best


def fits(problem: FacilityProblem, replicas: np.ndarray) -> bool:
    opened = {int(s) for s in np.flatnonzero(replicas.sum(axis=1))}
    if opened & problem.forbidden or not problem.forced <= opened:
        return False
    if problem.most_sites is not None and len(opened) > problem.most_sites:
        return False
    if ((problem.replica_kw * replicas).sum(axis=1) > problem.most_kw).any():
        return False
    for kind in range(problem.most_gpus.shape[1]):
        taken = replicas @ np.where(problem.gpu_kind == kind, problem.replica_gpus, 0)
        if (taken > problem.most_gpus[:, kind]).any():
            return False
    return True


def survives(problem: FacilityProblem, replicas: np.ndarray) -> bool:
    if not problem.survive_any_single_site:
        return True
    able = np.asarray((problem.allowed & (problem.capacity > 0)).any(axis=2))
    opened = np.flatnonzero(replicas.sum(axis=1))
    if (able[opened].sum(axis=0) < 2).any():
        return False
    return all(cheapest_shares(problem, replicas, int(lost)) is not None for lost in opened)


def enumerated(problem: FacilityProblem) -> float | None:
    """Least cost over every choice of replicas, each with its cheapest shares."""
    best: float | None = None
    ranges = [range(int(most) + 1) for most in problem.most_replicas.ravel()]
    choices = []
    for numbers in itertools.product(*ranges):
        replicas = np.array(numbers).reshape(problem.most_replicas.shape)
        if fits(problem, replicas):
            opened = replicas.sum(axis=1) > 0
            own = problem.fixed_cost @ opened + (problem.replica_cost * replicas).sum()
            choices.append((float(own), numbers, replicas))
    for own, _, replicas in sorted(choices, key=lambda each: each[:2]):
        if best is not None and own >= best:
            break
        least = cheapest_shares(problem, replicas)
        if least is None or (best is not None and own + least >= best):
            continue
        if survives(problem, replicas):
            best = own + least
    return best


def assert_same(problem: FacilityProblem) -> None:
    best = enumerated(problem)
    plan = solve(problem)
    if best is None:
        assert plan.status == "infeasible"
        assert plan.conflict
        return
    assert plan.status == "optimal"
    assert plan.objective == pytest.approx(best, rel=1e-6)
    assert plan.proven_gap == pytest.approx(0, abs=1e-6)
    assert fits(problem, plan.replicas)
    assert survives(problem, plan.replicas)
    assert plan.share.sum(axis=0) == pytest.approx(np.ones(problem.users))
    assert set(np.flatnonzero(plan.share.sum(axis=1))) <= set(plan.open_sites)
    assert plan.share_by_configuration.sum(axis=2) == pytest.approx(plan.share)
    busy = np.divide(
        plan.share_by_configuration * problem.demand[None, :, None],
        problem.capacity,
        out=np.zeros_like(problem.capacity),
        where=problem.capacity > 0,
    )
    assert (busy.sum(axis=1) <= plan.replicas + 1e-6).all()


@pytest.mark.parametrize("seed", range(6))
def test_configurations_and_site_limits_equal_enumeration(seed: int) -> None:
    assert_same(random_problem(seed, 3, 4, 2))


@pytest.mark.parametrize("seed", range(4))
def test_link_rows_equal_enumeration(seed: int) -> None:
    assert_same(with_links(random_problem(seed + 50, 3, 4, 2), seed))


@pytest.mark.parametrize("seed", range(5))
def test_survival_of_any_site_equals_enumeration(seed: int) -> None:
    problem = replace(random_problem(seed + 100, 3, 3, 2), survive_any_single_site=True)
    assert_same(problem)
    assert_same(with_links(problem, seed))


@pytest.mark.parametrize("seed", range(3))
def test_one_site_for_each_user_equals_enumeration(seed: int) -> None:
    problem = random_problem(seed + 200, 3, 3, 2)
    assert_same(replace(problem, sourcing="single"))


@pytest.mark.parametrize("seed", range(8))
def test_plain_location_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed + 300)
    problem = plain_problem(
        rng.integers(5, 50, 5),
        rng.integers(5, 30, 5),
        rng.integers(1, 8, 5),
        rng.integers(0, 40, (5, 5)),
        rng.random((5, 5)) < 0.8,
    )
    assert_same(replace(problem, survive_any_single_site=seed % 2 == 0))
    assert_same(replace(problem, forced=frozenset({1}), forbidden=frozenset({2}), most_sites=4))


def two_sites(**changes: Any) -> FacilityProblem:
    problem = plain_problem([1, 1], [10, 10], [5, 6], [[1, 1], [1, 1]], np.ones((2, 2)))
    return replace(problem, **changes)


def test_a_user_without_an_allowed_site_is_named() -> None:
    allowed = np.array([[[True], [False]], [[True], [False]]])
    plan = solve(two_sites(allowed=allowed))
    assert plan.status == "infeasible"
    assert [(each.kind, each.users) for each in plan.conflict] == [("no_allowed_site", (1,))]
    assert plan.conflict[0].message == "User 1 has no allowed site."


def test_missing_capacity_is_a_set_of_users_with_its_sites() -> None:
    allowed = np.array([[[True], [True]], [[False], [True]]])
    plan = solve(two_sites(allowed=allowed, demand=np.array([12.0, 3.0])))
    (conflict,) = plan.conflict
    assert conflict.kind == "capacity"
    assert conflict.users == (0,)
    assert conflict.sites == (0,)
    assert conflict.asked_per_s == pytest.approx(12)
    assert conflict.borne_per_s == pytest.approx(10)


def test_what_a_loss_leaves_unserved_is_named_by_the_loss() -> None:
    plan = solve(two_sites(survive_any_single_site=True))
    assert [each.lost_site for each in plan.conflict] == [0, 1]
    assert all(each.users == (0, 1) for each in plan.conflict)
    assert plan.conflict[0].borne_per_s == pytest.approx(10)
    allowed = np.array([[[True], [True]], [[True], [False]]])
    alone = solve(two_sites(survive_any_single_site=True, allowed=allowed))
    assert [(each.kind, each.users, each.lost_site) for each in alone.conflict] == [
        ("one_site_only", (1,), 0)
    ]


def test_other_conflicts_have_their_own_words() -> None:
    single = solve(two_sites(demand=np.array([9.0, 11.0]), sourcing="single"))
    assert [each.kind for each in single.conflict] == ["whole_replicas"]
    forced = solve(two_sites(forced=frozenset({0}), forbidden=frozenset({0})))
    assert [(each.kind, each.sites) for each in forced.conflict] == [("forced_site", (0,))]
    many = solve(two_sites(forced=frozenset({0, 1}), most_sites=1))
    assert [each.kind for each in many.conflict] == ["forced_site"]
    roomless = solve(two_sites(most_kw=np.zeros(2), replica_kw=np.ones((2, 1))))
    assert {each.kind for each in roomless.conflict} == {"no_room"}
    full = solve(two_sites(link_load=csr_array(np.ones((1, 4))), link_capacity=np.array([8.0])))
    assert [(each.kind, each.links) for each in full.conflict] == [("capacity", (0,))]
    assert full.conflict[0].borne_per_s == pytest.approx(8)


def test_reasons_are_the_cost_of_forcing_the_site() -> None:
    problem = plain_problem(
        [10, 14, 50, 1, 1], [20, 20, 20, 20, 0], [5, 6], np.zeros((5, 2)), np.ones((5, 2))
    )
    allowed = problem.allowed.copy()
    allowed[3] = False
    problem = replace(problem, allowed=allowed)
    plan = solve(problem)
    assert plan.open_sites == (0,)
    told = reasons(problem, plan)
    assert [(each.site, each.outcome) for each in told] == [
        (1, "dearer"),
        (2, "dearer"),
        (3, "not_allowed"),
        (4, "no_capacity"),
    ]
    assert told[0].dearer_by == pytest.approx(4)
    assert told[1].dearer_by == pytest.approx(40)
    assert told[0].is_proven
    assert reasons(problem, plan, sites=(1,), time_limit_s=0.0)[0].outcome == "unknown"


def test_a_site_that_cannot_join_does_not_fit() -> None:
    problem = two_sites(demand=np.array([5.0, 4.0]), most_sites=1, fixed_cost=np.array([1.0, 2.0]))
    plan = solve(replace(problem, forced=frozenset({0})))
    (told,) = reasons(replace(problem, forced=frozenset({0})), plan)
    assert told.outcome == "does_not_fit"
    assert told.conflict


def test_no_time_is_no_plan() -> None:
    plan = solve(random_problem(1, 3, 4, 2), time_limit_s=0.0)
    assert plan.status == "unknown"
    assert not plan.has_plan


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("demand", np.array([1.0, -1.0]), "demand"),
        ("demand", np.array([1.0, np.nan]), "demand"),
        ("demand", np.array([1.0, np.inf]), "demand"),
        ("capacity", np.ones((2, 2)), "capacity"),
        ("most_gpus", np.ones(2), "most_gpus"),
        ("link_capacity", np.ones(1), "link_load"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(field: str, value: np.ndarray, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        two_sites(**{field: value})


def test_the_callers_arrays_stay_theirs() -> None:
    demand = np.array([5.0, 6.0])
    problem = two_sites(demand=demand)
    demand[0] = 7.0
    assert problem.demand[0] == 5.0
    with pytest.raises(ValueError, match="read-only"):
        problem.demand[0] = 1.0


def test_the_solver_writes_nothing_on_stdout() -> None:
    code = (
        "from designer.analysis.highs import Programme\n"
        "p = Programme([1.0], [0.5], [2.0]); p.run(1.0); print(p.objective())"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert answer.stdout == "0.5\n"


def test_a_process_without_stdout_solves_as_well() -> None:
    code = (
        "import os, sys\nos.close(1); sys.stdout = None\n"
        "from designer.analysis.highs import Programme\n"
        "p = Programme([1.0], [0.5], [2.0]); p.run(1.0)\n"
        "sys.stderr.write(f'value {p.objective()}')"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert answer.stderr.endswith("value 0.5")


def test_descriptor_1_comes_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        os.write(1, b"aside")
        raise KeyError

    with pytest.raises(KeyError), silent_stdout():
        fail()
    os.write(1, b"main")
    captured = capfd.readouterr()
    assert captured.out == "main"
    assert captured.err == ""


def test_entries_of_one_place_add_up() -> None:
    programme = Programme([1.0], [0.0], [np.inf])
    programme.add_rows([0, 0], [0, 0], [1.0, 1.0], 3.0, np.inf)
    assert programme.run(1.0) == "optimal"
    assert programme.values() == pytest.approx([1.5])
