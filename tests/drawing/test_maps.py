"""Sites of an imported map stand where they are on earth; what has no place stands between."""

from itertools import pairwise

import pytest

from designer.drawing.display import Line, Rect, Text
from designer.drawing.layout import arrange
from designer.drawing.marks import draw
from designer.drawing.text import width_px
from designer.drawing.theme import load_theme
from designer.files.importers import graphml
from designer.model.topology import Topology

CITIES = {
    "lisbon": (38.7, -9.1), "madrid": (40.4, -3.7), "paris": (48.9, 2.4), "berlin": (52.5, 13.4),
    "rome": (41.9, 12.5), "athens": (38.0, 23.7),
}  # fmt: skip
"""Latitude and longitude, degrees."""


def europe(lost: str = "", router: str = "router ") -> Topology:
    """One router in a site of its own per city; the lost one has no coordinates."""
    ring = [*CITIES, next(iter(CITIES))]
    places = {
        key: {} if key == lost else {"latitude_deg": lat, "longitude_deg": lon}
        for key, (lat, lon) in CITIES.items()
    }
    return Topology.model_validate(
        {"design": {
            "groups": [{"id": f"g{key}", "kind": "site", "name": key} for key in CITIES],
            "nodes": [{"id": key, "kind": "core_router", "name": router + key,
                       "group": f"g{key}"} | place
                      for key, place in places.items()],
            "links": [{"id": f"{a}-{b}", "a": a, "b": b, "capacity_gbps": 100.0}
                      for a, b in pairwise(ring)],
        }}
    )  # fmt: skip


def test_sites_stand_as_on_a_map() -> None:
    boxes = arrange(europe()).boxes
    by_x = sorted(CITIES, key=lambda key: boxes[key][0] + boxes[key][2] / 2)
    by_y = sorted(CITIES, key=lambda key: -boxes[key][1])
    # Rome lies 0.9 degrees west of Berlin; all others are further apart.
    assert by_x == ["lisbon", "madrid", "paris", "rome", "berlin", "athens"]
    assert by_y[-1] == "berlin"
    assert by_y[-2] == "paris"
    assert set(by_y[:2]) == {"lisbon", "athens"}


def test_sites_do_not_touch_and_hold_their_routers() -> None:
    boxes = arrange(europe()).boxes
    sites = [boxes[f"g{key}"] for key in CITIES]
    for n, (x, y, width, height) in enumerate(sites):
        for other in sites[n + 1 :]:
            apart_x = other[0] >= x + width or other[0] + other[2] <= x
            apart_y = other[1] >= y + height or other[1] + other[3] <= y
            assert apart_x or apart_y
    for key in CITIES:
        x, y, width, height = boxes[key]
        left, top, wide, high = boxes[f"g{key}"]
        assert left < x
        assert top + 24 <= y
        assert x + width < left + wide
        assert y + height < top + high


def test_a_site_of_one_router_with_its_name_is_drawn_as_the_router() -> None:
    picture = draw(europe(router=""), load_theme("light"))
    assert all(picture.anchors[f"g{key}"] == picture.anchors[key] for key in CITIES)
    words = [each.string for each in picture.primitives if isinstance(each, Text)]
    assert [words.count(key) for key in CITIES] == [1] * len(CITIES)


def test_unknown_capacities_are_dotted_and_told_once() -> None:
    known = europe(router="")
    links = known.design.links
    without = {key: link.model_copy(update={"capacity_gbps": None}) for key, link in links.items()}
    design = known.design.model_copy(update={"links": links.update(without)})
    picture = draw(known.model_copy(update={"design": design}), load_theme("light"))
    drawn = [each for each in picture.primitives if isinstance(each, Line) and each.layer == "link"]
    words = [each.string for each in picture.primitives if isinstance(each, Text)]
    assert len(drawn) == len(links)
    assert all(each.stroke.dash for each in drawn)
    assert words.count("unknown") == 1
    assert not any("capacity ?" in each for each in words)
    assert "unknown" not in [
        each.string
        for each in draw(known, load_theme("light")).primitives
        if isinstance(each, Text)
    ]


def test_a_site_without_coordinates_stands_between_its_neighbours() -> None:
    boxes = arrange(europe(lost="paris")).boxes
    middle = boxes["paris"][0] + boxes["paris"][2] / 2
    assert boxes["madrid"][0] < middle < boxes["berlin"][0] + boxes["berlin"][2]


@pytest.mark.parametrize("name", ["kestrel"])
def test_nothing_of_an_imported_picture_is_cut_off(checkout, name: str) -> None:
    imported = graphml.load(checkout / "tests" / "files" / "data" / f"{name}.graphml")
    picture = draw(imported.topology, load_theme("light"))
    right, bottom = picture.left + picture.width, picture.top + picture.height
    for part in picture.primitives:
        if isinstance(part, Line):
            xs, ys = zip(*part.points, strict=True)
        elif isinstance(part, Rect):
            xs, ys = (part.x, part.x + part.width), (part.y, part.y + part.height)
        elif isinstance(part, Text):
            wide = width_px(part.string, part.size_px, part.weight, part.figures)
            back = {"start": 0.0, "middle": wide / 2, "end": wide}[part.anchor]
            xs, ys = (part.x - back, part.x - back + wide), (part.y - part.size_px, part.y)
        else:
            continue
        assert picture.left <= min(xs)
        assert max(xs) <= right
        assert picture.top <= min(ys)
        assert max(ys) <= bottom
