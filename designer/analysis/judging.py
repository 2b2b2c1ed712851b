"""Verdicts: how likely each SLO of a service is to be met, given the error of predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.analysis.gaps import Gaps, mixed
from designer.analysis.gpu_latency import DECODE
from designer.analysis.objections import called
from designer.analysis.results import SloResult, VerdictWord
from designer.analysis.timed import Why
from designer.analysis.times import Mixture, Times
from designer.analysis.verdict import (
    Band,
    combined,
    guess_band,
    most_worth_measuring,
    probability_of_meeting,
    probability_with_guesses,
    verdict,
)
from designer.model.services import Slo

Bands = Callable[[str, str], Band]
"""The error band of an engine and metric ("ttft" or "itl")."""

MEASURE: Final = "GPU times measured on the service's own engine"

_FINE: Final = (np.arange(128) + 0.5) / 128
"""The probabilities at which two bands are put together."""

_WORDS: Final[dict[Why, VerdictWord]] = {
    "grows": "breaks",
    "unknown": "unknown",
    "no_way": "cannot_be_served",
}
_BROKEN: Final = ("unlikely", "breaks", "cannot_be_served")
_BADNESS: Final = ("meets", "likely", "open", "unknown", "unlikely", "breaks", "cannot_be_served")


@dataclass(frozen=True, slots=True)
class Judged:
    """A percentile in ms, the probability that it keeps its limit, the verdict, what settles it."""

    value: float | None
    probability: float | None
    word: VerdictWord
    settles: str


_UNKNOWN: Final = Judged(None, None, "unknown", "")


def slo_result(slo: Slo, all_times: Sequence[Times], bands: Bands) -> SloResult:
    """The verdict on one SLO: for the worst user site, or for all requests together.

    A population without any figure decides: who has no steady state or no pool meets nothing, and
    one whose figure is not known leaves the others' broken limits broken.
    """
    each = [_alone(slo, times, bands) for times in all_times]
    worst = max(each, key=_badness, default=_UNKNOWN)
    if slo.whose == "all_requests" and each and all(one.value is not None for one in each):
        worst = _together(slo, all_times, bands)
    return SloResult(
        metric=slo.metric,
        percentile=slo.percentile,
        limit_ms=slo.limit_ms,
        whose=slo.whose,
        value_ms=worst.value,
        verdict=worst.word,
        probability=worst.probability,
        headroom_ms=None if worst.value is None else slo.limit_ms - worst.value,
        settles=worst.settles,
    )


def _badness(judged: Judged) -> tuple[bool, bool, float, int]:
    """Broken limits first, then unknown ones, then by value: one limit holds for all."""
    broken = judged.word in _BROKEN
    value = float("inf") if judged.value is None else judged.value
    return broken, judged.word == "unknown", value, _BADNESS.index(judged.word)


def _alone(slo: Slo, times: Times, bands: Bands) -> Judged:
    if times.refused:
        word = _WORDS[times.why]
        return Judged(None, 0.0 if word == "breaks" else None, word, "")
    if slo.metric in ("itl", "tpot"):
        return _of_gaps(slo, times.gaps, _errors((times,), bands).itl)
    mixture = times.first if slo.metric == "ttft" else times.whole
    if mixture is None:
        return _UNKNOWN
    return _weighed(slo, mixture, times.first, _errors((times,), bands))


def _together(slo: Slo, all_times: Sequence[Times], bands: Bands) -> Judged:
    """One distribution over all requests, each population by its rate; alike without rates."""
    total = sum(times.per_s for times in all_times)
    share = [times.per_s / total if total > 0 else 1 / len(all_times) for times in all_times]
    if slo.metric in ("itl", "tpot"):
        gaps = [
            (weight, times.gaps)
            for weight, times in zip(share, all_times, strict=True)
            if times.gaps is not None and weight > 0
        ]
        return _of_gaps(slo, mixed(gaps), _errors(all_times, bands).itl)
    first = _of_all(share, [times.first for times in all_times])
    whole = _of_all(share, [times.whole for times in all_times])
    asked = first if slo.metric == "ttft" else whole
    return _UNKNOWN if asked is None else _weighed(slo, asked, first, _errors(all_times, bands))


def _of_all(share: Sequence[float], mixtures: Sequence[Mixture | None]) -> Mixture | None:
    """One mixture of all populations' requests, each by its share."""
    ways = tuple(
        (weight * part_share, part)
        for weight, mixture in zip(share, mixtures, strict=True)
        if mixture is not None
        for part_share, part in mixture.ways
    )
    clock = next((mixture.clock for mixture in mixtures if mixture is not None), None)
    return None if clock is None else Mixture(clock, ways)


@dataclass(frozen=True, slots=True)
class _Errors:
    """How GPU times err: until the first token as TTFT does, decoding as gaps do."""

    ttft: Band
    itl: Band

    def of(self, decode_share: float) -> Band:
        """The band of a time of which that share is decoding; both errors independent."""
        if decode_share <= 0.0:
            return self.ttft
        if decode_share >= 1.0:
            return self.itl
        early = (1.0 - decode_share) * np.array([self.ttft.quantile(p) for p in _FINE])
        late = decode_share * np.array([self.itl.quantile(p) for p in _FINE])
        factors = np.quantile(np.add.outer(early, late).ravel(), _FINE)
        return Band(tuple(_FINE.tolist()), tuple(factors.tolist()))


def _errors(all_times: Sequence[Times], bands: Bands) -> _Errors:
    """The bands of the engine that serves (the first where several do)."""
    engine = next((engine for times in all_times for engine in times.engines), "any")
    return _Errors(bands(engine, "ttft"), bands(engine, "itl"))


def _of_gaps(slo: Slo, gaps: Gaps | None, band: Band) -> Judged:
    if gaps is None:
        return _UNKNOWN
    level = slo.percentile / 100
    seen = gaps if slo.metric == "itl" else gaps.per_request()
    if not len(seen.gap_ms):
        return _UNKNOWN
    probability = probability_of_meeting(
        slo.limit_ms, lambda factor: seen.percentile(level, factor), band
    )
    return Judged(seen.percentile(level), probability, verdict(probability), _settles(probability))


def _weighed(slo: Slo, mixture: Mixture, first: Mixture | None, errors: _Errors) -> Judged:
    """By the times of a mixture; `first`, those to the first token, which come before the last."""
    nominal, level = mixture.timed(), slo.percentile / 100
    value = nominal.latency.percentile(level)
    grounds = _Grounds.of(mixture, level, errors)
    probability = _chance(slo, mixture, grounds)
    if first is not None and first is not mixture:
        probability = min(probability, _chance(slo, first, _Grounds.of(first, level, errors)))
    word = verdict(probability)
    if not nominal.missing:
        settles = grounds.most_worth_measuring() if 0.05 < probability < 0.95 else ""
        return Judged(value, probability, word, settles)
    # What is missing can only add time: a limit already broken stays broken.
    if word in _BROKEN:
        return Judged(value, probability, word, nominal.missing[0])
    return Judged(value, None, "unknown", nominal.missing[0])


def _chance(slo: Slo, mixture: Mixture, grounds: _Grounds) -> float:
    return probability_with_guesses(
        slo.limit_ms,
        lambda factor: mixture.percentile(slo.percentile / 100, factor),
        grounds.band,
        grounds.guessed_ms,
        combined([(guess_band(), ms / grounds.guessed_ms) for ms in grounds.guesses.values()]),
    )


@dataclass(frozen=True, slots=True)
class _Grounds:
    """What a percentile rests on that may be off: GPU times, and guesses by segment, in ms."""

    value_ms: float
    gpu_ms: float
    guesses: dict[str, float]
    band: Band

    @staticmethod
    def of(mixture: Mixture, level: float, errors: _Errors) -> _Grounds:
        latency, segments = mixture.timed().latency, mixture.clock.names.segments
        design = mixture.clock.design
        gpu, decode, guesses = 0.0, 0.0, dict[str, float]()
        for name, ms in latency.shares(level).items():
            segment = segments.get(name)
            if segment is None or ms <= 0:
                continue
            if segment.tier == "gpu":
                gpu += ms
                decode += ms if segment.name == DECODE else 0.0
            elif segment.kind == "guessed":
                said = f"{segment.name} of {called(design, segment.element)}"
                guesses[said] = guesses.get(said, 0.0) + ms
        band = errors.of(decode / gpu if gpu > 0 else 0.0)
        return _Grounds(latency.percentile(level), gpu, guesses, band)

    @property
    def guessed_ms(self) -> float:
        return sum(self.guesses.values())

    def most_worth_measuring(self) -> str:
        """Whose error spreads the percentile most."""
        weights = {MEASURE: (self.band, self.gpu_ms / self.value_ms)} | {
            said: (guess_band(), ms / self.value_ms) for said, ms in self.guesses.items()
        }
        return most_worth_measuring(weights) or ""


def _settles(probability: float) -> str:
    """An open verdict is settled by measuring what its band is about."""
    return MEASURE if 0.05 < probability < 0.95 else ""
