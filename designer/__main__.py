"""The program: the command line, or the window where no command is named."""

import multiprocessing
import os
import sys
from pathlib import Path


def main() -> int:
    """Runs `promptpath` with the words of the command line; the exit status."""
    multiprocessing.freeze_support()
    # Inside, because every worker process imports this module first.
    from designer.cli.interrupt import ends_at_once

    with ends_at_once():
        from designer.cli.app import main as run_cli

    words = sys.argv[1:]
    return run_cli(["open", *words] if opens_files(words) else words)


def opens_files(words: list[str]) -> bool:
    """Whether the words name designs to open (or nothing at all) rather than a command.

    A file's name has an ending or a folder in it; no command has, so `report` is the command even
    where a folder of that name lies.
    """
    if not words:
        return True
    folder, name = os.path.split(words[0])
    return not words[0].startswith("-") and (folder != "" or Path(name).suffix != "")


if __name__ == "__main__":
    sys.exit(main())
