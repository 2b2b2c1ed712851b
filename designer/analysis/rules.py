"""The rule check: every rule by name, with severities and exclusions as the project sets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from designer.analysis import rules_context, rules_network, rules_services
from designer.analysis.objections import Objection
from designer.analysis.results import Finding, Placement, Severity
from designer.analysis.study import Study

Check = Callable[[Study], Iterator[Objection]]

_SEVERITIES: Final[dict[str, Severity]] = {"error": "error", "warning": "warning", "info": "info"}
_ORDER: Final = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its id, how bad it is unless the project says otherwise, and its check."""

    id: str
    severity: Severity
    check: Check


RULES: Final = (
    Rule("unknown-on-path", "warning", rules_services.unknown_on_path),
    Rule("unreachable", "error", rules_services.unreachable),
    Rule("overload", "error", rules_network.overload),
    Rule("slo-broken", "error", rules_services.slo_broken),
    Rule("slo-open", "warning", rules_services.slo_open),
    Rule("model-does-not-fit", "error", rules_services.model_does_not_fit),
    Rule("context-too-long", "error", rules_context.context_too_long),
    Rule("context-too-long", "warning", rules_context.context_sometimes_too_long),
    Rule("pool-overloaded", "error", rules_services.pool_overloaded),
    Rule("server-overloaded", "error", rules_services.server_overloaded),
    Rule("residency", "error", rules_services.residency),
    Rule("lossless-over-lossy", "error", rules_network.lossless_over_lossy),
    Rule("mtu-shrinks", "warning", rules_network.mtu_shrinks),
    Rule("single-point-of-failure", "error", rules_services.single_point_of_failure),
    Rule("oversubscription", "warning", rules_network.oversubscription_limit),
    Rule("hot-link", "warning", rules_network.hot_link),
    Rule("equal-names", "info", rules_network.equal_names),
)


def findings(study: Study, placement: Placement | None = None) -> tuple[Finding, ...]:
    """What the rules object to, errors first; excluded ones say so and come last."""
    made = [
        _finding(study, rule, objection)
        for rule in RULES
        if _severity(study, rule) is not None
        for objection in rule.check(study)
    ]
    if placement is not None and placement.status == "infeasible":
        made.append(_infeasible(placement))
    return tuple(
        sorted(
            made,
            key=lambda each: (each.excluded is not None, _ORDER.index(each.severity), each.rule),
        )
    )


def _severity(study: Study, rule: Rule) -> Severity | None:
    """As the project sets it ("off" switches a rule off), else the rule's own."""
    said = study.design.severities.get(rule.id)
    if said == "off":
        return None
    return _SEVERITIES.get(said or "", rule.severity)


def _finding(study: Study, rule: Rule, objection: Objection) -> Finding:
    return Finding(
        rule=rule.id,
        severity=_severity(study, rule) or rule.severity,
        elements=objection.elements,
        message=objection.message,
        remedy=objection.remedy,
        excluded=_excluded(study, rule, objection),
    )


def _excluded(study: Study, rule: Rule, objection: Objection) -> str | None:
    for key in sorted(study.design.exclusions):
        exclusion = study.design.exclusions[key]
        covers = set(exclusion.elements) >= set(objection.elements) or not exclusion.elements
        if exclusion.rule == rule.id and covers:
            return f"{exclusion.reason} ({exclusion.owner})"
    return None


def _infeasible(placement: Placement) -> Finding:
    return Finding(
        rule="placement-infeasible",
        severity="error",
        elements=(),
        message=placement.message or "no placement meets all SLOs",
        remedy="Add a candidate site, GPUs or links, or relax an SLO named here.",
    )
