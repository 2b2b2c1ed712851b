"""Which drawings a review has: the whole, and a sheet for each region, site and fabric.

A drawing is readable where it fits an A4 page with its smallest text at READABLE_PT; the whole may
be smaller, down to LEAST_PT. What is too large for that is drawn with its groups closed, the
innermost first, and its groups have sheets of their own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from immutables import Map

from designer.analysis.results import Results
from designer.drawing.captions import VALUE_PX
from designer.drawing.display import Picture
from designer.drawing.folding import foldings
from designer.drawing.layout import arrange
from designer.drawing.marks import draw
from designer.drawing.overlays import Overlay, effective_bandwidth, oversubscription, utilisation
from designer.drawing.parts import part_of
from designer.drawing.theme import Theme, load_theme
from designer.drawing.tree import ROOT, tree_of
from designer.model.layout import Layout
from designer.model.topology import Topology

MOST_SHEETS: Final = 24
LYING_PX: Final = (1003.0, 580.0)
STANDING_PX: Final = (674.0, 909.0)
"""Room for a drawing on a page, in px of 0.75 pt, lying and standing."""
READABLE_PT: Final = 5.0
LEAST_PT: Final = 4.0
_ENOUGH_PT: Final = 6.0
"""Where the whole is drawn with text of this size, no part needs a sheet of its own."""
_NARROW_PX: Final = 24.0
"""Room for labels between the columns of a site that is too wide: gaps of 36 px, the least."""
_PT_PER_PX: Final = 0.75
_LEAST_NODES: Final = 3
_OVERLAYS: Final[Mapping[str, Callable[[Results, Theme], Overlay]]] = {
    "utilisation": utilisation,
    "effective bandwidth": effective_bandwidth,
    "oversubscription": oversubscription,
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A drawing for a page; `closed` where its groups are drawn closed to be readable."""

    picture: Picture
    closed: bool


def fit(picture: Picture) -> float:
    """The scale at which a drawing fills a page, the better way round."""
    return max(
        min(width / picture.width, height / picture.height)
        for width, height in (LYING_PX, STANDING_PX)
    )


def text_pt(picture: Picture) -> float:
    """Size of a drawing's smallest text on its page, in points."""
    return fit(picture) * VALUE_PX * _PT_PER_PX


def whole(topology: Topology, results: Results, picture: Picture) -> Sheet:
    """A picture of the whole design, drawn anew with groups closed where nobody could read it."""
    if text_pt(picture) >= LEAST_PT:
        return Sheet(picture, closed=False)
    theme = load_theme("light")
    make = _OVERLAYS.get(picture.overlay)
    overlay = make(results, theme) if make else None
    if picture.overlay and overlay is None:
        return Sheet(picture, closed=False)
    return _closed(topology, picture, LEAST_PT, theme, overlay)


def sheets(topology: Topology, results: Results) -> tuple[Sheet, ...]:
    """A drawing for each region, site or fabric, with the load of its links where that is known.

    None where the whole can be read on one page; at most MOST_SHEETS, in the order of the design.
    """
    theme = load_theme("light")
    overlay = utilisation(results, theme) if results.links else None
    if text_pt(draw(topology, theme, overlay)) >= _ENOUGH_PT:
        return ()
    found: list[Sheet] = []
    for sheet in _parts(topology, ROOT, theme, overlay):
        found.append(sheet)
        if len(found) == MOST_SHEETS:
            break
    return tuple(found)


def _parts(
    topology: Topology, group: str, theme: Theme, overlay: Overlay | None
) -> Iterator[Sheet]:
    """Sheets of the groups in a group: one that is too large stands before those of its own."""
    tree = tree_of(topology.design, topology.layout)
    for child in tree.children[group]:
        if child not in topology.design.groups:
            continue
        part = part_of(topology, child)
        if part.inside < _LEAST_NODES:
            continue
        inner = [key for key in tree.children.get(child, ()) if key in topology.design.groups]
        if inner and len(part.topology.design.nodes) == len(topology.design.nodes):
            # Its sheet would be the whole once more.
            yield from _parts(topology, child, theme, overlay)
            continue
        drawn = draw(part.topology, theme, overlay, arrange(part.topology), part.outside)
        if text_pt(drawn) < READABLE_PT and not inner:
            narrow = arrange(part.topology, _NARROW_PX)
            closer = draw(part.topology, theme, overlay, narrow, part.outside)
            drawn = max(drawn, closer, key=text_pt)
        if text_pt(drawn) >= READABLE_PT or not inner:
            yield Sheet(drawn, closed=False)
            continue
        yield _closed(part.topology, drawn, READABLE_PT, theme, overlay, part.outside, child)
        yield from _parts(topology, child, theme, overlay)


def _closed(
    topology: Topology,
    drawn: Picture,
    least_pt: float,
    theme: Theme,
    overlay: Overlay | None,
    outside: frozenset[str] = frozenset(),
    opened: str = "",
) -> Sheet:
    """The first drawing that is readable, of those with ever more groups closed, else the largest.

    opened: a group that stays open, because the sheet is its own.
    """
    best = Sheet(drawn, closed=False)
    for folded in foldings(topology):
        boxes = {key: box for key, box in folded.layout.boxes.items() if key != opened}
        kept = folded.model_copy(update={"layout": Layout(boxes=Map(boxes))})
        picture = draw(kept, theme, overlay, arrange(kept), outside)
        if text_pt(picture) > text_pt(best.picture):
            best = Sheet(picture, closed=True)
        if text_pt(best.picture) >= least_pt:
            break
    return best
