"""Compiles what is compiled, once, so that no user waits for it."""

from importlib import import_module
from importlib.util import find_spec
from typing import Final

WITH_KERNELS: Final = ("designer.graph.kernels", "designer.analysis.batching")
"""Modules that may have a function `warm`, which compiles or loads their kernels."""


def warm() -> tuple[str, ...]:
    """Warms the kernels of every module that has some; the names of those modules.

    The first run compiles into the user's cache, later ones load from it.
    """
    warmed = []
    for name in WITH_KERNELS:
        if find_spec(name) is None:
            continue
        compile_kernels = getattr(import_module(name), "warm", None)
        if compile_kernels is not None:
            compile_kernels()
            warmed.append(name)
    return tuple(warmed)


def main() -> None:
    """`python -m designer.engine.warm`, which the bootstrap and the bundles run."""
    warm()


if __name__ == "__main__":
    main()
