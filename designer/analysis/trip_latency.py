"""A message's way as a latency: propagation, forwarding, queues, transfer, jitter and loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from designer.analysis.distributions import Latency
from designer.analysis.elements import Elements
from designer.analysis.latency_algebra import either, in_sequence
from designer.analysis.latency_sources import constant, exponential, from_quantiles, gamma
from designer.analysis.quantiles import quantile_function
from designer.analysis.request_parts import (
    Access,
    Move,
)
from designer.analysis.timed import CannotTime, Names, Timed, divided
from designer.analysis.transit import Segment, Transit, Trip
from designer.analysis.wire import SEGMENT_BYTES
from designer.model.base import Percentiles
from designer.model.design import Design
from designer.model.kinds import tier_of

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

LEAST_TIMEOUT_MS: Final = 200.0
"""Retransmission timeout of a packet that was alone on its way (Linux's least)."""

_TINY_MS: Final = 1e-4
"""Waits this small together are carried by their mean: no figure shows them."""

_NOTHING_GBPS: Final = 1e-6
"""Less than this is no share at all: what is left after rounding where a link is full."""


@dataclass(frozen=True, slots=True)
class TripTimes:
    """Times messages and the access of one state of the network."""

    design: Design
    transit: Transit
    elements: Elements
    names: Names

    def access(self, part: Access) -> Timed:
        """A round trip for each exchange, each handshake and each round of slow start.

        Round trips over one medium at one time are one variable, never convolved.
        """
        first = part.first
        handshakes = sum(ROUND_TRIPS.get(word, 1) for word in part.handshakes)
        rounds = self._slow_start_rounds(first) if part.handshakes and first else 0
        timed = self._medium(part.users, part.exchanges + handshakes + rounds)
        pieces, missing = [timed.latency], list(timed.missing)
        if handshakes + rounds and first and first.target != first.source:
            ways = (
                self.ways(first.source, first.target, first.traffic_class)[0],
                self.ways(first.target, first.source, first.traffic_class)[0],
            )
            for word, times in (("handshakes", handshakes), ("slow start", rounds)):
                pieces += [
                    constant(self.names.of(replace(piece, name=word)), ms * times)
                    for way in ways
                    for piece, ms in way.fixed_ms
                    if times
                ]
            missing += [each for way in ways for each in way.unknown]
        return Timed(in_sequence(pieces), tuple(dict.fromkeys(missing)))

    def move(self, move: Move) -> Timed:
        """One message, one way, over all equal-cost ways by their shares. Raises CannotTime."""
        if move.source == move.target:
            return Timed(in_sequence(()), ())
        trips = self.ways(move.source, move.target, move.traffic_class)
        ways = [(trip.share, self._trip(trip, move)) for trip in trips]
        total = sum(share for share, _ in ways)
        missing = {each: None for trip in trips for each in trip.unknown}
        if move.waited_bytes is None:
            source, target = self._titles(move.source, move.target)
            missing[f"size of {move.what} from {source} to {target}"] = None
        return Timed(either([(share / total, way) for share, way in ways]), tuple(missing))

    def ways(self, source: str, target: str, cls: str) -> tuple[Trip, ...]:
        """The ways between two nodes. Raises CannotTime where there is none."""
        trips = self.transit.trips(source, target, cls)
        if not trips:
            start, end = self._titles(source, target)
            raise CannotTime(f"there is no way from {start} to {end}", "no_way")
        return trips

    def _titles(self, *nodes: str) -> list[str]:
        return [self.design.nodes[key].name or key for key in nodes]

    def _medium(self, users: str, trips: int) -> Timed:
        """So many round trips over the users' access medium."""
        node = self.design.nodes[users]
        medium = self.elements.access(node)
        if medium is None or not trips:
            return Timed(in_sequence(()), ())
        if medium.round_trip_ms is None:
            return Timed(in_sequence(()), (f"access of {node.name or node.id}",))
        label = "access round trip" if trips == 1 else f"access, {trips} round trips"
        tier = tier_of(node.kind, node.tier)
        name = self.names.of(Segment(label, tier, node.id, medium.kind, medium.source))
        return Timed(table_latency(name, medium.round_trip_ms, float(trips)), ())

    def _access_mean_ms(self, node_id: str) -> float:
        medium = self.elements.access(self.design.nodes[node_id])
        if medium is None or medium.round_trip_ms is None:
            return 0.0
        return quantile_function(medium.round_trip_ms).mean_ms

    def _round_trip_ms(self, trip: Trip, move: Move) -> float:
        """Of a message's way there and back without queues, the mean of an access included."""
        return 2 * trip.one_way_ms + sum(
            self._access_mean_ms(node) for node in (move.source, move.target)
        )

    def _trip(self, trip: Trip, move: Move) -> Latency:
        pieces = [constant(self.names.of(segment), ms) for segment, ms in trip.fixed_ms]
        pieces += self._waits(trip)
        pieces += self._jitter(trip)
        if move.waited_bytes:
            pieces += self._losses(trip, move, move.waited_bytes)
            rate, segment = self._rate(trip, move)
            if rate is not None:
                ms = move.waited_bytes * 8 / (rate * 1e6)
                pieces.append(constant(self.names.of(segment), ms))
        return in_sequence(pieces)

    def _rate(self, trip: Trip, move: Move) -> tuple[float | None, Segment]:
        """Payload Gb/s of the message: its share on the way, or the user's own line.

        Raises CannotTime where more urgent or older inelastic traffic leaves nothing.
        """
        assert trip.transfer is not None
        rate, segment = trip.transfer_gbps, trip.transfer
        if rate is not None and rate <= _NOTHING_GBPS:
            link = self.design.links[segment.element]
            raise CannotTime(
                f"{link.name or link.id} has nothing left for {move.traffic_class} traffic; "
                "its queue grows without end",
                "grows",
            )
        for node_id, name in ((move.source, "access_up_gbps"), (move.target, "access_down_gbps")):
            node = self.design.nodes[node_id]
            line: float | None = getattr(node, name)
            if line is not None and (rate is None or line < rate):
                tier = tier_of(node.kind, node.tier)
                rate, segment = line, Segment("transfer", tier, node_id, "given", "users' line")
        return rate, segment

    def _slow_start_rounds(self, move: Move) -> int:
        """Round trips that a fresh connection's first message takes beyond one (MODEL 1).

        The window doubles each round trip until it holds rate × round trip.
        """
        trip = self.ways(move.source, move.target, move.traffic_class)[0]
        rate, _ = self._rate(trip, move)
        if not move.waited_bytes or rate is None:
            return 0
        full = rate * 1e6 / 8 * self._round_trip_ms(trip, move)
        window, sent, rounds = WINDOW_SEGMENTS * SEGMENT_BYTES, 0.0, 0
        while sent + window < move.waited_bytes and window < full:
            sent += window
            window *= 2
            rounds += 1
        return rounds

    def _waits(self, trip: Trip) -> list[Latency]:
        """All queues of a trip as one gamma of their summed moments, divided by their means.

        Hops count as independent; their sum's first two moments are exact then.
        """
        means = [(wait.mean_us or 0.0) / 1000 for _, wait in trip.waits]
        names = [self.names.of(segment) for segment, _ in trip.waits]
        total = sum(means)
        if total < _TINY_MS:
            return [constant(name, ms) for name, ms in zip(names, means, strict=True) if ms > 0]
        variance = sum(
            max(0.0, (wait.second_moment_us2 or 0.0) - (wait.mean_us or 0.0) ** 2) / 1e6
            for _, wait in trip.waits
        )
        whole = gamma("queueing", total, variance / total**2)
        return [divided(whole, names, lambda _: np.array(means) / total)]

    def _jitter(self, trip: Trip) -> list[Latency]:
        """Delay variation of each link as an exponential of that mean."""
        pieces = []
        for link_id in _links(self.design, trip):
            jitter_ms = self.design.links[link_id].jitter_ms
            if jitter_ms:
                tier = self.transit.link_tier(link_id)
                segment = Segment("jitter", tier, link_id, "guessed", "exponential shape")
                pieces.append(exponential(self.names.of(segment), jitter_ms))
        return pieces

    def _losses(self, trip: Trip, move: Move, size_bytes: float) -> list[Latency]:
        """A packet lost on the way costs a round trip; the last one a probe timeout (MODEL 1).

        The probe comes after two round trips (RFC 8985); a packet that was alone waits for the
        retransmission timeout.
        """
        kept = 1.0 - (loss_on(self.design, trip) or 0.0)
        if kept >= 1.0:
            return []
        round_trip_ms = self._round_trip_ms(trip, move)
        others = max(0.0, np.ceil(size_bytes / SEGMENT_BYTES) - 1.0)
        probe_ms = 2 * round_trip_ms if others else max(LEAST_TIMEOUT_MS, 2 * round_trip_ms)
        last, mid = 1.0 - kept, kept * (1.0 - kept**others)
        name = self.names.of(
            Segment("retransmission", "transport", "", "derived", "round trip or probe timeout")
        )
        ways = [
            (last, constant(name, probe_ms)),
            (mid, constant(name, round_trip_ms)),
            (1.0 - last - mid, in_sequence(())),
        ]
        return [either(ways)]


def _links(design: Design, trip: Trip) -> Sequence[str]:
    """Drawn links of a trip, as its segments name them."""
    return sorted({segment.element for segment, _ in trip.fixed_ms} & set(design.links))


def loss_on(design: Design, trip: Trip) -> float | None:
    """Share of packets lost on a way, links alone; None where none of them says what it loses."""
    losses = [design.links[key].loss for key in _links(design, trip)]
    known = [loss for loss in losses if loss is not None]
    return 1.0 - float(np.prod([1.0 - loss for loss in known])) if known else None


def table_latency(name: str, table: Percentiles, times: float) -> Latency:
    """A published table of percentiles in ms as a latency, all times multiplied."""
    quantile_ms = quantile_function(table)
    return from_quantiles(name, lambda levels: quantile_ms(levels) * times)
