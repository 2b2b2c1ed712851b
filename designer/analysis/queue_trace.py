"""Queues served event by event: what the formulas are held against. Any one unit of time."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace


def priority_waits(
    arrivals: Sequence[float], services: Sequence[float], classes: Sequence[int]
) -> list[float]:
    """The wait of each job at one server that never interrupts; class 0 first, then by arrival.

    Jobs may come in any order. One that arrives at the instant a service ends is already there.
    """
    order = sorted(range(len(arrivals)), key=lambda job: arrivals[job])
    waits = [0.0] * len(arrivals)
    waiting: list[tuple[int, int, int]] = []
    free_at, arrived = 0.0, 0
    for _ in order:
        if not waiting:
            free_at = max(free_at, arrivals[order[arrived]])
        while arrived < len(order) and arrivals[order[arrived]] <= free_at:
            job = order[arrived]
            heappush(waiting, (classes[job], arrived, job))
            arrived += 1
        _, _, job = heappop(waiting)
        waits[job] = free_at - arrivals[job]
        free_at += services[job]
    return waits


def fifo_waits(arrivals: Sequence[float], services: Sequence[float], servers: int) -> list[float]:
    """The wait of each job at equal servers, first come first served."""
    order = sorted(range(len(arrivals)), key=lambda job: arrivals[job])
    waits = [0.0] * len(arrivals)
    free_at = [0.0] * servers
    heapify(free_at)
    for job in order:
        start = max(arrivals[job], free_at[0])
        waits[job] = start - arrivals[job]
        heapreplace(free_at, start + services[job])
    return waits
