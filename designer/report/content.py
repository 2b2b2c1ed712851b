"""Results and topology to the content of a design review: pure, no clock, nothing left out."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from designer.analysis.results import Results
from designer.drawing.display import Picture
from designer.drawing.text import fitted, missing
from designer.files.format import content_hash, layout_hash
from designer.model.topology import Topology
from designer.report.blocks import Cover, Drawing, Heading, Paragraph, Review, Section
from designer.report.sections import (
    bandwidth,
    closing,
    findings,
    flows,
    latency,
    placement,
    summary,
)
from designer.report.sheets import Sheet, sheets, whole
from designer.report.words import date_parts, date_text, names_of

_STATUS = {
    "draft": "draft",
    "in_review": "in review",
    "approved": "approved",
    "withdrawn": "withdrawn",
}


def review(topology: Topology, results: Results, pictures: Sequence[Picture] = ()) -> Review:
    """The design review of one revision; `pictures` are drawn in their order, each captioned.

    Where there are pictures, a drawing of each site or fabric follows if the whole is too large to
    be read on a page.
    The date is the title block's. The same arguments give the same review.
    """
    names = names_of(topology)
    sections: list[Section] = [
        summary.section(results, names),
        *_drawings(topology, results, pictures),
        latency.section(results, names),
        bandwidth.section(topology, results, names),
        placement.section(results.placement, names),
    ]
    scenarios = placement.scenarios(results, names)
    sections += [scenarios] if scenarios else []
    sections.append(findings.section(results.findings, names))
    boxed = sorted(
        {c for text in _texts((topology.design.title_block, sections)) for c in missing(text)}
    )
    every = flows.appendix(results.flows, names)
    sections += [closing.assumptions(results, names, boxed), *([every] if every else [])]
    sections.append(closing.glossary())
    title = topology.design.title_block
    status = _STATUS.get(title.status, title.status)
    label = (
        f"Revision {title.revision_label}, {status}"
        if title.revision_label
        else status.capitalize()
    )
    date = date_text(title.date)
    return Review(
        title=title.title_or("Untitled design"),
        header=fitted(title.title_or("Untitled design"), 520.0, 10.0, 600),
        footer_strong=fitted(label, 300.0, 10.0, 600),
        footer=fitted(", ".join(part for part in (date, title.author) if part), 260.0, 10.0),
        author=title.author,
        date=date_parts(title.date),
        cover=_cover(topology, results, status, date),
        sections=tuple(_paged(section) for section in sections),
    )


def _cover(topology: Topology, results: Results, status: str, date: str) -> Cover:
    title = topology.design.title_block
    facts = (
        ("Revision", title.revision_label),
        ("Date", date),
        ("Author", title.author),
        ("Status", status),
        ("File", results.file),
        ("Content", content_hash(topology.design)),
        ("Layout", layout_hash(topology)),
        ("Program", results.program),
    )
    return Cover(
        title=title.title_or("Untitled design"),
        subtitle="Design review",
        status=status,
        story=title.story,
        facts=tuple(pair for pair in facts if pair[1]),
        approvals=tuple((each.name, each.role, date_text(each.date)) for each in title.approvals),
    )


def _drawings(topology: Topology, results: Results, pictures: Sequence[Picture]) -> list[Section]:
    if not pictures:
        return []
    drawn = []
    for each in pictures:
        sheet = whole(topology, results, each)
        caption = f"Whole design. {sheet.picture.title}".strip()
        drawn.append(Drawing(f"{caption}{_closing(sheet)}", sheet.picture))
    for sheet in sheets(topology, results):
        caption = " and what it is linked to".join(_name_and_question(sheet.picture))
        drawn.append(Drawing(f"{caption}{_closing(sheet)}", sheet.picture))
    return [Section("Drawing", tuple(drawn))]


def _closing(sheet: Sheet) -> str:
    """Says where groups are drawn closed."""
    if not sheet.closed:
        return ""
    return ". Inner groups are drawn closed, with their totals and bundled links, so that it reads"


def _name_and_question(picture: Picture) -> tuple[str, str]:
    """What a drawing shows, and the question that its overlay answers."""
    name, colon, question = picture.title.rpartition(":")
    return (name, f"{colon}{question}") if colon else (picture.title, "")


def _paged(section: Section) -> Section:
    """A section of a few sentences follows the one before; a page of its own would be empty."""
    full = any(not isinstance(block, Heading | Paragraph) for block in section.blocks)
    first = section.title == summary.TITLE
    return replace(section, new_page=first or (section.new_page and full))


def _texts(value: Any) -> Iterator[str]:
    """Every text inside nested frozen values, pictures left out: they name their own."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _texts(each)
    elif is_dataclass(value) and not isinstance(value, Picture):
        for field in fields(value):
            yield from _texts(getattr(value, field.name))
    elif hasattr(type(value), "model_fields"):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
