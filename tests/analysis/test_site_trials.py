"""What one replica bears at a candidate site, and how few simulations tell."""

from typing import Any

import pytest

from designer.analysis.pools import Pools
from designer.analysis.scale_up import CannotServe
from designer.analysis.site_trials import LOADS, Bearing, Runs, Trial, bearings, spots, trials
from designer.analysis.study import Study, network_study, with_services
from designer.model.services import Demand, ModelCall, Residency, Slo, Tokens
from tests.analysis.worked import catalogue, chat, deployment, gpus, link, site, small, table


def _study(limit_ms: float = 1e6, **fields: Any) -> Study:
    service = chat(
        rate=1.0,
        output_tokens=Tokens(mean=100.0),
        workflow=ModelCall(),
        slos=(Slo(metric="ttft", percentile=95.0, limit_ms=limit_ms),),
        **fields,
    )
    design = small(
        service,
        groups=table(site("a", 2.0), site("b", 3.0)),
        nodes=small().nodes.set("pool", gpus(group="a")).set("pool-b", gpus("pool-b", group="b")),
        links=small().links.set("leaf-pool-b", link("leaf", "pool-b")),
    )
    return with_services(network_study(design, catalogue()))


def _tried(study: Study) -> tuple[list[Trial], list[tuple[Bearing, ...]], Runs]:
    service = study.design.services["chat"]
    runs = Runs(Pools(study.design, study.catalogue, study.ledger), 7)
    made = list(trials(study, service.model or "", spots(study)))
    return made, [bearings(study, service, trial, runs) for trial in made], runs


def test_spots_are_gpus_in_candidate_sites() -> None:
    found = {spot.node: spot for spot in spots(_study())}
    assert set(found) == {"pool", "pool-b"}
    assert (found["pool"].usd_per_gpu_hour, found["pool"].most_gpus) == (2.0, 8)
    assert found["pool"].offered_gpus == 64


def test_without_an_offer_the_catalogue_has_a_price() -> None:
    study = _study()
    bare = site("a").replace(site={"candidate": True})
    design = study.design.model_copy(update={"groups": study.design.groups.set("a", bare)})
    found = spots(network_study(design, catalogue()))
    cheapest = min(
        row.typical
        for key, row in catalogue().prices.items()
        if key.startswith("gpu_h100_") and key.endswith("on_demand") and row.typical
    )
    assert next(spot for spot in found if spot.node == "pool").usd_per_gpu_hour == cheapest


def test_a_generous_limit_bears_the_busiest_load() -> None:
    (trial, *_), ((bearing,), *_), runs = _tried(_study())
    asks_full = next(iter(runs._full.values()))
    assert trial.replica is not None
    assert bearing.outcome == "chosen"
    assert bearing.per_s == pytest.approx(LOADS[0] * asks_full)


def test_tighter_limits_bear_less() -> None:
    borne = [_tried(_study(limit_ms))[1][0][0].per_s for limit_ms in (1e6, 260.0, 130.0, 1.0)]
    assert borne == sorted(borne, reverse=True)
    assert borne[0] > borne[-1] == 0.0


def test_alike_sites_are_simulated_once() -> None:
    _, found, runs = _tried(_study())
    assert found[0] == found[1]
    assert len(runs._full) == 1
    assert len(runs._answers) == 1


def test_demands_have_their_own_bearings_in_order() -> None:
    demands = (Demand(users="users", requests_per_s=1.0), Demand(users="fw", requests_per_s=1.0))
    _, found, _ = _tried(_study(limit_ms=1.0, demands=demands))
    first, second = found[0]
    assert first.by is not None
    assert second.by is not None
    # The second population stands at the firewall, behind 12 ms of access and 80 km of fibre.
    nearer_ms = 12.0 + 2 * (80 * 1.468 / 299.792458 + 0.06) + 4 * 1500 * 8 / 1e7
    transfer = first.by - second.by
    assert transfer == pytest.approx(nearer_ms, abs=0.2)


def test_residency_comes_first() -> None:
    _, found, _ = _tried(_study(residency=Residency(jurisdictions=("FR",))))
    assert {bearing.outcome for each in found for bearing in each} == {"out_of_region"}


def test_more_ways_where_one_gpu_is_too_small() -> None:
    """70 billion parameters in bf16 are 141 GB; of one GPU 0.9 × 85.9 - 4 = 73 GB are free."""
    study = _study(model="Llama-3.1-70B")
    made = list(trials(study, "Llama-3.1-70B", spots(study)))
    assert {trial.replica.tensor_parallel for trial in made if trial.replica} == {2}


def test_unknown_tokens_are_unknown() -> None:
    study = _study(prompt_tokens=Tokens())
    _, found, _ = _tried(study)
    assert {bearing.outcome for each in found for bearing in each} == {"unknown"}


def test_pools_refuse_in_sentences() -> None:
    study = _study()
    with pytest.raises(CannotServe, match="nobody"):
        Pools(study.design, catalogue(), study.ledger).replica_on(
            "nobody", "Llama-3.1-8B", deployment(), 8, None
        )
