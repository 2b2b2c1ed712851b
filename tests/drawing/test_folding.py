"""What would be too large to read is drawn with its groups closed, and nothing is lost of it."""

from itertools import pairwise

import pytest
from immutables import Map

from designer.drawing.display import Text
from designer.drawing.folding import MOST_PX, fitting, foldings
from designer.drawing.marks import draw
from designer.drawing.theme import load_theme
from designer.drawing.tree import tree_of
from designer.model.design import Design, TitleBlock
from designer.model.layout import Box, Layout
from designer.model.things import Group, Link, Node
from designer.model.topology import Topology

KINDS = ("users", "bng", "metro_router", "leaf", "server")


def sites(number: int) -> Topology:
    """Sites that each span five lanes, on a ring of their routers."""
    groups = [Group(id=f"s{i}", kind="site", name=f"Site {i}") for i in range(number)]
    nodes = [
        Node(id=f"{kind}{i}", kind=kind, name=f"{kind} {i}", group=f"s{i}")
        for i in range(number)
        for kind in KINDS
    ]
    links = [
        Link(id=f"{a}{i}", a=f"{a}{i}", b=f"{b}{i}", capacity_gbps=100.0)
        for i in range(number)
        for a, b in pairwise(KINDS)
    ]
    links += [
        Link(id=f"r{i}", a=f"metro_router{i}", b=f"metro_router{(i + 1) % number}",
             capacity_gbps=400.0)
        for i in range(number)
    ]  # fmt: skip
    design = Design(
        title_block=TitleBlock(title="Sites"),
        groups=Map({each.id: each for each in groups}),
        nodes=Map({each.id: each for each in nodes}),
        links=Map({each.id: each for each in links}),
    )
    return Topology(design=design)


def test_levels_close_from_the_inside_out(metro: Topology) -> None:
    inner, outer = list(foldings(metro))
    assert {key for key, box in inner.layout.boxes.items() if box.collapsed} == {"fabric", "pod"}
    assert set(outer.layout.boxes) == set(metro.design.groups)
    assert set(tree_of(outer.design, outer.layout).shown_as) == set(metro.design.nodes)


@pytest.mark.parametrize("number", [100, 400])
def test_many_sites_are_drawn_closed(number: int) -> None:
    picture = draw(sites(number), load_theme("light"))
    assert max(picture.width, picture.height) <= MOST_PX
    words = {each.string for each in picture.primitives if isinstance(each, Text)}
    assert {f"Site {i}" for i in range(number)} <= words
    assert f"Groups drawn closed: {number}." in picture.alternative


def test_a_small_design_stays_open(metro: Topology) -> None:
    assert fitting(metro)[0] is metro


def test_what_a_person_placed_stays_as_it_is() -> None:
    many = sites(100)
    placed = Layout(boxes=Map({"s1": Box(id="s1", x=0.0, y=0.0)}))
    kept = many.model_copy(update={"layout": placed})
    assert fitting(kept)[0] is kept
