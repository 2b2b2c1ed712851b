"""What requests and streams weigh on the wire where the design does not say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from designer.analysis.facts import Ledger
from designer.analysis.results import FactKind
from designer.model.services import Service

TEXT_BYTES_PER_TOKEN: Final = 4.0
EVENT_BYTES_PER_TOKEN: Final = 217.0
REQUEST_OVERHEAD_BYTES: Final = 1000.0
SEGMENT_BYTES: Final = 1448.0
"""TCP payload of a full 1500-byte packet over IPv4 with timestamps."""

_SOURCES: Final[dict[str, tuple[float, FactKind, str]]] = {
    "request_bytes_per_token": (
        TEXT_BYTES_PER_TOKEN,
        "derived",
        "about 4 bytes of English text a token; Azure's 2023 chat prompt of 1,155 tokens is 4.6 kB",
    ),
    "request_overhead_bytes": (
        REQUEST_OVERHEAD_BYTES,
        "guessed",
        "headers and JSON around a prompt, no source",
    ),
    "stream_bytes_per_token": (
        EVENT_BYTES_PER_TOKEN,
        "catalogue",
        "one server-sent event of OpenAI's form with a 4-byte token, from public client code",
    ),
    "tokens_per_packet": (1.0, "guessed", "each token is sent when it is ready"),
}


@dataclass(frozen=True, slots=True)
class WireSizes:
    """Bytes of payload before packet headers."""

    request_per_token: float
    request_overhead: float
    stream_per_token: float
    tokens_per_packet: float

    @property
    def stream_packet(self) -> float:
        """Payload of one packet of a streamed answer; its TLS record is of the packet's headers."""
        return self.stream_per_token * self.tokens_per_packet


def wire_sizes(service: Service, ledger: Ledger) -> WireSizes:
    """A service's sizes on the wire; what it leaves open is assumed and noted."""
    values = []
    for name, (value, kind, source) in _SOURCES.items():
        given = getattr(service.wire, name)
        if given is None:
            ledger.note(service.id, f"wire.{name}", value, kind, source)
        values.append(value if given is None else given)
    return WireSizes(*values)
