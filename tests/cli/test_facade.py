"""What the command line loads before a command has work to do."""

import subprocess
import sys
from pathlib import Path


def test_help_loads_neither_kernels_nor_solvers(checkout: Path) -> None:
    script = (
        "import sys; from designer.cli.app import main; status = main(['--help']); "
        "print(status, sorted({'highspy', 'numba', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"
