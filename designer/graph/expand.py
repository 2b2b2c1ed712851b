"""Counts made explicit: every instance of a drawn node, every cable of a drawn link.

A count on a group multiplies all that is drawn inside. Two counted ends pair only within the same
instance of every group that is around both; what remains of their counts pairs as the link says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from designer.model.design import Design
from designer.model.references import groups_around
from designer.model.things import Link

Ints = NDArray[np.int64]

MOST_INSTANCES: Final = 300_000
MOST_CABLES: Final = 2_000_000


class TooLarge(ValueError):
    """The counts make more instances than can be expanded; the message says which."""


class BadPairing(ValueError):
    """A link pairs one to one, but its ends are not equally many."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """Instances and cables. Node and link positions are those of the sorted ids.

    node_ids, link_ids: drawn ids, sorted.
    first, count: (nodes,) first instance of each drawn node, and how many it has.
    node_of: (instances,) position of the drawn node.
    link_of, a, b: (cables,) position of the drawn link, and the instances at its two ends.
    """

    node_ids: tuple[str, ...]
    link_ids: tuple[str, ...]
    first: Ints
    count: Ints
    node_of: Ints
    link_of: Ints
    a: Ints
    b: Ints

    def instances(self, position: int) -> Ints:
        """Instances of one drawn node."""
        return np.arange(self.first[position], self.first[position] + self.count[position])


def expand(design: Design) -> Expansion:
    """Expands all counts.

    Raises TooLarge beyond 300,000 instances or 2,000,000 cables, BadPairing for one-to-one links
    between unequal counts.
    """
    node_ids = tuple(sorted(design.nodes))
    link_ids = tuple(sorted(design.links))
    position = {key: index for index, key in enumerate(node_ids)}
    chains = {key: _chain(design, key) for key in node_ids}
    count = np.array([_product(chains[key]) for key in node_ids], dtype=np.int64)
    if count.sum() > MOST_INSTANCES:
        raise TooLarge(
            f"the counts make {int(count.sum()):,} instances, and at most {MOST_INSTANCES:,} can "
            "be analysed one by one; lower a count, or draw a part of the design"
        )
    first = (np.cumsum(count) - count).astype(np.int64)
    pairs = [_cables(design.links[key], chains, position, first) for key in link_ids]
    total = sum(len(a) for a, _ in pairs)
    if total > MOST_CABLES:
        raise TooLarge(
            f"the counts make {total:,} cables, and at most {MOST_CABLES:,} can be analysed one by "
            "one; lower a count, or pair the ends one to one"
        )
    return Expansion(
        node_ids,
        link_ids,
        _frozen(first),
        _frozen(count),
        _frozen(np.repeat(np.arange(len(node_ids)), count)),
        _frozen(np.repeat(np.arange(len(link_ids)), [len(a) for a, _ in pairs])),
        _frozen(_joined([a for a, _ in pairs])),
        _frozen(_joined([b for _, b in pairs])),
    )


def _chain(design: Design, node_id: str) -> tuple[tuple[str, int], ...]:
    """Counts around a node, outermost first, the node's own last."""
    outer = tuple(
        (group, design.groups[group].count) for group in reversed(groups_around(design, node_id))
    )
    return (*outer, (node_id, design.nodes[node_id].count))


def _product(chain: tuple[tuple[str, int], ...]) -> int:
    times = 1
    for _, count in chain:
        times *= count
    return times


def _cables(
    link: Link,
    chains: Mapping[str, tuple[tuple[str, int], ...]],
    position: Mapping[str, int],
    first: Ints,
) -> tuple[Ints, Ints]:
    chain_a, chain_b = chains[link.a], chains[link.b]
    shared = 0
    while shared < min(len(chain_a), len(chain_b)) - 1 and chain_a[shared][0] == chain_b[shared][0]:
        shared += 1
    common = _product(chain_a[:shared])
    inner_a, inner_b = _product(chain_a[shared:]), _product(chain_b[shared:])
    pair_a, pair_b = _pairs(link, inner_a, inner_b, common)
    blocks = np.repeat(np.arange(common, dtype=np.int64), len(pair_a))
    return (
        first[position[link.a]] + blocks * inner_a + np.tile(pair_a, common),
        first[position[link.b]] + blocks * inner_b + np.tile(pair_b, common),
    )


def _pairs(link: Link, many_a: int, many_b: int, common: int) -> tuple[Ints, Ints]:
    """Which instance of one end meets which of the other, inside one common instance."""
    if link.pairing == "each_to_each":
        if many_a * many_b * common > MOST_CABLES:
            raise TooLarge(
                f"link {link.name or link.id} makes {many_a * many_b * common:,} cables each to "
                "each; lower a count, or spread it evenly"
            )
        return (
            np.repeat(np.arange(many_a, dtype=np.int64), many_b),
            np.tile(np.arange(many_b, dtype=np.int64), many_a),
        )
    if link.pairing == "one_to_one" and many_a != many_b:
        raise BadPairing(
            f"link {link.name or link.id} pairs one to one, but its ends are {many_a} and "
            f"{many_b}; make the counts equal, or spread it evenly"
        )
    # The k-th of the more numerous end goes to the k-th share of the other: racks stay together.
    more = max(many_a, many_b)
    steps = np.arange(more, dtype=np.int64)
    return steps * many_a // more, steps * many_b // more


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _frozen(array: Ints) -> Ints:
    array = np.ascontiguousarray(array, dtype=np.int64)
    array.setflags(write=False)
    return array
