"""Rows of the catalogue and what the defaults say, on rows made by hand."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from designer.model.base import Percentiles
from designer.model.catalog import Catalogue, Unknown
from designer.model.catalog_rows import (
    AccessMedium,
    Device,
    Entry,
    KindDefaults,
    Medium,
    Range,
    ServiceTimeRow,
    is_guess,
)

FROM: dict[str, Any] = {"source": "a paper of 2024", "trust": "measured"}


def a_time(**columns: object) -> ServiceTimeRow:
    return ServiceTimeRow.model_validate({"id": "t", "kinds": ["auth"], **FROM, **columns})


def test_group_index_gives_the_delay_of_light_in_fibre() -> None:
    fibre = Medium(id="f", group_index=1.468, **FROM)
    # c = 299 792.458 km/s exactly, so 1 km at index 1 takes 3.33564095 us
    assert fibre.one_way_us_per_km() == pytest.approx(1.468 * 3.33564095198, rel=1e-9)


def test_a_stated_delay_goes_before_the_index() -> None:
    medium = Medium(id="h", group_index=1.0, us_per_km=3.35, **FROM)
    assert medium.one_way_us_per_km() == 3.35


def test_a_medium_without_delay_is_refused() -> None:
    with pytest.raises(ValidationError, match="give group_index or us_per_km"):
        Medium(id="m", **FROM)


@pytest.mark.parametrize("missing", ["source", "trust"])
def test_a_row_without_source_or_trust_is_refused(missing: str) -> None:
    columns = {key: text for key, text in FROM.items() if key != missing}
    with pytest.raises(ValidationError, match=missing):
        Entry.model_validate({"id": "x", **columns})


@pytest.mark.parametrize(
    ("trust", "guess"),
    [
        ("measured", False),
        ("vendor claim", False),
        ("engineering assumption", True),
        ("partly recalled: check before relying on it", True),
        ("guessed", True),
        ("secondary; typical assumed", True),
    ],
)
def test_recalled_and_assumed_rows_stay_marked(trust: str, guess: bool) -> None:
    assert is_guess(trust) is guess
    made = Entry(id="x", source="somebody", trust=trust).provenance()
    assert made.kind == ("guessed" if guess else "catalogue")
    assert "somebody" in made.source
    assert trust in made.source


def test_range_rises_and_has_a_middle() -> None:
    assert Range(low=2.0, high=15.0).middle() == 8.5
    assert Range(low=2.0, typical=3.0, high=15.0).middle() == 3.0
    with pytest.raises(ValidationError, match="must rise"):
        Range(low=3.0, typical=2.0)
    with pytest.raises(ValidationError, match="at least one"):
        Range()


def test_percentiles_go_into_the_design_as_they_are() -> None:
    table = Percentiles(p50=2.6, p95=3.1, p99=3.4)
    time = a_time(percentiles_ms=table)
    assert time.service_time().percentiles_ms == table
    assert time.service_time().catalogue == "t"
    assert not time.shape_is_guessed()


def test_a_mean_alone_is_exponential_and_says_that_it_is_a_guess() -> None:
    time = a_time(percentiles_ms={"mean": 4.0})
    assert (time.service_time().mean_ms, time.service_time().scv) == (4.0, 1.0)
    assert time.shape_is_guessed()


def test_a_range_has_the_variance_of_a_uniform_time() -> None:
    made = a_time(range_ms={"low": 2.0, "high": 15.0}).service_time()
    # uniform on [2, 15]: mean 17/2, variance 169/12
    assert made.mean_ms == 8.5
    assert made.scv == pytest.approx((169 / 12) / 8.5**2)


def test_a_time_says_exactly_one_thing() -> None:
    with pytest.raises(ValidationError, match="either percentiles_ms"):
        a_time()
    with pytest.raises(ValidationError, match="either percentiles_ms"):
        a_time(percentiles_ms={"p50": 1.0}, range_ms={"low": 1.0})
    with pytest.raises(ValidationError, match="either percentiles_ms"):
        a_time(percentiles_ms={})


def access(row_id: str, scope: str) -> AccessMedium:
    return AccessMedium.model_validate(
        {"id": row_id, "medium": "m", "scope": scope, "ends_at": "there", **FROM}
        | {"round_trip_ms": {"p50": 3.0, "p95": 9.0}}
    )


def test_only_access_rows_may_stand_before_a_drawn_path() -> None:
    rows = [access("b", "access"), access("s", "near_server"), access("e", "end_to_end")]
    catalogue = Catalogue.model_validate({"access": [*rows, access("a", "access")]})
    assert [row.id for row in catalogue.access_to_draw()] == ["a", "b"]


def test_an_unknown_id_names_those_that_look_like_it() -> None:
    catalogue = Catalogue.model_validate({"media": [Medium(id="smf", group_index=1.468, **FROM)]})
    assert catalogue.media.get("smg") is None
    with pytest.raises(Unknown, match=r'no medium "smg"; did you mean smf\?') as caught:
        catalogue.medium("smg")
    assert caught.value.near == ("smf",)
    with pytest.raises(Unknown, match="see the catalogue"):
        catalogue.medium("zzzzzz")


def test_devices_of_the_kind_come_first() -> None:
    spine = Device(id="a", kind="spine", also=("leaf",), **FROM)
    leaf = Device(id="b", kind="leaf", **FROM)
    other = Device(id="c", kind="firewall", **FROM)
    catalogue = Catalogue.model_validate({"devices": [spine, leaf, other]})
    assert [row.id for row in catalogue.devices_for("leaf")] == ["b", "a"]
    assert catalogue.devices_for("upf") == ()


def test_a_default_shows_what_it_rests_on() -> None:
    catalogue = Catalogue.model_validate(
        {
            "service_times": [a_time(percentiles_ms={"mean": 4.0})],
            "defaults": [
                KindDefaults(
                    id="auth", service_time="t", source="by definition", trust="definition"
                ),
                KindDefaults(
                    id="leaf",
                    forwarding_us=Range(low=0.25, typical=0.5, high=0.8),
                    source="several vendors",
                    trust="vendor claim",
                ),
            ],
        }
    )
    forwarding = catalogue.default_forwarding_us("leaf")
    assert forwarding is not None
    assert forwarding.range.middle() == 0.5
    assert (forwarding.provenance.kind, forwarding.provenance.source) == (
        "catalogue",
        "several vendors [vendor claim]",
    )
    served = catalogue.default_service_time("auth")
    assert served is not None
    assert served.service_time.mean_ms == 4.0
    assert served.provenance.kind == "guessed", "a mean alone has a guessed shape"
    assert "a paper of 2024" in served.provenance.source
    assert catalogue.default_forwarding_us("auth") is None
    assert catalogue.default_service_time("leaf") is None
    assert catalogue.default_service_time("no such kind") is None


def test_rows_of_the_gpu_tier_give_a_plain_mapping() -> None:
    row = {"id": "a.2.nccl", "system": "a", "gpus": 2, "kernel": "nccl", "n": 21, "v": "1", **FROM}
    row |= {"max_bytes": 1e9, "min_latency_us": 9.98, "t_at_64KiB_us": 13.0, "t_at_1MiB_us": 40.8}
    row |= {"busbw_at_max_GBs": 193.0, "fit_alpha_us": 11.7, "fit_bw_GBs": 161.2}
    catalogue = Catalogue.model_validate({"allreduce": [row]})
    plain = catalogue.allreduce["a.2.nccl"].row()
    assert plain["gpus"] == 2
    assert plain["confidence"] == "measured"
    assert math.isclose(plain["fit_bw_GBs"], 161.2)


def test_a_beginning_finds_what_starts_with_it() -> None:
    rows = [Medium(id=name, group_index=1.0, **FROM) for name in ("h100_sxm", "h100_nvl", "h800")]
    catalogue = Catalogue.model_validate({"media": rows})
    with pytest.raises(Unknown) as caught:
        catalogue.medium("h100")
    assert caught.value.near[:2] == ("h100_nvl", "h100_sxm")
