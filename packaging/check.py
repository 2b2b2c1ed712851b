"""What every change must pass, in turn, stopping at the first failure; ends with pytest's words.

Arguments go to pytest.
"""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


def steps(arguments: list[str]) -> list[list[str]]:
    """The commands, cheapest first."""
    python = sys.executable
    return [
        [python, "-m", "ruff", "check", "."],
        [python, "-m", "ruff", "format", "--check", "."],
        [python, "-m", "mypy", "--strict", "designer"],
        [str(BIN / "lint-imports")],
        [python, "-m", "pytest", "-q", "-n", "2", *arguments],
    ]


def main(arguments: list[str]) -> int:
    """The exit status of the first command that fails, or 0."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    for command in steps(arguments):
        name = " ".join(word for word in command[1:] if word != "-m") or Path(command[0]).name
        print(f"check: {name}", flush=True)
        status = subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode
        if status:
            print(f"check: `{name}` found something to mend", file=sys.stderr, flush=True)
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
