"""promptpath diff and merge: two designs by meaning, with the change in results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from designer.cli import tables
from designer.cli.common import (
    FINE,
    OBJECTIONS,
    AsJson,
    check_design_name,
    check_out,
    console,
    opened,
    print_json,
    remark,
    told,
    write_all,
)
from designer.cli.facade import api
from designer.files.compare import Clash
from designer.files.wording import describe
from designer.model.topology import Topology
from designer.report.words import plural


def register(app: typer.Typer) -> None:
    """Adds both commands."""
    app.command(name="diff")(diff)
    app.command(name="merge")(merge)


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="The design before.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The design after.")],
    as_json: AsJson = False,
) -> int:
    """Says what changed from A to B, field by field, and what that does to the results."""
    before, after = opened(a), opened(b)
    difference = told(lambda: api.diff(before, after))
    if as_json:
        print_json(difference.as_json())
    else:
        tables.difference(console(), difference)
    return OBJECTIONS if difference.changes else FINE


def merge(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="The common ancestor.")],
    ours: Annotated[Path, typer.Argument(metavar="OURS", help="Our version.")],
    theirs: Annotated[Path, typer.Argument(metavar="THEIRS", help="Their version.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="Where it goes.")],
) -> int:
    """Merges two versions of a design; a conflict is listed and nothing is written."""
    check_out(out)
    if not _is_ours(out, ours):
        check_design_name(out)
    versions = opened(base), opened(ours), opened(theirs)
    merged = told(lambda: api.merge(*versions))
    if merged.conflicts:
        for clash in merged.conflicts:
            remark(_conflict(clash, merged.topology))
        many = plural(len(merged.conflicts), "conflict")
        remark(f"{out}: nothing was written; settle the {many} in OURS or THEIRS first.")
        return OBJECTIONS
    write_all([(out, api.design_bytes(merged.topology))])
    return FINE


def _is_ours(out: Path, ours: Path) -> bool:
    """Whether the result goes into OURS itself, as where git merges its unnamed copies."""
    return os.path.exists(out) and os.path.exists(ours) and out.samefile(ours)


def _conflict(clash: Clash, topology: Topology) -> str:
    """A conflict in one sentence, with what either side wanted."""
    ours, theirs = (
        "; ".join(describe(change, topology) for change in patch) or "something that rules it out"
        for patch in (clash.kept, clash.left_out)
    )
    return f"{clash.reason[:1].upper()}{clash.reason[1:]}. Ours: {ours}. Theirs: {theirs}."
