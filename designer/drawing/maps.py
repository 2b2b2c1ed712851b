"""Which nodes of one lane stand as on a map or in a mesh, and small sites that stand there whole.

A place without coordinates is drawn between its neighbours: for the drawing alone, no distance
comes from it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from designer.drawing.clusters import Cluster, is_mesh, place_cluster
from designer.drawing.tree import ROOT, Tree
from designer.model.design import Design

Size = tuple[float, float]
Degrees = tuple[float, float]
"""Latitude and longitude."""

_LEAST: Final = 3
"""So many places make a map."""
_MOST_FOLDED: Final = 6
_ROUNDS: Final = 12


@dataclass(frozen=True, slots=True)
class Folded:
    """A tree in which small sites of the transport lane are leaves, so that a map can hold them.

    sizes: those of the leaves and of the folded sites. inner: by folded site, the corners of its
    leaves from its own.
    """

    tree: Tree
    sizes: Mapping[str, Size]
    inner: Mapping[str, Mapping[str, tuple[float, float]]]


def fold(
    design: Design, tree: Tree, sizes: Mapping[str, Size], pad: Size, title_px: Mapping[str, float]
) -> Folded:
    """Folds the sites that hold a few transport nodes each, where there are enough for a map.

    pad: from a site's corner to its first leaf, px; the right and lower edge stand pad[0] away.
    title_px: least width of a site by its id.
    """
    sets: dict[str, list[str]] = defaultdict(list)
    for group, kids in tree.children.items():
        if group != ROOT and 0 < len(kids) <= _MOST_FOLDED and _is_small(tree, kids):
            sets[tree.parent[group]].append(group)
    chosen = [key for keys in sets.values() if len(keys) >= _LEAST for key in keys]
    if not chosen:
        return Folded(tree, sizes, {})
    grown = dict(sizes)
    inner: dict[str, Mapping[str, tuple[float, float]]] = {}
    inside: dict[str, str] = {}
    for group in chosen:
        inner[group], grown[group] = _stacked(tree.children[group], sizes, pad, title_px[group])
        inside |= dict.fromkeys(inner[group], group)
    folded = replace(
        tree,
        children={key: kids for key, kids in tree.children.items() if key not in inner},
        shown_as={key: inside.get(leaf, leaf) for key, leaf in tree.shown_as.items()},
        lane={key: lane for key, lane in tree.lane.items() if key not in inside}
        | dict.fromkeys(chosen, "transport"),
    )
    return Folded(folded, grown, inner)


def _is_small(tree: Tree, kids: Sequence[str]) -> bool:
    return all(tree.lane.get(kid) == "transport" for kid in kids)


def _stacked(
    kids: Sequence[str], sizes: Mapping[str, Size], pad: Size, least_px: float
) -> tuple[Mapping[str, tuple[float, float]], Size]:
    """Leaves one under the other inside a site, and the site's size."""
    width = max(least_px, max(sizes[kid][0] for kid in kids) + 2 * pad[0])
    corners: dict[str, tuple[float, float]] = {}
    y = pad[1]
    for kid in kids:
        corners[kid] = (pad[0], y)
        y += sizes[kid][1] + 16
    return corners, (width, y - 16 + pad[0] + 4)


def _degrees(design: Design, leaves: Mapping[str, str]) -> dict[str, Degrees]:
    """Coordinates by leaf: its own, those of a node in it, or the site's."""
    found: dict[str, Degrees] = {}
    for key, leaf in leaves.items():
        node = design.nodes[key]
        if node.latitude_deg is not None and node.longitude_deg is not None:
            found.setdefault(leaf, (node.latitude_deg, node.longitude_deg))
    return found


def _between(
    known: Mapping[str, Degrees], edges: Sequence[tuple[str, str]]
) -> Mapping[str, Degrees]:
    """The known places, and for what is linked to them the middle of its neighbours."""
    near: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    found = dict(known)
    for _ in range(_ROUNDS):
        new = {}
        for key in sorted(near):
            around = [found[other] for other in near[key] if other in found]
            if key not in found and around:
                mean = [sum(axis) / len(around) for axis in zip(*around, strict=True)]
                new[key] = (mean[0] - 0.05, mean[1] + 0.05)
        if not new:
            break
        found |= new
    return found


def clusters(
    design: Design,
    tree: Tree,
    sizes: Mapping[str, Size],
    links: Sequence[tuple[str, str]],
    folded: Mapping[str, object],
) -> dict[str, Cluster]:
    """Clusters by a name of their own: leaves of one parent and lane, on a map or in a mesh."""
    sets: dict[tuple[str, str], list[str]] = defaultdict(list)
    for leaf, lane in tree.lane.items():
        if leaf in design.nodes or leaf in folded:
            sets[tree.parent[leaf], lane].append(leaf)
    degrees = _degrees(design, tree.shown_as)
    among: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for a, b in links:
        if (place := (tree.parent[a], tree.lane[a])) == (tree.parent[b], tree.lane[b]):
            among[place].append((a, b))
    made: dict[str, Cluster] = {}
    for place in sorted(sets):
        edges = among[place]
        known = {key: degrees[key] for key in sets[place] if key in degrees}
        if len(set(known.values())) >= _LEAST:
            known = dict(_between(known, edges))
            ids = sorted(key for key in sets[place] if key in known)
        else:
            linked = {end for edge in edges for end in edge}
            ids = sorted(key for key in sets[place] if key in linked)
            known = {}
            if place[1] != "transport" or not is_mesh(ids, edges):
                continue
        chosen = set(ids)
        within = [edge for edge in edges if chosen.issuperset(edge)]
        made["\n".join(place)] = place_cluster(ids, sizes, known, within)
    return made
