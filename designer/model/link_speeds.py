"""Link speeds in free text, as network maps label them: what is certain, what is a guess.

Carrier rates: SONET OC-n is n x 51.84 Mb/s and SDH STM-n is n x 155.52 Mb/s (ITU-T G.707),
PDH rates by ITU-T G.702.
"""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from designer.model.units import show_rate

_CARRIERS: Final = MappingProxyType(
    {
        "ds0": 64e3, "ds1": 1.544e6, "t1": 1.544e6, "ds2": 6.312e6, "t2": 6.312e6,
        "ds3": 44.736e6, "t3": 44.736e6, "e1": 2.048e6, "e2": 8.448e6, "e3": 34.368e6,
        "e4": 139.264e6, "fe": 100e6, "ge": 1e9, "gige": 1e9, "gbe": 1e9,
    }
)  # fmt: skip
_PREFIXES: Final = MappingProxyType({"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12})

_TERM: Final = re.compile(
    r"""(?<![\w.])
    (?:(?P<before>\d{1,3}|[nN])\s*[x*\u00d7]\s*)?
    (?:
        (?P<sonet>oc|stm)-?(?P<level>\d{1,4})c?
      | (?P<ethernet>\d+(?:\.\d+)?)\s?g(?:b?e|ige|\s?ethernet)
      | (?P<carrier>ds-?[0-3]|t[1-3]|e[1-4]|gige|gbe|ge|fe)
      | (?P<number>\d+(?:\.\d+)?)
        (?:\s*(?P<to>-|\u2013|/)\s*(?P<second>\d+(?:\.\d+)?))?
        \s*(?P<prefix>[kmgt]?)(?P<unit>b(?:it|its)?(?:ps|/s)|bits?|bs|b|(?<=[kmgt]))
    )
    (?:\s?[x*\u00d7]\s?(?P<after>\d{1,3}))?
    (?![\w])""",
    re.VERBOSE | re.IGNORECASE,
)
_AT_MOST: Final = re.compile(
    r"<|≤|\bless than\b|\bunder\b|\bbelow\b|\bup to\b|\bat most\b", re.IGNORECASE
)
_AT_LEAST: Final = re.compile(r">|≥|\band more\b|\bmore than\b|\bat least\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """A speed read from text: capacity of one member, and how sure that is.

    `gbps` is None where the text names none; `reason` says why it is a guess or unknown.
    """

    gbps: float | None
    members: int = 1
    certain: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Term:
    low_bps: float
    high_bps: float
    members: int
    doubt: str


def link_speed(text: str) -> LinkSpeed:
    """Reads a link label such as "OC-192", "2x10Gb/s", "< 2.5 Gbps" or "155Mbps - 2.5 Gbps".

    A range or several speeds give the lowest as a guess; an upper limit alone gives none.
    """
    terms = [_term(match) for match in _TERM.finditer(text)]
    if not terms or min(term.low_bps for term in terms) <= 0:
        return LinkSpeed(None, 1, False, "no speed is stated")
    low = min(term.low_bps * term.members for term in terms)
    high = max(term.high_bps * term.members for term in terms)
    first = terms[0]
    if _AT_MOST.search(text):
        return LinkSpeed(
            None, 1, False, f"only an upper limit of {show_rate(high / 1e9)} is stated"
        )
    if "+" in text and len(terms) > 1:
        return LinkSpeed(None, 1, False, "a sum of different speeds is stated")
    if high > low * 1.06:
        reason = f"{show_rate(low / 1e9)} to {show_rate(high / 1e9)} is stated; the lowest is taken"
        return LinkSpeed(low / 1e9, 1, False, reason)
    if _AT_LEAST.search(text):
        return LinkSpeed(first.low_bps / 1e9, first.members, False, "only a lower limit is stated")
    return LinkSpeed(first.low_bps / 1e9, first.members, not first.doubt, first.doubt)


def _term(match: re.Match[str]) -> _Term:
    before, after = match["before"] or "", match["after"] or ""
    written = before if before.isdigit() else after
    members = max(1, int(written)) if written else 1
    doubt = "the number of members is not stated" if before.lower() == "n" else ""
    if match["number"] is None:
        speed_bps = _named_bps(match)
        return _Term(speed_bps, speed_bps, members, doubt)
    scale = _PREFIXES[match["prefix"].lower()]
    values = [float(match[name]) * scale for name in ("number", "second") if match[name]]
    if match["unit"].startswith("B") and not match["unit"].lower().startswith("bit"):
        doubt = "bytes are written where links count bits; read as bits"
    return _Term(min(values), max(values), members, doubt)


def _named_bps(match: re.Match[str]) -> float:
    """Rate of a carrier that has a name: OC-n, STM-n, n GE, DS-n, E-n."""
    if match["sonet"]:
        return int(match["level"]) * (51.84e6 if match["sonet"].lower() == "oc" else 155.52e6)
    if match["ethernet"]:
        return float(match["ethernet"]) * 1e9
    return _CARRIERS[match["carrier"].lower().replace("-", "")]
