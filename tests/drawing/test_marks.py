"""The picture keeps the rules of the mock-ups: nothing on top, widths, lanes, states."""

import itertools

import pytest
from immutables import Map

from designer.analysis.results import LinkResult, Results
from designer.analysis.results import Settings as ResultSettings
from designer.drawing.display import Line, Rect, Text
from designer.drawing.layout import arrange
from designer.drawing.marks import draw
from designer.drawing.overlays import Legend, Overlay, Style, utilisation
from designer.drawing.routes import stroke_width_px
from designer.drawing.text import width_px
from designer.drawing.theme import contrast, load_theme
from designer.model.base import Provenance
from designer.model.layout import Box, Layout
from designer.model.topology import Topology

LIGHT = load_theme("light")
LOADS = (0.05, 0.30, 0.46, 0.62, 0.83, 0.88, 1.12)


def results_of(topology):
    """Loads for every link, in turn from nearly idle to overloaded."""
    rows = tuple(
        LinkResult(
            id=key,
            name="",
            source=link.a,
            target=link.b,
            direction="a_to_b",
            instances=1,
            capacity_gbps=link.capacity_gbps,
            load_gbps={},
            utilisation=load,
            oversubscription=None,
        )
        for (key, link), load in zip(
            sorted(topology.design.links.items()), itertools.cycle(LOADS), strict=False
        )
    )
    settings = ResultSettings(percentiles=(), seed=7, year=None, scenario=None)
    return Results(
        program="", format=1, file="", content="", revision=4, settings=settings, links=rows
    )


def text_box(text):
    """The area that a text covers, a little less than its line."""
    width = width_px(text.string, text.size_px, text.weight, text.figures)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return (left, text.y - 0.75 * text.size_px, width, 0.95 * text.size_px)


def overlap(first, second):
    """Whether two boxes share more than a hair."""
    return (
        first[0] + 0.1 < second[0] + second[2]
        and second[0] + 0.1 < first[0] + first[2]
        and first[1] + 0.1 < second[1] + second[3]
        and second[1] + 0.1 < first[1] + first[3]
    )


def inside(inner, outer):
    """Whether a box lies within another."""
    return (
        outer[0] <= inner[0] + 0.1
        and outer[1] <= inner[1] + 0.1
        and inner[0] + inner[2] <= outer[0] + outer[2] + 0.1
        and inner[1] + inner[3] <= outer[1] + outer[3] + 0.1
    )


@pytest.fixture(params=["metro", "metro under load", "fabric", "fabric under load"])
def picture(request, metro, fabric):
    """Both designs, without and with an overlay."""
    topology = metro if request.param.startswith("metro") else fabric
    overlay = None
    if "load" in request.param:
        overlay = utilisation(results_of(topology), LIGHT)
    return draw(topology, LIGHT, overlay)


def test_no_two_texts_overlap(picture):
    boxes = [(text, text_box(text)) for text in picture.primitives if isinstance(text, Text)]
    hits = [
        (a.string, b.string)
        for (a, first), (b, second) in itertools.combinations(boxes, 2)
        if overlap(first, second)
    ]
    assert hits == []


def test_no_label_of_a_link_touches_a_node(picture, metro, fabric):
    nodes = {**metro.design.nodes, **fabric.design.nodes}
    labels = [
        text
        for text in picture.primitives
        if isinstance(text, Text) and text.layer == "label" and text.element not in nodes
    ]
    assert labels
    hits = [
        (text.string, key)
        for text in labels
        for key, box in picture.anchors.items()
        if key in nodes and overlap(text_box(text), box)
    ]
    assert hits == []


def test_texts_of_a_node_stay_in_its_box(picture):
    for text in picture.primitives:
        if isinstance(text, Text) and text.layer == "node":
            assert inside(text_box(text), picture.anchors[text.element]), text.string


def test_everything_lies_in_the_picture(picture):
    whole = (picture.left, picture.top, picture.width, picture.height)
    for item in picture.primitives:
        if isinstance(item, Text):
            assert inside(text_box(item), whole), item.string
        elif isinstance(item, Rect):
            assert inside((item.x, item.y, item.width, item.height), whole)


def test_no_text_is_under_nine_px_and_all_is_legible(picture):
    for text in picture.primitives:
        if isinstance(text, Text):
            assert text.size_px >= 9
            grounds = ["#FFFFFF", LIGHT.colour("surface.canvas")]
            grounds += [hue.fill for hue in LIGHT.lanes.values()]
            grounds += [rect.fill for rect in picture.primitives if _behind(text, rect)]
            assert max(contrast(text.colour, ground) for ground in grounds) >= 4.5


def _behind(text, rect):
    return (
        isinstance(rect, Rect)
        and rect.fill is not None
        and overlap(text_box(text), (rect.x, rect.y, rect.width, rect.height))
    )


@pytest.mark.parametrize(
    ("gbps", "px"),
    [(None, 1.0), (0.1, 1.0), (1, 1.0), (10, 2.0), (25, 2.5), (100, 3.0), (400, 3.5), (800, 4.0),
     (3200, 4.5), (1e6, 4.5)],
)  # fmt: skip
def test_width_of_a_link_is_a_px_for_each_tenfold(gbps, px):
    assert stroke_width_px(gbps) == px


def test_loads_of_80_percent_and_over_are_never_left_out(metro):
    picture = draw(metro, LIGHT, utilisation(results_of(metro), LIGHT))
    said = " ".join(text.string for text in picture.primitives if isinstance(text, Text))
    rows = [row for row in results_of(metro).links if row.utilisation >= 0.8]
    alone = [row for row in rows if not row.id.startswith("k3")]
    for load in {row.utilisation for row in alone}:
        wanted = sum(row.utilisation == load for row in alone)
        assert said.count(f"{load * 100:.0f} %") >= wanted


def test_a_badge_shows_its_whole_figure_in_the_narrowest_box(metro):
    styles = {"s1": Style("#00224E", "132 ms", 132.0), "l1": Style("#FEE838", "2.5 ms", 2.5)}
    overlay = Overlay("latency", 1, styles, Legend("Latency share, ms", "", LIGHT.sequential))
    said = {
        text.element: text.string
        for text in draw(metro, LIGHT, overlay).primitives
        if isinstance(text, Text) and text.weight == 600 and text.size_px == 10
    }
    assert said["s1"] == "132 ms"
    assert said["l1"] == "2.5 ms"


def test_an_overloaded_link_is_dashed(metro):
    results = results_of(metro)
    picture = draw(metro, LIGHT, utilisation(results, LIGHT))
    over = {row.id for row in results.links if row.utilisation > 1}
    dashed = {
        line.element
        for line in picture.primitives
        if isinstance(line, Line) and line.layer == "link" and line.stroke.dash
    }
    assert dashed == over


def test_the_overlay_says_its_revision(metro):
    picture = draw(metro, LIGHT, utilisation(results_of(metro), LIGHT))
    assert any("revision 4" in t.string for t in picture.primitives if isinstance(t, Text))
    assert "revision 4" in picture.alternative


def test_a_count_is_a_pill_and_totals_are_multiplied(metro):
    said = {text.string for text in draw(metro, LIGHT).primitives if isinstance(text, Text)}
    assert {"\u00d7120", "\u00d73"} <= said
    # 24,000 + 60,000 in the north; three times 54,000 in the south.
    assert "84,000 users" in said
    assert "54,000 users each" in said
    assert f"{24_000 + 60_000 + 3 * 54_000:,} users" in said
    # 2 servers of 8 at the edge, 16 of 8 in the pod.
    assert "144 GPUs" in said


def test_what_is_not_known_is_dotted_and_what_is_guessed_dashed(metro):
    design = metro.design
    unknown = design.nodes["u5g"].replace(users=None)
    guessed = design.nodes["fw"].replace(provenance={"forwarding_us": Provenance(kind="guessed")})
    nodes = design.nodes.set("u5g", unknown).set("fw", guessed)
    picture = draw(Topology(design=design.replace(nodes=nodes)), LIGHT)
    texts = {
        t.element: t.string for t in picture.primitives if isinstance(t, Text) and t.size_px == 10
    }
    assert texts["u5g"] == "users unknown"
    assert texts["fw"] == "~ 40 µs"
    edges = {
        rect.element: rect.stroke.dash
        for rect in picture.primitives
        if isinstance(rect, Rect) and rect.layer == "node" and rect.stroke
    }
    assert edges["u5g"] == (1.0, 3.0)
    assert edges["fw"] == (4.0, 2.0)


def test_a_collapsed_group_keeps_its_totals_and_bundles_its_links(metro):
    layout = Layout(boxes=Map({"pod": Box(id="pod", x=0.0, y=0.0, collapsed=True)}))
    topology = metro.replace(layout=layout)
    picture = draw(topology, LIGHT, None, arrange(topology))
    assert "r1" not in picture.anchors
    said = {text.string for text in picture.primitives if isinstance(text, Text)}
    assert "128 GPUs" in said


def test_the_same_design_gives_the_same_picture(metro):
    assert draw(metro, LIGHT) == draw(metro, LIGHT)


def test_an_empty_design_is_a_picture_too():
    picture = draw(Topology(), LIGHT)
    assert picture.width > 0
    assert "0 nodes" in picture.alternative
