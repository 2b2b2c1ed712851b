"""What all commands share: opening a design, refusing, printing, and writing all or nothing."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar

import typer
from rich.console import Console

from designer.analysis.results import Results
from designer.cli.facade import api
from designer.cli.printable import printable
from designer.files.format import FileRefused
from designer.model.topology import Topology

FINE: Final = 0
OBJECTIONS: Final = 1
UNUSABLE: Final = 2

MOST_PROBLEMS: Final = 20
DESIGN_SUFFIX: Final = ".promptpath"
SILENT_S: Final = 1.0
STAGES: Final = MappingProxyType(
    {
        "network": "links and flows are known",
        "services": "latencies and verdicts are known",
        "placement": "the placement is known",
        "scenarios": "the scenarios are known",
    }
)
"""What is known after each stage, for remarks while it takes long."""

T = TypeVar("T")

DesignFile = Annotated[Path, typer.Argument(metavar="FILE", help="A .promptpath design.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]
CatalogueFolder = Annotated[
    Path | None,
    typer.Option("--catalogue", metavar="FOLDER", help="A team's own catalogue, laid over ours."),
]


class Refused(Exception):
    """The command cannot do what it was asked; the message says why, one sentence a problem."""


def told(work: Callable[[], T], about: Path | None = None) -> T:
    """What `work` returns; its refusals become sentences that name the file `about`."""
    try:
        return work()
    except FileRefused as refusal:
        raise Refused(all_problems(refusal)) from refusal
    except api.REFUSALS as refusal:
        raise Refused(_sentence(str(refusal), about)) from refusal


def _sentence(text: str, about: Path | None) -> str:
    named = text if about is None or str(about) in text else f"{about}: {text}"
    return f"{named.rstrip('.')}."


def all_problems(refusal: FileRefused) -> str:
    """Every problem of a file with its place, one a line; counted after the first few."""
    lines = []
    for problem in refusal.problems[:MOST_PROBLEMS]:
        place = f", {problem.place}" if problem.place else ""
        lines.append(f"{refusal.name}{place}: {problem.message.rstrip('.')}.")
    rest = len(refusal.problems) - MOST_PROBLEMS
    if rest > 0:
        lines.append(f"{refusal.name}: {rest:,} more problems; mend these first.")
    return "\n".join(lines)


def opened(path: Path) -> Topology:
    """The design in a file."""
    if path.suffix.lower() == ".graphml" and os.path.isfile(path):
        own = path.with_suffix(DESIGN_SUFFIX)
        raise Refused(f"{path}: this is GraphML; import it first: promptpath convert {path} {own}.")
    return told(lambda: api.open_design(path))


def rows_of(folder: Path | None) -> api.Catalogue:
    """The catalogue, with a team's own folder laid over it."""
    return told(lambda: api.open_catalogue(folder))


def analysed(topology: Topology, request: api.AnalysisRequest, catalogue: Path | None) -> Results:
    """All results, with a line a stage on standard error where it takes longer than a second."""
    rows = rows_of(catalogue)

    def work() -> Results:
        started = monotonic()
        results: Results | None = None
        for stage in api.stages(topology, request, rows):
            results = stage.results
            if monotonic() - started > SILENT_S:
                remark(f"{request.file}: {STAGES[stage.name]} ({monotonic() - started:.0f} s)")
        assert results is not None
        return results

    return told(work, Path(request.file))


def remark(text: str) -> None:
    """Says something beside the result, on standard error."""
    print(printable(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """One JSON object on standard output, whole or not at all."""
    for place in _no_numbers(value, ""):
        raise Refused(
            f"promptpath: the results hold a number that is none at {place}; please report it."
        )
    print(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False))


def _no_numbers(value: Any, place: str) -> Iterator[str]:
    """The places of numbers that JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        yield place or "the top"
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _no_numbers(each, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _no_numbers(each, f"{place}[{index}]")


class _Output(Console):
    """A console that leaves a closed pipe to the program."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Where tables go; as wide as the terminal, and wide enough where there is none."""
    output = _Output(file=sys.stdout, highlight=False)
    return output if output.is_terminal else _Output(file=sys.stdout, highlight=False, width=140)


def write_all(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes files, each whole or not at all."""
    for path, data in files:
        told(partial(api.write_file, path, data))


def check_out(path: Path) -> Path:
    """Refuses an output place that cannot be written, before any work is done."""
    told(partial(api.check_writable, path))
    return path


def keep_source(out: Path, source: Path) -> None:
    """Refuses to write something else over the file that is read."""
    if os.path.exists(out) and os.path.exists(source) and out.samefile(source):
        raise Refused(f"{out}: the design itself would be lost; name another file.")


def check_design_name(out: Path) -> None:
    """Refuses to write a design under a name that says it is something else."""
    if out.suffix.lower() != DESIGN_SUFFIX:
        raise Refused(f"{out}: this writes a design; name a file that ends in {DESIGN_SUFFIX}.")
