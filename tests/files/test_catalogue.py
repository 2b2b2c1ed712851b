"""The catalogue as shipped, a team's own folder over it, and what is refused."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from designer.files.catalogue import MOST_BYTES, TABLES, CatalogueRefused, load
from designer.model.catalog import Catalogue
from designer.model.catalog_rows import Entry
from designer.model.kinds import ENGINES, NODE_KINDS
from designer.model.resources import assets
from designer.model.silicon import Accelerator, LanguageModel, ServingConstants


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


def raw(table: str) -> list[dict[str, Any]]:
    rows = json.loads((assets() / "catalogue" / f"{table}.json").read_text("utf-8"))["rows"]
    assert isinstance(rows, list)
    return rows


def facts(folder: Path, name: str, key: str = "facts") -> dict[str, Any]:
    return {row["id"]: row for row in json.loads((folder / name).read_text("utf-8"))[key]}


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_source_a_trust_and_an_id_of_its_own(table: str) -> None:
    rows = raw(table)
    assert rows
    for row in rows:
        assert len(row["source"]) >= 3, row["id"]
        assert len(row["trust"]) >= 3, row["id"]
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", row["id"])
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids))
    assert ids == sorted(ids), "sorted, so that a change is one line of a diff"


def test_citations_are_short(catalogue: Catalogue) -> None:
    for table in TABLES:
        for row in getattr(catalogue, table).values():
            assert len(row.source) <= 300, row.id


def test_percentiles_rise_and_hold_the_median(catalogue: Catalogue) -> None:
    tables = [row.round_trip_ms for row in catalogue.access.values()]
    tables += [row.percentiles_ms for row in catalogue.service_times.values() if row.percentiles_ms]
    for table in tables:
        values = [value for _, value in table.points()]
        assert values == sorted(values)


def test_token_quantiles_rise(catalogue: Catalogue) -> None:
    for row in catalogue.workloads.values():
        for tokens in (row.prompt_tokens, row.output_tokens):
            levels = (tokens.p5, tokens.p25, tokens.p50, tokens.p75, tokens.p90, tokens.p95)
            known = [v for v in (*levels, tokens.p99, tokens.max) if v is not None]
            assert known == sorted(known), row.id
            assert tokens.mean is not None, row.id


def test_every_kind_of_node_has_defaults_with_a_source(catalogue: Catalogue) -> None:
    assert set(catalogue.defaults) == set(NODE_KINDS)
    for kind in NODE_KINDS:
        for default in (
            catalogue.default_forwarding_us(kind),
            catalogue.default_service_time(kind),
        ):
            assert default is None or default.provenance.source
            assert default is None or default.provenance.kind in ("catalogue", "guessed")


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("leaf", 0.25, 0.8), ("core_router", 5, 20), ("firewall", 20, 200), ("upf", 20, 200)],
)
def test_forwarding_is_that_of_the_model(
    catalogue: Catalogue, kind: str, low: float, high: float
) -> None:
    default = catalogue.default_forwarding_us(kind)
    assert default is not None
    assert (default.range.low, default.range.high) == (low, high)


@pytest.mark.parametrize(
    "kind",
    [
        "api_gateway", "ai_gateway", "model_router", "auth", "policy", "object_storage",
        "file_storage", "vector_store", "kv_store", "tool_service", "external_api",
    ],
)  # fmt: skip
def test_what_serves_requests_has_a_service_time(catalogue: Catalogue, kind: str) -> None:
    default = catalogue.default_service_time(kind)
    assert default is not None
    assert kind in default.row.kinds
    time = default.service_time
    assert time.percentiles_ms is not None or (time.mean_ms or 0) > 0


@pytest.mark.parametrize(
    ("medium", "us_per_km", "within"),
    [("smf", 4.9, 0.005), ("hollow_core", 3.35, 0.005), ("dac", 4.6, 0.01), ("leo", 3.34, 0.005)],
)
def test_media_have_the_delays_of_the_model(
    catalogue: Catalogue, medium: str, us_per_km: float, within: float
) -> None:
    assert catalogue.medium(medium).one_way_us_per_km() == pytest.approx(us_per_km, abs=within)


def test_error_bands_for_every_engine(catalogue: Catalogue) -> None:
    assert set(catalogue.error_bands) == set(ENGINES)
    assert catalogue.error_band("any").ttft.p95 == 3.79
    assert catalogue.error_band("vllm").itl.p5 == 0.75
    assert catalogue.error_band("sglang").ttft.p50 == 2.54


def test_accelerators_say_what_the_reference_says(
    catalogue: Catalogue, reference_dir: Path
) -> None:
    given = json.loads((reference_dir / "accelerators.json").read_text("utf-8"))["accelerators"]
    assert set(catalogue.accelerators) == set(given)
    for key, row in given.items():
        ours = catalogue.accelerators[key].row()
        for column, value in row.items():
            if column not in ("source", "note", "confidence", "flops"):
                assert ours[column] == value, (key, column)
        if "recalled" in row["confidence"]:
            assert "recalled" in ours["trust"]
        assert Accelerator.from_row(ours).memory_gb == row["mem_gb"]


def test_models_say_what_the_reference_says(catalogue: Catalogue, reference_dir: Path) -> None:
    given = json.loads((reference_dir / "models.json").read_text("utf-8"))
    assert set(catalogue.models) == set(given)
    for key, row in given.items():
        ours = catalogue.models[key].row()
        assert {c: ours[c] for c in row if c != "source"} == {
            c: v for c, v in row.items() if c != "source"
        }
        assert LanguageModel.from_row(ours).layers == row["layers"]


def test_constants_say_what_the_reference_says(catalogue: Catalogue, reference_dir: Path) -> None:
    given = json.loads((reference_dir / "constants.json").read_text("utf-8"))
    ours = catalogue.serving_constants().row()
    assert {key: ours[key] for key in given} == given
    assert ServingConstants.from_row(ours) == ServingConstants.from_row(given)


def test_allreduce_says_what_the_reference_says(catalogue: Catalogue, reference_dir: Path) -> None:
    with (reference_dir / "cases" / "allreduce_summary.csv").open(encoding="utf-8") as stream:
        given = list(csv.DictReader(stream))
    assert len(catalogue.allreduce) == len(given)
    ours = {(r.system, r.gpus, r.kernel, r.v): r for r in catalogue.allreduce.values()}
    for row in given:
        match = ours[row["system"], int(row["gpus"]), row["kernel"], row["v"]]
        assert match.fit_alpha_us == float(row["fit_alpha_us"])
        assert match.fit_bw_GBs == float(row["fit_bw_GBs"])


def test_access_says_what_the_reference_says(catalogue: Catalogue, reference_dir: Path) -> None:
    given = facts(reference_dir, "access.json")
    same = [row for row in catalogue.access.values() if row.id in given]
    assert len(same) > 30
    for row in same:
        table = given[row.id]["value"].get("rtt_ms", {})
        for level, value in row.round_trip_ms.model_dump(exclude_none=True).items():
            if level in table:
                assert value == table[level], (row.id, level)
        ends = given[row.id]["scope"]
        if "server" in ends or "backbone" in ends or "cloud" in ends or "edge" in ends:
            assert not row.may_be_added(), row.id


def test_stand_ins_for_access_are_marked_as_assumed(catalogue: Catalogue) -> None:
    for row_id in ("5g_midband", "5g_private", "5g_mmwave", "lte", "geo", "metro_ethernet_assumed"):
        row = catalogue.access_medium(row_id)
        assert row.may_be_added()
        assert row.provenance().kind == "guessed"


def test_spot_values_against_the_reference(catalogue: Catalogue, reference_dir: Path) -> None:
    times, loads = (
        facts(reference_dir, "service_times.json"),
        facts(reference_dir, "workloads.json"),
    )
    get = catalogue.service_time("s3_standard_get").percentiles_ms
    assert get is not None
    assert get.p99 == times["object_get_s3"]["value"]["s3_standard"]["p99"]
    upf = catalogue.service_time("upf_software").percentiles_ms
    assert upf is not None
    assert upf.p99 == pytest.approx(
        times["upf_open5gs_embb"]["value"]["light"]["p99"] / 1000  # µs there, ms here
    )
    chat = catalogue.workload("chat_azure_2023")
    assert chat.prompt_tokens.p95 == loads["azure_2023_conversation_prompt"]["value"]["p95"]
    assert chat.output_tokens.scv == loads["azure_2023_conversation_output"]["value"]["scv"]
    devices = facts(reference_dir, "devices.json", "devices")
    for row in catalogue.devices.values():
        assert row.buffer_mb == devices[row.id]["buffer_mb"]
        assert row.switching_tbps == devices[row.id]["switching_tbps"]
    prices = facts(reference_dir, "prices.json")
    h100 = catalogue.price("gpu_h100_neocloud_on_demand")
    assert {"low": h100.low, "typical": h100.typical, "high": h100.high} == prices[h100.id]["value"]


def test_no_carbon_figures_are_shipped(catalogue: Catalogue) -> None:
    assert not [row.id for row in catalogue.prices.values() if "CO2" in row.unit]


def put(folder: Path, table: str, *rows: dict[str, Any], **more: object) -> Path:
    (folder / f"{table}.json").write_text(json.dumps({"rows": rows, **more}), "utf-8")
    return folder


OWN = {"source": "our lab, 2026-11", "trust": "measured"}


def test_a_teams_row_takes_the_place_of_ours(catalogue: Catalogue, tmp_path: Path) -> None:
    smf = {"id": "smf", "us_per_km": 5.0, **OWN}
    put(tmp_path, "media", smf, {"id": "ours", "group_index": 1.5, **OWN}, about="Our fibres.")
    (tmp_path / "README.txt").write_text("not a table", "utf-8")
    laid = load(tmp_path)
    assert laid.medium("smf").one_way_us_per_km() == 5.0
    assert laid.medium("smf").attenuation_db_per_km is None, "a whole row, not a mixture"
    assert laid.medium("ours").provenance().source == "our lab, 2026-11 [measured]"
    assert laid.medium("dac") == catalogue.medium("dac")
    assert set(laid.media) == set(catalogue.media) | {"ours"}
    assert catalogue.medium("smf").group_index == 1.468, "the one read before is untouched"


def test_a_team_may_change_a_default(tmp_path: Path) -> None:
    put(tmp_path, "defaults", {"id": "leaf", "forwarding_us": {"typical": 1.1}, **OWN})
    default = load(tmp_path).default_forwarding_us("leaf")
    assert default is not None
    assert default.range.middle() == 1.1
    assert default.provenance.source.startswith("our lab")


def refusal(folder: Path) -> str:
    with pytest.raises(CatalogueRefused) as caught:
        load(folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "x", "group_index": 1.5, "trust": "measured"}, "[x].source: this column is missi"),
        ({"id": "x", "group_index": 1.5, **OWN, "colour": 1}, "[x].colour: this column is not kno"),
        ({"id": "x", "group_index": "1.5", **OWN}, "[x].group_index: "),
        ({"id": "x", "group_index": 0.9, **OWN}, "greater than or equal to 1, not 0.9; correct it"),
        ({"id": "x", **OWN}, "row [x]: give group_index or us_per_km"),
        ({"id": "a b", "group_index": 1.5, **OWN}, "[a b].id: "),
        ({"group_index": 1.5, **OWN}, "[0].id: this column is missing"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    sentence = refusal(put(tmp_path, "media", row))
    assert "media.json, row [" in sentence
    assert said in sentence


def test_two_rows_with_one_id_are_refused(tmp_path: Path) -> None:
    row = {"id": "x", "group_index": 1.5, **OWN}
    assert 'id "x" is used twice' in refusal(put(tmp_path, "media", row, row))


def test_a_row_that_names_no_row_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "optics", {"id": "o", "category": "optic", "fec": "rs545", **OWN})
    assert 'row [o].fec: there is no row "rs545"' in refusal(tmp_path)


def test_defaults_of_no_kind_are_refused(tmp_path: Path) -> None:
    assert "no such kind of node" in refusal(put(tmp_path, "defaults", {"id": "leef", **OWN}))


def test_a_table_of_unknown_name_is_refused(tmp_path: Path) -> None:
    assert "call it devices.json" in refusal(put(tmp_path, "device"))
    (tmp_path / "device.json").unlink()
    assert "take it out" in refusal(put(tmp_path, "zzz"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"{", "this is not JSON"),
        (b"[]", 'an object with a list "rows"'),
        (b'{"rows": {}}', 'an object with a list "rows"'),
        (b'{"rows": [], "row": 1}', "nothing else than"),
        (b'{"rows": [NaN]}', "NaN is no number"),
        (b'{"rows": [3]}', "row [0]"),
        (b"\xff\xfe{", "save it as UTF-8"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "media.json").write_bytes(data)
    assert said in refusal(tmp_path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "media.json").open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    assert "larger than 4 MiB" in refusal(tmp_path)


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "team"
    outside.mkdir()
    folder.mkdir()
    put(outside, "media", {"id": "x", "group_index": 1.5, **OWN})
    (folder / "media.json").symlink_to(outside / "media.json")
    assert "no file in the catalogue folder itself" in refusal(folder)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path / "nowhere")


def test_rows_are_frozen(catalogue: Catalogue) -> None:
    row: Entry = catalogue.medium("smf")
    with pytest.raises(ValueError, match="frozen"):
        row.name = "other"
