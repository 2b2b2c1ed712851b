"""promptpath FILE…: the program's main job. Without a display: the analysis and the PDF."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from designer.cli import tables
from designer.cli.common import (
    FINE,
    Refused,
    analysed,
    check_out,
    console,
    keep_source,
    opened,
    remark,
    told,
    write_all,
)
from designer.cli.facade import api


def register(app: typer.Typer) -> None:
    """Adds the command; people reach it by naming a file alone."""
    app.command(name="open", hidden=True)(run)


def run(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE…", help="Designs.")] = None,
) -> int:
    """Prints the analysis of each design as tables and writes its PDF into the current folder."""
    if not files:
        raise Refused("promptpath: name a design to open, such as one of sample_topologies/.")
    outs = [check_out(Path.cwd() / f"{file.stem}.pdf") for file in files]
    for out, count in Counter(outs).items():
        if count > 1:
            raise Refused(f"{out.name}: {count} designs would write it; open them one by one.")
    for file in files:
        for out in outs:
            keep_source(out, file)
    replaced = {out for out in outs if out.exists()}
    topologies = [opened(file) for file in files]
    written = []
    for file, topology, out in zip(files, topologies, outs, strict=True):
        results = analysed(topology, api.request_for(topology, file), None)
        tables.show(console(), topology, results)
        written.append((out, told(partial(api.report, topology, results), file)))
    write_all(written)
    for out, data in written:
        if out in replaced:
            remark(f"replaced {out.name}")
        remark(f"Wrote {out.name} ({len(data) / 1e3:.0f} kB).")
    return FINE
