"""Waiting times by their Laplace transforms: what a class of packets meets at a port.

Streams of packets arrive in Poisson batches and are served one packet at a time, the more urgent
first, never interrupted. The transform of the wait is exact; its inverse is taken numerically.
Times are in one unit of the caller's choice (microseconds in `queueing`), rates per that unit.

Sources: Cobham 1954 (means); Kesten and Runnenburg 1957, Takács 1964 (transform); Burke 1975
(place in a batch); Abate and Whitt 1995 (Euler inversion).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, comb, floor, pi
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
BatchKind = Literal["constant", "geometric"]

_EULER_A: Final = 18.4
_EULER_PLAIN: Final = 38
_EULER_AVERAGED: Final = 11
_CLOSE: Final = 1e-12
_LATTICE_MOST: Final = 8_192


def invert_ccdf(transform: Callable[[Complexes], Complexes], at: Floats) -> Floats:
    """P(X > t) at positive times, from the Laplace transform of the law of X.

    Discretisation error 1e-8; near a jump of the distribution the answer is smeared. Source:
    Abate and Whitt 1995 (alternating series, Euler summation of the last partial sums).
    """
    terms = _EULER_PLAIN + _EULER_AVERAGED + 1
    order = np.arange(terms)
    top = np.asarray(_EULER_A + 2j * pi * order[None, :], dtype=np.complex128)
    nodes = top / (2.0 * at[:, None])
    values = ((1.0 - transform(nodes)) / nodes).real * (-1.0) ** order
    values[:, 0] *= 0.5
    partial = np.cumsum(values, axis=1)[:, _EULER_PLAIN:]
    weights = np.array([comb(_EULER_AVERAGED, j) for j in range(_EULER_AVERAGED + 1)])
    tail = partial @ (weights / 2.0**_EULER_AVERAGED)
    inverted: Floats = np.clip(np.exp(_EULER_A / 2.0) / at * tail, 0.0, 1.0)
    return inverted


@dataclass(frozen=True, slots=True)
class Stream:
    """Packets of one class: Poisson batches, each of one or more packets of a mix of sizes.

    `batch_rate` batches a unit of time; `services` the packets' service times with `shares`
    (adding up to 1); `batch_mean` packets a batch, at least 1; a constant batch of a broken
    number is a mix of the two whole numbers beside it.
    """

    batch_rate: float
    services: tuple[float, ...]
    shares: tuple[float, ...]
    batch_mean: float = 1.0
    batch_kind: BatchKind = "constant"
    packet_rate: float = field(init=False, compare=False)
    """Packets a unit of time."""
    load: float = field(init=False, compare=False)
    """The share of the server's time that the stream takes."""
    packet_moments: tuple[float, float, float] = field(init=False, compare=False)
    """First, second and third moment of one packet's service time."""
    factorials: tuple[float, float, float] = field(init=False, compare=False)
    """E[X], E[X(X-1)] and E[X(X-1)(X-2)] of the packets X in a batch."""
    batch_moments: tuple[float, float, float] = field(init=False, compare=False)
    """First, second and third moment of the service time of a whole batch."""

    def __post_init__(self) -> None:
        packet = self._packet_moments()
        factorials = self._factorials()
        set_field = object.__setattr__
        set_field(self, "packet_rate", self.batch_rate * self.batch_mean)
        set_field(self, "load", self.batch_rate * self.batch_mean * packet[0])
        set_field(self, "packet_moments", packet)
        set_field(self, "factorials", factorials)
        set_field(self, "batch_moments", _compound_moments(packet, factorials))

    def scaled(self, rate_factor: float, service_factor: float = 1.0) -> "Stream":
        """The same packets, more or fewer of them, or served more slowly."""
        services = tuple(service * service_factor for service in self.services)
        return Stream(
            self.batch_rate * rate_factor, services, self.shares, self.batch_mean, self.batch_kind
        )

    def _packet_moments(self) -> tuple[float, float, float]:
        first = second = third = 0.0
        for service, share in zip(self.services, self.shares, strict=True):
            first += share * service
            second += share * service**2
            third += share * service**3
        return first, second, third

    def _factorials(self) -> tuple[float, float, float]:
        if self.batch_mean == 1.0:
            return 1.0, 0.0, 0.0
        if self.batch_kind == "geometric":
            rest = self.batch_mean - 1.0
            return self.batch_mean, 2.0 * self.batch_mean * rest, 6.0 * self.batch_mean * rest**2
        pairs = triples = 0.0
        for size, share in self._constant_sizes():
            pairs += share * size * (size - 1)
            triples += share * size * (size - 1) * (size - 2)
        return self.batch_mean, pairs, triples

    def packet(self, s: Complexes) -> Complexes:
        """The transform of one packet's service time."""
        return sum_exponentials(s, self.services, self.shares)

    def batch(self, s: Complexes) -> tuple[Complexes, Complexes]:
        """The transform of a batch's service time, and its derivative."""
        z = self.packet(s)
        slopes = tuple(-a * b for a, b in zip(self.services, self.shares, strict=True))
        dz = sum_exponentials(s, self.services, slopes)
        value, slope = self.generating(z)
        return value, slope * dz

    def generating(self, z: Complexes) -> tuple[Complexes, Complexes]:
        """E[z^X] for the packets X in a batch, and its derivative by z."""
        if self.batch_mean == 1.0:
            return z, np.ones_like(z)
        if self.batch_kind == "geometric":
            end = 1.0 / self.batch_mean
            below = 1.0 - (1.0 - end) * z
            return end * z / below, end / below**2
        value, slope = np.zeros_like(z), np.zeros_like(z)
        for size, share in self._constant_sizes():
            power = z ** (size - 1)
            value += share * power * z
            slope += share * size * power
        return value, slope

    def _constant_sizes(self) -> tuple[tuple[int, float], ...]:
        low, high = floor(self.batch_mean), ceil(self.batch_mean)
        if low == high:
            return ((low, 1.0),)
        return ((low, high - self.batch_mean), (high, self.batch_mean - low))


def _compound_moments(
    packet: tuple[float, float, float], factorials: tuple[float, float, float]
) -> tuple[float, float, float]:
    first, second, third = packet
    one, two, three = factorials
    return (
        one * first,
        one * second + two * first**2,
        one * third + 3.0 * two * first * second + three * first**3,
    )


def sum_exponentials(
    s: Complexes, times: tuple[float, ...], weights: tuple[float, ...]
) -> Complexes:
    """Sum of weight x exp(-s x time), the transform of fixed times with those weights."""
    total = np.zeros_like(s)
    for time, weight in zip(times, weights, strict=True):
        total += weight * np.exp(-time * s)
    return total


@dataclass(frozen=True, slots=True)
class WaitLaw:
    """The wait of a packet (without its service) among more and less urgent streams.

    Loads of all streams add up to 1 at most; at exactly 1 the lower ones are saturated. The
    packets of `own` and `higher` must leave something over.
    """

    higher: tuple[Stream, ...]
    own: Stream
    lower: tuple[Stream, ...]

    @property
    def higher_load(self) -> float:
        """The share of time taken by the more urgent."""
        return sum(stream.load for stream in self.higher)

    @property
    def idle(self) -> float:
        """The share of time in which the server has nothing to do."""
        lower = sum(stream.load for stream in self.lower)
        return max(0.0, 1.0 - self.higher_load - self.own.load - lower)

    @property
    def p_wait(self) -> float:
        """The probability that a packet waits at all."""
        return 1.0 - self.idle / self.own.batch_mean

    def moments(self) -> tuple[float, float]:
        """The mean and the second moment of the wait, exact.

        The work met is an M/G/1 wait plus the rest of a less urgent packet; each unit of it is
        stretched by more urgent packets that arrive meanwhile.
        """
        own, busy = self.own, self.higher_load
        squares = sum(s.batch_rate * s.batch_moments[1] for s in self.higher)
        cubes = sum(s.batch_rate * s.batch_moments[2] for s in self.higher)
        left, free = 1.0 - busy - own.load, 1.0 - busy
        queue1 = (squares + own.batch_rate * own.batch_moments[1]) / (2.0 * left)
        queue2 = 2.0 * queue1**2 + (cubes + own.batch_rate * own.batch_moments[2]) / (3.0 * left)
        rest1 = sum(s.packet_rate * s.packet_moments[1] for s in self.lower) / (2.0 * left)
        rest2 = sum(s.packet_rate * s.packet_moments[2] for s in self.lower) / (3.0 * left)
        place1, place2 = self._place_moments()
        met1 = queue1 + rest1 + place1
        cross = queue1 * rest1 + queue1 * place1 + rest1 * place1
        met2 = queue2 + rest2 + place2 + 2.0 * cross
        return met1 / free, met2 / free**2 + met1 * squares / free**3

    def _place_moments(self) -> tuple[float, float]:
        """The service of the packets before one's own in its batch."""
        _, two, three = self.own.factorials
        first, second, _ = self.own.packet_moments
        before, pairs = two / (2.0 * self.own.batch_mean), three / (3.0 * self.own.batch_mean)
        return before * first, before * second + pairs * first**2

    def transform(self, s: Complexes) -> Complexes:
        """E[exp(-s x wait)] for complex s with a positive real part."""
        sigma = stretched(s, self.higher)
        batch, _ = self.own.batch(sigma)
        above = self.idle * sigma
        for stream in self.lower:
            above = above + stream.packet_rate * (1.0 - stream.packet(sigma))
        value: Complexes = above / (s - self.own.batch_rate * (1.0 - batch))
        if self.own.batch_mean > 1.0:
            z = self.own.packet(sigma)
            value = value * (1.0 - batch) / (self.own.batch_mean * (1.0 - z))
        return value

    def ccdf(self, at: Floats) -> Floats:
        """P(wait > t) at times of 0 or more."""
        out = np.full(at.shape, self.p_wait)
        late = at > 0.0
        if late.any():
            out[late] = np.minimum(invert_ccdf(self.transform, at[late]), self.p_wait)
        return out

    def queue_ccdf(self, packet_bytes: tuple[float, ...], beyond_bytes: float) -> float:
        """P(more than so many bytes of the class wait); below 1e-8 it is noise.

        By the distributional law of Little: what waits is what arrived during a wait. Exact for
        single arrivals, right in the mean for batches. `packet_bytes` goes with `own.services`.
        """
        own = self.own
        packets = floor(beyond_bytes / packet_bytes[0] + _CLOSE)
        if len(packet_bytes) == 1 and packets < _LATTICE_MOST:
            return lattice_ccdf(self._waiting, packets)

        def waiting_bytes(u: Complexes) -> Complexes:
            return self._waiting(sum_exponentials(u, packet_bytes, own.shares))

        return float(invert_ccdf(waiting_bytes, np.array([max(beyond_bytes, 1e-9)]))[0])

    def _waiting(self, z: Complexes) -> Complexes:
        """The generating function of the packets of the class that wait."""
        return self.transform(self.own.batch_rate * (1.0 - self.own.generating(z)[0]))


def lattice_ccdf(generating: Callable[[Complexes], Complexes], beyond: int) -> float:
    """P(N > n) from the generating function of N, by its values on a circle inside the unit one.

    Error 1e-8. Source: Abate and Whitt 1992 (lattice-Poisson algorithm).
    """
    size = max(64, 1 << (2 * beyond + 2).bit_length())
    radius = 1e-8 ** (1.0 / size)
    circle = radius * np.exp(2j * pi * np.arange(size) / size)
    chances = np.fft.fft(generating(circle))[: beyond + 1].real / size
    return float(np.clip(1.0 - np.sum(chances / radius ** np.arange(beyond + 1)), 0.0, 1.0))


def stretched(s: Complexes, higher: tuple[Stream, ...]) -> Complexes:
    """The root of sigma = s + sum of rate x (1 - batch(sigma)): one unit of work, interrupted.

    Newton from a few steps of the contraction; a step that does not help is replaced by one of
    the contraction, so the root found is the one with the larger real part.
    """
    if not higher:
        return s
    sigma = _contract(_contract(s, s, higher)[0], s, higher)[0]
    for _ in range(60):
        image, slope = _contract(sigma, s, higher)
        gap = sigma - image
        if np.all(np.abs(gap) <= _CLOSE * np.abs(s)):
            return image
        newton = sigma - gap / (1.0 - slope)
        sigma = np.where(newton.real >= s.real, newton, image)
    for _ in range(20_000):
        image, _ = _contract(sigma, s, higher)
        if np.all(np.abs(sigma - image) <= 1e-10 * np.abs(s)):
            return image
        sigma = image
    return sigma


def _contract(
    sigma: Complexes, s: Complexes, higher: tuple[Stream, ...]
) -> tuple[Complexes, Complexes]:
    image, slope = s.copy(), np.zeros_like(s)
    for stream in higher:
        value, by_sigma = stream.batch(sigma)
        image += stream.batch_rate * (1.0 - value)
        slope -= stream.batch_rate * by_sigma
    return image, slope


_START: Final = np.geomspace(1e-4, 1.0, 33)
_SPLIT: Final = np.linspace(0.0, 1.0, 9)


@lru_cache(maxsize=65_536)
def percentiles(law: WaitLaw, levels: tuple[float, ...]) -> tuple[float, ...]:
    """The times that the wait does not exceed with the given probabilities (each below 1)."""
    tails = 1.0 - np.array(levels)
    out = np.zeros(len(levels))
    waits = tails < law.p_wait
    if not waits.any():
        return tuple(out.tolist())
    low, high, above, below = _brackets(law, tails[waits])
    for _ in range(3):
        times = low[:, None] + (high - low)[:, None] * _SPLIT
        inner = law.ccdf(times[:, 1:-1].ravel()).reshape(len(low), -1)
        values = np.column_stack((above, inner, below))
        low, high, above, below = _narrow(times, values, tails[waits])
    span = np.where(above > below, above - below, 1.0)
    out[waits] = low + (high - low) * np.clip((above - tails[waits]) / span, 0.0, 1.0)
    return tuple(out.tolist())


def _brackets(law: WaitLaw, tails: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    mean, _ = law.moments()
    top = 4.0 * mean
    for _ in range(60):
        if law.ccdf(np.array([top]))[0] <= tails.min():
            break
        top *= 2.0
    times = np.concatenate(([0.0], top * _START))
    values = np.minimum.accumulate(np.concatenate(([law.p_wait], law.ccdf(times[1:]))))
    rows = np.broadcast_to(times, (len(tails), len(times)))
    return _narrow(rows, np.broadcast_to(values, rows.shape), tails)


def _narrow(times: Floats, values: Floats, tails: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    rows = np.arange(len(tails))
    falling = np.minimum.accumulate(values, axis=1)
    after = np.argmax(falling <= tails[:, None], axis=1)
    after = np.where(falling[:, -1] > tails, times.shape[1] - 1, np.maximum(after, 1))
    return (
        times[rows, after - 1],
        times[rows, after],
        falling[rows, after - 1],
        falling[rows, after],
    )
