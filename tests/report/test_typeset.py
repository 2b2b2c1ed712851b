"""The PDF of a review: tagged, searchable, with bookmarks, without transparency, the same bytes."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from pypdf import PdfReader
from pypdf.generic import DictionaryObject, IndirectObject

from designer.analysis.results import Results
from designer.drawing.display import Picture, Rect, Text
from designer.model.topology import Topology
from designer.report.content import review
from designer.report.typeset import pdf

PICTURE = Picture(
    600.0,
    300.0,
    "#FFFFFF",
    (
        Rect("n", "node", 10, 10, 100, 40, 4, "#E2EAEA"),
        Text("n", "label", 20, 35, "core-router-7", 11, "#171B21"),
    ),
    "Whole design",
    "A drawing with one router",
)


@pytest.fixture(scope="module")
def written(design: Topology, full: Results) -> bytes:
    return pdf(review(design, full, [PICTURE]))


@pytest.fixture(scope="module")
def reader(written: bytes) -> PdfReader:
    return PdfReader(io.BytesIO(written))


@pytest.fixture(scope="module")
def pages(reader: PdfReader) -> list[str]:
    return words(reader)


def words(reader: PdfReader) -> list[str]:
    """The text of each page, on one line, as if no word were broken."""
    texts = (page.extract_text().replace("\u200b", "") for page in reader.pages)
    return [" ".join(text.split()) for text in texts]


def objects(reader: PdfReader) -> Iterator[DictionaryObject]:
    for number in range(1, int(str(reader.trailer["/Size"]))):
        found = reader.get_object(IndirectObject(number, 0, reader))
        if isinstance(found, DictionaryObject):
            yield found


def root(reader: PdfReader) -> DictionaryObject:
    found = reader.trailer["/Root"]
    assert isinstance(found, DictionaryObject)
    return found


def test_text_is_searchable(pages: list[str]) -> None:
    text = " ".join(pages)
    for part in (
        "Metro inference", "Revision 118, draft", "12 March 2026", "B. Checker",
        "Open (62 %): p95 is 224 ms against an SLO of 250 ms", "131.6", "SLO 250 ms",
        "5G scheduling 8 ms", "core-router-7", "38 ms too far", "Owner: C. Plant", "Bottleneck",
    ):  # fmt: skip
        assert part in text


def test_bookmarks_follow_the_sections(reader: PdfReader) -> None:
    def titles(outline: Any) -> Iterator[str]:
        for entry in outline:
            if isinstance(entry, list):
                yield from titles(entry)
            else:
                yield entry.title

    found = list(titles(reader.outline))
    for part in ("Summary", "Drawing", "Latency budget", "Placement", "Glossary"):
        assert any(part in title for title in found)
    assert any("Voice assistant 8B" in title for title in found)


def test_it_is_tagged_and_says_pdf_ua(reader: PdfReader) -> None:
    catalog = root(reader)
    marked = catalog["/MarkInfo"]
    assert isinstance(marked, DictionaryObject)
    assert str(marked["/Marked"]) == "True"
    assert "/StructTreeRoot" in catalog
    assert str(catalog["/Lang"]).startswith("en")
    metadata = catalog["/Metadata"].get_object().get_data().decode()  # type: ignore[union-attr]
    assert "<pdfuaid:part>1</pdfuaid:part>" in metadata


def test_every_figure_has_its_alternative_text(reader: PdfReader) -> None:
    figures = [each for each in objects(reader) if each.get("/S") == "/Figure"]
    alternatives = [str(each.get("/Alt", "")) for each in figures]
    assert all(alternatives)
    assert any(text.startswith("Bar chart of the p95 time") for text in alternatives)
    assert "A drawing with one router" in alternatives
    kinds = {str(each.get("/S")) for each in objects(reader)}
    assert {"/Table", "/TH", "/TD", "/H1", "/H2", "/Caption"} <= kinds


def test_nothing_is_transparent_and_no_picture_is_made_of_pixels(reader: PdfReader) -> None:
    for each in objects(reader):
        assert float(each.get("/ca", 1)) == 1.0
        assert float(each.get("/CA", 1)) == 1.0
        assert str(each.get("/SMask", "/None")) == "/None"
        assert each.get("/Subtype") != "/Image"


def test_only_shipped_fonts_are_inside(reader: PdfReader) -> None:
    names = {str(each["/FontName"]) for each in objects(reader) if "/FontName" in each}
    assert names
    assert all("Inter" in name or "NotoSans" in name for name in names)
    assert all(
        "/FontFile3" in each or "/FontFile2" in each
        for each in objects(reader)
        if each.get("/Type") == "/FontDescriptor"
    )


def test_the_same_revision_gives_the_same_bytes(
    design: Topology, full: Results, written: bytes
) -> None:
    assert pdf(review(design, full, [PICTURE])) == written


def test_pages_are_a4_and_none_is_empty(reader: PdfReader, pages: list[str]) -> None:
    for page in reader.pages:
        sides = sorted((float(page.mediabox.width), float(page.mediabox.height)))
        assert sides == pytest.approx([595.3, 841.9], abs=0.6)
    assert all(len(text) > 60 for text in pages)
    assert f"{len(pages)} of {len(pages)}" in pages[-1]


def test_a_large_and_awkward_design(design: Topology, large: Results) -> None:
    found = PdfReader(io.BytesIO(pdf(review(design, large))))
    pages = words(found)
    text = " ".join(pages)
    assert "reason or source number 59" in text
    assert "objection 17" in text
    summary = next(i for i, page in enumerate(pages) if "9 of 21 promises" in page)
    # Everything of the summary stands on its one page.
    assert "values, all listed at the end" in pages[summary]
    assert "Latency budget" in pages[summary + 1]


def test_an_empty_design(design: Topology, empty: Results) -> None:
    found = PdfReader(io.BytesIO(pdf(review(design, empty))))
    # Cover, contents, and the few sentences of the sections together.
    assert len(found.pages) <= 5
    assert "no service" in " ".join(words(found))


def test_names_are_data_and_never_markup(full: Results) -> None:
    nasty = '#import "x.typ" *bold* _i_ $x^2$ ] #panic() @ref <label> `raw` \\ // /* = h'
    strange = "東京 \u202eevil\u202c مركز البيانات \U0001f680"
    topology = Topology.model_validate(
        {"design": {"title_block": {"title": nasty, "author": strange}}}
    )
    results = full.model_copy(update={"file": strange})
    found = PdfReader(io.BytesIO(pdf(review(topology, results))))
    text = " ".join(words(found))
    assert '#import "x.typ" *bold* _i_ $x^2$' in text
    assert "#panic()" in text
    assert "\u25a1\u25a1" in text
    assert "cannot be set with the fonts" in text
