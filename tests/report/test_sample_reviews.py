"""The reviews of the three samples as they are printed: inside the margins, named, told in words.

Where a word ends is measured with the shipped fonts, which the PDF is set in.
"""

import io
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from statistics import median

import pytest
from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject, IndirectObject

from designer.drawing.display import Text
from designer.drawing.text import width_px
from designer.report.blocks import Cell, Drawing, Review, Table
from designer.report.sheets import LEAST_PT, READABLE_PT, text_pt

SAMPLES = ("agent-platform-two-regions", "ai-factory", "metro-inference")
SIDE_PT = 45.0
ENDS_PT = 30.0
TYPOGRAPHIC_PT = 1.5
"""Room for the rounding of a width."""

Reviews = Mapping[str, tuple[Review, bytes]]


def placed(page: PageObject) -> Iterator[tuple[str, float, float, float]]:
    """Each text of a page with its left and right edge and its baseline, in points."""
    found: list[tuple[str, float, float, float]] = []

    def visit(text: str, cm: list[float], tm: list[float], _: object, size: float) -> None:
        words = text.replace("\u200b", "").strip()
        if words:
            x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
            y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
            high = abs(size * (tm[0] or tm[1]) * (cm[0] or cm[1]))
            longest = max(words.split("\n"), key=len)
            found.append((words, x, x + width_px(longest, high), y))

    page.extract_text(visitor_text=visit)
    yield from found


@pytest.mark.parametrize("name", SAMPLES)
def test_no_word_lies_outside_the_margins(sample_reviews: Reviews, name: str) -> None:
    reader = PdfReader(io.BytesIO(sample_reviews[name][1]))
    outside = []
    for number, page in enumerate(reader.pages, 1):
        width, height = float(page.mediabox.width), float(page.mediabox.height)
        for words, left, right, y in placed(page):
            inside = left >= SIDE_PT - TYPOGRAPHIC_PT and right <= width - SIDE_PT + TYPOGRAPHIC_PT
            if not (inside and ENDS_PT <= y <= height - ENDS_PT):
                outside.append((number, words, round(left), round(right), round(y)))
    assert outside == []


@pytest.mark.parametrize("name", SAMPLES)
def test_every_figure_is_told_in_words(sample_reviews: Reviews, name: str) -> None:
    content, data = sample_reviews[name]
    reader = PdfReader(io.BytesIO(data))
    figures = []
    for number in range(1, int(str(reader.trailer["/Size"]))):
        each = reader.get_object(IndirectObject(number, 0, reader))
        if isinstance(each, DictionaryObject) and each.get("/S") == "/Figure":
            figures.append(str(each.get("/Alt", "")))
    drawings = [b for part in content.sections for b in part.blocks if isinstance(b, Drawing)]
    assert all(len(text) > 40 for text in figures)
    assert {block.picture.alternative for block in drawings} <= set(figures)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_whole_and_each_site_are_drawn(sample_reviews: Reviews, name: str) -> None:
    content, _ = sample_reviews[name]
    captions = [b.caption for part in content.sections for b in part.blocks
                if isinstance(b, Drawing)]  # fmt: skip
    assert sum(caption.startswith("Whole design") for caption in captions) == 2
    assert len(captions) == len(set(captions))
    assert any("what it is linked to" in caption for caption in captions)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_drawing_can_be_read(sample_reviews: Reviews, name: str) -> None:
    content, _ = sample_reviews[name]
    drawings = [b for part in content.sections for b in part.blocks if isinstance(b, Drawing)]
    for each in drawings:
        whole = each.caption.startswith("Whole design")
        assert text_pt(each.picture) >= (LEAST_PT if whole else READABLE_PT), each.caption
    shown = {key for each in drawings for key in each.picture.anchors}
    assert len(shown) > 12


@pytest.mark.parametrize("name", SAMPLES)
def test_no_label_lies_on_another(sample_reviews: Reviews, name: str) -> None:
    content, _ = sample_reviews[name]
    for block in (b for part in content.sections for b in part.blocks if isinstance(b, Drawing)):
        texts = [each for each in block.picture.primitives if isinstance(each, Text)]
        boxes = sorted((*inked(each), each.string) for each in texts)
        for n, (left, top, right, bottom, words) in enumerate(boxes):
            for other in takewhile(lambda box: box[0] < right, boxes[n + 1 :]):  # noqa: B023
                assert other[1] >= bottom or other[3] <= top or other[2] <= left, (words, other)


def inked(text: Text) -> tuple[float, float, float, float]:
    """Edges of a text from the height of its capitals, 0.73 of its size in Inter, to its foot."""
    width = width_px(text.string, text.size_px, text.weight, text.figures)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return left, text.y - 0.73 * text.size_px, left + width, text.y


@pytest.mark.parametrize("name", SAMPLES)
def test_figures_are_fit_to_be_read(sample_reviews: Reviews, name: str) -> None:
    """No exponent, no digits beyond what a person reads, no bare key of the catalogue."""
    content, _ = sample_reviews[name]
    tables = [b for part in content.sections for b in part.blocks if isinstance(b, Table)]
    cells = [c for table in tables if "guess" not in table.caption
             for row in table.rows for c in row.cells if isinstance(c, Cell)]  # fmt: skip
    for cell in cells:
        assert not re.fullmatch(r"\d+\.\d{4,}.*", cell.text)
        assert not re.search(r"[a-z]\d+_sxm", cell.text)
        assert "nan" not in cell.text.split()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_budget_fits_a_page(sample_reviews: Reviews, name: str) -> None:
    content, _ = sample_reviews[name]
    tables = [b for part in content.sections for b in part.blocks
              if isinstance(b, Table) and "by segment" in b.caption]  # fmt: skip
    assert tables
    assert all(len(table.rows) <= 30 for table in tables)


PAINTED = {b"S", b"s", b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"}
"""Operators that paint a path: ISO 32000-1, table 60."""


@pytest.mark.parametrize("name", SAMPLES)
def test_no_page_but_the_cover_is_almost_empty(sample_reviews: Reviews, name: str) -> None:
    reader = PdfReader(io.BytesIO(sample_reviews[name][1]))
    words, marks = [], []
    for page in reader.pages:
        words.append(len(page.extract_text().split()))
        stream = page.get_contents()
        operations = stream.operations if stream is not None else []
        marks.append(sum(operator in PAINTED for _, operator in operations))
    usual_words, usual_marks = median(words), median(marks)
    empty = [
        number
        for number, (said, drawn) in enumerate(zip(words, marks, strict=True), 1)
        if number > 1 and said < 0.25 * usual_words and drawn < 0.25 * usual_marks
    ]
    assert empty == []
