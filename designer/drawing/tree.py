"""What of a design is visible: groups as a tree, and collapsed groups standing for what they hold.

Leaves are drawn as boxes: nodes, collapsed groups and groups that hold nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from designer.model.design import Design
from designer.model.kinds import TIERS, tier_of
from designer.model.layout import Layout

ROOT: Final = ""
"""Parent of what stands in no group."""


@dataclass(frozen=True, slots=True)
class Tree:
    """children: visible ids in each open group, and under ROOT, in natural order of their names.

    shown_as: by node id, the leaf that it is drawn as. lane: by leaf, the tier where it stands.
    tinted: by collapsed group, its only tier; a group of several tiers has none.
    """

    children: Mapping[str, tuple[str, ...]]
    shown_as: Mapping[str, str]
    lane: Mapping[str, str]
    tinted: Mapping[str, str]
    parent: Mapping[str, str]

    def leaves(self, group: str) -> Iterator[str]:
        """The leaves in a group, at any depth, in order."""
        for child in self.children[group]:
            if child in self.children:
                yield from self.leaves(child)
            else:
                yield child

    def chain(self, leaf: str) -> tuple[str, ...]:
        """The open groups around a visible thing from the innermost out, ROOT last."""
        around = [self.parent[leaf]]
        while around[-1] != ROOT:
            around.append(self.parent[around[-1]])
        return tuple(around)


def tree_of(design: Design, layout: Layout) -> Tree:
    """The visible tree of a design. A node in a group that does not exist stands outside."""
    parents = _parents(design)
    homes = {key: _parent(design, node.group) for key, node in design.nodes.items()}
    alone = lone_sites(design)
    homes |= {node: parents[group] for group, node in alone.items()}
    tiers = {key: tier_of(node.kind, node.tier) for key, node in design.nodes.items()}
    inside: dict[str, Counter[str]] = defaultdict(Counter)
    for key, home in homes.items():
        for group in _up(parents, home):
            inside[group][tiers[key]] += 1
    holding = {*inside, *parents.values()}
    drawn = [key for key in design.groups if key not in alone]
    closed = {key for key in drawn if _is_closed(layout, key) or key not in holding}
    outermost = {key: _outermost(parents, closed, key) for key in drawn}
    shown_as = {key: outermost.get(home) or key for key, home in homes.items()}
    children: dict[str, list[str]] = {ROOT: []}
    children |= {key: [] for key in drawn if outermost[key] is None}
    leaves = [key for key in design.nodes if shown_as[key] == key]
    leaves += [key for key in drawn if outermost[key] == key]
    parent = {**{key: parents[key] for key in drawn}, **homes}
    for key in (*leaves, *(key for key in children if key != ROOT)):
        children[parent[key]].append(key)
    names = {**_names(design.nodes), **_names(design.groups)}
    lane = {key: tiers[key] if key in tiers else _main_lane(inside[key]) for key in leaves}
    return Tree(
        {key: tuple(sorted(kids, key=names.__getitem__)) for key, kids in children.items()},
        shown_as,
        lane,
        {key: next(iter(inside[key])) for key in leaves if len(inside[key]) == 1},
        {key: parent[key] for key in parent if outermost.get(key) in (None, key)},
    )


def lone_sites(design: Design) -> Mapping[str, str]:
    """By group that holds one node of its own name and nothing else, the node: one box does."""
    held: dict[str, list[str]] = defaultdict(list)
    for key, node in design.nodes.items():
        if node.group in design.groups:
            held[str(node.group)].append(key)
    holding = {group.parent for group in design.groups.values()}
    found: dict[str, str] = {}
    for key, inside in held.items():
        group, node = design.groups[key], design.nodes[inside[0]]
        candidate = group.site is not None and group.site.candidate
        plain = len(inside) == 1 and key not in holding and group.count == 1 and not candidate
        if plain and (group.name or key) == (node.name or inside[0]):
            found[key] = inside[0]
    return found


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Sorting key in which "rack 2" comes before "rack 10"."""
    parts: list[tuple[int, str]] = []
    digits, letters = "", ""
    for character in text + "\n":
        if character.isascii() and character.isdigit():
            if letters:
                parts.append((-1, letters))
            digits, letters = digits + character, ""
            continue
        if digits:
            parts.append((int(digits), ""))
        digits, letters = "", letters + character
    return (*parts, (-1, letters))


def _names(things: Mapping[str, object]) -> dict[str, tuple[tuple[tuple[int, str], ...], str]]:
    return {key: (natural(getattr(thing, "name", "") or key), key) for key, thing in things.items()}


def _parent(design: Design, group: str | None) -> str:
    return group if group is not None and group in design.groups else ROOT


def _parents(design: Design) -> dict[str, str]:
    """Parents of all groups; one that lies inside itself stands outside instead."""
    parents = {key: _parent(design, group.parent) for key, group in design.groups.items()}
    for key in sorted(parents):
        if parents[list(_up(parents, key))[-1]] != ROOT:
            parents[key] = ROOT
    return parents


def _is_closed(layout: Layout, group: str) -> bool:
    box = layout.boxes.get(group)
    return box is not None and box.collapsed


def _up(parents: Mapping[str, str], group: str) -> Iterator[str]:
    seen: set[str] = set()
    while group != ROOT and group not in seen:
        seen.add(group)
        yield group
        group = parents[group]


def _outermost(parents: Mapping[str, str], closed: set[str], group: str) -> str | None:
    return next((key for key in reversed(list(_up(parents, group))) if key in closed), None)


def _main_lane(inside: Counter[str]) -> str:
    """The tier of most of a group's nodes, the first in order where they are equally many."""
    if not inside:
        return "gpu"
    return max(TIERS, key=lambda tier: (inside[tier], -TIERS.index(tier)))
