"""What single elements take: delay of links, forwarding of nodes, access media, servers.

A value comes from the design, else from the catalogue row that the element names, else from the
kind's default; each says which. What is not known stays None.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from designer.analysis.facts import Fact, Ledger, stated
from designer.analysis.results import FactKind
from designer.model.base import Percentiles, Provenance
from designer.model.catalog import Catalogue
from designer.model.design import Design
from designer.model.geodesy import distance_km
from designer.model.kinds import USER_KINDS
from designer.model.references import position_of
from designer.model.services import Call
from designer.model.things import Link, Node, ServiceTime

DEFAULT_MEDIUM: Final = "smf"
DEFAULT_ROUTE_FACTOR: Final = 1.3
"""Route length over great circle on land where nobody said more (a guess)."""

ACCESS_HEADS: Final = frozenset(("base_station", "olt", "cmts", "access_point"))
"""Where an access medium's round trip ends: what they take is part of it."""

_KINDS: Final[dict[str, FactKind]] = {
    "given": "given",
    "catalogue": "catalogue",
    "derived": "derived",
    "guessed": "guessed",
    "measured": "measured",
}


@dataclass(frozen=True, slots=True)
class Timing:
    """A server's time for one request, in ms, and how many requests it works on at once.

    servers None: not known; no queue is computed before it.
    """

    time: ServiceTime | None
    servers: int | None
    kind: FactKind
    source: str


@dataclass(frozen=True, slots=True)
class AccessRoundTrip:
    """The round trip of an access medium as published percentiles; None: not known."""

    round_trip_ms: Percentiles | None
    kind: FactKind
    source: str
    jitter_ms: float | None = None


class Elements:
    """Answers what one element of a design takes, and writes assumptions into the ledger."""

    def __init__(self, design: Design, catalogue: Catalogue, ledger: Ledger) -> None:
        self.design = design
        self.catalogue = catalogue
        self.ledger = ledger
        self._one_way: dict[str, Fact] = {}

    def link_one_way_ms(self, link: Link) -> Fact:
        """Propagation and FEC of a link of the design, one-way: as given, else length × medium."""
        if link.id not in self._one_way:
            self._one_way[link.id] = self._computed_one_way_ms(link)
        return self._one_way[link.id]

    def _computed_one_way_ms(self, link: Link) -> Fact:
        if link.one_way_ms is not None:
            return self._noted(link.id, "one_way_ms", stated(link, "one_way_ms", link.one_way_ms))
        if link.length_km is None and self._is_access(link):
            return Fact(0.0, "derived", "within the round trip of the access medium")
        length = self.link_length_km(link)
        if length.value is None:
            return self._noted(link.id, "length_km", length)
        per_km = self._us_per_km(link)
        if per_km.value is None:
            return self._noted(link.id, "medium", per_km)
        fec_us = self._fec_us(link)
        kind: FactKind = "guessed" if "guessed" in (length.kind, per_km.kind) else "derived"
        fec = f" + {fec_us:.3g} µs FEC" if fec_us else ""
        return Fact(
            (length.value * per_km.value + fec_us) / 1000,
            kind,
            f"{length.value:.4g} km × {per_km.value:.3g} µs/km{fec}, {per_km.source}",
        )

    def link_length_km(self, link: Link) -> Fact:
        """Length of a link: as given, else great circle × route factor between placed ends."""
        if link.length_km is not None:
            return self._noted(link.id, "length_km", stated(link, "length_km", link.length_km))
        here, there = position_of(self.design, link.a), position_of(self.design, link.b)
        if here is None or there is None:
            return Fact(None, "unknown", "no length, and an end that has no coordinates")
        if here == there:
            return Fact(None, "unknown", "no length, and both ends lie at the same coordinates")
        factor = self.design.settings.route_factor
        km = distance_km(*here, *there) * (DEFAULT_ROUTE_FACTOR if factor is None else factor)
        source = f"great circle × {factor or DEFAULT_ROUTE_FACTOR:g}"
        return self._noted(link.id, "length_km", Fact(km, "guessed", source))

    def forwarding_us(self, node: Node) -> Fact:
        """One-way delay through a node, port to port; 0 for users, who forward nothing."""
        if node.forwarding_us is not None:
            fact = stated(node, "forwarding_us", node.forwarding_us)
            return self._noted(node.id, "forwarding_us", fact)
        row = self.catalogue.devices.get(node.device) if node.device else None
        if row is not None and row.forwarding_us is not None:
            fact = _said(row.forwarding_us.middle(), row.provenance())
            return self._noted(node.id, "forwarding_us", fact)
        default = self.catalogue.default_forwarding_us(node.kind)
        if default is None and node.kind in ACCESS_HEADS:
            return Fact(0.0, "derived", "within the round trip of the access medium")
        if default is None:
            return Fact(None, "unknown", f"no figure for a {node.kind.replace('_', ' ')}")
        fact = _said(default.range.middle(), default.provenance)
        return self._noted(node.id, "forwarding_us", fact)

    def access(self, node: Node) -> AccessRoundTrip | None:
        """The access medium of a population of users; None where none is named."""
        if node.access_rtt_ms is not None:
            said = stated(node, "access_rtt_ms", 0.0)
            return AccessRoundTrip(node.access_rtt_ms, said.kind, said.source)
        if node.access is None:
            return None
        row = self.catalogue.access.get(node.access)
        if row is None:
            reason = f"the catalogue has no access medium {node.access}"
            self.ledger.note(node.id, "access", node.access, "unknown", reason)
            return AccessRoundTrip(None, "unknown", reason)
        fact = _said(row.round_trip_ms.p50 or row.round_trip_ms.mean, row.provenance())
        source = f"{row.medium}: {fact.source}"
        if not row.may_be_added():
            fact = replace(fact, kind="guessed")
            source += "; its round trip ends beyond the access network, so part is counted twice"
        self.ledger.note(node.id, "access_rtt_ms", fact.value, fact.kind, source)
        return AccessRoundTrip(row.round_trip_ms, fact.kind, source, row.jitter_ms)

    def timing(self, node: Node, call: Call | None) -> Timing:
        """Service time of a call at a node: the call's, else the node's, else its kind's."""
        for owner, given in (
            (None, call.service_time if call else None),
            (node, node.service_time),
        ):
            if given is not None:
                return self._given_timing(node, owner, given)
        default = self.catalogue.default_service_time(node.kind)
        if default is None:
            source = f"no service time is known for a {node.kind.replace('_', ' ')}"
            self.ledger.note(node.id, "service_time", None, "unknown", source)
            return Timing(None, node.servers, "unknown", source)
        said = _said(None, default.provenance)
        self.ledger.note(
            node.id, "service_time", _in_short(default.service_time), said.kind, said.source
        )
        return Timing(default.service_time, node.servers, said.kind, said.source)

    def _given_timing(self, node: Node, owner: Node | None, given: ServiceTime) -> Timing:
        if given.mean_ms is not None or given.percentiles_ms is not None:
            said = stated(owner, "service_time", 0.0) if owner else Fact(0.0, "given", "workflow")
            self.ledger.note(node.id, "service_time", _in_short(given), said.kind, said.source)
            return Timing(given, node.servers, said.kind, said.source)
        row = self.catalogue.service_times.get(given.catalogue or "")
        if row is None:
            source = f"the catalogue has no service time {given.catalogue}"
            self.ledger.note(node.id, "service_time", given.catalogue, "unknown", source)
            return Timing(None, node.servers, "unknown", source)
        fact = _said(None, row.provenance())
        kind: FactKind = "guessed" if row.shape_is_guessed() else fact.kind
        self.ledger.note(node.id, "service_time", _in_short(row.service_time()), kind, fact.source)
        return Timing(row.service_time(), node.servers, kind, fact.source)

    def _us_per_km(self, link: Link) -> Fact:
        row = self.catalogue.media.get(link.medium or DEFAULT_MEDIUM)
        if row is None:
            return Fact(None, "unknown", f"the catalogue has no medium {link.medium}")
        kind: FactKind = "derived"
        if link.medium is None:
            kind = "guessed"
            self.ledger.note(link.id, "medium", row.id, "guessed", "no medium given")
        return Fact(row.one_way_us_per_km(), kind, row.name or row.id)

    def _fec_us(self, link: Link) -> float:
        if link.fec is None:
            return 0.0
        row = self.catalogue.fec.get(link.fec)
        if row is None or row.latency_us is None:
            reason = f"the catalogue has no delay of FEC {link.fec}; it is left out"
            self.ledger.note(link.id, "fec", link.fec, "unknown", reason)
            return 0.0
        return row.latency_us.middle()

    def _is_access(self, link: Link) -> bool:
        """Whether the link is the access line itself, whose time the access medium tells."""
        return any(
            node.kind in USER_KINDS and (node.access or node.access_rtt_ms)
            for node in (self.design.nodes[link.a], self.design.nodes[link.b])
        )

    def _noted(self, element: str, path: str, fact: Fact) -> Fact:
        return self.ledger.fact(element, path, fact)


def _said(value: float | None, provenance: Provenance) -> Fact:
    note = f"; {provenance.note}" if provenance.note else ""
    return Fact(value, _KINDS.get(provenance.kind, "unknown"), provenance.source + note)


def _in_short(time: ServiceTime) -> str:
    table = time.percentiles_ms
    if table is not None:
        middle = table.p50 if table.p50 is not None else table.mean
        return f"median {middle:g} ms" if middle is not None else "percentiles"
    return f"mean {time.mean_ms:g} ms, scv {time.scv if time.scv is not None else 1:g}"
