"""promptpath check: the rule check alone."""

from __future__ import annotations

import typer

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


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="check")(run)


def run(file: DesignFile, catalogue: CatalogueFolder = None, as_json: AsJson = False) -> int:
    """Checks the design against the rules; 1 where one objects at error level."""
    topology = opened(file)
    request = api.check_request(api.request_for(topology, file))
    findings = analysed(topology, request, catalogue).findings
    if as_json:
        print_json({"findings": [each.model_dump(mode="json") for each in findings]})
    else:
        tables.findings(console(), topology, findings)
    objects = any(each.severity == "error" and each.excluded is None for each in findings)
    return OBJECTIONS if objects else FINE
