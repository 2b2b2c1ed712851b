"""What the tests of the command line share: running a command in process, designs, and results."""

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from designer.analysis.results import Results
from designer.cli.app import main

SAMPLES = ("agent-platform-two-regions", "ai-factory", "metro-inference")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON value and nothing beside it."""
        return json.loads(self.out)


def run(*words: str | Path) -> Ran:
    """Runs a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    return Ran(status, out.getvalue(), err.getvalue())


@pytest.fixture(name="run", scope="session")
def run_command() -> Callable[..., Ran]:
    """Runs a command in this process and answers status, output and remarks."""
    return run


@pytest.fixture(scope="session")
def samples(checkout: Path) -> Path:
    """The folder of the samples."""
    return checkout / "sample_topologies"


@pytest.fixture(scope="session", params=SAMPLES)
def sample(request: pytest.FixtureRequest, samples: Path) -> Path:
    """Each sample in turn."""
    return samples / f"{request.param}.promptpath"


@pytest.fixture(scope="session")
def analysed(sample: Path) -> Ran:
    """`analyse --json` of each sample, run once a session."""
    return run("analyse", sample, "--json")


@pytest.fixture(scope="session")
def sample_results(analysed: Ran) -> Results:
    """The results of each sample."""
    return Results.model_validate(analysed.json)


def small_design() -> dict[str, Any]:
    """Users, a router, and one GPU server with one service; a scenario; a base year."""
    tokens = {"mean": 200, "scv": 0.5}
    return {
        "format": "promptpath",
        "version": 1,
        "minor": 0,
        "design": {
            "title_block": {"title": "Small"},
            "settings": {"base_year": 2026},
            "groups": [
                {
                    "id": "home",
                    "name": "Home site",
                    "kind": "site",
                    "site": {
                        "latitude_deg": 48.1,
                        "longitude_deg": 11.6,
                        "candidate": True,
                        "offers": [
                            {"accelerator": "h100_sxm", "most_gpus": 16, "usd_per_gpu_hour": 2.0}
                        ],
                    },
                }
            ],
            "nodes": [
                {"id": "people", "name": "People", "kind": "users"},
                {
                    "id": "pool", "name": "GPU pool", "kind": "server", "group": "home",
                    "accelerator": "h100_sxm", "gpus": 8,
                },
                {"id": "router", "name": "Edge router", "kind": "core_router", "group": "home"},
            ],
            "links": [
                {
                    "id": "down", "name": "Pool port", "a": "router", "b": "pool",
                    "capacity_gbps": 400, "length_km": 0.1, "medium": "smf",
                },
                {
                    "id": "up", "name": "Access line", "a": "people", "b": "router",
                    "capacity_gbps": 100, "length_km": 50, "medium": "smf",
                },
            ],
            "deployments": [
                {"id": "dep", "name": "Llama 8B", "node": "pool", "model": "Llama-3.1-8B"}
            ],
            "services": [
                {
                    "id": "chat",
                    "name": "Chat",
                    "model": "Llama-3.1-8B",
                    "prompt_tokens": tokens,
                    "output_tokens": tokens,
                    "demands": [{"users": "people", "requests_per_s": 2}],
                    "steering": {"policy": "fixed", "targets": ["dep"]},
                    "slos": [{"metric": "ttft", "percentile": 95, "limit_ms": 2000}],
                }
            ],
            "scenarios": [
                {
                    "id": "slow",
                    "name": "Access at 10G",
                    "changes": [{"target": "up", "field": "capacity_gbps", "value": 10}],
                }
            ],
        },
    }  # fmt: skip


@pytest.fixture
def small_document() -> dict[str, Any]:
    """The small design as JSON, to be changed by a test."""
    return small_design()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small design as a file."""
    return write(tmp_path / "small.promptpath", small_design())


def write(path: Path, document: Any) -> Path:
    """Writes JSON and answers the path."""
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
