"""What a notebook imports, and what the command line and the window stand on.

from designer import api
topology = api.open_design(Path("metro.promptpath"))
results = api.analyse(topology, api.request_for(topology), api.open_catalogue())
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from designer.analysis import run, validation
from designer.analysis.case_reading import CaseRefused
from designer.analysis.placement_edit import placement_patch
from designer.analysis.results import Finding, Placement, Results
from designer.analysis.run import AnalysisRequest, CannotAnalyse, Stage
from designer.analysis.scale_up import CannotServe
from designer.analysis.scenarios import BadScenario
from designer.analysis.validation import JudgedCase, ServedBy, ServingAccuracy, TraceReplay
from designer.drawing import overlays
from designer.drawing.display import Picture
from designer.drawing.marks import draw
from designer.drawing.theme import load_theme
from designer.files import cases
from designer.files import catalogue as catalogue_files
from designer.files import compare as comparing
from designer.files import format as own_format
from designer.files.cases import CasesRefused
from designer.files.importers import graphml
from designer.files.reconciliation import Entry
from designer.files.schema import schema_of, topology_schema
from designer.files.wording import describe
from designer.graph.expand import BadPairing, TooLarge
from designer.graph.routing import BadNetwork
from designer.model.catalog import Catalogue, Unknown
from designer.model.patch import apply
from designer.model.topology import Topology
from designer.report import content, pictures, typeset


class CannotConvert(ValueError):
    """The formats do not go together; the message is one sentence with the remedy."""


REFUSALS: Final = (
    BadNetwork,
    BadPairing,
    BadScenario,
    CannotAnalyse,
    CannotConvert,
    CannotServe,
    CasesRefused,
    TooLarge,
    Unknown,
    catalogue_files.CatalogueRefused,
    typeset.ReportFailed,
)
"""What the functions here raise for input that cannot be used, beside FileRefused."""

OWN: Final = "promptpath"
READABLE: Final = (OWN, "graphml")
WRITABLE: Final = (OWN, "svg", "png", "pdf")


@dataclass(frozen=True, slots=True)
class Converted:
    """A file read and the bytes of the format asked for."""

    topology: Topology
    data: bytes
    reconciliation: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two designs, in words, and what that does to the services."""

    changes: tuple[str, ...]
    places: tuple[str, ...]
    results: tuple[dict[str, Any], ...]

    def as_json(self) -> dict[str, Any]:
        """As `diff --json` prints it."""
        return {
            "changes": [
                {"place": place, "message": words}
                for place, words in zip(self.places, self.changes, strict=True)
            ],
            "results": list(self.results),
        }


def open_design(path: Path) -> Topology:
    """The design in a .promptpath file. Raises FileRefused with every problem."""
    return own_format.load(path).topology


def design_bytes(topology: Topology) -> bytes:
    """The canonical bytes of a design."""
    return own_format.dumps(topology)


def open_catalogue(folder: Path | None = None) -> Catalogue:
    """The catalogue, with a team's own folder laid over it. Raises CatalogueRefused."""
    return catalogue_files.load(folder)


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all. Raises FileRefused."""
    own_format.write_atomically(path, data)


def check_writable(path: Path) -> None:
    """Raises FileRefused where `write_file` could not write, with nothing done."""
    own_format.check_writable(path)


def request_for(
    topology: Topology,
    file: Path | None = None,
    *,
    service: str | None = None,
    scenario: str | None = None,
    year: int | None = None,
) -> AnalysisRequest:
    """The request to analyse a design; the results name its file and the hash of its design."""
    return AnalysisRequest(
        file=file.name if file is not None else "",
        content=own_format.content_hash(topology.design),
        service=service,
        scenario=scenario,
        year=year,
    )


def stages(topology: Topology, request: AnalysisRequest, catalogue: Catalogue) -> Iterator[Stage]:
    """The analysis stage by stage, cheapest first."""
    return run.analyse(topology.design, catalogue, request)


def analyse(topology: Topology, request: AnalysisRequest, catalogue: Catalogue) -> Results:
    """All results of a design."""
    return run.last(stages(topology, request, catalogue))


def check(
    topology: Topology, request: AnalysisRequest, catalogue: Catalogue
) -> tuple[Finding, ...]:
    """The rule check alone."""
    return run.last(stages(topology, check_request(request), catalogue)).findings


def check_request(request: AnalysisRequest) -> AnalysisRequest:
    """The same request, answered as far as the rule check needs."""
    return run.until(request, "services")


def place(topology: Topology, request: AnalysisRequest, catalogue: Catalogue) -> Results:
    """The results up to the placement."""
    return run.last(run.analyse(topology.design, catalogue, run.until(request, "placement")))


def with_placement(topology: Topology, placement: Placement) -> bytes:
    """The canonical bytes of the design with a recommendation accepted.

    Raises CannotAnalyse where there is no plan to accept.
    """
    if placement.status not in ("optimal", "feasible"):
        raise CannotAnalyse(f"there is no placement to accept: {placement.message or 'no plan'}")
    return design_bytes(apply(topology, placement_patch(topology.design, placement)))


def drawing(topology: Topology, overlay: overlays.Overlay | None = None) -> Picture:
    """The design as a picture in the light theme."""
    return draw(topology, load_theme("light"), overlay)


def report(topology: Topology, results: Results) -> bytes:
    """The PDF design review. Raises ReportFailed."""
    theme = load_theme("light")
    drawn = [drawing(topology)]
    if results.links:
        drawn.append(drawing(topology, overlays.utilisation(results, theme)))
    return typeset.pdf(content.review(topology, results, drawn))


def convert(
    source: Path, out: Path, from_format: str | None = None, to_format: str | None = None
) -> Converted:
    """Reads one format and makes the bytes of another; formats by extension and content.

    Raises FileRefused and CannotConvert.
    """
    goal = _named(to_format or out.suffix.lstrip(".").lower(), WRITABLE, "write", out)
    topology, reconciliation = _read(source, from_format)
    if goal != OWN and out.exists() and out.samefile(source):
        raise CannotConvert(f"{out}: the design itself would be lost; name another file.")
    if goal == OWN:
        data = design_bytes(topology)
    else:
        picture = drawing(topology)
        makers = {"svg": pictures.to_svg, "png": pictures.to_png, "pdf": pictures.to_pdf}
        data = makers[goal](picture)
    return Converted(topology, data, reconciliation)


def _read(source: Path, from_format: str | None) -> tuple[Topology, tuple[Entry, ...]]:
    data = own_format.read_bytes(source)
    kind = from_format or source.suffix.lstrip(".").lower()
    if from_format is None and kind not in READABLE:
        head = data[:400].lstrip()
        kind = "graphml" if b"<graphml" in data[:4000] else OWN if head.startswith(b"{") else kind
    if _named(kind, READABLE, "read", source) == OWN:
        return own_format.loads(data, str(source)).topology, ()
    imported = graphml.loads(data, str(source))
    return imported.topology, imported.reconciliation


def _named(kind: str, known: tuple[str, ...], verb: str, path: Path) -> str:
    if kind not in known:
        what = f"format {kind!r}" if kind else "its format"
        option = "--from" if verb == "read" else "--to"
        raise CannotConvert(
            f"{path}: cannot {verb} {what}; use one of {', '.join(known)}, or say it with {option}."
        )
    return kind


def diff(before: Topology, after: Topology) -> Difference:
    """What changed, by meaning, and what it does to each service's p95 and verdicts."""
    patch = comparing.differences(before, after)
    return Difference(
        tuple(describe(change, after) for change in patch),
        tuple(
            f"{change.collection}[{change.id}]{'.' if change.field else ''}{change.field}"
            for change in patch
        ),
        _result_changes(before, after) if any(not change.is_layout for change in patch) else (),
    )


def _result_changes(before: Topology, after: Topology) -> tuple[dict[str, Any], ...]:
    catalogue = open_catalogue()
    old, new = (
        run.last(run.analyse(each.design, catalogue, run.until(request_for(each), "services")))
        for each in (before, after)
    )
    was = {service.id: service for service in old.services}
    rows = []
    for service in new.services:
        ago = was.get(service.id)
        rows.append(
            {
                "service": service.id,
                "name": service.name,
                "ttft_p95_ms": [ago.ttft_ms.p95 if ago else None, service.ttft_ms.p95],
                "task_p95_ms": [ago.task_ms.p95 if ago else None, service.task_ms.p95],
                "verdicts": [
                    [slo.verdict for slo in ago.slo] if ago else [],
                    [slo.verdict for slo in service.slo],
                ],
            }
        )
    return tuple(rows)


def merge(base: Topology, ours: Topology, theirs: Topology) -> comparing.Merged:
    """Both changes of a common ancestor in one design, or the conflicts between them."""
    return comparing.merge(base, ours, theirs)


def schema(what: str) -> dict[str, Any]:
    """The JSON Schema of a design's file ("topology") or of results ("results")."""
    return topology_schema() if what == "topology" else dict(schema_of(Results))


def validate_network(path: Path) -> tuple[JudgedCase, ...]:
    """Network cases with right answers, computed and compared. Raises CasesRefused."""
    try:
        return validation.judged(cases.network_cases(path))
    except CaseRefused as refusal:
        raise _of_cases(path, refusal) from refusal


def validate_serving(path: Path) -> ServingAccuracy:
    """The GPU tier against measured runs. Raises CasesRefused."""
    rows = cases.silicon_rows(path)
    try:
        return validation.serving(rows, open_catalogue())
    except CaseRefused as refusal:
        raise _of_cases(path, refusal) from refusal


def validate_openloop(path: Path, by: ServedBy) -> TraceReplay:
    """A measured trace served again by the simulator. Raises CasesRefused and CannotServe."""
    records = cases.trace_records(path)
    try:
        return validation.openloop(records, open_catalogue(), by)
    except CaseRefused as refusal:
        raise _of_cases(path, refusal) from refusal


def _of_cases(path: Path, refusal: CaseRefused) -> CasesRefused:
    return CasesRefused(f"{path}, {str(refusal).rstrip('.')}.")


__all__ = [
    "OWN",
    "READABLE",
    "REFUSALS",
    "WRITABLE",
    "AnalysisRequest",
    "CannotAnalyse",
    "CannotConvert",
    "Catalogue",
    "Converted",
    "Difference",
    "JudgedCase",
    "Results",
    "ServedBy",
    "ServingAccuracy",
    "TraceReplay",
    "analyse",
    "check",
    "check_request",
    "check_writable",
    "convert",
    "design_bytes",
    "diff",
    "drawing",
    "merge",
    "open_catalogue",
    "open_design",
    "place",
    "report",
    "request_for",
    "schema",
    "stages",
    "validate_network",
    "validate_openloop",
    "validate_serving",
    "with_placement",
    "write_file",
]
