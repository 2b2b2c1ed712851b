"""Waits as latencies, ready to be combined with the rest of a path. Latencies in ms."""

from functools import lru_cache
from typing import Final

import numpy as np

from designer.analysis.distributions import Floats, Latency
from designer.analysis.latency_algebra import atom_or
from designer.analysis.latency_sources import constant, from_survival, gamma
from designer.analysis.queueing import Wait
from designer.analysis.server_queues import ServerWait
from designer.analysis.transforms import WaitLaw

_NODES: Final = np.concatenate(([0.0], np.geomspace(1e-5, 1.0, 500)))
_TAIL: Final = 1e-7


def port_latency(segment: str, wait: Wait) -> Latency | None:
    """The wait of a class at a port; None where it is unknown or has no steady state."""
    if wait.mean_us is None:
        return None
    if wait.law is None or wait.mean_us == 0.0:
        return constant(segment, wait.mean_us / 1000.0)
    times_us, survived = _survival(wait.law)
    second = wait.second_moment_us2 or 0.0
    exact = (wait.mean_us / 1e3, (second - wait.mean_us**2) / 1e6)
    return from_survival(segment, times_us / 1000.0, survived, exact)


@lru_cache(maxsize=2048)
def _survival(law: WaitLaw) -> tuple[Floats, Floats]:
    mean, second = law.moments()
    top = mean + 4.0 * (second - mean * mean) ** 0.5
    for _ in range(60):
        if law.ccdf(np.array([top]))[0] <= _TAIL:
            break
        top *= 1.5
    times = top * _NODES
    survived = np.minimum.accumulate(law.ccdf(times))
    survived[-1] = 0.0
    return times, survived


def server_latency(segment: str, wait: ServerWait) -> Latency | None:
    """The wait for a server; None where there is no steady state."""
    if wait.mean_ms is None or wait.p_wait is None:
        return None
    fit = wait.fit()
    if fit is None or wait.mean_ms == 0.0:
        return constant(segment, 0.0)
    p_wait, shape, scale_ms = fit
    return atom_or(p_wait, gamma(segment, shape * scale_ms, 1.0 / shape))
