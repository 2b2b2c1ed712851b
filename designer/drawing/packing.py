"""Packs blocks and groups downwards in columns, orders them by their neighbours, straightens links.

The order is the barycentre heuristic (Sugiyama, Tagawa and Toda 1981) on real places: pack, look
where the neighbours ended up, sort, pack again; the best of a few sweeps counts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from designer.drawing.tree import ROOT, Tree

NODE_GAP_PX: Final = 16.0
LINKED_GAP_PX: Final = 24.0
GROUP_TOP_PX: Final = 32.0
GROUP_BOTTOM_PX: Final = 12.0
ROUTE_PX: Final = 12.0
"""More room under nested groups, for links that pass below them."""
_GRID_PX: Final = 4.0
_MOVES: Final = 6


@dataclass(frozen=True, slots=True)
class Block:
    """A leaf or a cluster: the column it stands in, and its size in px."""

    column: int
    width: float
    height: float


@dataclass(slots=True)
class _Item:
    """A block or group while its parent is packed; places are relative to the parent's top."""

    key: str
    first: int
    last: int
    height: float
    y: float = 0.0


class Packer:
    """Finds the tops of all blocks of one design.

    inside: by leaf in a cluster, the cluster. offsets: from a block's top to a leaf's middle.
    order: rank of each leaf before any link is looked at.
    """

    def __init__(
        self,
        tree: Tree,
        blocks: Mapping[str, Block],
        inside: Mapping[str, str],
        links: Sequence[tuple[str, str]],
        offsets: Mapping[str, float],
        order: Mapping[str, int],
    ) -> None:
        self._tree = tree
        self._blocks = blocks
        self._inside = inside
        self._links = links
        self._offsets = offsets
        self._order = order
        self._kids = {group: self._items_of(group) for group in tree.children}
        self._leaves = {kid: self._leaves_of(kid) for kids in self._kids.values() for kid in kids}
        self._pairs = self._pairs_by_group()
        self._neighbours: dict[str, list[str]] = defaultdict(list)
        for a, b in links:
            self._neighbours[a].append(b)
            self._neighbours[b].append(a)
        self._linked = {frozenset((inside.get(a, a), inside.get(b, b))) for a, b in links}

    def best(self, sweeps: int) -> Mapping[str, float]:
        """Top of every block, from 0 down, of the sweep with the shortest links."""
        wanted: dict[str, float] = {leaf: float(rank) for leaf, rank in self._order.items()}
        best: tuple[float, Mapping[str, float]] | None = None
        for _ in range(sweeps):
            tops = self._pack(wanted)
            middles = self._middles(tops)
            cost = sum(abs(middles[a] - middles[b]) for a, b in self._links)
            if best is None or cost < best[0] - 1e-6:
                best = (cost, tops)
            wanted = {
                leaf: _mean([middles[other] for other in self._neighbours[leaf]])
                if self._neighbours[leaf]
                else middle
                for leaf, middle in middles.items()
            }
        return best[1] if best else {}

    def _items_of(self, group: str) -> tuple[str, ...]:
        """Blocks and open groups directly in a group; a cluster once."""
        found: dict[str, None] = {}
        for child in self._tree.children[group]:
            found[self._inside.get(child, child)] = None
        return tuple(found)

    def _leaves_of(self, item: str) -> tuple[str, ...]:
        if item in self._tree.children:
            return tuple(self._tree.leaves(item))
        if item in self._tree.lane:
            return (item,)
        return tuple(leaf for leaf, cluster in self._inside.items() if cluster == item)

    def _pairs_by_group(self) -> Mapping[str, list[tuple[str, str, str, str]]]:
        """Links by the innermost group around both ends, as (item, item, leaf, leaf)."""
        pairs: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
        for a, b in self._links:
            around_a = (self._inside.get(a, a), *self._tree.chain(a))
            around_b = (self._inside.get(b, b), *self._tree.chain(b))
            shared = next(group for group in around_a[1:] if group in around_b[1:])
            first = around_a[around_a.index(shared) - 1]
            second = around_b[around_b.index(shared) - 1]
            if first != second:
                pairs[shared].append((first, second, a, b))
        return pairs

    def _middles(self, tops: Mapping[str, float]) -> Mapping[str, float]:
        return {
            leaf: tops[self._inside.get(leaf, leaf)] + self._offsets[leaf]
            for leaf in self._tree.leaves(ROOT)
        }

    def _pack(self, wanted: Mapping[str, float]) -> Mapping[str, float]:
        heights: dict[str, float] = {}
        relative: dict[str, dict[str, float]] = {}
        spans: dict[str, tuple[int, int]] = {
            key: (block.column, block.column) for key, block in self._blocks.items()
        }
        offsets: dict[str, dict[str, float]] = {}
        for group in sorted(self._kids, key=lambda key: -self._depth(key)):
            items = self._sorted_items(group, wanted, spans, heights)
            self._stack(items)
            self._straighten(group, items, offsets)
            relative[group] = {item.key: item.y for item in items}
            heights[group] = max((item.y + item.height for item in items), default=0.0)
            if items:
                spans[group] = (min(i.first for i in items), max(i.last for i in items))
            offsets[group] = {
                leaf: item.y + self._offset(item.key, leaf, offsets)
                for item in items
                for leaf in self._leaves[item.key]
            }
        tops: dict[str, float] = {}
        self._lower(ROOT, 0.0, relative, tops)
        return tops

    def _depth(self, group: str) -> int:
        return 0 if group == ROOT else len(self._tree.chain(group))

    def _offset(self, item: str, leaf: str, offsets: Mapping[str, Mapping[str, float]]) -> float:
        """From an item's top to the middle of a leaf in it."""
        if item in offsets:
            return GROUP_TOP_PX + offsets[item][leaf]
        return self._offsets[leaf]

    def _sorted_items(
        self,
        group: str,
        wanted: Mapping[str, float],
        spans: Mapping[str, tuple[int, int]],
        heights: Mapping[str, float],
    ) -> list[_Item]:
        def rank(key: str) -> tuple[float, float]:
            leaves = self._leaves[key]
            middle = _mean([wanted[leaf] for leaf in leaves])
            return round(middle, 3), _mean([self._order[leaf] for leaf in leaves])

        return [
            _Item(key, *spans[key], self._height(key, heights))
            for key in sorted(self._kids[group], key=rank)
        ]

    def _height(self, key: str, heights: Mapping[str, float]) -> float:
        if key in self._blocks:
            return self._blocks[key].height
        return GROUP_TOP_PX + heights[key] + bottom_px(self._tree, key)

    def _gap(self, above: str, below: str) -> float:
        linked = frozenset((above, below)) in self._linked
        return LINKED_GAP_PX if linked else NODE_GAP_PX

    def _stack(self, items: Sequence[_Item]) -> None:
        """Each item below all that went before it in any of its columns."""
        last: dict[int, _Item] = {}
        for item in items:
            columns = range(item.first, item.last + 1)
            above = {last[column].key: last[column] for column in columns if column in last}
            item.y = max(
                (
                    other.y + other.height + self._gap(other.key, item.key)
                    for other in above.values()
                ),
                default=0.0,
            )
            last |= dict.fromkeys(columns, item)

    def _straighten(
        self,
        group: str,
        items: Sequence[_Item],
        offsets: Mapping[str, Mapping[str, float]],
    ) -> None:
        """Moves items towards where their links would run level, without changing the height."""
        above, below = self._fences(items)
        by_key = {item.key: item for item in items}
        pulls: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for first, second, a, b in self._pairs.get(group, ()):
            shift = self._offset(second, b, offsets) - self._offset(first, a, offsets)
            one, two = by_key[first], by_key[second]
            if one.first <= two.last and two.first <= one.last:
                continue
            pulls[first].append((second, shift))
            pulls[second].append((first, -shift))
        floor = max((item.y + item.height for item in items), default=0.0)
        for sweep in range(_MOVES):
            for item in items if sweep % 2 else reversed(items):
                targets = sorted(by_key[o].y + shift for o, shift in pulls[item.key])
                if not targets:
                    continue
                low = max(
                    (other.y + other.height + gap for other, gap in above[item.key]), default=0.0
                )
                high = (
                    min((other.y - gap for other, gap in below[item.key]), default=floor)
                    - item.height
                )
                high = min(high, floor - item.height)
                aim = round(_middle(targets) / _GRID_PX) * _GRID_PX
                item.y = max(low, min(high, aim)) if high >= low else item.y

    def _fences(
        self, items: Sequence[_Item]
    ) -> tuple[Mapping[str, list[tuple[_Item, float]]], Mapping[str, list[tuple[_Item, float]]]]:
        """Direct neighbours above and below each item, with the gap to keep."""
        above: dict[str, list[tuple[_Item, float]]] = defaultdict(list)
        below: dict[str, list[tuple[_Item, float]]] = defaultdict(list)
        last: dict[int, _Item] = {}
        for item in items:
            columns = range(item.first, item.last + 1)
            upper = {last[column].key: last[column] for column in columns if column in last}
            for other in upper.values():
                gap = self._gap(other.key, item.key)
                above[item.key].append((other, gap))
                below[other.key].append((item, gap))
            last |= dict.fromkeys(columns, item)
        return above, below

    def _lower(
        self,
        group: str,
        top: float,
        relative: Mapping[str, Mapping[str, float]],
        tops: dict[str, float],
    ) -> None:
        for key, y in relative[group].items():
            if key in self._blocks:
                tops[key] = top + y
            else:
                self._lower(key, top + y + GROUP_TOP_PX, relative, tops)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def bottom_px(tree: Tree, group: str) -> float:
    """From a group's content to its lower edge."""
    nested = any(child in tree.children for child in tree.children[group])
    return GROUP_BOTTOM_PX + (ROUTE_PX if nested else 0.0)


def _middle(targets: Sequence[float]) -> float:
    """The median; of two the first, so that one link at least runs level."""
    half = len(targets) // 2
    if len(targets) % 2 or len(targets) == 2:
        return targets[half] if len(targets) % 2 else targets[0]
    return (targets[half - 1] + targets[half]) / 2
