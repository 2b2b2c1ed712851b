"""The command line: one program, one file a command (see the README)."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import metadata
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Final, TypeGuard

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
from designer.cli.common import FINE, UNUSABLE, Refused
from designer.cli.interrupt import INTERRUPTED, SENTENCE, is_interruption
from designer.cli.printable import printable

PROGRAM: Final = "promptpath"
LONGEST_MESSAGE: Final = 200
_NO_OUTPUT: Final = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"{PROGRAM} {_version()}")
        raise typer.Exit


def _version() -> str:
    try:
        return metadata.version(PROGRAM)
    except metadata.PackageNotFoundError:
        return "of a checkout that is not installed"


def build() -> typer.Typer:
    """The program with all its commands."""
    app = typer.Typer(
        name=PROGRAM,
        help="Designs the path of a prompt: where its time goes, what bandwidth is really there.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for command in (analyse, check, report, convert, place, compare, validate, schema, open_files):
        command.register(app)
    return app


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """What the program itself is asked, before any command."""


def main(argv: Sequence[str]) -> int:
    """Runs one command and answers its exit status: 0, 1, 2 or 130. Never a traceback for users.

    Developers set PROMPTPATH_DEBUG for the traceback of an unexpected error.
    """
    # A name that the terminal cannot write must not end the program.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(argv)
    except (Refused, typer.TyperException) as refusal:
        return _refused(str(refusal) if isinstance(refusal, Refused) else _one_sentence(refusal))
    except BrokenPipeError:
        # The reader went away (a pager that was closed): nothing is left to say to it.
        _give_up_output()
        return FINE
    except SystemExit as end:
        # What typer makes of a closed pipe.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _give_up_output()
        return FINE
    except (Exception, KeyboardInterrupt) as error:
        if is_interruption(error) or isinstance(error, typer.Abort):
            print(SENTENCE, file=sys.stderr)
            return INTERRUPTED
        if _is_full(error):
            _give_up_output()
            return _refused(f"{PROGRAM}: standard output cannot be written ({error.strerror}).")
        if os.environ.get("PROMPTPATH_DEBUG"):
            raise
        return _refused(_unexpected(argv, error))


def _run(argv: Sequence[str]) -> int:
    if sys.stdout is None:
        raise Refused(f"{PROGRAM}: standard output is closed; give the results a place to go.")
    status = build()(args=list(argv), prog_name=PROGRAM, standalone_mode=False)
    sys.stdout.flush()
    return int(status or FINE)


def _refused(sentence: str) -> int:
    if sys.stderr is not None:
        print(printable(sentence), file=sys.stderr)
    return UNUSABLE


def _is_full(error: BaseException) -> TypeGuard[OSError]:
    """Whether standard output took no more: files that are written name themselves."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _NO_OUTPUT


def _give_up_output() -> None:
    """Sends what is still to be flushed nowhere, so that ending the program cannot fail again."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _unexpected(argv: Sequence[str], error: BaseException) -> str:
    """An error of ours in one sentence, with the place that a developer looks for."""
    command = " ".join((PROGRAM, *argv[:1]))
    files = [word for word in argv[1:] if not word.startswith("-")]
    about = f"{command} {files[0]}" if files else command
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).stem}:{frames[-1].lineno}" if frames else "unknown"
    said = " ".join(f"{error}".split())[:LONGEST_MESSAGE]
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return (
        f"{about}: something went wrong inside ({what} at {place}); the design is unchanged; "
        "please report it with the file."
    )


def _one_sentence(error: typer.TyperException) -> str:
    message = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else PROGRAM
    return f"{command}: {message}; see {command} --help."
