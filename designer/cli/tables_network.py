"""Tables of what links carry, what flows get, and where capacity narrows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from designer.analysis.results import FlowResult, LinkResult, Oversubscription
from designer.cli.table_parts import figure, heading, put, row, sentence, share, table
from designer.report.words import UNKNOWN, Names, percent, plural, tier_name

MOST_LINKS: Final = 12
MOST_FLOWS: Final = 12
MOST_CLASSES: Final = 3
WIDE: Final = 120
"""From this width on, in characters, every step of a flow has its column."""
LEAST_SHARE: Final = 0.01
"""Classes under this share of a link's load are summed."""


def links(console: Console, found: Sequence[LinkResult], names: Names, limit: float) -> None:
    """The most loaded directions of links, with their load by class."""
    heading(console, "Link load in the busiest hour")
    if not found:
        sentence(console, "The design has no link.")
        return
    known = sorted(
        (each for each in found if each.utilisation is not None),
        key=lambda each: (-(each.utilisation or 0.0), each.id, each.direction),
    )
    hot = sum((each.utilisation or 0.0) > limit for each in known)
    said = f"{hot:,} of {plural(len(found), 'direction')} above the limit of {percent(limit)}."
    unknown = len(found) - len(known)
    if unknown:
        said += f" The share of {unknown:,} is unknown: capacity or demand is missing."
    sentence(console, said)
    if known:
        put(console, _links(known[:MOST_LINKS], names, limit))


def _links(found: Sequence[LinkResult], names: Names, limit: float) -> Table:
    waits = any(each.queue_wait_p95_us is not None for each in found)
    numbers = ("capacity\nGb/s", "load\nGb/s", "used\n%", *(["wait p95\nµs"] if waits else []))
    said = "" if waits else "; how long packets wait there is unknown"
    made = table(
        f"The {len(found)} most loaded directions{said}",
        ("Link", "Direction"),
        numbers,
        ("Load by class, Gb/s",),
    )
    for each in found:
        is_hot = (each.utilisation or 0.0) > limit
        row(
            made,
            names.of(each.id),
            f"{names.of(each.source)} → {names.of(each.target)}",
            figure(each.capacity_gbps),
            figure(sum(each.load_gbps.values())),
            Text(share(each.utilisation), "bold red" if is_hot else ""),
            *([figure(each.queue_wait_p95_us, 2)] if waits else []),
            _by_class(each, names),
        )
    return made


def _by_class(link: LinkResult, names: Names) -> str:
    """The classes that matter, then the rest of the load as one figure."""
    total = sum(link.load_gbps.values())
    loads = sorted(link.load_gbps.items(), key=lambda pair: (-pair[1], pair[0]))
    large = [pair for pair in loads if pair[1] >= LEAST_SHARE * total and pair[1] > 0]
    shown = large[:MOST_CLASSES]
    parts = [f"{names.of(key)} {figure(load)}" for key, load in shown]
    rest = total - sum(load for _, load in shown)
    if len(shown) < len(loads) and rest > 0:
        parts.append(f"rest {figure(rest)}")
    return ", ".join(parts)


def flows(console: Console, found: Sequence[FlowResult], names: Names) -> None:
    """The flows that lose most of their port, and all that take what they get."""
    heading(console, "What flows get of their ports")
    if not found:
        sentence(console, "No traffic crosses the network: there is no demand and no flow.")
        return
    alike = _alike(found, names)
    elastic = [same for same in alike if same[0].demand_gbps is None]
    asking = [same for same in alike if same[0].demand_gbps is not None]
    said = f"{plural(len(found), 'flow')}, {plural(len(alike), 'way')} through the network."
    sentence(console, said)
    is_wide = console.width >= WIDE
    for title, ways in (
        ("Transfers that take as much as they get", elastic),
        ("Paced traffic, the ways that lose most", asking),
    ):
        if ways:
            put(console, _flows(_counted(title, ways), ways[:MOST_FLOWS], names, is_wide=is_wide))


def _counted(title: str, ways: Sequence[Sequence[FlowResult]]) -> str:
    rest = len(ways) - MOST_FLOWS
    return title if rest <= 0 else f"{title} ({MOST_FLOWS} of {len(ways):,})"


def _flows(
    title: str, shown: Sequence[Sequence[FlowResult]], names: Names, *, is_wide: bool
) -> Table:
    """With what headers and balancing leave of the port where there is room for it."""
    between = ("− headers\nGb/s", "− balancing\nGb/s") if is_wide else ()
    made = table(
        title,
        ("Traffic", "Way"),
        ("asks\nGb/s", "port\nGb/s", *between, "effective\nGb/s", "lost\n%"),
        ("Held back by",),
    )
    for same in shown:
        _flow(made, same, names, is_wide=is_wide)
    return made


def _alike(found: Sequence[FlowResult], names: Names) -> list[list[FlowResult]]:
    """Flows of one class between the same ends that get the same; those that lose most first."""
    groups: dict[object, list[FlowResult]] = defaultdict(list)
    for each in found:
        got = (figure(each.port_gbps), figure(each.effective_gbps), _bottleneck(each, names))
        elastic = each.demand_gbps is None
        groups[each.traffic_class, each.source, each.target, elastic, got].append(each)
    return sorted(groups.values(), key=lambda same: (-_lost(same[0]), same[0].id))


def _lost(flow: FlowResult) -> float:
    """The share of the port that does not arrive; what is unknown comes last."""
    if not flow.port_gbps or flow.effective_gbps is None:
        return -1.0
    return 1 - flow.effective_gbps / flow.port_gbps


def _flow(made: Table, same: Sequence[FlowResult], names: Names, *, is_wide: bool) -> None:
    first = same[0]
    owners = [names.by_id.get(each.id) or names.of(each.service or each.id) for each in same]
    asked = [each.demand_gbps for each in same]
    lost = _lost(first)
    between = (first.after_overhead_gbps, first.after_balancing_gbps) if is_wide else ()
    row(
        made,
        f"{names.several(owners, 1)}: {names.of(first.traffic_class)}",
        f"{names.of(first.source)} → {names.of(first.target)}",
        "all" if None in asked else figure(sum(each or 0.0 for each in asked)),
        figure(first.port_gbps),
        *(figure(each) for each in between),
        Text(figure(first.effective_gbps), "bold"),
        UNKNOWN if lost < 0 else share(lost),
        _bottleneck(first, names),
    )


def _bottleneck(flow: FlowResult, names: Names) -> str:
    if flow.bottleneck is None:
        return flow.bottleneck_name or ("nothing" if flow.effective_gbps is not None else UNKNOWN)
    return names.by_id.get(flow.bottleneck) or flow.bottleneck_name or flow.bottleneck


def oversubscription(console: Console, found: Oversubscription, names: Names) -> None:
    """Ratios of tiers, switches and cuts."""
    heading(console, "Oversubscription")
    if not (found.switches or found.tiers or found.cuts):
        sentence(
            console, "No switch has downlinks and uplinks, and no group has a boundary to cut."
        )
        return
    if found.tiers:
        worst = (
            f"{tier_name(t.tier)} {_ratio(t.ratio)} at {names.of(t.switch)}" for t in found.tiers
        )
        sentence(console, f"Worst by tier: {'; '.join(worst)}.")
    if found.switches:
        put(console, _switches(found))
    if found.cuts:
        put(console, _cuts(found))


def _switches(found: Oversubscription) -> Table:
    made = table(
        "Switches: downlinks over uplinks",
        ("Switch", "Tier"),
        ("down\nGb/s", "up\nGb/s", "ratio\n:1", "limit\n:1"),
    )
    for each in sorted(found.switches, key=lambda each: (-each.ratio, each.id)):
        is_over = each.limit is not None and each.ratio > each.limit
        row(
            made,
            each.name or each.id,
            tier_name(each.tier),
            figure(each.downlink_gbps),
            figure(each.uplink_gbps),
            Text(figure(each.ratio), "yellow" if is_over else ""),
            "none" if each.limit is None else figure(each.limit),
        )
    return made


def _cuts(found: Oversubscription) -> Table:
    made = table(
        "Cuts: what a group could send out over what its boundary carries",
        ("Group",),
        ("inside\nGb/s", "boundary\nGb/s", "ratio\n:1"),
    )
    for each in sorted(found.cuts, key=lambda each: (-each.ratio, each.group)):
        row(
            made,
            each.name or each.group,
            figure(each.inside_gbps),
            figure(each.cut_gbps),
            figure(each.ratio),
        )
    return made


def _ratio(value: float) -> str:
    return f"{figure(value)}:1"
