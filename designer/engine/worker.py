"""The worker process: holds a replica of the design and runs the functions handed to it by name."""

import os
import pickle
import signal
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from inspect import isgenerator
from multiprocessing.connection import Connection
from typing import Any, Protocol

from designer.engine.messages import (
    Cancelled,
    Done,
    Failed,
    Order,
    Ready,
    ShouldStop,
    Stage,
    Sync,
    Task,
)
from designer.files.format import loads
from designer.model.patch import apply
from designer.model.topology import Topology


class SharedNumber(Protocol):
    """A number in memory shared between processes."""

    value: int


def reference(function: Any) -> str:
    """The name by which another process finds a function, as `module:name`.

    Raises ValueError for what has no such name: a lambda, a closure, a bound method.
    """
    name = f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', '?')}"
    try:
        if resolve(name) is function:
            return name
    except (ImportError, AttributeError, ValueError):
        pass
    raise ValueError(f"{name} cannot run in the worker; hand it a function of a module")


def resolve(name: str) -> Any:
    """The function that `reference` named. Raises ImportError, AttributeError or ValueError."""
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def serve(pipe: "Connection[Any, Any]", stopping: SharedNumber, prepare: str) -> None:
    """The process's loop: one task at a time, each answered to its end, until the pipe closes.

    stopping: the highest number of a job that shall stop.
    prepare: reference of a function without arguments that warms the process.
    """
    # Ctrl-C goes to the whole process group; the program decides what becomes of its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A kernel that does not compile is a sentence for the job that needs it, not a death here.
    with suppress(Exception):
        resolve(prepare)()
    replica = Replica()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(Ready())
        while True:
            for answer in _answers(pipe.recv(), replica, stopping):
                pipe.send_bytes(answer)


class Replica:
    """The worker's copy of the design, kept in step by patches."""

    def __init__(self) -> None:
        self.topology = Topology()
        self.fault: Exception | None = None

    def follow(self, sync: Sync) -> None:
        """Takes a whole design, then patches; a fault stays until the next whole design."""
        if sync.data is not None:
            self.fault = None
        if self.fault is not None:
            return
        try:
            if sync.data is not None:
                self.topology = loads(sync.data, "the design").topology
            for patch in sync.patches:
                self.topology = apply(self.topology, patch)
        except Exception as fault:
            self.fault = fault


def _answers(task: Task, replica: Replica, stopping: SharedNumber) -> Iterator[bytes]:
    """The pickled answers to a task; pickled here, so that what cannot be is the job's failure."""
    replica.follow(task.sync)
    order = task.order
    if order is None:
        yield pickle.dumps(Ready())
        return

    def should_stop() -> bool:
        return stopping.value >= order.job

    try:
        if replica.fault is not None:
            raise replica.fault
        for payload in _stages(order, replica.topology, should_stop):
            # The stages of a job that was told to stop are of no use to anybody.
            if should_stop():
                break
            yield pickle.dumps(Stage(order.job, order.revision, payload))
    except Exception as error:
        details = "".join(traceback.format_exception(error))
        yield pickle.dumps(Failed(order.job, order.revision, sentence_of(error), details))
        return
    ending = Cancelled if should_stop() else Done
    yield pickle.dumps(ending(order.job, order.revision))


def _stages(order: Order, topology: Topology, should_stop: ShouldStop) -> Iterator[Any]:
    if should_stop():
        return
    made = resolve(order.function)(topology, pickle.loads(order.request), should_stop)
    if isgenerator(made):
        yield from made
    else:
        yield made


def sentence_of(error: Exception) -> str:
    """One sentence for the user.

    The program's own errors are sentences already; any other is a fault of the program, and the
    sentence says where it is.
    """
    first = next(iter(str(error).strip().splitlines()), "")
    if type(error).__module__.partition(".")[0] == "designer" and first:
        return first if first.endswith(".") else f"{first}."
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    what = f"{type(error).__name__}: {first}".rstrip(": .")
    return f"The calculation stopped{place} ({what}); this is a fault of the program, report it."
