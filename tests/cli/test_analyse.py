"""analyse: status, every key of --json, sums of the budget, and the tables people read."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from designer import api
from designer.analysis.results import Finding, Results, ServiceResult, SloResult
from designer.cli import common, tables
from designer.cli.analyse import status_of

TOP = {
    "program", "format", "file", "content", "settings", "services", "links", "flows",
    "oversubscription", "placement", "scenarios", "findings", "assumptions",
}  # fmt: skip
ROWS = {
    "services": {
        "id", "name", "slo", "ttft_ms", "itl_ms", "task_ms", "budget", "scorecard", "sensitivity",
    },
    "links": {
        "id", "from", "to", "capacity_gbps", "load_gbps", "utilisation", "oversubscription",
    },
    "flows": {
        "id", "service", "class", "from", "to", "path", "port_gbps", "after_overhead_gbps",
        "after_balancing_gbps", "effective_gbps", "bottleneck",
    },
    "findings": {"rule", "severity", "elements", "message", "remedy"},
    "assumptions": {"element", "field", "value", "kind", "source"},
}  # fmt: skip
VERDICTS = {"meets", "likely", "open", "unlikely", "breaks", "cannot_be_served", "unknown"}


def test_json_has_every_key_and_fits_its_schema(analysed: Any, run: Callable[..., Any]) -> None:
    document = analysed.json
    assert document.keys() >= TOP
    assert document["program"] == "promptpath"
    assert document["settings"].keys() >= {"percentiles", "class_model", "seed", "year", "scenario"}
    for part, keys in ROWS.items():
        assert all(row.keys() >= keys for row in document[part]), part
    for service in document["services"]:
        assert {row["verdict"] for row in service["slo"]} <= VERDICTS
        assert all(
            row.keys() >= {"verdict", "probability", "headroom_ms"} for row in service["slo"]
        )
        for figure in ("ttft_ms", "itl_ms", "task_ms"):
            assert service[figure].keys() >= {"p50", "p95", "p99", "mean", "at_least"}
    schema = run("schema", "results").json
    jsonschema.Draft202012Validator(schema).validate(document)


def test_links_have_one_row_a_direction(analysed: Any, sample: Path) -> None:
    drawn = {link["id"] for link in json.loads(sample.read_text())["design"]["links"]}
    rows = [(row["id"], row["direction"]) for row in analysed.json["links"]]
    assert sorted(rows) == sorted((key, way) for key in drawn for way in ("a_to_b", "b_to_a"))


def test_budget_columns_add_up_to_the_figure(sample_results: Results) -> None:
    for service in sample_results.services:
        for rows, figure in (
            (service.budget, service.ttft_ms),
            (service.task_budget, service.task_ms),
        ):
            for level in ("p50", "p95", "p99"):
                column = [getattr(row, f"{level}_ms") for row in rows]
                assert None not in column
                assert sum(column) == pytest.approx(getattr(figure, level), rel=1e-6)


def test_status_follows_errors_and_verdicts(analysed: Any, sample_results: Results) -> None:
    errors = any(f.severity == "error" and f.excluded is None for f in sample_results.findings)
    bad = {"unlikely", "breaks", "cannot_be_served"}
    broken = any(slo.verdict in bad for each in sample_results.services for slo in each.slo)
    assert analysed.status == (1 if errors or broken else 0)


@pytest.mark.parametrize(
    ("verdict", "severity", "excluded", "status"),
    [
        ("meets", "warning", None, 0),
        ("open", "info", None, 0),
        ("unknown", "warning", None, 0),
        ("unlikely", "info", None, 1),
        ("breaks", "info", None, 1),
        ("cannot_be_served", "info", None, 1),
        ("meets", "error", None, 1),
        ("meets", "error", "accepted by A. Owner", 0),
    ],
)
def test_status_of_made_up_results(
    sample_results: Results, verdict: Any, severity: Any, excluded: str | None, status: int
) -> None:
    slo = SloResult(
        metric="ttft", percentile=95, limit_ms=1, whose="worst_site", value_ms=None,
        verdict=verdict, probability=None, headroom_ms=None,
    )  # fmt: skip
    finding = Finding(
        rule="r", severity=severity, elements=(), message="m", remedy="r", excluded=excluded
    )
    service: ServiceResult = sample_results.services[0].model_copy(update={"slo": (slo,)})
    results = sample_results.model_copy(update={"services": (service,), "findings": (finding,)})
    assert status_of(results) == status


@pytest.mark.parametrize("width", [100, 140])
def test_tables_stay_within_their_width_and_use_names(
    sample: Path, sample_results: Results, width: int
) -> None:
    topology = api.open_design(sample)
    text = shown(topology, sample_results, width)
    assert max(map(len, text.splitlines())) <= width
    design = topology.design
    named = [*design.nodes.values(), *design.groups.values(), *design.services.values()]
    words = set(text.replace(",", " ").replace(":", " ").split())
    assert not {item.id for item in named if "-" in item.id and item.id != item.name} & words
    for chapter in ("Services", "Link load", "What flows get", "Oversubscription", "Placement",
                    "Findings", "Assumptions"):  # fmt: skip
        assert f"\n{chapter}" in text
    for service in sample_results.services:
        assert service.name in text


def test_printed_tiers_add_up_to_the_printed_figure(sample: Path, sample_results: Results) -> None:
    text = shown(api.open_design(sample), sample_results, 140)
    blocks = text.split(": by tier\n")[1:]
    assert len(blocks) == len(sample_results.services)
    for block, service in zip(blocks, sample_results.services, strict=True):
        lines = block.split(": largest segments")[0].splitlines()
        figures = [
            float(line.split()[-3].replace(",", "")) for line in lines if line[-1:].isdigit()
        ]
        *tiers, total = figures
        assert total == pytest.approx(service.ttft_ms.p95, abs=0.0051)
        # every printed tier is off by half of its last digit at most
        assert sum(tiers) == pytest.approx(total, abs=0.005 * len(figures) + 0.5 * (total > 1e4))


def shown(topology: Any, results: Results, width: int) -> str:
    """The tables without colours, at a width."""
    console = Console(width=width, highlight=False, no_color=True, record=True, quiet=False)
    with console.capture() as captured:
        tables.show(console, topology, results)
    return captured.get()


def test_what_is_not_known_says_so(sample: Path, sample_results: Results) -> None:
    first = sample_results.services[0]
    blank = first.model_copy(
        update={
            "ttft_ms": type(first.ttft_ms)(p50=None, p95=None, p99=None, mean=None),
            "budget": tuple(row.model_copy(update={"p95_ms": None}) for row in first.budget[:1]),
        }
    )
    links = tuple(
        link.model_copy(update={"capacity_gbps": None, "utilisation": None})
        for link in sample_results.links
    )
    results = sample_results.model_copy(update={"services": (blank,), "links": links})
    text = shown(api.open_design(sample), results, 140)
    assert f"The share of {len(links)} is unknown" in text
    times = next(
        part for part in text.split("Times at the worst")[1].splitlines() if first.name in part
    )
    assert times.count("unknown") == 3


def test_options_choose_service_scenario_and_year(small: Path, run: Callable[..., Any]) -> None:
    one = run("analyse", small, "--json", "--service", "chat", "--year", "2028").json
    assert [service["id"] for service in one["services"]] == ["chat"]
    assert one["settings"]["year"] == 2028
    stressed = run("analyse", small, "--json", "--scenario", "slow").json
    assert stressed["settings"]["scenario"] == "slow"
    assert {row["capacity_gbps"] for row in stressed["links"] if row["id"] == "up"} == {10}
    assert stressed["content"] == one["content"] == run("analyse", small, "--json").json["content"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--service", "chot"], 'there is no service "chot"; use one of chat.'),
        (["--scenario", "slaw"], 'there is no scenario "slaw"; use one of slow.'),
        (["--year", "1999"], "year 1999 is before the base year 2026"),
    ],
)
def test_unknown_choices_are_refused(
    small: Path, run: Callable[..., Any], words: list[str], said: str
) -> None:
    ran = run("analyse", small, *words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("small.promptpath: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(("silent_s", "lines"), [(-1.0, 4), (1e9, 0)])
def test_stages_are_told_where_it_takes_long(
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[..., Any],
    silent_s: float,
    lines: int,
) -> None:
    monkeypatch.setattr(common, "SILENT_S", silent_s)
    told = run("analyse", small, "--json").err.splitlines()
    assert len(told) == lines
    assert all(line.startswith("small.promptpath: ") for line in told)


def test_flows_that_lose_more_come_first(sample: Path, sample_results: Results) -> None:
    text = shown(api.open_design(sample), sample_results, 140)
    part = text.split("Paced traffic")[1].split("\n\n")[0]
    lost = [float(found) for found in re.findall(r"\d +(\d+\.\d) {2}[^\d\s]", part)]
    assert len(lost) >= 5
    assert lost == sorted(lost, reverse=True)


def test_as_a_process_json_alone_is_on_standard_output(small: Path, checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "designer", "analyse", str(small), "--json"],
        capture_output=True, text=True, cwd=checkout, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["file"] == "small.promptpath"
    assert done.stdout.startswith("{")
    assert all(line.startswith("small.promptpath: ") for line in done.stderr.splitlines())
