"""How latencies combine: one after the other, all waited for, one or the other, the first of them.

Everything is independent unless it is the same random outcome. Percentiles come out of the
result and are never added. All times in ms.
"""

from collections.abc import Sequence
from math import ceil, prod

import numpy as np
from immutables import Map
from scipy.fft import irfft, next_fast_len, rfft

from designer.analysis.distributions import (
    MAX_POINTS,
    Deposit,
    Floats,
    Latency,
    aligned,
    balanced,
    bounded,
    deposited,
    folded,
    on_step,
    points_ms,
)
from designer.analysis.latency_sources import constant


def then(first: Latency, second: Latency) -> Latency:
    """One after the other."""
    return in_sequence((first, second))


def in_sequence(latencies: Sequence[Latency]) -> Latency:
    """All, one after the other: a convolution, done at once. Nothing at all takes no time.

    The grid's step is the widest of the parts', wider where the sum would not fit.
    """
    constants = _added_constants(latencies)
    moving = [latency for latency in latencies if len(latency.mass) > 1 or latency.origin_ms]
    exact = _added_moments(latencies)
    if len(moving) < 2:
        base = moving[0] if moving else constant("", 0.0)
        return Latency(
            base.origin_ms, base.step_ms, base.mass, base.atom, base.segments, base.parts,
            constants, exact,
        )  # fmt: skip
    step = max((each.step_ms for each in moving if len(each.mass) > 1), default=0.0) or 1.0
    steps = sum((len(latency.mass) - 1) * latency.step_ms for latency in moving) / step
    step *= max(1.0, steps / (2 * MAX_POINTS))
    moving = [on_step(latency, step) for latency in moving]
    segments = tuple(dict.fromkeys(name for latency in moving for name in latency.segments))
    origin = sum(latency.origin_ms for latency in moving)
    mass, parts = _convolved(moving, segments)
    times = points_ms(origin, step, len(mass))
    atom = prod(latency.atom for latency in moving)
    parts = (times * mass)[None, :] if len(segments) == 1 else balanced(times, mass, parts)
    return bounded(Latency(origin, step, mass, atom, segments, parts, constants, exact))


def _convolved(moving: Sequence[Latency], segments: tuple[str, ...]) -> tuple[Floats, Floats]:
    points = sum(len(latency.mass) - 1 for latency in moving) + 1
    length = next_fast_len(points, real=True)
    masses = [rfft(latency.mass, length) for latency in moving]
    if len(segments) == 1:
        # all time is one segment's: nothing to divide
        mass = np.maximum(irfft(np.prod(masses, axis=0), length)[:points], 0.0)
        return mass / mass.sum(), np.zeros((1, 0))
    ahead, behind = [np.ones_like(masses[0])], [np.ones_like(masses[0])]
    for before, after in zip(masses[:-1], masses[:0:-1], strict=True):
        ahead.append(ahead[-1] * before)
        behind.append(behind[-1] * after)
    spent = np.zeros((len(segments), len(masses[0])), dtype=np.complex128)
    row = {segment: place for place, segment in enumerate(segments)}
    for latency, before, after in zip(moving, ahead, reversed(behind), strict=True):
        if latency.segments:
            rows = [row[segment] for segment in latency.segments]
            spent[rows] += rfft(latency.parts, length, axis=1) * (before * after)
    mass = np.maximum(irfft(ahead[-1] * masses[-1], length)[:points], 0.0)
    parts = np.maximum(irfft(spent, length, axis=1)[:, :points], 0.0)
    return mass / mass.sum(), parts


def _added_constants(latencies: Sequence[Latency]) -> Map[str, float]:
    constants: dict[str, float] = {}
    for latency in latencies:
        for segment, ms in latency.constants.items():
            constants[segment] = constants.get(segment, 0.0) + ms
    return Map(constants)


def _added_moments(latencies: Sequence[Latency]) -> tuple[float, float] | None:
    exact = [latency.exact for latency in latencies if latency.exact is not None]
    if len(exact) < len(latencies):
        return None
    return sum(mean for mean, _ in exact), sum(variance for _, variance in exact)


def n_times(latency: Latency, times: int) -> Latency:
    """So many independent ones of the same law, one after the other (by doubling)."""
    made: Latency | None = None
    power, left = latency, times
    while left:
        if left & 1:
            made = power if made is None else then(made, power)
        left >>= 1
        if left:
            power = then(power, power)
    return in_sequence(()) if made is None else made


def delayed(latency: Latency, segment: str, ms: float) -> Latency:
    """The same after a fixed time."""
    return then(latency, constant(segment, ms))


def scaled(latency: Latency, factor: float) -> Latency:
    """All times multiplied: half of a published round trip, or a factor of a model's error."""
    exact = latency.exact
    return Latency(
        origin_ms=latency.origin_ms * factor,
        step_ms=latency.step_ms * factor,
        mass=latency.mass,
        atom=latency.atom,
        segments=latency.segments,
        parts=latency.parts * factor,
        constants=Map({segment: ms * factor for segment, ms in latency.constants.items()}),
        exact=None if exact is None else (exact[0] * factor, exact[1] * factor**2),
    )


def either(branches: Sequence[tuple[float, Latency]]) -> Latency:
    """One of several, with probabilities adding up to 1: hit or miss. Raises ValueError if not."""
    if abs(sum(share for share, _ in branches) - 1.0) > 1e-9:
        raise ValueError("the probabilities of the branches do not add up to 1; correct them")
    possible = [(share, latency) for share, latency in branches if share > 0.0]
    if len(possible) == 1:
        return possible[0][1]
    chosen = [(share, folded(latency)) for share, latency in possible]
    origin = min(latency.origin_ms for _, latency in chosen)
    most = max(latency.most_ms for _, latency in chosen)
    steps = [latency.step_ms for _, latency in chosen if len(latency.mass) > 1]
    step = max(min(steps, default=0.0), (most - origin) / (MAX_POINTS - 2)) or 1.0
    segments = tuple(dict.fromkeys(name for _, latency in chosen for name in latency.segments))
    placed = [(share, on_step(latency, step, origin)) for share, latency in chosen]
    points = max(len(latency.mass) for _, latency in placed)
    mass, parts = np.zeros(points), np.zeros((len(segments), points))
    for share, latency in placed:
        mass[: len(latency.mass)] += share * latency.mass
        parts[:, : len(latency.mass)] += share * aligned(latency, segments)
    atom = sum(share * latency.atom for share, latency in placed)
    return bounded(Latency(origin, step, mass, atom, segments, parts, exact=_mixed_moments(chosen)))


def _mixed_moments(chosen: Sequence[tuple[float, Latency]]) -> tuple[float, float] | None:
    exact = [(share, latency.exact) for share, latency in chosen if latency.exact is not None]
    if len(exact) < len(chosen):
        return None
    mean = sum(share * moments[0] for share, moments in exact)
    square = sum(share * (moments[1] + (moments[0] - mean) ** 2) for share, moments in exact)
    return mean, square


def atom_or(probability: float, latency: Latency) -> Latency:
    """The latency with that probability, else no time at all: a wait that may not happen."""
    return either(((1.0 - probability, in_sequence(())), (probability, latency)))


def all_of(branches: Sequence[Latency]) -> Latency:
    """Independent branches at the same time, all waited for: the last one's time is what counts.

    Nothing to wait for takes no time.
    """
    return _race(branches, _Last()) if branches else in_sequence(())


def first_of(*branches: Latency) -> Latency:
    """Independent branches at the same time; the first one is enough and pays."""
    return _race(branches, _First())


def hedged(latency: Latency, after_ms: float, segment: str) -> Latency:
    """The same asked again after a time without an answer; the first answer counts.

    `segment` names the time before the second attempt where that one wins.
    """
    return first_of(latency, delayed(latency, segment, after_ms))


def retried(latency: Latency, timeout_ms: float, attempts: int, segment: str) -> Latency:
    """Abandoned at the timeout and asked again, so many attempts in all; the last is waited for.

    `segment` names the time spent on abandoned attempts.
    """
    answered, quick = _within(latency, timeout_ms)
    made = latency
    for _ in range(attempts - 1):
        made = delayed(made, segment, timeout_ms)
        if quick is not None:
            made = either(((answered, quick), (1.0 - answered, made)))
    return made


def given_up(latency: Latency, timeout_ms: float, attempts: int) -> float:
    """The probability that none of so many attempts answers within its timeout."""
    return float(1.0 - _within(latency, timeout_ms)[0]) ** attempts


def _within(latency: Latency, limit_ms: float) -> tuple[float, Latency | None]:
    """The probability of staying within a limit, and the law of those that do."""
    limit = limit_ms - latency.fixed_ms
    if limit < latency.origin_ms:
        return 0.0, None
    if len(latency.mass) == 1 or limit >= latency.origin_ms + latency.step_ms * len(latency.mass):
        return 1.0, latency
    kept = np.clip((limit - latency.times_ms) / latency.step_ms + 0.5, 0.0, 1.0)
    even = latency.mass[0] - latency.atom
    first = np.clip(2.0 * (limit - latency.origin_ms) / latency.step_ms, 0.0, 1.0)
    if latency.mass[0] > 0.0:
        kept[0] = (latency.atom + even * float(first)) / latency.mass[0]
    answered = float(kept @ latency.mass)
    if answered <= 0.0:
        return 0.0, None
    points = int(np.flatnonzero(kept)[-1]) + 1
    mass = (kept * latency.mass)[:points] / answered
    parts = (kept * latency.parts)[:, :points] / answered
    return answered, Latency(
        latency.origin_ms, latency.step_ms, mass, latency.atom / answered, latency.segments, parts,
        latency.constants,
    )  # fmt: skip


class _Last:
    """The winner of a race is the last: the others have arrived before."""

    @staticmethod
    def of_fixed_ms(times_ms: Sequence[float]) -> float:
        return max(times_ms)

    @staticmethod
    def origin_ms(branches: Sequence[Latency]) -> float:
        return max(branch.origin_ms for branch in branches)

    @staticmethod
    def sure(mass: Floats, below: float) -> Floats:
        """The probability that a branch has lost for certain at each point, ties left out."""
        return below + np.concatenate(([0.0], np.cumsum(mass)[:-1]))

    @staticmethod
    def atom(branches: Sequence[Latency], origin_ms: float) -> float:
        return prod(
            branch.atom if branch.origin_ms == origin_ms else float(branch.cdf(origin_ms))
            for branch in branches
        )


class _First:
    """The winner of a race is the first: the others are still under way."""

    @staticmethod
    def of_fixed_ms(times_ms: Sequence[float]) -> float:
        return min(times_ms)

    @staticmethod
    def origin_ms(branches: Sequence[Latency]) -> float:
        return min(branch.origin_ms for branch in branches)

    @staticmethod
    def sure(mass: Floats, below: float) -> Floats:
        """The probability that a branch has lost for certain at each point, ties left out."""
        return np.concatenate((np.cumsum(mass[::-1])[::-1][1:], [0.0]))

    @staticmethod
    def atom(branches: Sequence[Latency], origin_ms: float) -> float:
        return 1.0 - prod(1.0 - branch.atom for branch in branches if branch.origin_ms == origin_ms)


def _race(branches: Sequence[Latency], rule: _Last | _First) -> Latency:
    if all(len(branch.mass) == 1 for branch in branches):
        # On a grid a fixed time would be smeared over two of its points.
        won_ms = rule.of_fixed_ms([branch.least_ms for branch in branches])
        tied = [branch for branch in branches if branch.least_ms == won_ms]
        return either([(1.0 / len(tied), branch) for branch in tied])
    if len(branches) == 1:
        return branches[0]
    running = [folded(branch) for branch in branches]
    origin = rule.origin_ms(running)
    step = max(branch.step_ms for branch in running if len(branch.mass) > 1)
    segments = tuple(dict.fromkeys(name for branch in running for name in branch.segments))
    placed = []
    for branch in running:
        parts = aligned(branch, segments)
        placed.append(deposited(branch.times_ms, branch.mass, parts, Deposit(origin, step)))
    points = max(len(mass) for mass, _, _ in placed)
    masses = np.array([np.pad(mass, (0, points - len(mass))) for mass, _, _ in placed])
    sure = np.array(
        [rule.sure(mass, below) for mass, (_, _, below) in zip(masses, placed, strict=True)]
    )
    total, parts = np.zeros(points), np.zeros((len(segments), points))
    wins = _win_chances(masses, sure)
    for (mass, spent, _), win in zip(placed, wins, strict=True):
        total[: len(mass)] += mass * win[: len(mass)]
        parts[:, : len(mass)] += spent * win[: len(mass)]
    times = points_ms(origin, step, points)
    atom = min(rule.atom(running, origin), float(total[0]))
    return bounded(Latency(origin, step, total, atom, segments, balanced(times, total, parts)))


def _win_chances(masses: Floats, sure: Floats) -> Floats:
    """The chance of each branch to win at each point, ties divided as if at random.

    The integral over u of the product of (sure + u x mass) over the others: exact by Gauss's rule.
    """
    count = len(masses)
    nodes, weights = np.polynomial.legendre.leggauss(max(1, ceil(count / 2)))
    chances = np.zeros_like(masses)
    for node, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
        reached = sure + node * masses
        ones = np.ones((1, masses.shape[1]))
        ahead = np.cumprod(np.vstack((ones, reached[:-1])), axis=0)
        behind = np.cumprod(np.vstack((ones, reached[:0:-1])), axis=0)[::-1]
        chances += weight * ahead * behind
    return chances
