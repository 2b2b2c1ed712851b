"""The program's side of the worker process: submit, poll, cancel, and a warm spare at hand.

Nothing here waits for a worker, except `wait` and `close`, and nothing is ever written to one that
is not listening: the answer to the last thing sent must have come first.
"""

import multiprocessing
import pickle
import signal
from collections.abc import Iterator
from ctypes import c_long
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Final, Self

from designer.engine import warm, worker
from designer.engine.messages import (
    Cancelled,
    Died,
    Done,
    Failed,
    Job,
    Message,
    Order,
    Ready,
    Stage,
    Sync,
    Task,
)
from designer.files.format import dumps
from designer.model.patch import Patch
from designer.model.topology import Topology

GRACE_S: Final = 0.3
"""How long a cancelled job may take to notice before its process is killed."""
MOST_DEATHS: Final = 3
"""How many processes may die after one submit until no more are started before the next."""
FAREWELL_S: Final = 1.0
"""How long a process that was told to end may take before it is killed."""


class _Worker:
    """One process, and what is known of it without asking."""

    def __init__(self, prepare: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._stopping = context.RawValue(c_long, 0)
        self.process = context.Process(
            target=worker.serve,
            args=(theirs, self._stopping, prepare),
            name="promptpath-worker",
            daemon=True,
        )
        self.process.start()
        # Only its own end must be left to the process, or its death would not close the pipe.
        theirs.close()
        self.is_warm = False
        self.is_listening = False
        self.order: Order | None = None
        self.generation = -1
        self.position = 0

    def send(self, task: Task) -> None:
        """Hands over a task; a process that has just died will be found dead at the next poll."""
        self.is_listening = False
        self.order = task.order
        try:
            self.pipe.send(task)
        except (BrokenPipeError, ConnectionResetError):
            return

    def stop(self, job: int) -> None:
        """Tells the running job that it shall stop; a word in shared memory, never a write."""
        self._stopping.value = job

    def answers(self) -> Iterator[Message | Ready]:
        """What has come so far. Raises EOFError or OSError at the process's end."""
        while self.pipe.poll():
            answer = self.pipe.recv()
            if not isinstance(answer, Stage):
                self.is_warm = self.is_listening = True
                self.order = None
            yield answer

    def end(self) -> int | None:
        """Ends the process, gently where it listens, and tells its exit status."""
        self.pipe.close()
        if not self.is_listening:
            self.process.kill()
        return self._buried()

    def autopsy(self) -> int | None:
        """The exit status of a process whose pipe has closed."""
        self.pipe.close()
        return self._buried()

    def _buried(self) -> int | None:
        self.process.join(FAREWELL_S)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        status = self.process.exitcode
        self.process.close()
        return status


class Client:
    """One worker that runs, one warm spare that takes over when a job has to be killed.

    One job runs, one waits, and the newest submitted is the one that waits. Every job ends in
    exactly one Done, Failed, Cancelled or Died. Times are seconds of any clock that only rises.
    Used from one thread; use it in a `with`, or call `close`.
    """

    def __init__(self, prepare: str = f"{warm.__name__}:{warm.warm.__name__}") -> None:
        """prepare: `module:name` of what a new process runs first, to be warm."""
        self._prepare = prepare
        self._data = dumps(Topology())
        self._generation = 0
        self._patches: list[Patch] = []
        self._jobs = 0
        self._pending: tuple[Order, int] | None = None
        self._kill_at_s: float | None = None
        self._dispatched_position = 0
        self._deaths = 0
        self._messages: list[Message] = []
        self._active: _Worker | None = None
        self._spare: _Worker | None = None
        self._is_closed = False
        self._refill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_busy(self) -> bool:
        """Whether a job runs or waits: as long as it does, somebody has to poll."""
        return self._pending is not None or self._running() is not None

    @property
    def is_spare_warm(self) -> bool:
        """Whether a stubborn job could be killed now."""
        return self._spare is not None and self._spare.is_warm

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The processes: the worker first, then the spare."""
        return tuple(
            each.process.pid
            for each in (self._active, self._spare)
            if each is not None and each.process.pid is not None
        )

    def open_design(self, data: bytes) -> None:
        """The design is another one from now on: the bytes of a .promptpath file.

        A job of the old design that still waits is cancelled; a running one is not.
        """
        self._drop_pending()
        self._data = data
        self._generation += 1
        self._patches = []
        self._dispatched_position = 0

    def change(self, patch: Patch) -> None:
        """The design changed by a patch; the processes learn of it with the next job."""
        self._patches.append(patch)

    def submit(self, function: Job | str, request: Any, revision: int) -> int:
        """Runs a function on the design as it is now; the job's number.

        function: a function of a module, or its name `module:name` where importing it here would
        cost too much. request: anything that can be pickled. Raises ValueError where another
        process could not find the function.
        """
        if self._is_closed:
            raise ValueError("the client is closed; make a new one")
        name = function if isinstance(function, str) else worker.reference(function)
        self._jobs += 1
        order = Order(self._jobs, revision, name, pickle.dumps(request))
        self._drop_pending()
        self._pending = (order, len(self._patches))
        self._deaths = 0
        # Nobody polls while nothing runs: a death or a Ready of that time is still unread.
        self._receive()
        self._refill()
        self._dispatch()
        return order.job

    def poll(self, now_s: float) -> list[Message]:
        """Everything that has come since the last call; also kills what is overdue."""
        if not self._is_closed:
            self._receive()
            self._kill_overdue(now_s)
            self._refill()
            self._give_up()
            self._dispatch()
        messages, self._messages = self._messages, []
        return messages

    def wait(self, timeout_s: float) -> bool:
        """Waits until there is something to poll for; whether there is."""
        pipes = [each.pipe for each in (self._active, self._spare) if each is not None]
        return bool(self._messages) or bool(pipes and wait(pipes, timeout_s))

    def cancel(self, now_s: float) -> None:
        """Asks the running job to stop and drops the waiting one.

        A poll later than GRACE_S from now kills a job that has not stopped by then, once the spare
        is warm.
        """
        self._drop_pending()
        order = self._running()
        if order is not None and self._active is not None and self._kill_at_s is None:
            self._active.stop(order.job)
            self._kill_at_s = now_s + GRACE_S

    def close(self) -> None:
        """Ends both processes; a job that runs is killed."""
        self._is_closed = True
        for each in (self._active, self._spare):
            if each is not None:
                each.end()
        self._active = self._spare = self._pending = None

    def _running(self) -> Order | None:
        return None if self._active is None else self._active.order

    def _drop_pending(self) -> None:
        if self._pending is not None:
            order, _ = self._pending
            self._messages.append(Cancelled(order.job, order.revision))
            self._pending = None

    def _refill(self) -> None:
        """Starts the processes that are missing, unless they keep dying."""
        if self._active is None:
            self._active, self._spare = self._spare, None
        if self._deaths < MOST_DEATHS:
            self._active = self._active or _Worker(self._prepare)
            self._spare = self._spare or _Worker(self._prepare)

    def _receive(self) -> None:
        for each in (self._active, self._spare):
            if each is None:
                continue
            try:
                for answer in each.answers():
                    self._take(answer)
            except (EOFError, OSError):
                self._bury(each)

    def _take(self, answer: Message | Ready) -> None:
        if isinstance(answer, Ready):
            return
        if isinstance(answer, Done | Failed | Cancelled):
            self._kill_at_s = None
        elif self._kill_at_s is not None:
            return
        self._messages.append(answer)

    def _bury(self, dead: _Worker) -> None:
        status, order = dead.autopsy(), dead.order
        self._deaths += 1
        if dead is self._active:
            self._active = None
            self._kill_at_s = None
        else:
            self._spare = None
        job, revision = (None, None) if order is None else (order.job, order.revision)
        self._messages.append(Died(job, revision, _epitaph(status, is_warm=dead.is_warm)))

    def _kill_overdue(self, now_s: float) -> None:
        active, order = self._active, self._running()
        if self._kill_at_s is None or now_s < self._kill_at_s or active is None or order is None:
            return
        # Killing before the spare can answer would only make the next job wait longer.
        if self.is_spare_warm:
            active.end()
            self._active = self._kill_at_s = None
            self._messages.append(Cancelled(order.job, order.revision))

    def _give_up(self) -> None:
        """With no process left that could run it, the waiting job ends too."""
        if self._active is None and self._pending is not None:
            order, _ = self._pending
            self._pending = None
            sentence = "No process for calculations starts on this machine; install again."
            self._messages.append(Died(order.job, order.revision, sentence))

    def _dispatch(self) -> None:
        """Hands the waiting job to a listening worker, and lets the spare catch up with it."""
        active, spare = self._active, self._spare
        if self._pending is not None and active is not None and active.is_listening:
            order, position = self._pending
            self._pending = None
            self._dispatched_position = position
            active.send(Task(self._sync(active, position), order))
        if spare is not None and spare.is_listening and self._is_behind(spare):
            spare.send(Task(self._sync(spare, self._dispatched_position), None))

    def _is_behind(self, each: _Worker) -> bool:
        here = (self._generation, self._dispatched_position)
        return (each.generation, each.position) != here

    def _sync(self, each: _Worker, position: int) -> Sync:
        """What brings a process to a position in the patches, and notes that it is there."""
        is_new = each.generation != self._generation
        start = 0 if is_new else each.position
        each.generation, each.position = self._generation, position
        return Sync(self._data if is_new else None, tuple(self._patches[start:position]))


def _epitaph(status: int | None, *, is_warm: bool) -> str:
    """One sentence on a process that ended by itself."""
    how = f"status {status}"
    if status is not None and status < 0:
        how = f"signal {-status}"
        if -status in set(signal.Signals):
            how = signal.Signals(-status).name
    if not is_warm:
        return f"The process for calculations ended while it started ({how}); it is tried again."
    remedy = "if it happens again, free memory or make the design smaller"
    return f"The process for calculations ended unexpectedly ({how}) and was replaced; {remedy}."
