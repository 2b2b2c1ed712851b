"""promptpath analyse: where the time goes, what bandwidth is there, where the model should live."""

from __future__ import annotations

from typing import Annotated

import typer

from designer.analysis.results import Results
from designer.cli import tables
from designer.cli.common import (
    FINE,
    OBJECTIONS,
    AsJson,
    CatalogueFolder,
    DesignFile,
    analysed,
    console,
    opened,
    print_json,
)
from designer.cli.facade import api

BAD_VERDICTS = frozenset(("unlikely", "breaks", "cannot_be_served"))


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="analyse")(run)


def run(
    file: DesignFile,
    service: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this service's answers.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option(metavar="ID", help="Under this scenario of the design.")
    ] = None,
    year: Annotated[
        int | None, typer.Option(metavar="Y", help="With demand grown to this year.")
    ] = None,
    catalogue: CatalogueFolder = None,
    as_json: AsJson = False,
) -> int:
    """Everything that the Budget, Bandwidth, Placement and Findings tabs say."""
    topology = opened(file)
    request = api.request_for(topology, file, service=service, scenario=scenario, year=year)
    results = analysed(topology, request, catalogue)
    if as_json:
        print_json(results.model_dump(mode="json", by_alias=True))
    else:
        tables.show(console(), topology, results)
    return status_of(results)


def status_of(results: Results) -> int:
    """1 where a finding is an error or a verdict is unlikely or worse, else 0."""
    errors = any(
        finding.severity == "error" and finding.excluded is None for finding in results.findings
    )
    broken = any(slo.verdict in BAD_VERDICTS for service in results.services for slo in service.slo)
    return OBJECTIONS if errors or broken else FINE
