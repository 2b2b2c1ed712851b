"""The tier layout: lanes in order, groups around their own, pinned boxes unmoved, no overlaps."""

import itertools
import random

import pytest
from immutables import Map

from designer.drawing.clusters import place_cluster
from designer.drawing.layout import arrange
from designer.model.design import Design
from designer.model.kinds import NODE_KINDS, tier_of
from designer.model.layout import Box, Layout
from designer.model.things import Group, Link, Node
from designer.model.topology import Topology


def overlap(first, second):
    """Whether two boxes share an area."""
    return (
        first[0] < second[0] + second[2]
        and second[0] < first[0] + first[2]
        and first[1] < second[1] + second[3]
        and second[1] < first[1] + first[3]
    )


def clashes(boxes):
    """Pairs of boxes that overlap."""
    return [
        (a, b) for a, b in itertools.combinations(sorted(boxes), 2) if overlap(boxes[a], boxes[b])
    ]


def random_design(seed, size):
    """Nodes of all kinds in nested groups, linked at random."""
    draw = random.Random(seed)
    groups = [Group(id=f"g{n}", parent=f"g{n // 3}" if n > 2 else None) for n in range(size // 4)]
    nodes = [
        Node(
            id=f"n{n}",
            kind=draw.choice(NODE_KINDS),
            group=draw.choice([None, *(g.id for g in groups)]),
            count=draw.choice([1, 1, 8]),
        )
        for n in range(size)
    ]
    links = [
        Link(id=f"l{n}", a=f"n{draw.randrange(size)}", b=f"n{draw.randrange(size)}")
        for n in range(size * 3 // 2)
    ]
    kept = [link for link in links if link.a != link.b]
    return Design(
        groups=Map({g.id: g for g in groups}),
        nodes=Map({n.id: n for n in nodes}),
        links=Map({k.id: k for k in kept}),
    )


@pytest.mark.parametrize("seed", range(6))
def test_no_box_lies_on_another_and_lanes_are_in_order(seed):
    design = random_design(seed, 40)
    made = arrange(Topology(design=design))
    nodes = {key: made.boxes[key] for key in design.nodes}
    assert clashes(nodes) == []
    for key, (x, _, width, _) in nodes.items():
        left, right = made.lanes[tier_of(design.nodes[key].kind)]
        assert left <= x
        assert x + width <= right


@pytest.mark.parametrize("seed", range(6))
def test_a_group_holds_its_own_and_nobody_else(seed):
    design = random_design(seed, 40)
    made = arrange(Topology(design=design))
    for key, node in design.nodes.items():
        around = set()
        group = node.group
        while group:
            around.add(group)
            group = design.groups[group].parent
        for other in design.groups:
            x, y, width, height = made.boxes[other]
            nx, ny, nw, nh = made.boxes[key]
            if other in around:
                assert x < nx
                assert nx + nw < x + width
                assert y + 24 <= ny
                assert ny + nh < y + height
            else:
                assert not overlap(made.boxes[key], made.boxes[other])


def test_boxes_stand_on_the_grid(metro):
    for x, y, width, height in arrange(metro).boxes.values():
        assert (x % 4, y % 4, width % 4, height % 4) == (0, 0, 0, 0)


def test_pinned_boxes_are_not_moved(metro):
    pin = Box(id="fw", x=1000.0, y=2000.0, pinned=True)
    loose = Box(id="bng", x=-500.0, y=-500.0)
    layout = Layout(boxes=Map({"fw": pin, "bng": loose}))
    made = arrange(metro.replace(layout=layout))
    assert made.boxes["fw"][:2] == (1000.0, 2000.0)
    assert made.boxes["bng"][:2] != (-500.0, -500.0)
    nodes = {key: made.boxes[key] for key in metro.design.nodes}
    assert clashes(nodes) == []


def test_the_same_design_gives_the_same_places(metro):
    assert arrange(metro) == arrange(metro)


def test_a_chain_runs_level_across_lanes():
    kinds = ("users", "bng", "core_router", "leaf", "server", "object_storage")
    nodes = Map({f"n{n}": Node(id=f"n{n}", kind=kind) for n, kind in enumerate(kinds)})
    links = Map({f"l{n}": Link(id=f"l{n}", a=f"n{n}", b=f"n{n + 1}") for n in range(5)})
    made = arrange(Topology(design=Design(nodes=nodes, links=links)))
    assert len({made.boxes[key][1] for key in nodes}) == 1
    lefts = [made.boxes[f"n{n}"][0] for n in range(6)]
    assert lefts == sorted(lefts)


def test_coordinates_put_east_right_and_north_up():
    places = {
        "rome": (41.9, 12.5),
        "oslo": (59.9, 10.8),
        "cork": (51.9, -8.5),
        "kyiv": (50.4, 30.5),
    }
    nodes = Map(
        {
            key: Node(id=key, kind="core_router", latitude_deg=lat, longitude_deg=lon)
            for key, (lat, lon) in places.items()
        }
    )
    boxes = arrange(Topology(design=Design(nodes=nodes))).boxes
    by_x = sorted(boxes, key=lambda key: boxes[key][0] + boxes[key][2] / 2)
    assert by_x == ["cork", "oslo", "rome", "kyiv"]
    by_y = sorted(boxes, key=lambda key: boxes[key][1])
    assert by_y == ["oslo", "cork", "kyiv", "rome"]


def test_a_map_across_the_date_line_is_not_torn():
    ids = ("tokyo", "fiji", "hawaii")
    degrees = {"tokyo": (35.7, 139.7), "fiji": (-17.7, 178.0), "hawaii": (21.3, -157.9)}
    cluster = place_cluster(ids, dict.fromkeys(ids, (80.0, 40.0)), degrees, [])
    lefts = [cluster.corners[key][0] for key in ids]
    assert lefts == sorted(lefts)


@pytest.mark.parametrize("size", [40, 400])
def test_routers_in_one_place_are_spread_without_overlap(size):
    ids = tuple(f"n{n}" for n in range(size))
    cluster = place_cluster(
        ids,
        dict.fromkeys(ids, (80.0, 40.0)),
        {key: (50.0, 8.0 + n % 7) for n, key in enumerate(ids)},
        [],
    )
    boxes = {key: (*corner, 80.0, 40.0) for key, corner in cluster.corners.items()}
    assert clashes(boxes) == []
