"""From a topology to a picture: the display list that canvas, SVG, PNG and PDF share."""

from collections.abc import Iterator, Mapping, Sequence

from designer.drawing.badges import LEGEND_HEIGHT_PX, draw_legend, legend_width_px, overlay_note
from designer.drawing.boxes import Sheet, draw_groups, draw_lanes, draw_leaves
from designer.drawing.captions import totals_by_group, totals_by_lane
from designer.drawing.display import Line, Picture, Primitive, Rect, Stroke, Text
from designer.drawing.folding import fitting
from designer.drawing.layout import Arrangement, Box, captions
from designer.drawing.lines import draw_links
from designer.drawing.overlays import Overlay
from designer.drawing.routes import route_links
from designer.drawing.text import missing, safe, width_px
from designer.drawing.theme import Theme
from designer.drawing.tree import ROOT, lone_sites, tree_of
from designer.model.design import Design
from designer.model.layout import Remark
from designer.model.references import multiplicity
from designer.model.topology import Topology

MARGIN_PX = 16.0
_REMARK_LINE_PX = 15.0


def draw(
    topology: Topology,
    theme: Theme,
    overlay: Overlay | None = None,
    arrangement: Arrangement | None = None,
    outside: frozenset[str] = frozenset(),
) -> Picture:
    """The whole design as a picture.

    arrangement: where things stand; by default as the layout says, and what it leaves out is
    placed by the tier layout, with groups closed where nothing has a place and the picture would
    be longer than MOST_PX. Coordinates are those of the layout. outside: nodes that count in no
    total.
    """
    if arrangement is None:
        topology, arrangement = fitting(topology)
    tree = tree_of(topology.design, topology.layout)
    design = topology.design
    times = {key: multiplicity(design, key) for key in design.nodes if key not in outside}
    sheet = Sheet(
        design,
        tree,
        arrangement,
        captions(topology, tree),
        totals_by_group(design),
        totals_by_lane(design, times),
        overlay.styles if overlay else {},
        theme,
    )
    routes = route_links(design, topology.layout, tree, arrangement.boxes)
    lines, labels = draw_links(sheet, routes)
    remarks = tuple(_remarks(topology, arrangement.boxes, theme))
    unknown = sum(link.capacity_gbps is None for link in design.links.values())
    legend_px = legend_width_px(overlay, unknown)
    frame = _frame(arrangement, topology, overlay, (*lines, *labels), legend_px)
    corner = (frame[0] + MARGIN_PX, frame[1] + frame[3] - _legend_height(overlay) - MARGIN_PX)
    primitives = (
        *draw_lanes(sheet),
        *draw_groups(sheet),
        *lines,
        *draw_leaves(sheet),
        *labels,
        *remarks,
        *draw_legend(overlay, corner, theme, unknown),
    )
    names = {thing.name for table in (design.nodes, design.groups) for thing in table.values()}
    return Picture(
        frame[2],
        frame[3],
        theme.colour("surface.canvas"),
        primitives,
        _title(design, overlay),
        _alternative(sheet, overlay),
        tuple(sorted({character for name in names for character in missing(name)})),
        {**_lone_boxes(design, arrangement.boxes), **arrangement.boxes},
        frame[0],
        frame[1],
        overlay.name if overlay else "",
    )


def _lone_boxes(design: Design, boxes: Mapping[str, Box]) -> Mapping[str, Box]:
    """A site that is drawn as its only node stands where that stands."""
    alone = lone_sites(design)
    return {group: boxes[node] for group, node in alone.items() if node in boxes}


def _title(design: Design, overlay: Overlay | None) -> str:
    name = design.title_block.title_or("Topology")
    return f"{name}: {overlay.legend.title.partition(',')[0].lower()}" if overlay else name


def _legend_height(overlay: Overlay | None) -> float:
    return LEGEND_HEIGHT_PX if overlay else 48.0


def _frame(
    arrangement: Arrangement,
    topology: Topology,
    overlay: Overlay | None,
    links: Sequence[Primitive],
    legend_px: float,
) -> Box:
    """The picture's box: everything, the legend below, and a margin."""
    lanes = arrangement.lanes.values()
    left = min((lane[0] for lane in lanes), default=0.0)
    right = max((lane[1] for lane in lanes), default=0.0)
    top, bottom = arrangement.top, arrangement.bottom
    for remark in topology.layout.remarks.values():
        left, top = min(left, remark.x), min(top, remark.y)
        right = max(right, remark.x + remark.width)
        bottom = max(bottom, remark.y + _remark_height(remark))
    for edge_left, edge_top, edge_right, edge_bottom in map(_extent, links):
        left, top = min(left, edge_left), min(top, edge_top)
        right, bottom = max(right, edge_right), max(bottom, edge_bottom)
    right = max(right, left + legend_px)
    height = bottom - top + _legend_height(overlay) + 3 * MARGIN_PX
    return (left - MARGIN_PX, top - MARGIN_PX, right - left + 2 * MARGIN_PX, height)


def _extent(primitive: Primitive) -> Box:
    """Left, top, right and bottom edge of a line, box or text; of a mark, its corner."""
    if isinstance(primitive, Line):
        xs, ys = zip(*primitive.points, strict=True)
        return (min(xs), min(ys), max(xs), max(ys))
    if isinstance(primitive, Rect):
        x, y = primitive.x, primitive.y
        return (x, y, x + primitive.width, y + primitive.height)
    if isinstance(primitive, Text):
        width = width_px(primitive.string, primitive.size_px, primitive.weight, primitive.figures)
        x = primitive.x - {"start": 0.0, "middle": width / 2, "end": width}[primitive.anchor]
        return (x, primitive.y - primitive.size_px, x + width, primitive.y + 3)
    return (primitive.x, primitive.y, primitive.x, primitive.y)


def _remarks(topology: Topology, boxes: Mapping[str, Box], theme: Theme) -> Iterator[Primitive]:
    """Notes on the canvas, with a leader to what they speak of."""
    edge, ink = Stroke(theme.colour("border.group")), theme.colour("text.primary")
    for key in sorted(topology.layout.remarks):
        remark = topology.layout.remarks[key]
        height = _remark_height(remark)
        if remark.about in boxes:
            x, y, width, tall = boxes[str(remark.about)]
            leader = ((remark.x + remark.width / 2, remark.y), (x + width / 2, y + tall))
            yield Line(key, "label", leader, Stroke(edge.colour, 1, (3.0, 3.0)))
        yield Rect(
            key, "label", remark.x + 0.5, remark.y + 0.5, remark.width - 1, height - 1, 0,
            theme.colour("surface.raised"), edge,
        )  # fmt: skip
        for n, line in enumerate(_wrapped(remark)):
            baseline = remark.y + 20 + n * _REMARK_LINE_PX
            yield Text(key, "label", remark.x + 8, baseline, line, 10.0, ink)


def _remark_height(remark: Remark) -> float:
    return len(_wrapped(remark)) * _REMARK_LINE_PX + 16


def _wrapped(remark: Remark) -> list[str]:
    lines: list[str] = []
    for paragraph in remark.text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if line and width_px(longer, 10.0) > remark.width - 16:
                lines.append(safe(line))
                longer = word
            line = longer
        lines.append(safe(line))
    return lines


def _alternative(sheet: Sheet, overlay: Overlay | None) -> str:
    """The picture in words."""
    design = sheet.design
    lanes = ", ".join(sheet.theme.lane(tier).name for tier in sheet.arrangement.lanes)
    groups = [
        sheet.design.groups[key].name or key
        for key in sheet.tree.children[ROOT]
        if key in design.groups
    ]
    words = (
        f"Drawing of {design.title_block.title_or('the topology')}: {len(design.nodes):,} nodes, "
        f"{len(design.links):,} links and {len(design.groups):,} groups"
    )
    words += f" in the lanes {lanes}." if lanes else "."
    if groups:
        shown = ", ".join(groups[:12]) + (" and others" if len(groups) > 12 else "")
        words += f" Groups: {shown}."
    closed = sum(key in design.groups for key in set(sheet.tree.shown_as.values()))
    if closed:
        words += f" Groups drawn closed: {closed:,}."
    if overlay is not None:
        most = sorted(
            ((style.importance, key, style.label) for key, style in overlay.styles.items()),
            reverse=True,
        )[:3]
        said = ", ".join(f"{_named(sheet, key)} {label}" for _, key, label in most)
        words += f" Overlay {overlay.legend.title}, {overlay_note(overlay)}"
        words += f"; highest: {said}." if said else "."
    return safe(words)


def _named(sheet: Sheet, key: str) -> str:
    design = sheet.design
    thing = design.nodes.get(key) or design.links.get(key) or design.groups.get(key)
    return (thing.name if thing is not None else "") or key
