"""What all commands share: opening a design, refusing, printing, and writing all or nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from designer import api
from designer.files.format import FileRefused
from designer.model.topology import Topology

FINE: Final = 0
OBJECTIONS: Final = 1
UNUSABLE: Final = 2
INTERRUPTED: Final = 130

DesignFile = Annotated[Path, typer.Argument(metavar="FILE", help="A .promptpath design.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]
CatalogueFolder = Annotated[
    Path | None,
    typer.Option("--catalogue", metavar="FOLDER", help="A team's own catalogue, laid over ours."),
]


class Refused(Exception):
    """The command cannot do what it was asked; the message says why, one sentence a problem."""


def told(work: Callable[[], Any]) -> Any:
    """What `work` returns; its refusals become sentences without a traceback."""
    try:
        return work()
    except FileRefused as refusal:
        raise Refused(all_problems(refusal)) from refusal
    except api.REFUSALS as refusal:
        raise Refused(str(refusal)) from refusal


def all_problems(refusal: FileRefused) -> str:
    """Every problem of a file with its place, one a line."""
    lines = []
    for problem in refusal.problems:
        place = f", {problem.place}" if problem.place else ""
        lines.append(f"{refusal.name}{place}: {problem.message}.")
    return "\n".join(lines)


def opened(path: Path) -> Topology:
    """The design in a file."""
    topology: Topology = told(lambda: api.open_design(path))
    return topology


def remark(text: str) -> None:
    """Says something beside the result, on standard error."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """One JSON object on standard output."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=1, allow_nan=False)
    print()


def console() -> Console:
    """Where tables go; as wide as the terminal, and wide enough where there is none."""
    output = Console(file=sys.stdout, highlight=False)
    return output if output.is_terminal else Console(file=sys.stdout, highlight=False, width=140)


def write_all(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes files, each whole or not at all."""
    for path, data in files:
        told(lambda path=path, data=data: api.write_file(path, data))


def check_out(path: Path) -> Path:
    """Refuses an output place that cannot be written, before any work is done."""
    told(lambda: api.check_writable(path))
    return path
