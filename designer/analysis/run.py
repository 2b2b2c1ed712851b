"""`analyse`: the stages of an analysis and their order, cheapest first.

Pure: frozen values and a seed in, frozen results out, no clock, file or log. Each stage carries the
revision of the design that it belongs to and everything that is known so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from designer.analysis.link_rows import link_rows
from designer.analysis.results import Placement, Results, ServiceResult, Settings
from designer.analysis.rules import findings
from designer.analysis.scenarios import applied, grown, scenario_rows
from designer.analysis.site_choice import place
from designer.analysis.site_trials import spots
from designer.analysis.study import Study, network_study, with_details, with_services
from designer.model.catalog import Catalogue
from designer.model.design import Design
from designer.model.kinds import PERCENTILES

PROGRAM: Final = "promptpath"
RESULTS_FORMAT: Final = 1

MOST_TRIALS: Final = 240
"""Populations × places for GPUs that are placed without being asked for it alone."""

StageName = Literal["network", "services", "placement", "scenarios"]


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What to analyse of which revision.

    file, content: the file's name and the hash of its design, for the results' head. service: only
    this one's answers. scenario, year: under that stress, grown to that year.
    """

    revision: int = 0
    file: str = ""
    content: str = ""
    service: str | None = None
    scenario: str | None = None
    year: int | None = None
    until: StageName = "scenarios"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step forward: its name, and all results so far."""

    name: StageName
    revision: int
    results: Results


class CannotAnalyse(ValueError):
    """The request names what is not there; the message is one sentence."""


def analyse(design: Design, catalogue: Catalogue, request: AnalysisRequest) -> Iterator[Stage]:
    """Yields the results of a design stage by stage.

    Raises CannotAnalyse for an unknown service, scenario or a year before the base year,
    TooLarge and BadPairing where the counts cannot be expanded.
    """
    chosen = _chosen(design, catalogue, request)
    study = network_study(chosen, catalogue)
    results = Results(
        program=PROGRAM,
        format=RESULTS_FORMAT,
        file=request.file,
        content=request.content,
        revision=request.revision,
        settings=_settings(design, request),
        links=link_rows(study),
        flows=study.flow_rows,
        oversubscription=study.oversubscription,
    )
    yield _stage("network", request, study, results)
    if request.until == "network":
        return
    study = with_details(with_services(study))
    results = results.model_copy(update={"services": _wanted(study.services, request)})
    yield _stage("services", request, study, results)
    if request.until == "services":
        return
    results = results.model_copy(update={"placement": _placement(study, request)})
    yield _stage("placement", request, study, results)
    if request.until == "placement" or not design.scenarios or request.scenario is not None:
        return
    rows = tuple(
        row for row in scenario_rows(study, catalogue) if request.service in (None, row.service)
    )
    yield _stage("scenarios", request, study, results.model_copy(update={"scenarios": rows}))


def _placement(study: Study, request: AnalysisRequest) -> Placement:
    """The placement, unless nobody asks for a model, or it would take minutes unasked.

    Each population is timed at each place for GPUs; `until="placement"` asks for it at any size.
    """
    asked = sum(
        demand.requests_per_s > 0
        for service in study.design.services.values()
        for demand in service.demands
    )
    if not asked:
        return Placement(status="not_asked", message="nobody asks for a model; nothing to place")
    trials = asked * len(spots(study))
    if trials > MOST_TRIALS and request.until != "placement":
        return Placement(
            status="not_asked",
            message=f"{asked} populations at {trials // asked} places would take minutes; "
            "ask for the placement alone (promptpath place)",
        )
    return place(study)


def _stage(name: StageName, request: AnalysisRequest, study: Study, results: Results) -> Stage:
    """With the findings and assumptions that are known by now."""
    results = results.model_copy(
        update={
            "findings": findings(study, results.placement),
            "assumptions": study.ledger.lines(),
        }
    )
    return Stage(name, request.revision, results)


def _chosen(design: Design, catalogue: Catalogue, request: AnalysisRequest) -> Design:
    if request.service is not None and request.service not in design.services:
        raise CannotAnalyse(_absent("service", request.service, sorted(design.services)))
    if request.year is not None:
        base = design.settings.base_year
        if base is None:
            raise CannotAnalyse(
                "the design has no base_year, so nothing can grow from it; set it in its settings"
            )
        if request.year < base:
            raise CannotAnalyse(
                f"year {request.year} is before the base year {base}; name a later one"
            )
        design = grown(design, request.year)
    if request.scenario is not None:
        scenario = design.scenarios.get(request.scenario)
        if scenario is None:
            raise CannotAnalyse(_absent("scenario", request.scenario, sorted(design.scenarios)))
        design = applied(design, scenario, catalogue)
    return design


def _absent(what: str, key: str, known: list[str]) -> str:
    names = f"use one of {', '.join(known[:10])}" if known else f"the design has no {what}s"
    return f'there is no {what} "{key}"; {names}'


def _settings(design: Design, request: AnalysisRequest) -> Settings:
    percentiles = tuple(sorted({*PERCENTILES, *design.settings.percentiles}))
    return Settings(
        percentiles=percentiles,
        seed=design.settings.seed,
        year=request.year,
        scenario=request.scenario,
    )


def _wanted(
    services: tuple[ServiceResult, ...], request: AnalysisRequest
) -> tuple[ServiceResult, ...]:
    if request.service is None:
        return services
    return tuple(each for each in services if each.id == request.service)


def last(stages: Iterator[Stage]) -> Results:
    """The results of the last stage."""
    results: Results | None = None
    for stage in stages:
        results = stage.results
    assert results is not None
    return results


def until(request: AnalysisRequest, stage: StageName) -> AnalysisRequest:
    """The same request, answered no further than that stage."""
    return replace(request, until=stage)
