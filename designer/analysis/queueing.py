"""What packets wait for at a port: by class, with priorities, weights, bursts and overload.

Times in microseconds, bytes on the wire, loads and capacities in Gb/s, all in one direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np

from designer.analysis.transforms import BatchKind, Floats, Stream, WaitLaw, percentiles

QueueState = Literal["steady", "at_threshold", "overloaded"]

_FULL = 1.0 - 1e-9
"""Loads from here on leave no steady state: a sum of shares does not add up to exactly 1."""


@dataclass(frozen=True, slots=True)
class ClassLoad:
    """What one traffic class brings to a port.

    `offered_gbps` with all overhead; None: takes whatever is left
    (elastic classes only).
    `packets` are pairs of size in bytes and share of the packets. `priority` 0 is served first;
    classes of one priority share by `weight`. Packets come in Poisson bursts of `burst_packets`
    on average.
    """

    offered_gbps: float | None
    packets: tuple[tuple[float, float], ...]
    priority: int = 0
    weight: float = 1.0
    elastic: bool = False
    burst_packets: float = 1.0
    burst_kind: BatchKind = "constant"
    ecn_threshold_bytes: float | None = None

    def __post_init__(self) -> None:
        total = sum(share for _, share in self.packets)
        if abs(total - 1.0) > 1e-6 or min(size for size, _ in self.packets) <= 0.0:
            raise ValueError("packet sizes must be above 0 and their shares add up to 1; fix them")

    @property
    def mean_packet_bytes(self) -> float:
        """The mean size of a packet."""
        return sum(size * share for size, share in self.packets)


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait of one class before its packet is sent, in microseconds (its own time not counted).

    `steady`: `mean_us`, `second_moment_us2` and `p_wait` are exact for the law assumed.
    `at_threshold`: an elastic class fills its queue up to the ECN threshold and stays there
    (unknown without one): it drains at the port's speed, or at the rate served in `slowest`.
    `overloaded`: no steady state, the queue grows by `growth_gbps`, times are None.
    With weighted neighbours the wait lies between this one, at full speed, and `slowest`, at the
    guaranteed rate or behind all neighbours. `slowest` None: this one is exact.
    """

    state: QueueState
    served_gbps: float
    mean_us: float | None = None
    second_moment_us2: float | None = None
    p_wait: float | None = None
    growth_gbps: float = 0.0
    law: WaitLaw | None = None
    packets: tuple[tuple[float, float], ...] = ()
    slowest: "Wait | None" = None

    def quantiles(self, levels: Sequence[float]) -> tuple[float, ...] | None:
        """The wait in us not exceeded with each probability (each below 1); None if unknown."""
        if self.law is not None:
            return percentiles(self.law, tuple(float(level) for level in levels))
        return None if self.mean_us is None else (self.mean_us,) * len(levels)

    def percentile(self, level: float) -> float | None:
        """The wait in us not exceeded with that probability (below 1); None if unknown."""
        found = self.quantiles((level,))
        return None if found is None else found[0]

    def cdf(self, at_us: Floats) -> Floats | None:
        """P(wait <= t) at times of 0 or more, in us; None if unknown."""
        if self.law is not None:
            return 1.0 - self.law.ccdf(np.asarray(at_us, dtype=np.float64))
        if self.mean_us is None:
            return None
        return np.where(np.asarray(at_us) >= self.mean_us, 1.0, 0.0)

    @property
    def occupancy_bytes(self) -> float | None:
        """The mean of what waits in the queue, the packet being sent not counted (Little)."""
        longest = self.slowest if self.state == "at_threshold" else self
        if longest is None or longest.mean_us is None:
            return None
        return self.served_gbps * 125.0 * longest.mean_us

    def passing(self, beyond_bytes: float) -> float | None:
        """The probability that more bytes wait: marks at an ECN threshold, drops at a buffer.

        Drops so found are those of an unbounded queue above the buffer, a little too many. None
        where the queue is not in a steady state or too little is known.
        """
        if self.law is None:
            return None
        if self.law.own.batch_rate == 0.0:
            return 0.0
        return self.law.queue_ccdf(tuple(size for size, _ in self.packets), beyond_bytes)


def threshold_wait_us(threshold_bytes: float, capacity_gbps: float) -> float:
    """How long a queue kept at its marking threshold takes to drain at the port's speed, in us."""
    return threshold_bytes * 8.0 / (capacity_gbps * 1000.0)


def ceiling_wait_us(largest_packet_bytes: float, burst_bytes: float, capacity_gbps: float) -> float:
    """What a hop cannot exceed, in us: a largest packet and the same and higher classes' bursts."""
    return (largest_packet_bytes + burst_bytes) * 8.0 / (capacity_gbps * 1000.0)


def pfc_headroom_bytes(
    length_km: float, us_per_km: float, capacity_gbps: float, mtu_bytes: float, response_us: float
) -> float:
    """Buffer that a lossless class needs above its pause threshold, in bytes.

    What arrives until the pause works: the round trip of the cable, the answer time of both ends,
    and a largest packet begun at either end. Source: IEEE 802.1Qbb annex O, simplified.
    """
    flight_us = 2.0 * length_km * us_per_km + response_us
    return flight_us * capacity_gbps * 125.0 + 2.0 * mtu_bytes


def priority_wait(classes: Sequence[ClassLoad], capacity_gbps: float) -> tuple[Wait, ...]:
    """The wait of each class at one port, in the order given.

    Everyone waits on load that is served: an overloaded class is cut to what more urgent ones
    leave, and breaks none of them. Raises ValueError for a capacity that is not positive.
    """
    if not capacity_gbps > 0.0:
        raise ValueError("a port needs a capacity above 0 Gb/s; correct capacity_gbps")
    served = served_loads(classes, capacity_gbps)
    streams = tuple(
        _stream(load, given, capacity_gbps) for load, given in zip(classes, served, strict=True)
    )
    return tuple(
        _class_wait(position, classes, served, streams, capacity_gbps)
        for position in range(len(classes))
    )


def served_loads(classes: Sequence[ClassLoad], capacity_gbps: float) -> tuple[float, ...]:
    """What each class gets of a port, in Gb/s: strict between priorities, by weight inside one."""
    served = [0.0] * len(classes)
    left = capacity_gbps
    for priority in sorted({load.priority for load in classes}):
        group = [place for place, load in enumerate(classes) if load.priority == priority]
        for place, gbps in _filled(classes, group, left).items():
            served[place] = gbps
        left = max(0.0, left - sum(served[place] for place in group))
    return tuple(served)


def _filled(classes: Sequence[ClassLoad], group: list[int], left: float) -> dict[int, float]:
    asked = {place: _asked_gbps(classes[place]) for place in group}
    order = sorted(group, key=lambda place: asked[place] / classes[place].weight)
    weights = sum(classes[place].weight for place in group)
    filled: dict[int, float] = {}
    for place in order:
        weight = classes[place].weight
        filled[place] = min(asked[place], left * weight / weights)
        left -= filled[place]
        weights -= weight
    return filled


def _asked_gbps(load: ClassLoad) -> float:
    return inf if load.offered_gbps is None else load.offered_gbps


def _stream(load: ClassLoad, served_gbps: float, capacity_gbps: float) -> Stream:
    per_byte_us = 8.0 / (capacity_gbps * 1000.0)
    packets_per_us = served_gbps * 125.0 / load.mean_packet_bytes
    return Stream(
        batch_rate=packets_per_us / load.burst_packets,
        services=tuple(size * per_byte_us for size, _ in load.packets),
        shares=tuple(share for _, share in load.packets),
        batch_mean=load.burst_packets,
        batch_kind=load.burst_kind,
    )


def _class_wait(
    position: int,
    classes: Sequence[ClassLoad],
    served: tuple[float, ...],
    streams: tuple[Stream, ...],
    capacity_gbps: float,
) -> Wait:
    load, given, own = classes[position], served[position], streams[position]
    higher, peers, lower = _around(position, classes, streams)
    share = load.weight / sum(peer.weight for peer in classes if peer.priority == load.priority)
    busy = sum(stream.load for stream in higher)
    full = busy + own.load + sum(stream.load for stream in peers) >= _FULL
    cut = _asked_gbps(load) > given * (1.0 + 1e-9)
    bottleneck = load.elastic and own.load >= share * (1.0 - busy) * _FULL
    if full and (cut or bottleneck or not peers):
        return _full_wait(load, given, capacity_gbps)
    fastest = _law_wait(load, given, higher, own, (*peers, *lower))
    if not peers:
        return fastest
    found = []
    slowed = own.scaled(1.0, 1.0 / share)
    if busy + slowed.load < _FULL:
        found.append(_law_wait(load, given, higher, slowed, (*peers, *lower)))
    if not full:
        found.append(_law_wait(load, given, (*higher, *peers), own, lower))
    unbounded = Wait("overloaded", given, packets=load.packets)
    slowest = min(found, key=lambda wait: wait.mean_us or 0.0, default=unbounded)
    return replace(fastest, slowest=slowest)


def _around(
    position: int, classes: Sequence[ClassLoad], streams: tuple[Stream, ...]
) -> tuple[tuple[Stream, ...], tuple[Stream, ...], tuple[Stream, ...]]:
    own = classes[position].priority
    pairs = [
        (load.priority, stream)
        for place, (load, stream) in enumerate(zip(classes, streams, strict=True))
        if place != position and stream.batch_rate > 0.0
    ]
    return (
        tuple(stream for priority, stream in pairs if priority < own),
        tuple(stream for priority, stream in pairs if priority == own),
        tuple(stream for priority, stream in pairs if priority > own),
    )


def _full_wait(load: ClassLoad, given: float, capacity_gbps: float) -> Wait:
    if not load.elastic:
        growth = max(0.0, _asked_gbps(load) - given)
        return Wait("overloaded", given, growth_gbps=growth, packets=load.packets)
    if given == 0.0:
        return Wait("overloaded", 0.0, packets=load.packets)
    if load.ecn_threshold_bytes is None:
        return Wait("at_threshold", given, packets=load.packets)
    return _standing(load, given, capacity_gbps, _standing(load, given, given, None))


def _standing(load: ClassLoad, given: float, drain_gbps: float, slowest: Wait | None) -> Wait:
    stands = threshold_wait_us(load.ecn_threshold_bytes or 0.0, drain_gbps)
    return Wait(
        "at_threshold", given, stands, stands**2, 1.0, packets=load.packets, slowest=slowest
    )


def _law_wait(
    load: ClassLoad,
    given: float,
    higher: tuple[Stream, ...],
    own: Stream,
    lower: tuple[Stream, ...],
) -> Wait:
    """The law with the less urgent cut to what is left: loads a hair above 1 have none."""
    left = 1.0 - own.load - sum(stream.load for stream in higher)
    asked = sum(stream.load for stream in lower)
    if asked > left:
        lower = tuple(stream.scaled(left / asked) for stream in lower)
    law = WaitLaw(higher, own, lower)
    mean, second = law.moments()
    return Wait("steady", given, mean, second, law.p_wait, 0.0, law, load.packets)
