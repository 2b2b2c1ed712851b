"""The share of a link's bits that is payload, for the packets of a class on a drawn path."""

from __future__ import annotations

from collections.abc import Iterable

from designer.analysis.classes import ClassRule
from designer.analysis.facts import Ledger
from designer.analysis.overhead import AddressFamily, UnknownEncapsulation, goodput_share
from designer.model.catalog import Catalogue
from designer.model.design import Design

TRANSPORT = "tls_tcp"
LOSSLESS_TRANSPORT = "rocev2"


class Headers:
    """Answers goodput shares; a path counts with the encapsulations of its heaviest link."""

    def __init__(self, design: Design, catalogue: Catalogue, ledger: Ledger) -> None:
        self.design = design
        self.catalogue = catalogue
        self.ledger = ledger
        self._known: dict[tuple[float, tuple[str, ...], str], float] = {}

    def goodput(self, payload_bytes: float, links: Iterable[str], rule: ClassRule) -> float:
        """Payload share of the bits on the wire, 0 to 1."""
        transport = LOSSLESS_TRANSPORT if rule.lossless else TRANSPORT
        lists = {self.design.links[key].encapsulations for key in links} or {()}
        return min(self._share(payload_bytes, words, transport) for words in lists)

    def _share(self, payload_bytes: float, words: tuple[str, ...], transport: str) -> float:
        key = (payload_bytes, words, transport)
        if key not in self._known:
            self._known[key] = self._computed(payload_bytes, words, transport)
        return self._known[key]

    def _computed(self, payload_bytes: float, words: tuple[str, ...], transport: str) -> float:
        family: AddressFamily = "ipv6" if self.design.settings.address_family == "ipv6" else "ipv4"
        table = self.catalogue.overheads
        known = []
        for word in words:
            try:
                goodput_share(payload_bytes, (word,), transport, family, table)
                known.append(word)
            except UnknownEncapsulation as error:
                reason = f"{error}; its bytes are left out"
                self.ledger.note(word, "encapsulations", word, "unknown", reason)
        return goodput_share(payload_bytes, known, transport, family, table)
