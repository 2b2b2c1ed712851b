"""The share of a link's bits that is payload, for the packets of a class on a drawn path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from designer.analysis.classes import ClassRule
from designer.analysis.facts import Ledger
from designer.analysis.overhead import AddressFamily, UnknownEncapsulation, goodput_share
from designer.graph.arrays import Floats
from designer.model.catalog import Catalogue
from designer.model.design import Design

TRANSPORT = "tls_tcp"
LOSSLESS_TRANSPORT = "rocev2"


class Headers:
    """Answers goodput shares of links; a path counts with its heaviest link."""

    def __init__(self, design: Design, catalogue: Catalogue, ledger: Ledger) -> None:
        self.design = design
        self.catalogue = catalogue
        self.ledger = ledger
        self._known: dict[tuple[float, tuple[str, ...], str], float] = {}

    def goodput(self, payload_bytes: float, links: Iterable[str], rule: ClassRule) -> float:
        """Payload share of the bits on the wire, 0 to 1."""
        lists = {self.design.links[key].encapsulations for key in links} or {()}
        return min(self._share(payload_bytes, words, _transport(rule)) for words in lists)

    def weights(
        self, sizes: Sequence[tuple[float, ClassRule, float]], links: Sequence[str]
    ) -> Floats:
        """(sizes, links) bits on each link for one bit on the heaviest link of a path.

        sizes: payload of a packet, the class, and the goodput on that heaviest link.
        """
        made = np.empty((len(sizes), len(links)))
        words = [self.design.links[key].encapsulations for key in links]
        places = {each: [k for k, word in enumerate(words) if word == each] for each in set(words)}
        for row, (payload, rule, heaviest) in zip(made, sizes, strict=True):
            for each, where in places.items():
                row[where] = heaviest / self._share(payload, each, _transport(rule))
        return made

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


def _transport(rule: ClassRule) -> str:
    return LOSSLESS_TRANSPORT if rule.lossless else TRANSPORT
