"""Functions that the tests run in worker processes."""

import os
import threading
from collections.abc import Iterator
from typing import Any

from designer.engine.messages import ShouldStop
from designer.files.format import content_hash, layout_hash
from designer.graph.expand import TooLarge
from designer.model.topology import Topology

GATE = "PROMPTPATH_TEST_GATE"
"""The environment variable that names the FIFO of `wait_at_gate`."""


def nothing() -> None:
    """Instead of warming kernels."""


def wait_at_gate() -> None:
    """Is warm only when somebody opens the FIFO at the other end."""
    with open(os.environ[GATE]):
        pass


def no_start() -> None:
    """A process that ends before it is warm."""
    raise SystemExit(3)


def count(topology: Topology, request: int, should_stop: ShouldStop) -> Iterator[int]:
    yield from range(request)


def echo(topology: Topology, request: Any, should_stop: ShouldStop) -> Any:
    return request


def hashes(topology: Topology, request: None, should_stop: ShouldStop) -> tuple[str, str]:
    return content_hash(topology.design), layout_hash(topology)


def stubborn(topology: Topology, request: None, should_stop: ShouldStop) -> Iterator[str]:
    yield "began"
    threading.Event().wait()


def polite(topology: Topology, request: None, should_stop: ShouldStop) -> Iterator[str]:
    yield "began"
    while not should_stop():
        pass
    yield "too late to be of use"


def gated(topology: Topology, request: str, should_stop: ShouldStop) -> Iterator[str]:
    """Goes on when somebody opens the FIFO at the other end."""
    yield "before the gate"
    with open(request):
        yield "after the gate"


def endless(topology: Topology, request: None, should_stop: ShouldStop) -> Iterator[int]:
    stage = 0
    while True:
        yield stage
        stage += 1


def refuse(topology: Topology, request: str, should_stop: ShouldStop) -> Iterator[int]:
    yield 1
    raise TooLarge(request)


def divide(topology: Topology, request: int, should_stop: ShouldStop) -> float:
    return 1 / request


def unsendable(topology: Topology, request: None, should_stop: ShouldStop) -> Any:
    return lambda: None
