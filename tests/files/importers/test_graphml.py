"""GraphML in the Topology Zoo's dialect, on a network made up for these tests."""

from pathlib import Path

import pytest

from designer.files.format import FileRefused, dumps
from designer.files.importers import graphml, graphml_xml
from designer.files.importers.countries import country_code
from designer.files.reconciliation import Imported
from designer.model.references import problems
from designer.model.things import Link, Node

KESTREL = Path(__file__).parents[1] / "data" / "kestrel.graphml"
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


@pytest.fixture(scope="module")
def kestrel() -> Imported:
    return graphml.load(KESTREL)


def node(imported: Imported, name: str) -> Node:
    return next(n for n in imported.topology.design.nodes.values() if n.name == name)


def link(imported: Imported, label: str) -> Link:
    return next(n for n in imported.topology.design.links.values() if label in n.note)


def said(imported: Imported, element: str) -> dict[tuple[str, str], str]:
    return {(e.field, e.kind): e.message for e in imported.reconciliation if e.element == element}


def read(body: str, head: str = HEAD) -> Imported:
    return graphml.loads(f"{head}{body}</graphml>".encode(), "net.graphml")


def test_counts(kestrel: Imported) -> None:
    design = kestrel.topology.design
    # Two of twelve edges are the same cable twice, one is a loop; two routers share a place.
    assert (len(design.nodes), len(design.links), len(design.groups)) == (7, 10, 6)
    assert problems(kestrel.topology) == ()


def test_title_block_names_the_source(kestrel: Imported) -> None:
    title = kestrel.topology.design.title_block
    assert title.title == "Kestrelnet"
    assert "made up for these tests" in title.story
    assert "2030-04" in title.story
    assert title.date is None


def test_routers_stand_in_sites_with_their_country(kestrel: Imported) -> None:
    design = kestrel.topology.design
    north = node(kestrel, "Northport")
    assert (north.kind, north.latitude_deg, north.longitude_deg) == ("core_router", 0.0, 0.0)
    assert north.group is not None
    site = design.groups[north.group].site
    assert site is not None
    assert (site.jurisdiction, site.latitude_deg) == ("NO", 0.0)
    one, two = node(kestrel, "Ash Harbour"), node(kestrel, "Ash Harbour 2")
    assert one.group == two.group
    assert one.group is not None
    ash = design.groups[one.group].site
    assert ash is not None
    assert ash.jurisdiction == "RU"
    assert "Backbone node" in one.note


def test_what_is_not_known_stays_null_and_is_listed(kestrel: Imported) -> None:
    lost = node(kestrel, "Lost Valley")
    assert lost.latitude_deg is None
    assert lost.provenance["latitude_deg"].kind == "unknown"
    assert "no coordinates" in said(kestrel, lost.id)["latitude_deg", "unknown"]
    assert lost.group is not None
    assert '"Freedonia"' in said(kestrel, lost.group)["site.jurisdiction", "unknown"]
    beyond = node(kestrel, "4")
    assert beyond.latitude_deg is None
    assert '"95.0, 2.0" is no place' in said(kestrel, beyond.id)["latitude_deg", "unknown"]
    assert ("name", "guessed") in said(kestrel, beyond.id)


def test_junctions_and_other_networks_are_marked(kestrel: Imported) -> None:
    ring, other = node(kestrel, "Ring 7"), node(kestrel, "Other carrier")
    assert (ring.kind, other.kind) == ("core_router", "peering_gateway")
    assert "junction" in said(kestrel, ring.id)["kind", "guessed"]
    assert "outside" in said(kestrel, other.id)["kind", "guessed"]


@pytest.mark.parametrize(
    ("label", "gbps", "members", "kind", "reason"),
    [
        ("10 Gbps", 10.0, 2, None, ""),
        ("OC-48c", 2.48832, 1, None, ""),
        ("STM-64", 9.95328, 1, None, ""),
        ("< 2.5 Gbps", None, 1, "unknown", "upper limit of 2.5 Gb/s"),
        ("Dark fibre", None, 1, "unknown", "no speed"),
        ("155Mbps - 2.5 Gbps", 0.155, 1, "guessed", "the lowest"),
        ("2x10Gb/s", 10.0, 2, None, ""),
        ("24 MB/s", 0.024, 1, "guessed", "read as bits"),
        ("1 Gbps", 5.0, 1, "guessed", "says otherwise"),
    ],
)
def test_speeds(
    kestrel: Imported, label: str, gbps: float | None, members: int, kind: str | None, reason: str
) -> None:
    found = link(kestrel, f"In the file: {label}")
    assert found.capacity_gbps == (None if gbps is None else pytest.approx(gbps))
    assert found.members == members
    about = {k[1]: m for k, m in said(kestrel, found.id).items() if k[0] == "capacity_gbps"}
    assert list(about) == ([kind] if kind else [])
    if kind:
        assert reason in about[kind]
        assert found.provenance["capacity_gbps"].kind == kind


def test_speed_and_unit_apart(kestrel: Imported) -> None:
    unlabelled = next(n for n in kestrel.topology.design.links.values() if not n.note)
    assert unlabelled.capacity_gbps == pytest.approx(0.622)


def test_identical_parallel_edges_are_members_and_others_stay_apart(kestrel: Imported) -> None:
    twin = link(kestrel, "10 Gbps")
    assert "2 identical parallel edges" in said(kestrel, twin.id)["members", "merged"]
    other = link(kestrel, "OC-48c")
    assert {other.a, other.b} == {twin.a, twin.b}


def test_length_is_left_to_the_analysis_and_listed_as_a_guess(kestrel: Imported) -> None:
    twin = link(kestrel, "10 Gbps")
    assert twin.length_km is None
    assert twin.provenance["length_km"].kind == "guessed"
    # One degree of the equator: 6378.137 km x pi / 180 = 111.32 km; times 1.3: 144.7 km.
    assert "about 144.7 km" in said(kestrel, twin.id)["length_km", "guessed"]
    unplaced = link(kestrel, "Dark fibre")
    assert unplaced.provenance["length_km"].kind == "unknown"
    assert ("length_km", "unknown") in said(kestrel, unplaced.id)


def test_nothing_is_left_out_in_silence(kestrel: Imported) -> None:
    ring = node(kestrel, "Ring 7")
    assert "same node" in said(kestrel, ring.id)["links", "dropped"]
    about_file = said(kestrel, "")
    assert "1 values" in about_file["colour", "dropped"]
    assert "Creator" in about_file["title_block", "dropped"]


def test_a_second_import_is_the_same(kestrel: Imported) -> None:
    again = graphml.loads(KESTREL.read_bytes(), "renamed.graphml")
    assert dumps(again.topology) == dumps(kestrel.topology)
    assert again.reconciliation == kestrel.reconciliation


def test_ids_do_not_depend_on_the_order_of_the_file(kestrel: Imported) -> None:
    text = KESTREL.read_text(encoding="utf-8")
    start, end = text.index('<node id="6">'), text.index("<edge ")
    moved = text[start:end]
    place = text.index('<node id="0">')
    shuffled = text[:place] + moved + text[place:start] + text[end:]
    again = graphml.loads(shuffled.encode(), "x.graphml")
    assert set(again.topology.design.nodes) == set(kestrel.topology.design.nodes)
    assert set(again.topology.design.links) == set(kestrel.topology.design.links)


def test_directed_edges_pair_up() -> None:
    found = read(
        '<key id="c" for="edge" attr.name="LinkLabel"/><graph edgedefault="directed">'
        '<node id="a"/><node id="b"/><node id="c"/>'
        '<edge source="a" target="b"><data key="c">10 Gbps</data></edge>'
        '<edge source="b" target="a"><data key="c">1 Gbps</data></edge>'
        '<edge source="c" target="b"><data key="c">1 Gbps</data></edge></graph>'
    )
    both = link(found, "10 Gbps")
    assert (both.capacity_gbps, both.reverse_capacity_gbps()) == (10.0, 1.0)
    assert ("b_to_a", "merged") in said(found, both.id)
    single = next(n for n in found.topology.design.links.values() if n.id != both.id)
    assert ("b_to_a", "guessed") in said(found, single.id)


BOMB = (
    '<!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    f"{HEAD}<graph><node id='&b;'/></graph></graphml>"
)
OUTSIDE = (
    '<!DOCTYPE graphml [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    f"{HEAD}<graph><node id='n'><data key='k'>&x;</data></node></graph></graphml>"
)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "empty"),
        (BOMB.encode(), "entities"),
        (OUTSIDE.encode(), "entities"),
        (b"<graphml><graph>", "line 1"),
        (b"not xml at all", "well-formed"),
        (b"<svg/>", "root is svg"),
        (b"<graphml/>", "no graph"),
        (b'<?xml version="1.0" encoding="x-none"?><graphml/>', "UTF-8"),
        (b"<graphml><graph><node/></graph></graphml>", "node 1"),
        (b"<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "used twice"),
        (
            b"<graphml><graph><node id='a'/><edge source='a' target='z'/></graph></graphml>",
            'its end "z"',
        ),
    ],
)
def test_refused_in_one_sentence(data: bytes, part: str) -> None:
    with pytest.raises(FileRefused) as refused:
        graphml.loads(data, "net.graphml")
    message = str(refused.value)
    assert message.startswith("net.graphml")
    assert part in message
    assert message.count(". ") == 0
    assert "\n" not in message


def test_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphml_xml, "MOST_BYTES", 1024)
    with pytest.raises(FileRefused, match="larger than"):
        graphml.loads(b" " * 1000 + KESTREL.read_bytes(), "net.graphml")


def test_an_empty_graph_is_an_empty_design() -> None:
    found = read("<graph/>")
    assert dict(found.topology.design.nodes) == {}


def test_nested_graphs_ports_and_hyperedges_are_listed() -> None:
    found = read(
        '<graph><node id="a"><port name="p"/><graph><node id="b"/></graph></node>'
        '<hyperedge><endpoint node="a"/></hyperedge></graph><graph/>'
    )
    assert len(found.topology.design.nodes) == 2
    messages = " ".join(e.message for e in found.reconciliation if e.field == "graph")
    for part in ("1 hyperedge", "1 ports", "1 nesting", "1 further"):
        assert part in messages


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("United States", "US"), ("Czech Republic", "CZ"), ("South Korea", "KR"), ("Russia", "RU"),
        ("Turkey", "TR"), ("de", "DE"), ("Kosovo", None), ("Freedonia", None), ("Europe", None),
    ],
)  # fmt: skip
def test_countries_are_certain_or_unknown(name: str, code: str | None) -> None:
    assert country_code(name) == code
