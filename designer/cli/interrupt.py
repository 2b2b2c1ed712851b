"""Ctrl-C while modules are loaded, which some of them would turn into another error."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130
SENTENCE: Final = "Interrupted; nothing was written."


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Within, Ctrl-C says so and ends the process: nothing is open yet that could be lost."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or not _is_main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error is a Ctrl-C, or was raised because of one."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _end(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, f"{SENTENCE}\n".encode())
    os._exit(INTERRUPTED)
