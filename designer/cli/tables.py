"""The tables of the commands; `show` is all of an analysis, in the order a reviewer asks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from designer.analysis.results import Assumption, Finding, Placement, Results, ScenarioResult
from designer.cli import tables_network, tables_services
from designer.cli.facade import api
from designer.cli.table_parts import (
    SEVERITY_STYLES,
    VERDICT_STYLES,
    change,
    cut,
    figure,
    heading,
    put,
    renamed,
    row,
    sentence,
    table,
    time,
)
from designer.files.reconciliation import Decision, Entry
from designer.model.topology import Topology
from designer.report.words import FACTS_WEAKEST_FIRST, VERDICTS, Names, names_of, plural

MOST_FINDINGS: Final = 60
MOST_ENTRIES: Final = 200
MOST_NAMES: Final = 4
_SEVERITIES: Final = ("error", "warning", "info")
_PLAN: Final = {
    "optimal": "The plan is proven to be the cheapest one.",
    "feasible": "The plan keeps every promise; it is not proven to be the cheapest one.",
    "infeasible": "No plan keeps every promise.",
    "not_asked": "No placement was computed.",
    "unknown": "Whether there is a plan is unknown.",
}
_OUTCOMES: Final = {
    "chosen": "chosen",
    "out_of_reach": "out of reach",
    "out_of_region": "out of region",
    "no_capacity": "no capacity",
    "does_not_fit": "does not fit",
    "dearer": "dearer",
    "unknown": "unknown",
}


def show(console: Console, topology: Topology, results: Results) -> None:
    """Everything that an analysis answers."""
    names = names_of(topology)
    _head(console, topology, results, names)
    tables_services.services(console, results.services, names)
    limit = topology.design.settings.utilisation_limit
    tables_network.links(console, results.links, names, limit)
    tables_network.flows(console, results.flows, names)
    tables_network.oversubscription(console, results.oversubscription, names)
    heading(console, "Placement")
    placement(console, topology, results.placement)
    if results.scenarios:
        heading(console, "Scenarios")
        _scenarios(console, results.scenarios, names)
    heading(console, "Findings")
    findings(console, topology, results.findings)
    heading(console, "Assumptions")
    _assumptions(console, results.assumptions, names)


def _head(console: Console, topology: Topology, results: Results, names: Names) -> None:
    title = topology.design.title_block.title_or("Untitled design")
    sentence(console, title, "bold")
    parts = [results.file, f"content {results.content[:12]}"]
    if results.settings.scenario:
        parts.append(f"scenario {names.of(results.settings.scenario)}")
    if results.settings.year:
        parts.append(f"demand of {results.settings.year}")
    sentence(console, ", ".join(part for part in parts if part))


def findings(console: Console, topology: Topology, found: Sequence[Finding]) -> None:
    """What the rule check objects to, the gravest first; accepted ones last, with the reason."""
    if not found:
        sentence(console, "The rules have nothing to object.")
        return
    names = names_of(topology)
    standing = [each for each in found if each.excluded is None]
    counts = Counter(each.severity for each in standing)
    said = ", ".join(plural(counts[each], each) for each in _SEVERITIES if counts[each])
    accepted = len(found) - len(standing)
    parts = [said] if said else []
    parts += [f"{accepted:,} accepted by the project"] if accepted else []
    sentence(console, f"{'; '.join(parts)}.")
    made = table("", ("Severity", "Rule", "At", "Finding", "Remedy"), ())
    ordered = sorted(found, key=_gravity)
    for each in ordered[:MOST_FINDINGS]:
        _finding(made, each, names)
    put(console, made)
    if len(ordered) > MOST_FINDINGS:
        sentence(console, f"{len(ordered) - MOST_FINDINGS:,} more; --json lists them all.")


def _gravity(found: Finding) -> tuple[bool, int, str]:
    return found.excluded is not None, _SEVERITIES.index(found.severity), found.rule


def _finding(made: Table, found: Finding, names: Names) -> None:
    if found.excluded is None:
        word, remedy = Text(found.severity, SEVERITY_STYLES[found.severity]), found.remedy
    else:
        word, remedy = Text("accepted"), f"Accepted: {found.excluded}"
    row(made, word, found.rule, names.several(found.elements, 3), found.message, remedy)


def placement(console: Console, topology: Topology, found: Placement) -> None:
    """The plan, its proof, and the reason for every other site."""
    names = names_of(topology)
    said = [_PLAN[found.status]]
    if found.objective_usd_per_month is not None:
        said.append(f"It costs USD {found.objective_usd_per_month:,.0f} a month.")
    if found.proven_gap:
        said.append(f"Nothing is cheaper by more than {100 * found.proven_gap:.1f} %.")
    message = found.message.rstrip(".")
    said += [f"{message[:1].upper()}{message[1:]}."] if message else []
    sentence(console, " ".join(said))
    if found.replicas:
        put(console, _replicas(found, names))
    if found.reasons:
        put(console, _reasons(found, names))


def _replicas(found: Placement, names: Names) -> Table:
    made = table(
        "Where the models should live",
        ("Service", "Site", "Model", "GPU"),
        ("TP", "replicas", "GPUs", "USD\na month"),
        ("Serves",),
    )
    for each in found.replicas:
        row(
            made,
            "; ".join(map(names.of, each.services)),
            names.of(each.site),
            each.model,
            each.accelerator,
            str(each.tensor_parallel),
            f"{each.replicas:,}",
            f"{each.gpus:,}",
            figure(each.usd_per_month),
            _in_a_row(each.users, names) or "in reserve",
        )
    return made


def _in_a_row(elements: Sequence[str], names: Names) -> str:
    """Names of users apart by semicolons: many of them hold a comma."""
    named = [names.of(each) for each in elements]
    rest = len(named) - MOST_NAMES
    return "; ".join(named[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _reasons(found: Placement, names: Names) -> Table:
    made = table("Every candidate site", ("Service", "Site", "Outcome", "Why"), ())
    ordered = sorted(
        found.reasons,
        key=lambda each: (names.of(each.service), each.outcome != "chosen", each.site_name),
    )
    for each in ordered:
        site = each.site_name or names.of(each.site)
        style = "bold" if each.outcome == "chosen" else ""
        cells = (names.of(each.service), site, _OUTCOMES[each.outcome], each.message)
        row(made, *cells, style=style)
    return made


def _scenarios(console: Console, found: Sequence[ScenarioResult], names: Names) -> None:
    made = table(
        "Against the baseline",
        ("Scenario", "Service"),
        ("TTFT p95\nms", "change\nms", "task p95\nms", "change\nms"),
        ("Verdict", "Bottleneck"),
    )
    for each in found:
        row(
            made,
            each.name or each.id,
            names.of(each.service),
            time(each.ttft_p95_ms),
            change(each.ttft_p95_change_ms),
            time(each.task_p95_ms),
            change(each.task_p95_change_ms),
            Text(VERDICTS[each.verdict], VERDICT_STYLES[each.verdict]),
            renamed(each.bottleneck or "", names),
        )
    put(console, made)


def _assumptions(console: Console, found: Sequence[Assumption], names: Names) -> None:
    """Counted by kind and field, weakest first; given values are not assumptions."""
    if not found:
        sentence(console, "Every value that counts was given.")
        return
    counts = Counter(each.kind for each in found)
    said = ", ".join(f"{counts[kind]:,} {kind}" for kind in FACTS_WEAKEST_FIRST if counts[kind])
    sentence(console, f"{plural(len(found), 'value')} that nobody gave: {said}.")
    groups: dict[tuple[str, str], list[Assumption]] = defaultdict(list)
    for each in found:
        groups[each.kind, each.field].append(each)
    weakest = {kind: place for place, kind in enumerate(FACTS_WEAKEST_FIRST)}
    made = table("", ("Kind", "Value"), ("count",), ("At", "Source"))
    for (kind, field), same in sorted(groups.items(), key=lambda g: (weakest[g[0][0]], g[0][1])):  # type: ignore[index]
        at = names.several((each.element for each in same), 1)
        row(made, kind, _field_words(field), f"{len(same):,}", cut(at, 44), _sources(same))
    put(console, made)


def _field_words(field: str) -> str:
    return field.replace("_", " ").replace(".", ", ")


def _sources(same: Sequence[Assumption]) -> str:
    sources = Counter(each.source for each in same if each.source)
    if not sources:
        return "none"
    text, _ = sources.most_common(1)[0]
    rest = len(sources) - 1
    return cut(text, 56) + (f" (and {plural(rest, 'other')})" if rest else "")


def reconciliation(console: Console, converted: api.Converted) -> None:
    """What an import guessed, merged, left out and does not know; what is drawn, in numbers."""
    design = converted.topology.design
    drawn = (
        plural(len(design.nodes), "node"),
        plural(len(design.links), "link"),
        plural(len(design.groups), "group"),
    )
    sentence(console, f"{', '.join(drawn)}.")
    entries = converted.reconciliation
    if not entries:
        sentence(console, "Nothing was guessed, merged or left out.")
        return
    names = names_of(converted.topology)
    kinds: tuple[Decision, ...] = ("unknown", "guessed", "merged", "dropped")
    counts = Counter(each.kind for each in entries)
    said = ", ".join(f"{counts[kind]:,} {kind}" for kind in kinds if counts[kind])
    sentence(console, f"To reconcile: {said}.")
    made = table("", ("Kind", "At", "Field", "Why"), ())
    ordered = sorted(entries, key=lambda each: kinds.index(each.kind))
    for each in ordered[:MOST_ENTRIES]:
        row(made, each.kind, _at(each, names), _field_words(each.field), each.message)
    put(console, made)
    if len(ordered) > MOST_ENTRIES:
        sentence(console, f"{len(ordered) - MOST_ENTRIES:,} more; --json lists them all.")


def _at(entry: Entry, names: Names) -> str:
    return names.of(entry.element) if entry.element else "the file"


def difference(console: Console, found: api.Difference) -> None:
    """What changed, and what that does to each service."""
    if not found.changes:
        sentence(console, "The designs mean the same.")
        return
    sentence(console, f"{plural(len(found.changes), 'change')}:")
    for words in found.changes:
        sentence(console, f"  {words}")
    if not found.results:
        return
    made = table(
        "What that does",
        ("Service",),
        ("TTFT p95\nbefore ms", "after\nms", "change\nms", "task p95\nbefore ms", "after\nms",
         "change\nms"),
        ("Verdicts before", "after"),
    )  # fmt: skip
    for each in found.results:
        cells = [each["name"]]
        for key in ("ttft_p95_ms", "task_p95_ms"):
            old, new = each[key]
            apart = None if old is None or new is None else new - old
            cells += [time(old), time(new), change(apart)]
        cells += [", ".join(VERDICTS[word] for word in words) for words in each["verdicts"]]
        row(made, *cells)
    put(console, made)
