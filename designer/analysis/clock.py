"""A request's time: its workflow's parts timed one by one and put together by the algebra.

Each latency knows the segments it is made of, so that a percentile can be divided among them.
What is not known on the way leaves the rest standing, and the figure says "at least".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from designer.analysis.distributions import Latency
from designer.analysis.elements import Elements
from designer.analysis.facts import Ledger
from designer.analysis.gpu_latency import generated
from designer.analysis.latency_algebra import (
    all_of,
    either,
    hedged,
    in_sequence,
    n_times,
    retried,
    scaled,
)
from designer.analysis.latency_sources import gamma
from designer.analysis.pools import PoolAnswer
from designer.analysis.request_parts import (
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
from designer.analysis.server_queues import ServerWait, mgc_wait
from designer.analysis.timed import CannotTime, Names, Timed, joined, missing_in, undivided
from designer.analysis.transit import Segment, Transit
from designer.analysis.trip_latency import TripTimes, table_latency
from designer.analysis.wait_latency import server_latency
from designer.model.design import Design
from designer.model.kinds import tier_of
from designer.model.things import ServiceTime

NEGLIGIBLE_WAIT: Final = 0.01
"""Of the service time, on average: a wait below it is left out of what is missing."""


@dataclass(slots=True)
class Clock:
    """Times the parts of requests; `names` tells what the segments of its latencies stand for."""

    design: Design
    transit: Transit
    elements: Elements
    pools: Mapping[str, PoolAnswer]
    calls_per_s: Mapping[str, float]
    ledger: Ledger
    names: Names = field(default_factory=Names)
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
            return self._kept(part, 0.0, lambda: self._alone(part))
        separated = _separated(part)
        if separated is not None:
            still, gpu = separated
            whole = self._kept(gpu, -1.0, lambda: self._alone(gpu))
            return in_sequence([self.plain(still, 1.0), scaled(whole, gpu_factor)])
        match part:
            case Chain():
                parts = list(_links_of(part))
                still = Chain(tuple(each for each in parts if not _asks_gpu(each)))
                moving = [self.plain(each, gpu_factor) for each in parts if _asks_gpu(each)]
                return in_sequence([self.plain(still, 1.0), *moving])
            case Again():
                return n_times(self.plain(part.part, gpu_factor), part.times)
            case Maybe():
                return either(
                    _ways(part, [self.plain(each, gpu_factor) for _, each in part.choices])
                )
            case _:
                return undivided(self.time(part, gpu_factor).latency)

    def _alone(self, part: Part) -> Latency:
        """Put together from undivided parts: a sum needs no division on its way."""
        match part:
            case Chain():
                return in_sequence([self._alone(each) for each in part.parts])
            case Again():
                return n_times(self._alone(part.part), part.times)
            case _:
                return undivided(self.time(part).latency)

    def _kept(self, part: Part, key: float, make: Callable[[], Latency]) -> Latency:
        """An undivided latency, kept under a key that is no factor."""
        known = self._timed if _asks_gpu(part) else self._still
        if (part, key) not in known:
            known[part, key] = Timed(make(), ())
        return known[part, key].latency

    def _time(self, part: Part, factor: float) -> Timed:
        match part:
            case Move():
                return self._trips.move(part)
            case Serve():
                return self._serve(part)
            case Generate():
                deployment = self.design.deployments[part.deployment]
                node = self.design.nodes[deployment.node]
                answer = self.pools[part.deployment]
                made = generated(self.names, part, answer, deployment, node)
                return Timed(scaled(made, factor), ())
            case Access():
                return self._trips.access(part)
            case Chain():
                # one convolution of all, chains within chains too
                return joined(in_sequence, [self.time(each, factor) for each in _links_of(part)])
            case Fork():
                return joined(all_of, [self.time(each, factor) for each in part.parts])
            case Again():
                timed = self.time(part.part, factor)
                return replace(timed, latency=n_times(timed.latency, part.times))
            case Maybe():
                timed_ways = [self.time(each, factor) for _, each in part.choices]
                ways = _ways(part, [each.latency for each in timed_ways])
                return Timed(either(ways), missing_in(timed_ways))
            case Tries():
                timed = self.time(part.part, factor)
                name = self.names.of(Segment("abandoned attempts", "services", "", "derived"))
                made = retried(timed.latency, part.timeout_ms, part.attempts, name)
                return replace(timed, latency=made)
            case Twice():
                timed = self.time(part.part, factor)
                name = self.names.of(Segment("wait before the hedge", "services", "", "derived"))
                return replace(timed, latency=hedged(timed.latency, part.after_ms, name))

    @property
    def _trips(self) -> TripTimes:
        return TripTimes(self.design, self.transit, self.elements, self.names)

    def _serve(self, part: Serve) -> Timed:
        node = self.design.nodes[part.node]
        timing = self.elements.timing(node, part.call)
        tier = tier_of(node.kind, node.tier)
        if timing.time is None:
            return Timed(in_sequence(()), (f"service time of {node.name or node.id}",))
        segment = Segment(part.name, tier, node.id, timing.kind, timing.source)
        work = _work(self.names.of(segment), timing.time)
        if work.mean_ms <= 0:
            return Timed(work, ())
        if timing.servers is None:
            return Timed(work, self._unknown_wait(part.node, work))
        wait = self._server_wait(part.node, timing.servers, work)
        return Timed(in_sequence([*wait, work]), ())

    def instances(self, node_id: str) -> int:
        """How many of a drawn node there are."""
        position = self.transit.arrays.node_position(node_id)
        return int(self.transit.arrays.expansion.count[position])

    def bears_per_s(self, part: Serve) -> float | None:
        """Calls a second that all servers of a node bear; None where that is not known."""
        timing = self.elements.timing(self.design.nodes[part.node], part.call)
        if timing.time is None or timing.servers is None:
            return None
        mean_ms = _work(part.name, timing.time).mean_ms
        servers = max(1, timing.servers) * self.instances(part.node)
        return 1000.0 * servers / mean_ms if mean_ms > 0 else None

    def _queue(self, node_id: str, work: Latency, servers: int) -> ServerWait:
        rate = self.calls_per_s.get(node_id, 0.0) / self.instances(node_id)
        return mgc_wait(rate, work.mean_ms, work.variance_ms2 / work.mean_ms**2, servers)

    def _unknown_wait(self, node_id: str, work: Latency) -> tuple[str, ...]:
        """What is missing where nobody says how many servers there are.

        One server makes wait the longest; where that is next to nothing, nothing is missing.
        """
        node = self.design.nodes[node_id]
        most_ms = self._queue(node_id, work, 1).mean_ms
        if most_ms is not None and most_ms < NEGLIGIBLE_WAIT * work.mean_ms:
            reason = f"no queue is computed: one server's would be under {NEGLIGIBLE_WAIT:.0%}"
            self.ledger.note(node_id, "servers", None, "unknown", reason)
            return ()
        self.ledger.note(node_id, "servers", None, "unknown", "no queue is computed before it")
        return (f"servers of {node.name or node.id}",)

    def _server_wait(self, node_id: str, servers: int, work: Latency) -> list[Latency]:
        node = self.design.nodes[node_id]
        wait = self._queue(node_id, work, max(1, servers))
        if wait.p_wait is None:
            rate = self.calls_per_s.get(node_id, 0.0) / self.instances(node_id)
            raise CannotTime(
                f"{node.name or node.id} gets {rate:.3g} requests/s an instance and bears "
                f"{1000 * servers / work.mean_ms:.3g}; its queue grows by "
                f"{wait.growth_per_s:.3g}/s",
                "grows",
            )
        if wait.p_wait < 1e-9 or not wait.mean_ms:
            return []
        tier = tier_of(node.kind, node.tier)
        name = self.names.of(
            Segment("wait for a server", tier, node_id, "derived", "M/G/c, Kimura")
        )
        latency = server_latency(name, wait)
        return [] if latency is None else [latency]


def _separated(part: Part) -> tuple[Part, Part] | None:
    """What asks no GPU and what only does, which take as long together; None: not to be separated.

    A sum does not depend on the order of its parts, so that one convolution tells a whole request.
    """
    match part:
        case Generate():
            return Chain(()), part
        case Chain():
            pairs = [_separated(each) for each in part.parts]
            known = [pair for pair in pairs if pair is not None]
            if len(known) < len(pairs):
                return None
            return Chain(tuple(still for still, _ in known)), Chain(tuple(gpu for _, gpu in known))
        case Again():
            pair = _separated(part.part)
            return (
                None if pair is None else (Again(part.times, pair[0]), Again(part.times, pair[1]))
            )
        case _:
            return None if _asks_gpu(part) else (part, Chain(()))


def _links_of(part: Chain) -> Iterator[Part]:
    """The parts of a chain, chains in it laid out."""
    for each in part.parts:
        if isinstance(each, Chain):
            yield from _links_of(each)
        else:
            yield each


def _ways(part: Maybe, latencies: list[Latency]) -> list[tuple[float, Latency]]:
    """The ways with shares that add up to 1; what is missing takes no time."""
    shares = [share for share, _ in part.choices]
    rest = 1.0 - sum(shares)
    ways = [pair for pair in zip(shares, latencies, strict=True) if pair[0] > 0]
    if rest > 1e-12:
        return [*ways, (rest, in_sequence(()))]
    return [(share / (1.0 - rest), latency) for share, latency in ways]


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


def _work(name: str, time: ServiceTime) -> Latency:
    """A service time as given: percentiles, else a gamma of mean and scv (1 where not said)."""
    if time.percentiles_ms is not None and time.percentiles_ms.points():
        return table_latency(name, time.percentiles_ms, 1.0)
    mean = time.mean_ms
    if mean is None and time.percentiles_ms is not None:
        mean = time.percentiles_ms.mean
    return gamma(name, mean or 0.0, 1.0 if time.scv is None else time.scv)
