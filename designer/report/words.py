"""Figures and names in words, the same everywhere in a report. What is not known says so."""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from designer.analysis.results import FactKind, Figure, SloResult, VerdictWord
from designer.model.kinds import TIER_NAMES
from designer.model.topology import Topology
from designer.model.units import number, show_rate, show_size

UNKNOWN: Final = "unknown"

VERDICTS: Final[Mapping[VerdictWord, str]] = MappingProxyType(
    {
        "meets": "Meets",
        "likely": "Likely",
        "open": "Open",
        "unlikely": "Unlikely",
        "breaks": "Breaks",
        "unknown": "Unknown",
        "cannot_be_served": "Cannot be served",
    }
)
WORST_FIRST: Final[tuple[VerdictWord, ...]] = (
    "cannot_be_served", "breaks", "unlikely", "unknown", "open", "likely", "meets",
)  # fmt: skip
METRICS: Final = MappingProxyType(
    {
        "ttft": "time to first token",
        "itl": "gap between tokens",
        "tpot": "time per output token",
        "task": "task time",
    }
)
FACTS_WEAKEST_FIRST: Final[tuple[FactKind, ...]] = (
    "unknown", "guessed", "derived", "catalogue", "measured", "given",
)  # fmt: skip


def decimals(values: Iterable[float | None]) -> int:
    """Decimals for a column of times: one, or what its largest needs for two digits."""
    most = max((abs(value) for value in values if value is not None), default=0.0)
    return 1 if most >= 1 or most == 0 else 2 if most >= 0.1 else 3


def ms(value: float | None, places: int = 1, *, at_least: bool = False) -> str:
    """A time in ms without its unit, for a column: "48.2", "≥ 48.2", "unknown"."""
    if value is None:
        return UNKNOWN
    return f"{'≥ ' if at_least else ''}{_minus(f'{value:.{places}f}')}"


def signed_ms(value: float | None) -> str:
    """A change of a time with its sign: "+3.1 ms"; what rounds to nothing has none."""
    if value is None:
        return UNKNOWN
    if abs(value) < 0.05:
        return "0 ms"
    shown = prose_ms(round(value, 1) if abs(value) < 100 else value)
    return f"{'+' if value > 0 else ''}{shown}"


def prose_ms(value: float | None, *, at_least: bool = False) -> str:
    """A time in a sentence: three significant digits and the unit."""
    if value is None:
        return UNKNOWN
    rounded = float(f"{value:.2e}")
    shown = f"{number(value / 1e3, 3)} s" if abs(rounded) >= 1e4 else f"{_thousands(rounded)} ms"
    return f"at least {shown}" if at_least else shown


def _thousands(value: float) -> str:
    """A number of three significant digits with its thousands set apart."""
    return _minus(f"{value:,.0f}") if abs(value) >= 1000 else number(value, 3)


def chance(probability: float | None) -> str:
    """A probability as a percentage; near certainty is never called certain."""
    if probability is None:
        return UNKNOWN
    if probability > 0.99:
        return "> 99 %"
    return "< 1 %" if probability < 0.01 else percent(probability)


def percent(share: float | None, places: int = 0) -> str:
    """A share as a percentage."""
    return UNKNOWN if share is None else f"{_minus(f'{share * 100:.{places}f}')} %"


def load(share: float | None) -> str:
    """A link's load as a percentage; small ones are not nothing, and near 100 the side counts."""
    if share is not None and 0 < share < 0.01:
        return "< 1 %"
    if share is None or share == 1 or abs(share - 1) >= 0.01:
        return percent(share)
    shown = percent(share, 1)
    return shown if shown != "100.0 %" else f"{'>' if share > 1 else '<'} 100 %"


def rate(gbps: float | None) -> str:
    """A rate in bits a second, to three significant digits."""
    return UNKNOWN if gbps is None else show_rate(float(f"{gbps:.2e}"))


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """A number with its unit, to some significant digits."""
    return UNKNOWN if value is None else f"{number(value, digits)} {unit}".rstrip()


def size(number_of_bytes: float | None) -> str:
    """A number of bytes to three digits: "36.1 kB"."""
    return UNKNOWN if number_of_bytes is None else show_size(float(f"{number_of_bytes:.2e}"))


def capital(text: str) -> str:
    """The text with a capital at its start."""
    return text[:1].upper() + text[1:]


def usd(value: float | None, per: str = "") -> str:
    """Money with thousands set apart: "USD 12,300 a month"."""
    if value is None:
        return UNKNOWN
    shown = f"{value:,.0f}" if abs(value) >= 100 else number(value, 3)
    return f"USD {_minus(shown)}{f' {per}' if per else ''}"


def tier_name(tier: str) -> str:
    """The name of a tier as the drawing has it."""
    return TIER_NAMES.get(tier, tier)


def percentile(value: float) -> str:
    """ "p95", "p99.9"."""
    return f"p{number(value, 6)}"


def promise(slo: SloResult) -> str:
    """What an SLO promises: "p95 of the time to first token within 250 ms"."""
    metric = METRICS.get(slo.metric, slo.metric)
    return f"{percentile(slo.percentile)} of the {metric} within {prose_ms(slo.limit_ms)}"


def verdict(slo: SloResult) -> str:
    """The verdict with its probability: "Open (62 %)"."""
    word = VERDICTS[slo.verdict]
    if slo.probability is None or slo.verdict in ("unknown", "cannot_be_served"):
        return word
    return f"{word} ({chance(slo.probability)})"


def at(figure: Figure, level: float) -> float | None:
    """A figure's percentile by its level, None where it was not computed."""
    named = {50.0: figure.p50, 95.0: figure.p95, 99.0: figure.p99}
    return named[level] if level in named else figure.others.get(percentile(level))


def date_text(date: str | None) -> str:
    """An ISO date in words: "12 March 2026"; empty where there is none or it is no date."""
    parsed = date_parts(date)
    if parsed is None:
        return ""
    year, month, day = parsed
    return f"{day} {_MONTHS[month - 1]} {year}"


def date_parts(date: str | None) -> tuple[int, int, int] | None:
    """Year, month and day of an ISO date; None where there is none or it is no date."""
    try:
        parsed = datetime.date.fromisoformat(date or "")
    except ValueError:
        return None
    return parsed.year, parsed.month, parsed.day


_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


def plural(count: int, one: str, many: str = "") -> str:
    """ "1 link", "3 links"."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


@dataclass(frozen=True, slots=True)
class Names:
    """What the things of a design are called, by id."""

    by_id: Mapping[str, str]

    def of(self, element: str) -> str:
        """The name of a thing, or its id where it has none."""
        return self.by_id.get(element) or element

    def bottleneck(self, found: str | None) -> str:
        """What holds something back: a thing, or a phase at one ("prefill at gpus-1")."""
        if not found:
            return ""
        phase, at, element = found.rpartition(" at ")
        return f"{phase}{at}{self.of(element)}"

    def several(self, elements: Iterable[str], most: int = 6) -> str:
        """Names in a row, cut with a count after `most`."""
        named = list(dict.fromkeys(self.of(each) for each in elements))
        rest = len(named) - most
        return ", ".join(named[:most]) + (f" and {rest} more" if rest > 0 else "")


def names_of(topology: Topology) -> Names:
    """The names of everything in a design; a link without one is called by its ends."""
    design = topology.design
    found: dict[str, str] = {}
    for collection in (
        design.groups, design.nodes, design.spans, design.classes, design.tenants,
        design.services, design.flows, design.paths, design.scenarios, design.failures,
    ):  # fmt: skip
        for key, item in collection.items():
            found[key] = item.name
    for key, link in design.links.items():
        ends = " – ".join(found.get(end) or end for end in (link.a, link.b))
        found[key] = link.name or ends
    for key, deployment in design.deployments.items():
        home = found.get(deployment.node) or deployment.node
        found[key] = deployment.name or f"{deployment.model} at {home}"
    return Names(MappingProxyType({key: name for key, name in found.items() if name}))
