"""Stress and growth: a design changed as a scenario says, analysed again, and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from designer.analysis.objections import called
from designer.analysis.results import ScenarioResult, ServiceResult, VerdictWord
from designer.analysis.study import Study, network_study, with_services
from designer.analysis.tokens import Role, token_law
from designer.model.catalog import Catalogue
from designer.model.design import Change, Design, Scenario
from designer.model.patch import PatchConflict, get_field, with_field
from designer.model.references import groups_around
from designer.model.services import (
    Branch,
    Hedge,
    ModelCall,
    Parallel,
    Repeat,
    Retry,
    Series,
    Service,
    Step,
    Tokens,
)

DEFAULT_GROWTH: Final = 1.0
"""Factor a year where neither demand nor service says: no growth is assumed."""

_TOKEN_FIELDS: Final = ("mean", "p5", "p25", "p50", "p75", "p90", "p95", "p99", "max")
_ORDER: Final[tuple[VerdictWord, ...]] = (
    "meets",
    "likely",
    "open",
    "unknown",
    "unlikely",
    "breaks",
    "cannot_be_served",
)


class BadScenario(ValueError):
    """A scenario names a field that cannot be stressed; the message says where."""


def grown(design: Design, year: int) -> Design:
    """The design with each demand grown from the base year to `year` by its yearly factor."""
    years = year - (design.settings.base_year or year)
    services = design.services
    for key, service in design.services.items():
        demands = tuple(
            demand.replace(
                requests_per_s=demand.requests_per_s
                * (demand.growth_per_year or service.growth_per_year or DEFAULT_GROWTH) ** years
            )
            for demand in service.demands
        )
        services = services.set(key, service.replace(demands=demands))
    return design.model_copy(update={"services": services})


def applied(design: Design, scenario: Scenario, catalogue: Catalogue) -> Design:
    """The design under a scenario's factors, values and outages. Raises BadScenario."""
    services = design.services
    for key, service in design.services.items():
        services = services.set(key, _stressed(service, scenario, catalogue))
    design = design.model_copy(update={"services": services})
    for change in scenario.changes:
        design = (
            _out(design, scenario, change.target)
            if change.out_of_service
            else _changed(design, scenario, change)
        )
    return design


def _stressed(service: Service, scenario: Scenario, catalogue: Catalogue) -> Service:
    def longer(tokens: Tokens, role: Role) -> Tokens:
        factor = scenario.prompt_factor if role == "prompt" else scenario.output_factor
        return _longer(_known(service, tokens, role, catalogue), factor) if factor != 1 else tokens

    def of_call(call: ModelCall) -> ModelCall:
        prompt, output = call.prompt_tokens, call.output_tokens
        return call.replace(
            prompt_tokens=prompt and longer(prompt, "prompt"),
            output_tokens=output and longer(output, "output"),
        )

    workflow = service.workflow
    return service.replace(
        demands=tuple(
            demand.replace(requests_per_s=demand.requests_per_s * scenario.demand_factor)
            for demand in service.demands
        ),
        prompt_tokens=longer(service.prompt_tokens, "prompt"),
        output_tokens=longer(service.output_tokens, "output"),
        workflow=None if workflow is None else _with_calls(workflow, of_call),
    )


def _with_calls(step: Step, change: Callable[[ModelCall], ModelCall]) -> Step:
    """The workflow with every model call changed."""
    match step:
        case ModelCall():
            return change(step)
        case Series() | Parallel():
            return step.replace(steps=tuple(_with_calls(each, change) for each in step.steps))
        case Repeat() | Retry() | Hedge():
            return step.replace(step=_with_calls(step.step, change))
        case Branch():
            choices = (each.replace(step=_with_calls(each.step, change)) for each in step.choices)
            return step.replace(choices=tuple(choices))
        case _:
            return step


def _known(service: Service, tokens: Tokens, role: Role, catalogue: Catalogue) -> Tokens:
    """The tokens as given, else the workload's that they or the service name."""
    row = catalogue.workloads.get(tokens.catalogue or service.workload or "")
    if row is None or token_law(tokens) is not None:
        return tokens
    return row.prompt_tokens if role == "prompt" else row.output_tokens


def _longer(tokens: Tokens, factor: float) -> Tokens:
    return tokens.replace(
        **{
            name: value * factor
            for name in _TOKEN_FIELDS
            if (value := getattr(tokens, name)) is not None
        }
    )


def _home(design: Design, target: str) -> tuple[str, Any] | None:
    for collection in ("nodes", "links", "groups", "services", "deployments", "flows"):
        item = getattr(design, collection).get(target)
        if item is not None:
            return collection, item
    return None


def _changed(design: Design, scenario: Scenario, change: Change) -> Design:
    home = _home(design, change.target)
    where = f"scenario {scenario.name or scenario.id}, {change.target}.{change.field}"
    if home is None or not change.field:
        raise BadScenario(f"{where}: name a field of a thing that is in the design")
    collection, item = home
    try:
        new = _with(item, change.field, _stress(get_field(item, change.field), change, where))
    except PatchConflict as error:
        raise BadScenario(f"{where}: {error}") from error
    return design.model_copy(update={collection: getattr(design, collection).set(item.id, new)})


def _stress(before: Any, change: Change, where: str) -> float:
    """The value given, else the one before times the factor; whole numbers stay whole."""
    if change.value is not None:
        return change.value
    if not isinstance(before, int | float) or isinstance(before, bool):
        raise BadScenario(f"{where} holds no number to multiply; give a value instead")
    value = before * (1.0 if change.factor is None else change.factor)
    return round(value) if isinstance(before, int) else value


def _with(item: Any, path: str, value: float) -> Any:
    """With a number in a field, as a whole one where only that fits. Raises PatchConflict."""
    try:
        return with_field(item, path, value)
    except PatchConflict:
        if not float(value).is_integer():
            raise
        return with_field(item, path, int(value))


def _out(design: Design, scenario: Scenario, target: str) -> Design:
    """Without a link, a node with its links and deployments, or a group with all its nodes.

    A service that is out is asked nothing, and its own flows are gone.
    """
    if _home(design, target) is None:
        raise BadScenario(
            f"scenario {scenario.name or scenario.id} takes {target} out of service, which is not "
            "in the design; name a node, link, group, deployment, service or flow"
        )
    gone = (
        {target}
        if target in design.nodes
        else {key for key in design.nodes if target in groups_around(design, key)}
    )
    links = {
        key: link
        for key, link in design.links.items()
        if key != target and link.a not in gone and link.b not in gone
    }
    deployments = {
        key: each
        for key, each in design.deployments.items()
        if key != target and each.node not in gone
    }
    flows = {
        key: flow
        for key, flow in design.flows.items()
        if target not in (key, flow.owner) and flow.source not in gone and flow.target not in gone
    }
    services = design.services
    if target in services:
        services = services.set(target, services[target].replace(demands=()))
    return design.model_copy(
        update={
            "services": services,
            "flows": type(design.flows)(flows),
            "links": type(design.links)(links),
            "deployments": type(design.deployments)(deployments),
        }
    )


def scenario_rows(baseline: Study, catalogue: Catalogue) -> tuple[ScenarioResult, ...]:
    """Each scenario of the design against the baseline, one row a service. Raises BadScenario."""
    rows = []
    for key in sorted(baseline.design.scenarios):
        scenario = baseline.design.scenarios[key]
        study = with_services(
            network_study(applied(baseline.design, scenario, catalogue), catalogue)
        )
        before = {service.id: service for service in baseline.services}
        for service in study.services:
            rows.append(_row(study.design, scenario, before[service.id], service))
    return tuple(rows)


def _row(
    design: Design, scenario: Scenario, before: ServiceResult, after: ServiceResult
) -> ScenarioResult:
    out = any(each.out_of_service and each.target == after.id for each in scenario.changes)
    return ScenarioResult(
        id=scenario.id,
        name=scenario.name or scenario.id,
        service=after.id,
        ttft_p95_ms=after.ttft_ms.p95,
        task_p95_ms=after.task_ms.p95,
        ttft_p95_change_ms=_less(after.ttft_ms.p95, before.ttft_ms.p95),
        task_p95_change_ms=_less(after.task_ms.p95, before.task_ms.p95),
        verdict=worst_verdict(after),
        bottleneck="out of service" if out else slowest_element(design, after),
    )


def _less(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def worst_verdict(service: ServiceResult) -> VerdictWord:
    """The worst verdict among a service's SLOs; unknown without any."""
    return max((slo.verdict for slo in service.slo), key=_ORDER.index, default="unknown")


def slowest_element(design: Design, service: ServiceResult) -> str | None:
    """The segment that takes the largest share of p95, with its element: where the time goes."""
    rows = service.budget or service.task_budget
    known = [row for row in rows if row.p95_ms is not None]
    if not known:
        return None
    top = max(known, key=lambda row: row.p95_ms or 0.0)
    return f"{top.segment} at {called(design, top.element)}" if top.element else top.segment
