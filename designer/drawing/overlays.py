"""Results as a drawing says them: by id a colour, a word and a mark; and the legend.

Colour never stands alone: there is always a word, and a dash or a mark where it matters.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from designer.analysis.results import LinkResult, Results, ServiceResult
from designer.drawing.theme import Theme, blend, dash
from designer.model.units import show_rate

Mark = Literal["", "warning", "error", "bottleneck"]
Percentile = Literal["p50", "p95", "p99"]

WARN_FROM: Final = 0.8
"""Utilisation from which a label never gives way."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one link or node shows its result.

    colour: on the sequential scale; None where the result is unknown. importance: of the label.
    must: the label never gives way.
    """

    colour: str | None
    label: str
    importance: float = 0.0
    mark: Mark = ""
    dash: tuple[float, ...] = ()
    must: bool = False


@dataclass(frozen=True, slots=True)
class Legend:
    """What the colours mean: the scale's steps, and ticks as (share of the scale, word)."""

    title: str
    note: str
    steps: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    dashed: str = ""
    """What the dash means, if it is used."""
    marked: str = ""
    """What the bottleneck's mark means, if it is used."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """One question about one revision: styles by id of link or node, and the legend."""

    name: str
    revision: int
    styles: Mapping[str, Style]
    legend: Legend


def utilisation(results: Results, theme: Theme) -> Overlay:
    """Load against capacity of each link, in its worse direction, in the busiest hour."""
    styles: dict[str, Style] = {}
    for key, rows in _by_link(results.links).items():
        known = [row.utilisation for row in rows if row.utilisation is not None]
        if not known:
            styles[key] = _unknown("load unknown")
            continue
        load = max(known)
        over = load > 1
        mark: Mark = "error" if over else "warning" if load >= WARN_FROM else ""
        styles[key] = Style(
            blend(theme.sequential, load),
            _percent(load),
            load,
            mark,
            dash("over_capacity") if over else (),
            load >= WARN_FROM,
        )
    ticks = tuple((share, f"{share * 100:.0f}") for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    legend = Legend(
        "Utilisation, %",
        "worst direction, busiest hour",
        theme.sequential,
        ticks,
        dashed="over 100 %",
    )
    return Overlay("utilisation", results.revision, styles, legend)


def latency(
    results: Results, theme: Theme, service: str | None = None, percentile: Percentile = "p95"
) -> Overlay:
    """Each element's share of a service's time to first token, ms; the first service by default.

    The shares of a percentile add up to it. Raises KeyError for a service without results.
    """
    chosen = _service(results.services, service)
    shares: dict[str, float | None] = {}
    for row in chosen.budget if chosen else ():
        value = {"p50": row.p50_ms, "p95": row.p95_ms, "p99": row.p99_ms}[percentile]
        before = shares.get(row.element, 0.0)
        shares[row.element] = None if value is None or before is None else before + value
    top = max((value for value in shares.values() if value is not None), default=0.0)
    styles = {
        key: _unknown("ms unknown")
        if value is None
        else Style(_on_scale(theme, value, top), _ms(value), value, must=value == top > 0)
        for key, value in shares.items()
        if key
    }
    name = (chosen.name or chosen.id) if chosen else "no service"
    note = f"{name}, {percentile} of the time to first token"
    legend = Legend("Latency share, ms", note, theme.sequential, _scale_ticks(top, _plain))
    return Overlay("latency", results.revision, styles, legend)


def oversubscription(results: Results, theme: Theme) -> Overlay:
    """Downlink over uplink capacity at each switch, and what could enter each group's cut."""
    found = results.oversubscription
    ratios = {row.id: (row.ratio, row.limit) for row in found.switches}
    ratios |= {row.group: (row.ratio, None) for row in found.cuts}
    top = max((ratio for ratio, _ in ratios.values()), default=1.0)
    styles: dict[str, Style] = {}
    for key, (ratio, limit) in ratios.items():
        broken = limit is not None and ratio > limit
        styles[key] = Style(
            _on_scale(theme, ratio, top),
            f"{_plain(ratio)}:1",
            ratio,
            "warning" if broken else "",
            must=broken,
        )
    legend = Legend(
        "Oversubscription",
        "downlink over uplink",
        theme.sequential,
        _scale_ticks(top, lambda value: f"{_plain(value)}:1"),
    )
    return Overlay("oversubscription", results.revision, styles, legend)


def effective_bandwidth(results: Results, theme: Theme) -> Overlay:
    """What the worst flow over each link gets of its port, and the bottlenecks of all flows."""
    worst: dict[str, tuple[float, float, float]] = {}
    for flow in results.flows:
        if flow.effective_gbps is None or not flow.port_gbps:
            continue
        got = (flow.effective_gbps / flow.port_gbps, flow.effective_gbps, flow.port_gbps)
        for key in flow.path:
            worst[key] = min(worst.get(key, got), got)
    bottlenecks = {flow.bottleneck for flow in results.flows if flow.bottleneck}
    styles = {
        key: Style(
            blend(theme.sequential, 1 - share),
            _of_port(got, port),
            1 - share + (1 if key in bottlenecks else 0),
            "bottleneck" if key in bottlenecks else "",
            must=key in bottlenecks,
        )
        for key, (share, got, port) in worst.items()
    }
    for key in bottlenecks - worst.keys():
        styles[key] = Style(None, "bottleneck", 2.0, "bottleneck", must=True)
    ticks = tuple((1 - share, f"{share * 100:.0f}") for share in (1.0, 0.75, 0.5, 0.25, 0.0))
    legend = Legend(
        "Effective of port rate, %",
        "worst flow over each link",
        theme.sequential,
        ticks,
        marked="bottleneck of a flow",
    )
    return Overlay("effective_bandwidth", results.revision, styles, legend)


OVERLAYS: Final[Mapping[str, Callable[[Results, Theme], Overlay]]] = MappingProxyType(
    {
        "utilisation": utilisation,
        "latency": latency,
        "oversubscription": oversubscription,
        "effective_bandwidth": effective_bandwidth,
    }
)
"""Overlays by name, each with its default question."""


def _by_link(rows: Iterable[LinkResult]) -> Mapping[str, list[LinkResult]]:
    found: dict[str, list[LinkResult]] = defaultdict(list)
    for row in rows:
        found[row.id].append(row)
    return found


def _service(services: tuple[ServiceResult, ...], wanted: str | None) -> ServiceResult | None:
    if wanted is None:
        return services[0] if services else None
    return {service.id: service for service in services}[wanted]


def _unknown(words: str) -> Style:
    return Style(None, words, -1.0, dash=dash("unknown"))


def _percent(share: float) -> str:
    percent = share * 100
    if 0 < percent < 1:
        return "< 1 %"
    if percent != 100 and abs(percent - 100) < 1:
        shown = f"{percent:.1f} %"
        return shown if shown != "100.0 %" else f"{'>' if percent > 100 else '<'} 100 %"
    return f"{percent:,.0f} %"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ms(value: float) -> str:
    if value >= 1000:
        return f"{value / 1000:.3g} s"
    if 0 < value < 1:
        return f"{value * 1000:.0f} µs" if value >= 0.001 else "< 1 µs"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.2g} ms"


def _of_port(got_gbps: float, port_gbps: float) -> str:
    if port_gbps >= 1 and port_gbps < 1000:
        return f"{got_gbps:.3g} of {port_gbps:.4g} Gb/s"
    return f"{_rate(got_gbps)} of {_rate(port_gbps)}"


def _rate(gbps: float) -> str:
    """A rate with its unit, to three digits."""
    return show_rate(float(f"{gbps:.2e}"))


def _on_scale(theme: Theme, value: float, top: float) -> str:
    return blend(theme.sequential, value / top if top > 0 else 0.0)


def _scale_ticks(top: float, words: Callable[[float], str]) -> tuple[tuple[float, str], ...]:
    if top <= 0:
        return ()
    return tuple((share, words(share * top)) for share in (0.0, 0.5, 1.0))
