"""promptpath report: the PDF design review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from designer.cli.common import (
    FINE,
    CatalogueFolder,
    DesignFile,
    Refused,
    analysed,
    check_out,
    keep_source,
    opened,
    remark,
    told,
    write_all,
)
from designer.cli.facade import api


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="report")(run)


def run(
    file: DesignFile,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT.pdf", help="Where it goes.")],
    catalogue: CatalogueFolder = None,
) -> int:
    """Writes the PDF design review of a design."""
    if out.suffix.lower() != ".pdf":
        raise Refused(f"{out}: a report is a PDF; name a file that ends in .pdf.")
    check_out(out)
    keep_source(out, file)
    topology = opened(file)
    request = api.request_for(topology, file)
    results = analysed(topology, request, catalogue)
    data = told(lambda: api.report(topology, results), file)
    write_all([(out, data)])
    remark(f"Wrote {out} ({len(data) / 1e3:.0f} kB).")
    return FINE
