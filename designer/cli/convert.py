"""promptpath convert: imports, exports, pictures, and the canonical bytes of our own format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from designer.cli import tables
from designer.cli.common import (
    FINE,
    AsJson,
    check_out,
    console,
    print_json,
    told,
    write_all,
)
from designer.cli.facade import api


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="convert")(run)


def run(
    source: Annotated[Path, typer.Argument(metavar="IN", help="What to read.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="What to write.")],
    from_format: Annotated[
        str | None, typer.Option("--from", metavar="F", help="Format of IN: promptpath, graphml.")
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option("--to", metavar="F", help="Format of OUT: promptpath, svg, png, pdf."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Reads one format and writes another; prints what was guessed and what is unknown."""
    check_out(out)
    converted = told(lambda: api.convert(source, out, from_format, to_format))
    write_all([(out, converted.data)])
    design = converted.topology.design
    if as_json:
        print_json(
            {
                "nodes": len(design.nodes),
                "links": len(design.links),
                "groups": len(design.groups),
                "reconciliation": [
                    {
                        "element": entry.element,
                        "field": entry.field,
                        "kind": entry.kind,
                        "message": entry.message,
                    }
                    for entry in converted.reconciliation
                ],
            }
        )
    else:
        tables.reconciliation(console(), converted)
    return FINE
