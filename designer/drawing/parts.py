"""A part of a design for a sheet of its own: one group, and the nodes that it is linked to."""

from collections.abc import Iterator
from dataclasses import dataclass

from immutables import Map

from designer.model.design import Design
from designer.model.layout import Layout
from designer.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Part:
    """A group as a design of its own.

    outside: nodes of other groups that a link leads to; they are drawn, and count in no total.
    inside: how many nodes the group holds at any depth.
    """

    topology: Topology
    outside: frozenset[str]
    inside: int


def part_of(topology: Topology, group: str) -> Part:
    """The part of a design that a group holds, placed anew, the group itself opened."""
    design = topology.design
    groups = set(_within(design, group))
    inside = {key for key, node in design.nodes.items() if node.group in groups}
    links = {
        key: link for key, link in design.links.items() if link.a in inside or link.b in inside
    }
    ends = {end for link in links.values() for end in (link.a, link.b) if end in design.nodes}
    outside = frozenset(ends - inside)
    nodes = {key: design.nodes[key] for key in sorted(inside)}
    nodes |= {key: design.nodes[key].model_copy(update={"group": None}) for key in sorted(outside)}
    held = {key: design.groups[key] for key in sorted(groups)}
    held[group] = held[group].model_copy(update={"parent": None})
    name = design.groups[group].name or group
    smaller = Design(
        title_block=design.title_block.model_copy(update={"title": name}),
        settings=design.settings,
        groups=Map(held),
        nodes=Map(nodes),
        links=Map(links),
    )
    closed = {
        key: box
        for key, box in topology.layout.boxes.items()
        if box.collapsed and key in groups and key != group
    }
    part = topology.model_copy(
        update={"design": smaller, "layout": Layout(boxes=Map(closed), views=Map())}
    )
    return Part(part, outside, len(inside))


def _within(design: Design, group: str) -> Iterator[str]:
    """A group and all groups in it; each once, whatever the parents say."""
    found = {group}
    waiting = [group]
    while waiting:
        key = waiting.pop()
        yield key
        inner = [k for k, g in design.groups.items() if g.parent == key and k not in found]
        found |= set(inner)
        waiting += inner
