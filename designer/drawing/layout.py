"""The tier layout: lanes as columns, groups as boxes across them, few crossings, nothing on top.

Leaves stand in columns by lane and role; a group's content is packed downwards, and then moved so
that links run straight where they can. Rings, meshes and nodes with coordinates stand as clusters
in a wide column of their lane. The same design always gives the same places.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from designer.drawing.captions import (
    NAME_PX,
    VALUE_PX,
    Caption,
    group_totals_words,
    node_caption,
    on_grid,
    totals_by_group,
)
from designer.drawing.captions import group_caption as caption_of_group
from designer.drawing.clusters import Cluster
from designer.drawing.maps import clusters as map_clusters
from designer.drawing.maps import fold
from designer.drawing.packing import Block, Packer, bottom_px
from designer.drawing.text import width_px
from designer.drawing.tree import ROOT, Tree, tree_of
from designer.model.design import Design
from designer.model.kinds import TIERS
from designer.model.topology import Topology

Box = tuple[float, float, float, float]
"""x, y, width, height; px at 100 %."""

PAD_PX: Final = 8.0
TITLE_PX: Final = 24.0
HEADER_PX: Final = 28.0
LABEL_GAP_PX: Final = 56.0
PLAIN_GAP_PX: Final = 20.0
MESH_GAP_PX: Final = 36.0
LANE_PAD_PX: Final = 12.0
_SWEEPS: Final = 6
_TALL: Final = 10
_MOST_TITLE_PX: Final = 260.0

_ROLE: Final = {
    "base_station": 1, "olt": 1, "cmts": 1, "access_point": 1, "aggregation_router": 2, "upf": 2,
    "edge_ai_server": 2, "spine": 1, "optical_circuit_switch": 1, "leaf": 2, "rail_switch": 2,
    "storage_switch": 2,
}  # fmt: skip
"""Column within the lane; other kinds stand in the first."""

_CHAIN: Final = (
    "bng", "pe", "firewall", "steering", "load_balancer", "api_gateway", "ai_gateway", "auth",
    "policy", "model_router", "service_chain",
)  # fmt: skip
"""Order from top to bottom in the service edge: the way of a request."""
_SPINES: Final = (TIERS.index("fabric"), 1)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Boxes of all visible nodes and groups by id, and each used lane's (left, right) edge."""

    boxes: Mapping[str, Box]
    lanes: Mapping[str, tuple[float, float]]
    top: float
    bottom: float


def captions(topology: Topology, tree: Tree) -> Mapping[str, Caption]:
    """What is written in each leaf, with the size it asks for; a size in the layout rules."""
    design = topology.design
    totals = totals_by_group(design)
    made: dict[str, Caption] = {}
    for leaf in tree.lane:
        if leaf in design.nodes:
            made[leaf] = node_caption(design.nodes[leaf])
        else:
            made[leaf] = caption_of_group(design.groups[leaf], totals[leaf])
    return made


def arrange(topology: Topology, label_px: float = LABEL_GAP_PX - 12) -> Arrangement:
    """Places everything anew. Pinned boxes keep their place, and the others give way.

    label_px: width of the widest label that has to stand between two columns.
    """
    tree = tree_of(topology.design, topology.layout)
    pinned = {key: box for key, box in topology.layout.boxes.items() if box.pinned}
    return complete(topology, tree, {key: (box.x, box.y) for key, box in pinned.items()}, label_px)


def stored(topology: Topology) -> Arrangement:
    """The places of the layout; what has none there is placed beside them."""
    tree = tree_of(topology.design, topology.layout)
    places = {key: (box.x, box.y) for key, box in topology.layout.boxes.items()}
    return complete(topology, tree, places, LABEL_GAP_PX - 12)


def complete(
    topology: Topology, tree: Tree, kept: Mapping[str, tuple[float, float]], label_px: float
) -> Arrangement:
    """An arrangement in which the kept leaves stand where they are said to."""
    sizes = _sizes(topology, tree)
    kept = {key: place for key, place in kept.items() if key in sizes}
    boxes = {key: (*place, *sizes[key]) for key, place in kept.items()}
    spans: Mapping[str, tuple[float, float]] = {}
    if len(kept) < len(sizes):
        made, columns = _tier_layout(topology.design, tree, sizes, label_px)
        spans = {} if kept else columns
        free = {key: (*place, *sizes[key]) for key, place in made.items() if key not in kept}
        boxes |= _beside(free, boxes) if boxes else free
    groups = _group_boxes(topology, tree, boxes, spans)
    return Arrangement({**boxes, **groups}, *_lanes(tree, boxes, groups))


def _sizes(topology: Topology, tree: Tree) -> Mapping[str, tuple[float, float]]:
    """Size of every leaf: the layout's, else what is written in it asks for.

    Leaves of one stack are equally wide, and fill their group where it holds nothing else.
    """
    made = captions(topology, tree)
    widest: dict[tuple[str, str, int], float] = defaultdict(float)
    for key, caption in made.items():
        stack = _stack_of(topology.design, tree, key)
        if tree.lane[key] == "transport":
            # On a map every box is as wide as its name; only a row looks better in one width.
            continue
        widest[stack] = max(widest[stack], caption.width)
    for group in (key for key in tree.children if key != ROOT):
        stacks = {_stack_of(topology.design, tree, leaf) for leaf in tree.leaves(group)}
        if len(stacks) == 1:
            stack = stacks.pop()
            fill = on_grid(title_width_px(topology.design, group, "") - 2 * PAD_PX)
            widest[stack] = max(widest[stack], fill)
    found: dict[str, tuple[float, float]] = {}
    for key, caption in made.items():
        box = topology.layout.boxes.get(key)
        width = box.width if box is not None and box.width else None
        height = box.height if box is not None and box.height else caption.height
        fill = max(caption.width, widest[_stack_of(topology.design, tree, key)])
        found[key] = (width or fill, height)
    return found


def _stack_of(design: Design, tree: Tree, leaf: str) -> tuple[str, str, int]:
    return tree.parent[leaf], tree.lane[leaf], _role(design, leaf)


def _role(design: Design, leaf: str) -> int:
    return _ROLE.get(design.nodes[leaf].kind, 0) if leaf in design.nodes else 0


def title_width_px(design: Design, group: str, totals: str) -> float:
    """Width that an open group's title and totals ask for."""
    name = width_px(design.groups[group].name or group, NAME_PX, 600)
    pill = 40.0 if design.groups[group].count > 1 else 0.0
    right = width_px(totals, VALUE_PX, 400, "tabular") + 16 if totals else 0.0
    return min(_MOST_TITLE_PX, 42 + name + pill + right + 8)


def _tier_layout(
    design: Design, tree: Tree, sizes: Mapping[str, tuple[float, float]], label_px: float
) -> tuple[Mapping[str, tuple[float, float]], Mapping[str, tuple[float, float]]]:
    """By leaf its top left corner, and the left and right edge of its column."""
    titles = {key: on_grid(title_width_px(design, key, "")) for key in tree.children if key != ROOT}
    folded = fold(design, tree, sizes, (PAD_PX, TITLE_PX + PAD_PX), titles)
    tree, sizes = folded.tree, folded.sizes
    links = _visible_links(design, tree)
    clusters = map_clusters(design, tree, sizes, links, folded.inner)
    inside = {key: name for name, cluster in clusters.items() for key in cluster.corners}
    column_of = _columns(design, tree, inside)
    columns = sorted(set(column_of.values()))
    index = {column: n for n, column in enumerate(columns)}
    blocks = {
        key: Block(index[column_of[key]], *_extent(key, sizes, clusters)) for key in column_of
    }
    packer = Packer(
        tree, blocks, inside, links, _offsets(sizes, clusters), _first_order(design, tree)
    )
    top_of = packer.best(_SWEEPS)
    left_of = _lefts(design, tree, columns, blocks, inside, links, label_px)
    places: dict[str, tuple[float, float]] = {}
    spans: dict[str, tuple[float, float]] = {}
    for key, block in blocks.items():
        left, width = left_of[block.column]
        x = left + (width - block.width) // 8 * 4
        for leaf in clusters[key].corners if key in clusters else (key,):
            spans[leaf] = (left, left + width)
        if key in clusters:
            for leaf, (dx, dy) in clusters[key].corners.items():
                places[leaf] = (x + dx, top_of[key] + dy)
        else:
            places[key] = (x, top_of[key])
    for group, corners in folded.inner.items():
        x, y = places.pop(group)
        spans.pop(group, None)
        places |= {leaf: (x + dx, y + dy) for leaf, (dx, dy) in corners.items()}
    return places, spans


def _visible_links(design: Design, tree: Tree) -> list[tuple[str, str]]:
    """Ends of all links between different leaves, as drawn, in a fixed order."""
    found: list[tuple[str, str]] = []
    for key in sorted(design.links):
        link = design.links[key]
        a, b = tree.shown_as.get(link.a), tree.shown_as.get(link.b)
        if a is not None and b is not None and a != b:
            found.append((a, b))
    return found


def _extent(
    key: str, sizes: Mapping[str, tuple[float, float]], clusters: Mapping[str, Cluster]
) -> tuple[float, float]:
    return (clusters[key].width, clusters[key].height) if key in clusters else sizes[key]


def _offsets(
    sizes: Mapping[str, tuple[float, float]], clusters: Mapping[str, Cluster]
) -> Mapping[str, float]:
    """From a block's top to the middle of each of its leaves."""
    found = {key: height / 2 for key, (_, height) in sizes.items()}
    for cluster in clusters.values():
        found |= {key: y + sizes[key][1] / 2 for key, (_, y) in cluster.corners.items()}
    return found


def _columns(
    design: Design, tree: Tree, inside: Mapping[str, str]
) -> dict[str, tuple[int, int, int]]:
    """Column of each block as (lane, role, part): a tall stack is split in several parts."""
    stacks: dict[tuple[int, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    column: dict[str, tuple[int, int, int]] = {}
    for leaf in (leaf for leaf in tree.leaves(ROOT) if leaf in tree.lane):
        lane = TIERS.index(tree.lane[leaf]) if tree.lane[leaf] in TIERS else len(TIERS)
        if leaf in inside:
            column[inside[leaf]] = (lane, 0, 0)
            continue
        stacks[lane, _role(design, leaf)][tree.parent[leaf]].append(leaf)
    for (lane, role), by_parent in stacks.items():
        tallest = max(map(len, by_parent.values()))
        parts = 1 if tallest <= _TALL else round((tallest / 2.5) ** 0.5) + 1
        for stack in by_parent.values():
            across = min(parts, max(1, round((len(stack) / 2.5) ** 0.5) + (len(stack) > _TALL)))
            column |= {leaf: (lane, role, n % across) for n, leaf in enumerate(stack)}
    return column


def _first_order(design: Design, tree: Tree) -> Mapping[str, int]:
    """The order before any link is looked at: a request's way, then names."""

    def rank(leaf: str) -> int:
        kind = design.nodes[leaf].kind if leaf in design.nodes else ""
        return _CHAIN.index(kind) if kind in _CHAIN else -1

    leaves = sorted(tree.leaves(ROOT), key=rank)
    return {leaf: n for n, leaf in enumerate(leaves)}


def _lefts(
    design: Design,
    tree: Tree,
    columns: Sequence[tuple[int, int, int]],
    blocks: Mapping[str, Block],
    inside: Mapping[str, str],
    links: Sequence[tuple[str, str]],
    label_px: float,
) -> list[tuple[float, float]]:
    """Left edge and width of every column, with room for the groups' edges and for labels."""
    widths = [0.0] * len(columns)
    for block in blocks.values():
        widths[block.column] = max(widths[block.column], on_grid(block.width))
    before, after = _insets(design, tree, blocks, inside, widths)
    crossed = _crossed(blocks, inside, links, len(columns))
    lefts: list[tuple[float, float]] = []
    x = LANE_PAD_PX + before[0] if columns else 0.0
    for n, column in enumerate(columns):
        lefts.append((x, widths[n]))
        if n + 1 < len(columns):
            gap = on_grid(label_px + 12) if crossed[n] else PLAIN_GAP_PX
            gap += MESH_GAP_PX if crossed[n] and column[:2] == _SPINES else 0.0
            gap = max(gap, 2 * LANE_PAD_PX) if columns[n + 1][0] != column[0] else gap
            x += widths[n] + after[n] + gap + before[n + 1]
    return lefts


def _crossed(
    blocks: Mapping[str, Block],
    inside: Mapping[str, str],
    links: Sequence[tuple[str, str]],
    columns: int,
) -> list[bool]:
    """Whether a link has its label in the gap after each column: ends in neighbouring columns."""
    crossed = [False] * columns
    for a, b in links:
        first = blocks[inside.get(a, a)].column
        second = blocks[inside.get(b, b)].column
        if first != second:
            crossed[min(first, second)] = True
            crossed[max(first, second) - 1] = True
    return crossed


def _insets(
    design: Design,
    tree: Tree,
    blocks: Mapping[str, Block],
    inside: Mapping[str, str],
    widths: list[float],
) -> tuple[list[float], list[float]]:
    """Room before and after each column for group edges; widens columns for the groups' titles."""
    before, after = [0.0] * len(widths), [0.0] * len(widths)
    totals = totals_by_group(design)
    level: dict[str, int] = {}
    inner_first = sorted(
        (key for key in tree.children if key != ROOT), key=lambda key: -_deep(tree, key)
    )
    for group in inner_first:
        spans = [blocks[inside.get(leaf, leaf)].column for leaf in tree.leaves(group)]
        level[group] = 1 + max((level.get(child, 0) for child in tree.children[group]), default=0)
        first, last = min(spans), max(spans)
        pad = PAD_PX * level[group]
        before[first], after[last] = max(before[first], pad), max(after[last], pad)
        words = group_totals_words(design.groups[group], totals[group]) if first < last else ""
        wanted = title_width_px(design, group, words) - 2 * PAD_PX
        had = sum(widths[first : last + 1]) + LABEL_GAP_PX * (last - first)
        widths[last] += on_grid(max(0.0, wanted - had))
    return before, after


def _deep(tree: Tree, group: str) -> int:
    return len(tree.chain(group))


def _beside(free: Mapping[str, Box], kept: Mapping[str, Box]) -> Mapping[str, Box]:
    """The free boxes, moved down where they would lie on a kept one or on each other."""
    taken = sorted(kept.values(), key=lambda box: box[1])
    moved: dict[str, Box] = {}
    for key, (x, y, width, height) in sorted(free.items(), key=lambda item: (item[1][1], item[0])):
        for other in taken:
            apart = other[0] >= x + width + 8 or other[0] + other[2] + 8 <= x
            if not apart and other[1] < y + height + 8 and other[1] + other[3] + 8 > y:
                y = on_grid(other[1] + other[3] + 16)
        moved[key] = (x, y, width, height)
        taken = sorted((*taken, moved[key]), key=lambda box: box[1])
    return moved


def _group_boxes(
    topology: Topology,
    tree: Tree,
    boxes: Mapping[str, Box],
    spans: Mapping[str, tuple[float, float]],
) -> Mapping[str, Box]:
    """Open groups around what they hold, and at least as large as the layout says.

    spans: edges of columns by leaf; groups of the same columns stand flush.
    """
    found: dict[str, Box] = {}
    totals = totals_by_group(topology.design)
    groups = sorted(
        (key for key in tree.children if key != ROOT), key=lambda key: -_deep(tree, key)
    )
    for group in groups:
        inner = [found.get(child) or _wide(boxes, spans, child) for child in tree.children[group]]
        left = min(box[0] for box in inner) - PAD_PX
        top = min(box[1] for box in inner) - TITLE_PX - PAD_PX
        right = max(box[0] + box[2] for box in inner) + PAD_PX
        bottom = max(box[1] + box[3] for box in inner) + bottom_px(tree, group)
        alone = len({box[0] for box in inner}) == 1
        words = "" if alone else group_totals_words(topology.design.groups[group], totals[group])
        right = max(right, left + on_grid(title_width_px(topology.design, group, words)))
        box = topology.layout.boxes.get(group)
        if box is not None and box.width and box.height:
            left, top = min(left, box.x), min(top, box.y)
            right, bottom = max(right, box.x + box.width), max(bottom, box.y + box.height)
        found[group] = (left, top, right - left, bottom - top)
    return found


def _wide(boxes: Mapping[str, Box], spans: Mapping[str, tuple[float, float]], leaf: str) -> Box:
    """A leaf's box, as wide as its column."""
    x, y, width, height = boxes[leaf]
    left, right = spans.get(leaf, (x, x + width))
    return (left, y, right - left, height)


def _lanes(
    tree: Tree, boxes: Mapping[str, Box], groups: Mapping[str, Box]
) -> tuple[Mapping[str, tuple[float, float]], float, float]:
    """Edges of the used lanes, halfway between neighbours, and top and bottom of the whole."""
    everything = [*boxes.values(), *groups.values()]
    if not everything:
        return {}, 0.0, 0.0
    used = [tier for tier in TIERS if tier in tree.lane.values()]
    by_lane: dict[str, list[Box]] = defaultdict(list)
    for key, lane in tree.lane.items():
        by_lane[lane].append(_with_edges(boxes[key], len(tree.chain(key)) - 1))
    left = min(box[0] for box in everything) - LANE_PAD_PX
    right = max(box[0] + box[2] for box in everything) + LANE_PAD_PX
    edges = [left]
    for tier, following in pairwise(used):
        here = max(box[0] + box[2] for box in by_lane[tier])
        there = min(box[0] for box in by_lane[following])
        edges.append(max(edges[-1] + 48, round((here + there) / 8) * 4))
    edges.append(max(right, edges[-1] + 48))
    lanes = {tier: (edges[n], edges[n + 1]) for n, tier in enumerate(used)}
    top = min(box[1] for box in everything) - LANE_PAD_PX - HEADER_PX
    return lanes, top, max(box[1] + box[3] for box in everything) + LANE_PAD_PX


def _with_edges(box: Box, groups: int) -> Box:
    """A leaf's box with the edges of the groups around it."""
    return (box[0] - PAD_PX * groups, box[1], box[2] + 2 * PAD_PX * groups, box[3])
