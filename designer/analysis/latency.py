"""A request's time: its workflow's parts timed one by one and put together by the algebra.

Each latency knows the segments it is made of, so that a percentile can be divided among them.
What is not known on the way leaves the rest standing, and the figure says "at least".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from immutables import Map

from designer.analysis.distributions import Latency, folded
from designer.analysis.elements import Elements, Timing
from designer.analysis.facts import Ledger
from designer.analysis.latency_algebra import (
    all_of,
    atom_or,
    either,
    hedged,
    in_sequence,
    n_times,
    retried,
    scaled,
)
from designer.analysis.latency_sources import (
    constant,
    exponential,
    from_quantiles,
    from_samples,
    gamma,
)
from designer.analysis.pools import PoolAnswer
from designer.analysis.quantiles import quantile_function
from designer.analysis.results import FactKind
from designer.analysis.server_queues import mgc_wait
from designer.analysis.transit import Segment, Transit, Trip
from designer.analysis.wait_latency import server_latency
from designer.analysis.wire import SEGMENT_BYTES
from designer.analysis.workflow import (
    Access,
    Again,
    Chain,
    Fork,
    Generate,
    Maybe,
    Move,
    Part,
    Serve,
    Tries,
    Twice,
)
from designer.graph.arrays import Floats, Ints
from designer.model.base import Percentiles
from designer.model.design import Design
from designer.model.kinds import tier_of
from designer.model.things import ServiceTime

WINDOW_SEGMENTS: Final = 10
"""Initial window of a fresh connection (RFC 6928)."""

ROUND_TRIPS: Final = {
    "dns": 1,
    "tcp": 1,
    "tls13": 1,
    "tls13_resumed": 0,
    "quic": 1,
    "quic_resumed": 0,
}
"""Round trips before a fresh request (RFC 8446, 9000; resumption sends data at once)."""

_TINY_MS: Final = 1e-4
"""Waits this small together are carried by their mean: no figure shows them."""


class CannotTime(ValueError):
    """There is no figure at all: no way, no pool, or no steady state. The message says why."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A latency and what is missing in it (empty: nothing)."""

    latency: Latency
    missing: tuple[str, ...]


@dataclass(slots=True)
class Clock:
    """Times the parts of requests; `segments` tells what the names in its latencies stand for."""

    design: Design
    transit: Transit
    elements: Elements
    pools: Mapping[str, PoolAnswer]
    calls_per_s: Mapping[str, float]
    ledger: Ledger
    segments: dict[str, Segment] = field(default_factory=dict)
    _timed: dict[tuple[Part, float], Timed] = field(default_factory=dict)
    _still: dict[tuple[Part, float], Timed] = field(default_factory=dict)

    def with_pools(self, pools: Mapping[str, PoolAnswer]) -> Clock:
        """A clock for other answers of the pools; what does not ask a GPU is timed only once."""
        return replace(self, pools=pools, _timed={})

    def time(self, part: Part, gpu_factor: float = 1.0) -> Timed:
        """The latency of a part; GPU times are multiplied by `gpu_factor` (the model's error).

        Raises CannotTime.
        """
        asks = _asks_gpu(part)
        key, known = (part, gpu_factor if asks else 1.0), self._timed if asks else self._still
        if key not in known:
            known[key] = self._time(part, key[1])
        return known[key]

    def plain(self, part: Part, gpu_factor: float) -> Latency:
        """The same latency without its division among segments: cheap to ask at many factors.

        Raises CannotTime.
        """
        if not _asks_gpu(part):
            key = (part, 0.0)
            if key not in self._still:
                timed = self.time(part)
                self._still[key] = replace(timed, latency=_undivided(timed.latency))
            return self._still[key].latency
        if isinstance(part, Chain):
            still = Chain(tuple(each for each in part.parts if not _asks_gpu(each)))
            moving = [each for each in part.parts if _asks_gpu(each)]
            return in_sequence(
                [self.plain(still, 1.0), *(self.plain(each, gpu_factor) for each in moving)]
            )
        if isinstance(part, Generate):
            return scaled(_undivided(self.time(part).latency), gpu_factor)
        if isinstance(part, Again):
            return n_times(self.plain(part.part, gpu_factor), part.times)
        return _undivided(self.time(part, gpu_factor).latency)

    def _time(self, part: Part, factor: float) -> Timed:
        match part:
            case Move():
                return self._move(part)
            case Serve():
                return self._serve(part)
            case Generate():
                return self._generate(part, factor)
            case Access():
                return self._access(part)
            case Chain():
                return _joined(in_sequence, [self.time(each, factor) for each in part.parts])
            case Fork():
                return _joined(all_of, [self.time(each, factor) for each in part.parts])
            case Again():
                timed = self.time(part.part, factor)
                return replace(timed, latency=n_times(timed.latency, part.times))
            case Maybe():
                return self._maybe(part, factor)
            case Tries():
                timed = self.time(part.part, factor)
                name = self._name(Segment("abandoned attempts", "services", "", "derived"))
                made = retried(timed.latency, part.timeout_ms, part.attempts, name)
                return replace(timed, latency=made)
            case Twice():
                timed = self.time(part.part, factor)
                name = self._name(Segment("wait before the hedge", "services", "", "derived"))
                return replace(timed, latency=hedged(timed.latency, part.after_ms, name))

    def _maybe(self, part: Maybe, factor: float) -> Timed:
        rest = 1.0 - sum(share for share, _ in part.choices)
        timed = [(share, self.time(each, factor)) for share, each in part.choices if share > 0]
        ways = [(share, each.latency) for share, each in timed]
        if rest > 1e-12:
            ways.append((rest, in_sequence(())))
        else:
            ways = [(share / (1.0 - rest), each) for share, each in ways]
        return Timed(either(ways), _missing([each for _, each in timed]))

    def _access(self, part: Access) -> Timed:
        """The access round trip, and round trips of handshakes over the way to the first stop."""
        trips = sum(ROUND_TRIPS.get(word, 1) for word in part.handshakes)
        node = self.design.nodes[part.users]
        medium = self.elements.access(node)
        pieces: list[Latency] = []
        missing: list[str] = []
        if medium is not None and medium.round_trip_ms is not None:
            label = "access round trip" if trips == 0 else f"access, {1 + trips} round trips"
            segment = Segment(
                label, tier_of(node.kind, node.tier), node.id, medium.kind, medium.source
            )
            pieces.append(scaled(_table(self._name(segment), medium.round_trip_ms), 1.0 + trips))
        elif medium is not None:
            missing.append(f"access of {node.name or node.id}")
        if trips and part.first_stop != part.users:
            there = self._ways(part.users, part.first_stop)
            back = self._ways(part.first_stop, part.users)
            for way in (there[0], back[0]):
                for piece, ms in way.fixed_ms:
                    name = self._name(replace(piece, name="handshakes"))
                    pieces.append(constant(name, ms * trips))
                missing.extend(way.unknown)
        return Timed(in_sequence(pieces), tuple(missing))

    def _ways(self, source: str, target: str, cls: str | None = None) -> tuple[Trip, ...]:
        chosen = cls or next(iter(self.transit.traffic.rules))
        trips = self.transit.trips(source, target, chosen)
        if not trips:
            names = [self.design.nodes[key].name or key for key in (source, target)]
            raise CannotTime(f"there is no way from {names[0]} to {names[1]}")
        return trips

    def _move(self, move: Move) -> Timed:
        if move.source == move.target:
            return Timed(in_sequence(()), ())
        trips = self._ways(move.source, move.target, move.traffic_class)
        ways = [(trip.share, self._trip(trip, move)) for trip in trips]
        total = sum(share for share, _ in ways)
        missing = {each: None for trip in trips for each in trip.unknown}
        if move.waited_bytes is None:
            missing[f"size of {move.what} from {move.source} to {move.target}"] = None
        return Timed(either([(share / total, way) for share, way in ways]), tuple(missing))

    def _trip(self, trip: Trip, move: Move) -> Latency:
        pieces = [constant(self._name(segment), ms) for segment, ms in trip.fixed_ms]
        pieces += self._waits(trip)
        link_names = {segment.element for segment, _ in trip.fixed_ms}
        pieces += self._jitter_and_loss(trip, move, link_names)
        if move.waited_bytes and trip.transfer is not None:
            rate, segment = self._rate(trip, move)
            if rate is not None:
                ms = move.waited_bytes * 8 / (rate * 1e6)
                pieces.append(constant(self._name(segment), ms))
                rounds = self._slow_start_rounds(move, rate, 2 * trip.one_way_ms)
                if rounds:
                    name = self._name(replace(segment, name="slow start"))
                    pieces.append(constant(name, rounds * 2 * trip.one_way_ms))
        return in_sequence(pieces)

    def _rate(self, trip: Trip, move: Move) -> tuple[float | None, Segment]:
        """Payload Gb/s of the message: its share on the way, or the user's own line."""
        assert trip.transfer is not None
        rate, segment = trip.transfer_gbps, trip.transfer
        for node_id, name in ((move.source, "access_up_gbps"), (move.target, "access_down_gbps")):
            node = self.design.nodes[node_id]
            line: float | None = getattr(node, name)
            if line is not None and (rate is None or line < rate):
                tier = tier_of(node.kind, node.tier)
                rate, segment = line, Segment("transfer", tier, node_id, "given", "users' line")
        return (None if rate is not None and rate <= 0 else rate), segment

    def _slow_start_rounds(self, move: Move, rate_gbps: float, round_trip_ms: float) -> int:
        """Extra round trips of a fresh connection's first message (MODEL section 1)."""
        fresh = move.what == "request" and self._handshakes_at(move.source)
        if not fresh or not move.waited_bytes or round_trip_ms <= 0:
            return 0
        full = rate_gbps * 1e6 / 8 * round_trip_ms
        window, sent, rounds = WINDOW_SEGMENTS * SEGMENT_BYTES, 0.0, 0
        while sent + window < move.waited_bytes and window < full:
            sent += window
            window *= 2
            rounds += 1
        return rounds

    def _handshakes_at(self, node_id: str) -> bool:
        return any(
            bool(service.wire.handshakes)
            for service in self.design.services.values()
            if any(demand.users == node_id for demand in service.demands)
        )

    def _waits(self, trip: Trip) -> list[Latency]:
        """All queues of a trip as one gamma of their summed moments, divided by their means.

        Hops count as independent; their sum's first two moments are exact then.
        """
        means = [(wait.mean_us or 0.0) / 1000 for _, wait in trip.waits]
        total = sum(means)
        if total <= 0:
            return []
        if total < _TINY_MS:
            return [
                constant(self._name(segment), ms)
                for (segment, _), ms in zip(trip.waits, means, strict=True)
            ]
        variance = sum(
            max(0.0, (wait.second_moment_us2 or 0.0) - (wait.mean_us or 0.0) ** 2) / 1e6
            for _, wait in trip.waits
        )
        whole = gamma("queueing", total, variance / total**2)
        shares = [
            (self._name(segment), ms / total)
            for (segment, _), ms in zip(trip.waits, means, strict=True)
        ]
        return [_divided(whole, lambda _: np.array([share for _, share in shares]), shares)]

    def _jitter_and_loss(self, trip: Trip, move: Move, elements: set[str]) -> list[Latency]:
        """Delay variation as an exponential of that mean; a lost packet costs a round trip."""
        pieces = []
        kept = 1.0
        for link_id in sorted(elements & set(self.design.links)):
            link = self.design.links[link_id]
            tier = self.transit.link_tier(link_id)
            if link.jitter_ms:
                name = self._name(Segment("jitter", tier, link_id, "guessed", "exponential shape"))
                pieces.append(exponential(name, link.jitter_ms))
            kept *= 1.0 - (link.loss or 0.0)
        if kept < 1.0 and move.waited_bytes:
            packets = max(1.0, move.waited_bytes / SEGMENT_BYTES)
            name = self._name(
                Segment("retransmission", "transport", "", "derived", "one round trip")
            )
            pieces.append(atom_or(1.0 - kept**packets, constant(name, 2 * trip.one_way_ms)))
        return pieces

    def _serve(self, part: Serve) -> Timed:
        node = self.design.nodes[part.node]
        timing = self.elements.timing(node, part.call)
        tier = tier_of(node.kind, node.tier)
        if timing.time is None:
            return Timed(in_sequence(()), (f"service time of {node.name or node.id}",))
        segment = Segment(part.name, tier, node.id, timing.kind, timing.source)
        work = _work(self._name(segment), timing.time)
        wait = self._server_wait(part.node, timing, work)
        return Timed(in_sequence([*wait, work]), ())

    def _server_wait(self, node_id: str, timing: Timing, work: Latency) -> list[Latency]:
        node = self.design.nodes[node_id]
        if timing.servers is None:
            self.ledger.note(node_id, "servers", None, "unknown", "no queue is computed before it")
            return []
        mean = work.mean_ms
        if mean <= 0:
            return []
        instances = self.transit.arrays.expansion.count[self.transit.arrays.node_position(node_id)]
        rate = self.calls_per_s.get(node_id, 0.0) / int(instances)
        wait = mgc_wait(rate, mean, work.variance_ms2 / mean**2, max(1, timing.servers))
        if wait.p_wait is None:
            raise CannotTime(
                f"{node.name or node.id} gets {rate:.3g} requests/s an instance and bears "
                f"{1000 * timing.servers / mean:.3g}; its queue grows by {wait.growth_per_s:.3g}/s"
            )
        if wait.p_wait < 1e-9 or not wait.mean_ms:
            return []
        tier = tier_of(node.kind, node.tier)
        name = self._name(Segment("wait for a server", tier, node_id, "derived", "M/G/c, Kimura"))
        latency = server_latency(name, wait)
        return [] if latency is None else [latency]

    def _generate(self, part: Generate, factor: float) -> Timed:
        answer = self.pools[part.deployment]
        deployment = self.design.deployments[part.deployment]
        if answer.served is None:
            raise CannotTime(answer.refused)
        if answer.overloaded:
            raise CannotTime(
                f"{deployment.name or deployment.id} is asked {answer.per_s:.3g} requests/s and "
                f"bears {answer.served.saturation_per_s or 0:.3g}; its queue grows without end"
            )
        mine = answer.of_slot.get(part.slot)
        if mine is None or not len(mine):
            raise CannotTime(
                f"the token counts asked of {deployment.name or part.deployment} are not known"
            )
        return Timed(scaled(self._samples(part, answer, mine), factor), ())

    def _samples(self, part: Generate, answer: PoolAnswer, mine: Ints) -> Latency:
        served = answer.served
        assert served is not None
        assert answer.replica is not None
        node = self.design.deployments[part.deployment].node
        wait, first, last = (
            array[mine] for array in (served.queue_wait_ms, served.ttft_ms, served.request_ms)
        )
        handling_ms = 1000 * answer.replica.constants.request_s
        rows = {"GPU queue": wait, "prefill": first - wait - handling_ms}
        if not part.first_token_only:
            rows["decode"] = last - first
        total = (first if part.first_token_only else last) - handling_ms
        tier = tier_of(self.design.nodes[node].kind, self.design.nodes[node].tier)
        calibrated = answer.replica.is_calibrated
        kind: FactKind = "derived" if calibrated else "guessed"
        source = "step-level batching model" + ("" if calibrated else ", not calibrated here")
        named = {
            self._name(Segment(name, tier, node, kind, source)): samples
            for name, samples in rows.items()
        }
        working = _divided(
            from_samples("GPU", total),
            lambda lat: _conditional(lat, total, list(named.values())),
            [(name, 0.0) for name in named],
        )
        handling = self._name(Segment("request handling", tier, node, kind, "fitted constant"))
        return in_sequence((constant(handling, handling_ms), working))

    def _name(self, segment: Segment) -> str:
        name = f"{segment.name}|{segment.tier}|{segment.element}"
        self.segments.setdefault(name, segment)
        return name


def _asks_gpu(part: Part) -> bool:
    match part:
        case Generate():
            return True
        case Chain() | Fork():
            return any(_asks_gpu(each) for each in part.parts)
        case Again() | Tries() | Twice():
            return _asks_gpu(part.part)
        case Maybe():
            return any(_asks_gpu(each) for _, each in part.choices)
        case _:
            return False


def _undivided(latency: Latency) -> Latency:
    """All segments as one; the distribution is the same."""
    if len(latency.segments) < 2 and len(latency.constants) < 2:
        return latency
    return replace(
        latency,
        segments=("all",),
        parts=latency.parts.sum(axis=0, keepdims=True),
        constants=Map({"all": latency.fixed_ms}),
    )


def _joined(put: Callable[[Sequence[Latency]], Latency], timed: Sequence[Timed]) -> Timed:
    return Timed(put([each.latency for each in timed]), _missing(timed))


def _missing(timed: Sequence[Timed]) -> tuple[str, ...]:
    return tuple({name: None for each in timed for name in each.missing})


def _table(name: str, table: Percentiles) -> Latency:
    return from_quantiles(name, quantile_function(table))


def _work(name: str, time: ServiceTime) -> Latency:
    """A service time as given: percentiles, else a gamma of mean and scv (1 where not said)."""
    if time.percentiles_ms is not None and time.percentiles_ms.points():
        return _table(name, time.percentiles_ms)
    mean = time.mean_ms
    if mean is None and time.percentiles_ms is not None:
        mean = time.percentiles_ms.mean
    return gamma(name, mean or 0.0, 1.0 if time.scv is None else time.scv)


def _divided(
    whole: Latency,
    ratios: Callable[[Latency], Floats],
    named: Sequence[tuple[str, float]],
) -> Latency:
    """One segment's latency divided among several: ratios (segments,) or (segments, points)."""
    flat = folded(whole)
    spent = flat.parts.sum(axis=0)
    table = ratios(flat)
    parts = table[:, None] * spent if table.ndim == 1 else table * spent
    return replace(flat, segments=tuple(name for name, _ in named), parts=parts)


def _conditional(whole: Latency, total: Floats, parts: Sequence[Floats]) -> Floats:
    """(parts, points) share of each part in the samples that lie at each point of the grid."""
    points = len(whole.mass)
    if points == 1:
        sums = np.array([[part.sum()] for part in parts])
    else:
        place = np.clip((total - whole.origin_ms) / whole.step_ms, 0, points - 1)
        low = np.floor(place).astype(np.int64)
        up, high = place - low, np.minimum(low + 1, points - 1)
        sums = np.array(
            [
                np.bincount(low, part * (1 - up), points) + np.bincount(high, part * up, points)
                for part in parts
            ]
        )
    whole_sum = sums.sum(axis=0)
    mean = np.array([[part.sum()] for part in parts])
    mean = mean / max(float(mean.sum()), 1e-300)
    shares: Floats = np.where(whole_sum > 0, sums / np.where(whole_sum > 0, whole_sum, 1.0), mean)
    return shares
