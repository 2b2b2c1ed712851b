"""Imports and compiles what calculations need, once, so that no user waits for it."""

from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Final

ROOMS: Final = ("designer.graph", "designer.analysis")
"""Packages whose modules may each have a function `warm()` that runs their kernels once."""


def warm() -> tuple[str, ...]:
    """Imports every module of these rooms and calls its `warm`; the names of those that have one.

    The first run compiles into the cache, later ones load from it. Raises what a module raises.
    """
    warmed = []
    for room in ROOMS:
        for found in iter_modules(import_module(room).__path__, f"{room}."):
            run_kernels = getattr(import_module(found.name), "warm", None)
            if run_kernels is not None and not signature(run_kernels).parameters:
                run_kernels()
                warmed.append(found.name)
    return tuple(warmed)


def main() -> None:
    """`python -m designer.engine.warm`, which the bootstrap and the bundles run."""
    warm()


if __name__ == "__main__":
    main()
