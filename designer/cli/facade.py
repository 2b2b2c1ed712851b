"""The façade, imported when a command first asks it something.

It brings numba and SciPy along, which takes seconds that `--help` and a refused word need not wait.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from designer.cli.interrupt import ends_at_once

if TYPE_CHECKING:
    from designer import api as api
else:

    class _Later:
        """Stands for a module until somebody asks for a name in it."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            with ends_at_once():
                return getattr(import_module(self._module), name)

    api = _Later("designer.api")
