"""A group on a sheet of its own: what it holds, what it is linked to, and no more."""

from designer.drawing.layout import arrange
from designer.drawing.marks import draw
from designer.drawing.parts import part_of
from designer.drawing.theme import load_theme
from designer.model.topology import Topology


def test_a_part_holds_the_group_and_its_neighbours(metro: Topology) -> None:
    part = part_of(metro, "regional")
    inside = {"rgw", "s1", "s2", "l1", "l2", "l3", "l4", "r1", "r2", "r3", "r4", "vec", "obj"}
    assert part.inside == len(inside)
    # Only the DCI link leaves the site.
    assert part.outside == {"metro4"}
    assert set(part.topology.design.nodes) == inside | {"metro4"}
    assert set(part.topology.design.groups) == {"regional", "fabric", "pod"}
    assert part.topology.design.title_block.title == "Regional"


def test_links_between_neighbours_stay_away(metro: Topology) -> None:
    part = part_of(metro, "ring")
    assert {link.id for link in part.topology.design.links.values()} == {
        "k13", "k14", "k15", "k16", "k17", "k18", "k21",
    }  # fmt: skip


def test_neighbours_are_drawn_and_not_counted(metro: Topology) -> None:
    part = part_of(metro, "edge")
    picture = draw(part.topology, load_theme("light"), None, arrange(part.topology), part.outside)
    words = [each.string for each in picture.primitives if hasattr(each, "string")]
    assert "metro-3" in words
    assert "16 GPUs" in words
    # That of the store; the router outside stands alone in a lane without a total.
    assert words.count("1 node") == 1
    assert picture.title == "Metro edge"


def test_a_collapsed_group_is_opened_on_its_own_sheet(metro: Topology) -> None:
    closed = metro.layout.model_validate({"boxes": [
        {"id": "regional", "x": 0.0, "y": 0.0, "collapsed": True},
        {"id": "pod", "x": 0.0, "y": 0.0, "collapsed": True},
    ]})  # fmt: skip
    part = part_of(metro.model_copy(update={"layout": closed}), "regional")
    assert set(part.topology.layout.boxes) == {"pod"}
