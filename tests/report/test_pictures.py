"""The three formats: well-formed, the same bytes each time, and deaf to markup in names."""

import importlib.util
import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pypdf
import pytest
from immutables import Map

from designer.drawing.marks import draw
from designer.drawing.theme import load_theme
from designer.model.topology import Topology
from designer.report.pictures import figure_data, to_pdf, to_png, to_svg

NASTY = (
    "#panic(1)",
    "$x^2$ *b* _i_",
    "<script>alert(1)</script>",
    "A & B",
    "say \"hi\" 'ho'",
    "back\\slash `tick`",
    "two\nlines",
    "חיפה 7",
    "]]> --> @ref",
    "東京",
)


def _designs():
    place = Path(__file__).parent.parent / "drawing" / "conftest.py"
    spec = importlib.util.spec_from_file_location("drawing_designs", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nasty_picture():
    """The fabric with a name of each sort."""
    design = _designs().fabric_design()
    nodes = {
        key: node.replace(name=name)
        for (key, node), name in zip(sorted(design.nodes.items()), NASTY, strict=False)
    }
    last = design.nodes["g1"].replace(id="g9", name=NASTY[8])
    more = design.nodes["g1"].replace(id="g8", name=NASTY[9])
    block = design.title_block.replace(title='A "#title" & <b>')
    return draw(
        Topology(
            design=design.replace(nodes=Map({**nodes, "g8": more, "g9": last}), title_block=block)
        ),
        load_theme("light"),
    )


@pytest.fixture(scope="module")
def picture():
    """The metro's drawing."""
    return draw(Topology(design=_designs().metro_design()), load_theme("light"))


@pytest.mark.parametrize("make", [to_svg, to_png, to_pdf])
def test_the_same_picture_gives_the_same_bytes(picture, make):
    assert make(picture) == make(picture)


def test_svg_is_well_formed_and_its_text_is_text(picture):
    root = ET.fromstring(to_svg(picture))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"PoP Centre", "metro-1", "84,000 users"} <= set(texts)
    style = root.find("{http://www.w3.org/2000/svg}style").text
    assert 'font-family:"Inter"' in style
    assert "http" not in style
    assert root.find("{http://www.w3.org/2000/svg}desc").text == picture.alternative


def test_pdf_is_one_vector_page_with_searchable_text(picture):
    reader = pypdf.PdfReader(io.BytesIO(to_pdf(picture)))
    assert len(reader.pages) == 1
    text = reader.pages[0].extract_text()
    for name in ("PoP Centre", "metro-1", "84,000 users", "Storage"):
        assert name in text
    resources = reader.pages[0]["/Resources"]
    assert not resources.get("/XObject")
    box = reader.pages[0].mediabox
    assert float(box.width) == pytest.approx(picture.width * 0.75, abs=0.01)


def test_pdf_has_no_transparency_and_only_shipped_fonts(picture):
    reader = pypdf.PdfReader(io.BytesIO(to_pdf(picture)))
    resources = reader.pages[0]["/Resources"]
    for state in (resources.get("/ExtGState") or {}).values():
        found = state.get_object()
        assert found.get("/ca", 1) == 1
        assert found.get("/CA", 1) == 1
    fonts = [font.get_object()["/BaseFont"] for font in resources["/Font"].values()]
    assert fonts
    assert all("Inter" in font or "NotoSans" in font for font in fonts)


def test_pdf_tells_its_alternative_text(picture):
    reader = pypdf.PdfReader(io.BytesIO(to_pdf(picture)))
    found = []

    def walk(item):
        item = item.get_object() if hasattr(item, "get_object") else item
        if isinstance(item, list):
            for part in item:
                walk(part)
        elif isinstance(item, dict):
            if "/Alt" in item:
                found.append(str(item["/Alt"]))
            if "/K" in item:
                walk(item["/K"])

    walk(reader.trailer["/Root"]["/StructTreeRoot"])
    assert found == [picture.alternative]


def test_names_are_never_read_as_markup_in_svg():
    picture = nasty_picture()
    root = ET.fromstring(to_svg(picture))
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    for name in NASTY[:6]:
        assert name in texts
    assert "two lines" in texts
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_names_are_never_read_as_markup_in_pdf_and_png():
    picture = nasty_picture()
    text = pypdf.PdfReader(io.BytesIO(to_pdf(picture))).pages[0].extract_text()
    for name in (
        "#panic(1)",
        "$x^2$ *b* _i_",
        "<script>",
        "A & B",
        'say "hi"',
        "back\\slash `tick`",
    ):
        assert name in text
    assert to_png(picture).startswith(b"\x89PNG")


def test_a_character_without_a_font_is_listed_and_drawn():
    picture = nasty_picture()
    assert picture.substituted == ("京", "東")
    strings = [item["string"] for item in figure_data(picture)["primitives"] if "string" in item]
    assert "□□" in strings
