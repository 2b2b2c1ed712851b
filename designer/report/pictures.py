"""A picture as SVG, PNG and PDF, and as data for a figure of the report.

The same picture gives the same bytes. Text stays text; nothing of a design is read as markup.
"""

import base64
import json
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path as FilePath
from typing import Any, Final, Literal

import typst
import uharfbuzz as hb

from designer.drawing.display import (
    Line,
    Outline,
    Path,
    Picture,
    Primitive,
    Rect,
    Stroke,
    Text,
    outline_of,
)
from designer.drawing.text import FAMILIES, WEIGHTS, font_file, runs, safe, width_px
from designer.model.resources import assets

TEMPLATES: Final = FilePath(__file__).parent / "templates"
_SVG: Final = "http://www.w3.org/2000/svg"
_PX_PER_INCH: Final = 96.0
_MOST_PIXELS: Final = 60_000_000


def to_svg(picture: Picture) -> bytes:
    """The picture as SVG with its fonts inside, cut down to the characters used."""
    root = ET.Element(
        "svg",
        {
            "xmlns": _SVG,
            "width": _number(picture.width),
            "height": _number(picture.height),
            "viewBox": " ".join(
                map(_number, (picture.left, picture.top, picture.width, picture.height))
            ),
            "role": "img",
            "aria-labelledby": "title description",
        },
    )
    ET.SubElement(root, "title", {"id": "title"}).text = safe(picture.title)
    ET.SubElement(root, "desc", {"id": "description"}).text = safe(picture.alternative)
    ET.SubElement(root, "style").text = _font_faces(picture)
    ground = Rect(
        "", "ground", picture.left, picture.top, picture.width, picture.height, 0,
        picture.background,
    )  # fmt: skip
    layers: dict[str, ET.Element] = {}
    for primitive in (ground, *picture.primitives):
        layer = primitive.layer
        if layer not in layers or root[-1] is not layers[layer]:
            layers[layer] = ET.SubElement(root, "g", {"class": layer})
        layers[layer].append(_svg(primitive))
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made


def to_pdf(picture: Picture) -> bytes:
    """The picture as a vector PDF of one page (PDF/UA-1), its text searchable.

    Raises typst.TypstError where the picture cannot be set.
    """
    return _compile(picture, "pdf")


def to_png(picture: Picture, scale: float = 2.0) -> bytes:
    """The picture as PNG, `scale` pixels to one px, less where that would be over 60 megapixels."""
    most = (_MOST_PIXELS / (picture.width * picture.height)) ** 0.5
    return _compile(picture, "png", min(scale, most))


def figure_data(picture: Picture) -> dict[str, Any]:
    """What `drawing(data, width: …)` of templates/drawing.typ draws; plain JSON values.

    Its `alternative` is the figure's alternative text.
    """
    return {
        "width": picture.width,
        "height": picture.height,
        "background": picture.background,
        "title": safe(picture.title),
        "alternative": safe(picture.alternative),
        "primitives": [_plain(primitive, picture) for primitive in picture.primitives],
    }


def _compile(picture: Picture, form: Literal["pdf", "png"], scale: float = 1.0) -> bytes:
    data = json.dumps(figure_data(picture), ensure_ascii=False, sort_keys=True)
    made = typst.compile(
        str(TEMPLATES / "picture.typ"),
        root=str(TEMPLATES),
        font_paths=shipped_fonts(),
        ignore_system_fonts=True,
        sys_inputs={"picture": data},
        format=form,
        ppi=_PX_PER_INCH * scale,
        pdf_standards="ua-1" if form == "pdf" else None,
        timestamp=0,
    )
    return bytes(made)


@cache
def shipped_fonts() -> typst.Fonts:
    """The shipped fonts alone, read once."""
    folder = str(assets() / "fonts")
    return typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=False, font_paths=[folder]
    )


def _plain(primitive: Primitive, picture: Picture) -> dict[str, Any]:
    dx, dy = -picture.left, -picture.top
    if isinstance(primitive, Rect):
        return {
            "kind": "rect",
            "x": primitive.x + dx,
            "y": primitive.y + dy,
            "width": primitive.width,
            "height": primitive.height,
            "radius": primitive.radius,
            "fill": primitive.fill,
            "stroke": _plain_stroke(primitive.stroke, caps="butt"),
        }
    if isinstance(primitive, Text):
        string = safe(primitive.string)
        return {
            "kind": "text",
            "x": _start(primitive, string) + dx,
            "y": primitive.y + dy,
            "string": string,
            "size": primitive.size_px,
            "weight": primitive.weight,
            "colour": primitive.colour,
            "tabular": primitive.figures == "tabular",
        }
    caps = "butt" if isinstance(primitive, Line) else "round"
    return {
        "kind": "curve",
        "outline": [[name, list(numbers)] for name, numbers in _moved(primitive, dx, dy)],
        "fill": None if isinstance(primitive, Line) else primitive.fill,
        "stroke": _plain_stroke(primitive.stroke, caps),
    }


def _start(text: Text, string: str) -> float:
    """Where a text begins, so that no output has to measure it."""
    width = width_px(string, text.size_px, text.weight, text.figures)
    return text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]


def _plain_stroke(stroke: Stroke | None, caps: str) -> dict[str, Any] | None:
    if stroke is None:
        return None
    return {
        "colour": stroke.colour,
        "width": stroke.width_px,
        "dash": list(stroke.dash),
        "round": caps == "round",
    }


def _moved(primitive: Line | Path, dx: float, dy: float) -> Outline:
    if isinstance(primitive, Line):
        outline, scale = outline_of(primitive), 1.0
    else:
        outline, scale = primitive.outline, primitive.scale
        dx, dy = dx + primitive.x, dy + primitive.y
    return tuple(
        (name, tuple(round(n * scale + (dy if i % 2 else dx), 3) for i, n in enumerate(numbers)))
        for name, numbers in outline
    )


def _svg(primitive: Primitive) -> ET.Element:
    if isinstance(primitive, Rect):
        names = {"x": primitive.x, "y": primitive.y, "width": primitive.width}
        names |= {"height": primitive.height} | (
            {"rx": primitive.radius} if primitive.radius else {}
        )
        made = ET.Element("rect", {name: _number(value) for name, value in names.items()})
        _paint(made, primitive.fill, primitive.stroke, "butt")
    elif isinstance(primitive, Text):
        made = _svg_text(primitive)
    else:
        made = ET.Element("path", {"d": _path_words(_moved(primitive, 0.0, 0.0))})
        caps = "butt" if isinstance(primitive, Line) else "round"
        fill = None if isinstance(primitive, Line) else primitive.fill
        _paint(made, fill, primitive.stroke, caps)
    if primitive.element:
        made.set("data-id", primitive.element)
    return made


def _svg_text(text: Text) -> ET.Element:
    string = safe(text.string)
    names = {
        "x": _number(_start(text, string)),
        "y": _number(text.y),
        "font-size": _number(text.size_px),
        "font-weight": str(text.weight),
        "fill": text.colour,
    }
    if text.figures == "tabular":
        names["class"] = "n"
    made = ET.Element("text", names)
    made.text = string
    return made


def _paint(made: ET.Element, fill: str | None, stroke: Stroke | None, caps: str) -> None:
    made.set("fill", fill or "none")
    if stroke is None:
        return
    made.set("stroke", stroke.colour)
    made.set("stroke-width", _number(stroke.width_px))
    made.set("stroke-linejoin", "round")
    if caps == "round":
        made.set("stroke-linecap", "round")
    if stroke.dash:
        made.set("stroke-dasharray", " ".join(map(_number, stroke.dash)))


def _path_words(outline: Outline) -> str:
    return "".join(name + " ".join(map(_number, numbers)) for name, numbers in outline)


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def _font_faces(picture: Picture) -> str:
    used: dict[tuple[str, int], set[int]] = defaultdict(set)
    for text in (item for item in picture.primitives if isinstance(item, Text)):
        weight = min(WEIGHTS, key=lambda known: abs(known - text.weight))
        for family, part in runs(safe(text.string)):
            used[family, weight if family == "Inter" else 400] |= set(map(ord, part))
    return "\n".join((*_style_rules(), *(_face(*key, used[key]) for key in sorted(used))))


def _style_rules() -> Iterator[str]:
    families = ", ".join(f'"{family}"' for family in FAMILIES)
    yield f"text{{font-family:{families},sans-serif;white-space:pre}}"
    yield '.n{font-variant-numeric:tabular-nums;font-feature-settings:"tnum"}'


def _face(family: str, weight: int, codes: set[int]) -> str:
    """A shipped font cut down to some characters, as a CSS rule."""
    wanted = hb.SubsetInput()
    wanted.sets(hb.SubsetInputSets.UNICODE).update(codes)
    blob = hb.Blob.from_file_path(str(assets() / "fonts" / font_file(family, weight)))
    data = hb.subset(hb.Face(blob), wanted).blob.data
    words = base64.b64encode(data).decode("ascii")
    weights = str(weight) if family == "Inter" else "400 600"
    return (
        f'@font-face{{font-family:"{family}";font-weight:{weights};'
        f"src:url(data:font/otf;base64,{words})}}"
    )
