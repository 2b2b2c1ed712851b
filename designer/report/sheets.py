"""Which drawings a review has beside the whole: a sheet for each site or fabric that can be read.

A drawing is readable where it fits an A4 page without its text falling under 5 points or so; a
group that is too large for that is shown by the groups in it.
"""

from collections.abc import Iterator
from typing import Final

from designer.analysis.results import Results
from designer.drawing.display import Picture
from designer.drawing.layout import arrange
from designer.drawing.marks import draw
from designer.drawing.overlays import Overlay, utilisation
from designer.drawing.parts import part_of
from designer.drawing.theme import Theme, load_theme
from designer.drawing.tree import ROOT, tree_of
from designer.model.topology import Topology

MOST_SHEETS: Final = 24
LYING_PX: Final = (1003.0, 574.0)
STANDING_PX: Final = (674.0, 903.0)
"""Room for a drawing on a page, in px at 100 %, lying and standing."""
_READABLE: Final = 0.72
_LEAST_NODES: Final = 3


def fit(picture: Picture) -> float:
    """The scale at which a drawing fills a page, the better way round."""
    return max(
        min(width / picture.width, height / picture.height)
        for width, height in (LYING_PX, STANDING_PX)
    )


def sheets(topology: Topology, results: Results) -> tuple[Picture, ...]:
    """A drawing for each site or fabric, with the load of its links where that is known.

    None where the whole can be read on one page; at most MOST_SHEETS, in the order of the design.
    """
    theme = load_theme("light")
    overlay = utilisation(results, theme) if results.links else None
    if fit(draw(topology, theme, overlay)) >= _READABLE:
        return ()
    found: list[Picture] = []
    for picture in _parts(topology, ROOT, theme, overlay):
        found.append(picture)
        if len(found) == MOST_SHEETS:
            break
    return tuple(found)


def _parts(
    topology: Topology, group: str, theme: Theme, overlay: Overlay | None
) -> Iterator[Picture]:
    tree = tree_of(topology.design, topology.layout)
    for child in tree.children[group]:
        if child not in topology.design.groups:
            continue
        part = part_of(topology, child)
        if part.inside < _LEAST_NODES:
            continue
        drawn = draw(part.topology, theme, overlay, arrange(part.topology), part.outside)
        inner = [key for key in tree.children.get(child, ()) if key in topology.design.groups]
        if fit(drawn) < _READABLE and inner:
            yield from _parts(topology, child, theme, overlay)
        else:
            yield drawn
