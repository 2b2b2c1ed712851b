"""What the program and its worker processes say to each other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from designer.model.patch import Patch
from designer.model.topology import Topology

ShouldStop = Callable[[], bool]
Job = Callable[[Topology, Any, ShouldStop], Any]
"""What a worker runs, as `(topology, request, should_stop)`; must be importable by its name.

A generator function yields stages; what any other function returns is its one stage. A long one
asks `should_stop()` now and then and returns early when told so.
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """One result of a job, cheapest first."""

    job: int
    revision: int
    payload: Any


@dataclass(frozen=True, slots=True)
class Done:
    """The job has yielded its last stage."""

    job: int
    revision: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The job was stopped as asked, or a newer one took its place before it began."""

    job: int
    revision: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The job raised: one sentence for the user, and the traceback for a report of the fault."""

    job: int
    revision: int
    sentence: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Died:
    """The worker process ended by itself; `job` is None where it had nothing to do."""

    job: int | None
    revision: int | None
    sentence: str


Message = Stage | Done | Cancelled | Failed | Died
Ending = Done | Cancelled | Failed


@dataclass(frozen=True, slots=True)
class Sync:
    """What brings a worker's replica up to date: the whole design first where `data` is given."""

    data: bytes | None
    patches: tuple[Patch, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What a job is: the function as `module:name`, and its pickled request."""

    job: int
    revision: int
    function: str
    request: bytes


@dataclass(frozen=True, slots=True)
class Task:
    """All that a worker is ever sent: a Sync, and what to run on the replica then, if anything."""

    sync: Sync
    order: Order | None


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker's answer when it is warm, and to a task without an order."""
