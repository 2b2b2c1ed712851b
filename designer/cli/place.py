"""promptpath place: where the models should live, and why not elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from designer.cli import tables
from designer.cli.common import (
    FINE,
    OBJECTIONS,
    AsJson,
    CatalogueFolder,
    DesignFile,
    check_design_name,
    check_out,
    console,
    opened,
    print_json,
    remark,
    rows_of,
    told,
    write_all,
)
from designer.cli.facade import api


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="place")(run)


def run(
    file: DesignFile,
    apply: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Writes the design with the recommendation accepted."),
    ] = None,
    catalogue: CatalogueFolder = None,
    as_json: AsJson = False,
) -> int:
    """Chooses sites and replicas at least cost under the SLOs, with the reason for each site."""
    if apply is not None:
        check_design_name(apply)
        check_out(apply)
    topology = opened(file)
    request = api.request_for(topology, file)
    rows = rows_of(catalogue)
    results = told(lambda: api.place(topology, request, rows), file)
    if apply is not None:
        data = told(lambda: api.with_placement(topology, results.placement), file)
        write_all([(apply, data)])
        remark(f"Wrote {apply} with the recommendation accepted.")
    if as_json:
        print_json({"placement": results.placement.model_dump(mode="json")})
    else:
        tables.placement(console(), topology, results.placement)
    solved = results.placement.status in ("optimal", "feasible", "not_asked")
    return FINE if solved else OBJECTIONS
