"""`python -m tests.benchmarks [NAME…] [--json]`: one row a benchmark."""

import argparse
import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from tests.benchmarks import Measured, found


def main(words: list[str]) -> int:
    """Runs those whose name contains one of the words, or all; 2 where there is none."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part of a benchmark's name")
    parser.add_argument("--json", action="store_true", help="a JSON array of rows")
    options = parser.parse_args(words)
    chosen = [
        (name, run)
        for name, run in found()
        if not options.names or any(part in name for part in options.names)
    ]
    if not chosen:
        print("There is no such benchmark.", file=sys.stderr)
        return 2
    rows = []
    for name, run in chosen:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        rows.append(run())
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        Console().print(_table(rows))
    return 0


def _table(rows: list[Measured]) -> Table:
    table = Table("benchmark", "ours", "peer", "ratio", "goal")
    for row in rows:
        peer = "-" if row.peer is None else f"{row.peer:.4g}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(row.name, f"{row.ours:.4g}", peer, ratio, row.goal)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
