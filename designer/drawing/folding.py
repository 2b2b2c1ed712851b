"""Designs with groups closed, for where the whole would be too large to be read."""

from collections.abc import Iterator
from typing import Final

from immutables import Map

from designer.drawing.layout import Arrangement, arrange, stored
from designer.model.design import Design
from designer.model.layout import Box, Layout
from designer.model.topology import Topology

MOST_PX: Final = 6000.0
"""A picture that is longer than this is drawn with groups closed, unless a person placed it."""


def foldings(topology: Topology) -> Iterator[Topology]:
    """The design with its groups closed, the innermost first, until only the outermost are left.

    Places are forgotten: what is closed takes less room.
    """
    depth = {key: _depth(topology.design, key) for key in topology.design.groups}
    shut = {key for key, box in topology.layout.boxes.items() if box.collapsed}
    for level in range(max(depth.values(), default=0), 0, -1):
        closed = {key for key in depth if depth[key] >= level} | (shut & depth.keys())
        boxes = {key: Box(id=key, x=0.0, y=0.0, collapsed=True) for key in sorted(closed)}
        yield topology.model_copy(update={"layout": Layout(boxes=Map(boxes))})


def fitting(topology: Topology, most_px: float = MOST_PX) -> tuple[Topology, Arrangement]:
    """The design as the layout says; where that places nothing, closed until it is short enough."""
    arrangement = stored(topology)
    if topology.layout.boxes or topology.layout.bends or topology.layout.remarks:
        return topology, arrangement
    found = (topology, arrangement)
    closer = foldings(topology)
    while _longest(found[1]) > most_px and (closed := next(closer, None)) is not None:
        tried = arrange(closed)
        if _longest(tried) < _longest(found[1]):
            found = (closed, tried)
    return found


def _longest(arrangement: Arrangement) -> float:
    edges = [edge for lane in arrangement.lanes.values() for edge in lane]
    width = max(edges) - min(edges) if edges else 0.0
    return max(width, arrangement.bottom - arrangement.top)


def _depth(design: Design, group: str) -> int:
    """1 for an outermost group, and one more for each around it."""
    seen: list[str] = []
    walk: str | None = group
    while walk is not None and walk in design.groups and walk not in seen:
        seen.append(walk)
        walk = design.groups[walk].parent
    return len(seen)
