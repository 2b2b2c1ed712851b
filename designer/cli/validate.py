"""promptpath validate: the engine against cases with right answers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from designer.cli import validation_tables
from designer.cli.common import FINE, OBJECTIONS, AsJson, Refused, console, print_json, told
from designer.cli.facade import api


class Kind(StrEnum):
    """Which part of the engine."""

    network = "network"
    serving = "serving"
    openloop = "openloop"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="validate")(run)


def run(
    kind: Annotated[Kind, typer.Argument(help="Which part of the engine.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The cases.")],
    model: Annotated[str | None, typer.Option(metavar="M", help="openloop: the model.")] = None,
    gpu: Annotated[str | None, typer.Option(metavar="G", help="openloop: the GPU.")] = None,
    tp: Annotated[
        int, typer.Option(metavar="T", min=1, help="openloop: tensor-parallel ways.")
    ] = 1,
    max_seqs: Annotated[
        int, typer.Option(metavar="N", min=1, help="openloop: most sequences at once.")
    ] = 256,
    token_budget: Annotated[
        int, typer.Option(metavar="K", min=1, help="openloop: tokens of one step.")
    ] = 2048,
    kv_tokens: Annotated[
        int | None,
        typer.Option(metavar="R", min=1, help="openloop: room for KV; default by formula."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Computes each case as the program would and holds it against the right answer."""
    if kind is Kind.network:
        return _network(file, as_json)
    if kind is Kind.serving:
        return _serving(file, as_json)
    if model is None or gpu is None:
        raise Refused("promptpath validate openloop: --model and --gpu are needed; name both.")
    replay = told(
        lambda: api.validate_openloop(
            file,
            api.ServedBy(model, gpu, tp, max_seqs, token_budget, kv_tokens),
        ),
        file,
    )
    if as_json:
        print_json(replay.as_json())
    else:
        validation_tables.openloop(console(), replay)
    return FINE


def _network(file: Path, as_json: bool) -> int:
    judged = told(lambda: api.validate_network(file))
    if as_json:
        print_json({case.id: case.result for case in judged})
    else:
        validation_tables.network(console(), judged)
    return OBJECTIONS if any(case.differences for case in judged) else FINE


def _serving(file: Path, as_json: bool) -> int:
    accuracy = told(lambda: api.validate_serving(file))
    if as_json:
        print_json(accuracy.as_json())
    else:
        validation_tables.serving(console(), accuracy)
    return FINE if accuracy.reaches_goals else OBJECTIONS
