"""promptpath schema: the JSON Schema of the file and of the results."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from designer.cli.common import FINE, print_json
from designer.cli.facade import api


class What(StrEnum):
    """Which schema."""

    topology = "topology"
    results = "results"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="schema")(run)


def run(what: Annotated[What, typer.Argument(help="Which schema.")]) -> int:
    """Prints the JSON Schema (draft 2020-12) of a .promptpath file or of analyse --json."""
    print_json(api.schema(what.value))
    return FINE
