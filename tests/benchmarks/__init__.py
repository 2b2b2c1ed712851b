"""Measurements of speed, ours and a peer's side by side in one run; no tests.

A module beside this one measures by functions marked with `benchmark`; the runner finds them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from time import perf_counter
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Measured:
    """One row: our figure, a peer's, how they compare, and what was aimed at.

    peer and ratio are None where no peer does the same.
    """

    name: str
    ours: float
    peer: float | None
    ratio: float | None
    goal: str


def compared(name: str, ours: float, peer: float | None, goal: str) -> Measured:
    """The row of two figures of which less is better; a ratio above 1 says that ours is better."""
    return Measured(name, ours, peer, None if peer is None or ours == 0 else peer / ours, goal)


Benchmark = Callable[[], Measured]
Marked = TypeVar("Marked", bound=Benchmark)
MARK = "is_benchmark"


def benchmark(function: Marked) -> Marked:
    """Marks a function as a benchmark, named as the function is."""
    setattr(function, MARK, True)
    return function


def found() -> Iterator[tuple[str, Benchmark]]:
    """Every benchmark of the modules beside this one, by name."""
    for module in iter_modules(__path__, f"{__name__}."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(import_module(module.name)).items():
            if getattr(value, MARK, False) and value.__module__ == module.name:
                yield name, value


def quickest_s(function: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the quickest of some rounds: what the machine can do when left alone."""
    times_s = []
    for _ in range(rounds):
        start_s = perf_counter()
        function()
        times_s.append(perf_counter() - start_s)
    return min(times_s)
