"""Widths against HarfBuzz called by hand, and against Typst's own measuring of the same fonts."""

import json

import pytest
import typst
import uharfbuzz as hb

from designer.drawing.text import FAMILIES, SUBSTITUTE, fitted, missing, runs, safe, width_px
from designer.model.resources import assets

SAMPLES = (
    ("Access North", 11.0, 600),
    ("AV To Wa. fi ffl -> 12x34", 11.0, 400),
    ("חיפה – Ost 7", 10.0, 400),
    ("مركز البيانات 12", 10.0, 400),
    ("दिल्ली", 10.0, 400),
    ("Škoda Łódź Ελλάδα Київ", 12.0, 500),
)


def test_width_is_the_sum_of_advances_of_harfbuzz():
    face = hb.Face(hb.Blob.from_file_path(str(assets() / "fonts" / "Inter-SemiBold.otf")))
    buffer = hb.Buffer()
    buffer.add_str("Access North")
    buffer.guess_segment_properties()
    hb.shape(hb.Font(face), buffer)
    units = sum(position.x_advance for position in buffer.glyph_positions)
    assert width_px("Access North", 11.0, 600) == pytest.approx(units * 11.0 / face.upem)
    # The mock-up's own figure for this title, measured by its author's tools, to a tenth of a px.
    assert width_px("Access North", 11.0, 600) == pytest.approx(72.4, abs=0.05)


@pytest.mark.parametrize(("text", "size", "weight"), SAMPLES)
def test_width_equals_typsts(text, size, weight):
    source = """
    #let d = json(bytes(sys.inputs.d))
    #set text(font: d.fonts, fallback: false, size: d.size * 1pt, weight: d.weight, lang: "en")
    #context [#metadata(measure(text(d.text)).width.pt()) <w>]
    """
    data = {"text": text, "size": size, "weight": weight, "fonts": list(FAMILIES)}
    fonts = typst.Fonts(
        include_system_fonts=False,
        include_embedded_fonts=False,
        font_paths=[str(assets() / "fonts")],
    )
    compiler = typst.Compiler(
        source.encode(),
        font_paths=fonts,
        ignore_system_fonts=True,
        sys_inputs={"d": json.dumps(data)},
    )
    measured = json.loads(compiler.query("<w>", field="value"))[0]
    assert width_px(text, size, weight) == pytest.approx(measured, abs=0.01)


def test_tabular_figures_are_equally_wide():
    ones = width_px("1111", 11.0, 400, "tabular")
    assert ones == pytest.approx(width_px("8888", 11.0, 400, "tabular"))
    assert width_px("1111", 11.0) < ones


def test_a_character_that_no_font_has_is_shown_and_listed():
    assert safe("東 A") == f"{SUBSTITUTE} A"
    assert missing("東京 A") == {"東", "京"}
    assert missing("Łódź חיפה") == frozenset()


def test_direction_marks_and_line_breaks_do_not_reach_the_drawing():
    assert safe("a\u202eb\nc\u200f") == "ab c"


def test_runs_take_the_first_font_that_has_the_character():
    assert list(runs("Ost חיפה")) == [("Inter", "Ost "), ("Noto Sans Hebrew", "חיפה")]


def test_a_long_text_is_cut_to_fit_with_an_ellipsis():
    cut = fitted("a very long name of a very long site", 60.0, 11.0, 600)
    assert cut.endswith("\u2026")
    assert width_px(cut, 11.0, 600) <= 60.0
    assert fitted("short", 60.0, 11.0, 600) == "short"
