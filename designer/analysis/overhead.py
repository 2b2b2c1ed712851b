"""What headers, tags and tunnels take of a link: bytes a packet, and the share that is payload.

Sizes are rows of the catalogue's overheads. A link's encapsulations are words of that table; one
that can stand several times takes its count after a dot: `mpls.3` is three labels, `srv6.2` two
segments. Goodput = payload / (payload + overhead).
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final, Literal

from designer.model.catalog_rows import OverheadRow, Range

AddressFamily = Literal["ipv4", "ipv6"]
Bound = Literal["low", "typical", "high"]

MOST_COUNTED: Final = 64
"""More labels or segments than this on one packet are a mistake."""

LINK: Final = "ethernet"


class UnknownEncapsulation(ValueError):
    """A word that the table of overheads does not hold."""

    def __init__(self, word: str, table: Mapping[str, OverheadRow]) -> None:
        near = get_close_matches(word, sorted(table), n=1, cutoff=0.5)
        hint = f'write "{near[0]}"' if near else f"use one of {', '.join(sorted(table))}"
        super().__init__(f'the encapsulation "{word}" is not known; {hint}')


def goodput_share(
    payload_bytes: float,
    link_encapsulations: Sequence[str],
    transport: str,
    address_family: AddressFamily,
    table: Mapping[str, OverheadRow],
    bound: Bound = "typical",
) -> float:
    """Share of a link's bits that is payload, for packets with that payload (0 to 1).

    Raises UnknownEncapsulation, and ValueError for a payload that is not above 0.
    """
    if not payload_bytes > 0:
        raise ValueError("a packet without payload has no goodput; give payload_bytes above 0")
    overhead = overhead_bytes(link_encapsulations, transport, address_family, table, bound)
    return payload_bytes / (payload_bytes + overhead)


def overhead_bytes(
    link_encapsulations: Sequence[str],
    transport: str,
    address_family: AddressFamily,
    table: Mapping[str, OverheadRow],
    bound: Bound = "typical",
) -> float:
    """Bytes that a packet has on the wire beyond its payload.

    Framing, the link's encapsulations, IP and transport. Framing is Ethernet's unless the list
    holds a word that replaces it (`infiniband`), on which RDMA needs no IP.
    Raises UnknownEncapsulation.
    """
    tags = [word for word in link_encapsulations if word != LINK]
    framed = any(_row(word, table)[0].replaces_ethernet for word in tags)
    below = sum(word_bytes(word, table, bound) for word in tags)
    if not framed:
        below += word_bytes(LINK, table, bound)
    rdma = _row(transport, table)[0].rdma_bytes
    if framed and rdma is not None:
        return below + rdma
    return below + sum(word_bytes(word, table, bound) for word in (address_family, transport))


def word_bytes(word: str, table: Mapping[str, OverheadRow], bound: Bound = "typical") -> float:
    """Bytes that one word of the table adds to a packet. Raises UnknownEncapsulation."""
    row, count = _row(word, table)
    charged = count - row.free
    if charged <= 0:
        return row.fixed_bytes
    return row.fixed_bytes + row.header_bytes + charged * _at(row.bytes_each, bound)


def _at(size: Range, bound: Bound) -> float:
    value = {"low": size.low, "typical": size.typical, "high": size.high}[bound]
    return size.middle() if value is None else value


def _row(word: str, table: Mapping[str, OverheadRow]) -> tuple[OverheadRow, int]:
    """The row of a word, and its count (1 where it says none). Raises UnknownEncapsulation."""
    row = table.get(word)
    if row is not None:
        return row, 1
    name, _, digits = word.rpartition(".")
    row = table.get(name)
    is_count = digits.isascii() and digits.isdigit() and len(digits) <= 2
    if row is None or not row.counted or not is_count or not 1 <= int(digits) <= MOST_COUNTED:
        raise UnknownEncapsulation(word, table)
    return row, int(digits)
