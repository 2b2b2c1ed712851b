"""The command line: one program, one file a command (see the README)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from designer.cli import (
    analyse,
    check,
    compare,
    convert,
    open_files,
    place,
    report,
    schema,
    validate,
)
from designer.cli.common import INTERRUPTED, UNUSABLE, Refused

PROGRAM = "promptpath"


def build() -> typer.Typer:
    """The program with all its commands."""
    app = typer.Typer(
        name=PROGRAM,
        help="Designs the path of a prompt: where its time goes, what bandwidth is really there.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for command in (analyse, check, report, convert, place, compare, validate, schema, open_files):
        command.register(app)
    return app


def main(argv: Sequence[str]) -> int:
    """Runs one command and answers its exit status: 0, 1, 2 or 130. Never a traceback for input."""
    # A name that the terminal cannot write must not end the program.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = build()(args=list(argv), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return UNUSABLE
    except typer.TyperException as error:
        print(_one_sentence(error), file=sys.stderr)
        return UNUSABLE
    except (KeyboardInterrupt, typer.Abort):
        print("Interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (a pager that was closed): nothing is left to say to it.
        sys.stdout = None
        return 0
    return int(status or 0)


def _one_sentence(error: typer.TyperException) -> str:
    message = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else PROGRAM
    return f"{command}: {message}; see {command} --help."
