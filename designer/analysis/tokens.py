"""Token counts of requests as distributions: a constant, a spread around a mean, or percentiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.random import Generator
from scipy.special import ndtri

from designer.analysis.facts import Ledger
from designer.analysis.results import FactKind
from designer.graph.arrays import Floats
from designer.model.catalog import Catalogue
from designer.model.services import Service, Tokens

Role = Literal["prompt", "output"]

LEVELS: Final = (
    ("p5", 0.05),
    ("p25", 0.25),
    ("p50", 0.50),
    ("p75", 0.75),
    ("p90", 0.90),
    ("p95", 0.95),
    ("p99", 0.99),
)
_MEAN_POINTS: Final = (np.arange(20_000) + 0.5) / 20_000


@dataclass(frozen=True, slots=True)
class TokenLaw:
    """A distribution of token counts by its quantiles.

    levels, logs: known probabilities (as normal deviates) and the logarithm of the count there;
    between them log-linear in the deviate, which is exact for a lognormal; beyond the last one the
    last slope goes on, up to `most`.
    """

    deviates: tuple[float, ...]
    logs: tuple[float, ...]
    most: float
    mean: float

    def quantile(self, level: Floats) -> Floats:
        """Token counts not exceeded with those probabilities."""
        return _at(np.array(self.deviates), np.array(self.logs), self.most, level)

    def sample(self, generator: Generator, count: int) -> Floats:
        """That many token counts."""
        return self.quantile(generator.random(count))


def token_law(tokens: Tokens) -> TokenLaw | None:
    """The distribution that the design gives; None where it gives nothing.

    Percentiles count before mean and scv; a mean alone is a constant.
    """
    points = [
        (level, value) for name, level in LEVELS if (value := getattr(tokens, name)) is not None
    ]
    if len(points) >= 2:
        return _of_points(points, tokens.max)
    mean = tokens.mean if tokens.mean is not None else (points[0][1] if points else None)
    if mean is None or mean <= 0:
        return None
    if not tokens.scv:
        return TokenLaw((0.0,), (float(np.log(mean)),), mean, mean)
    sigma = float(np.sqrt(np.log1p(tokens.scv)))
    middle = float(np.log(mean)) - sigma**2 / 2
    return TokenLaw((0.0, 1.0), (middle, middle + sigma), tokens.max or np.inf, mean)


def _of_points(points: list[tuple[float, float]], most: float | None) -> TokenLaw:
    deviates = tuple(float(ndtri(level)) for level, _ in points)
    logs = tuple(float(np.log(max(value, 0.5))) for _, value in points)
    cap = np.inf if most is None else most
    mean = float(_at(np.array(deviates), np.array(logs), cap, _MEAN_POINTS).mean())
    return TokenLaw(deviates, logs, cap, mean)


def _at(deviates: Floats, logs: Floats, most: float, level: Floats) -> Floats:
    if len(deviates) == 1:
        return np.full(np.shape(level), float(np.exp(logs[0])))
    z = ndtri(level)
    inside = np.interp(z, deviates, logs)
    low = logs[0] + (z - deviates[0]) * (logs[1] - logs[0]) / (deviates[1] - deviates[0])
    high = logs[-1] + (z - deviates[-1]) * (logs[-1] - logs[-2]) / (deviates[-1] - deviates[-2])
    found = np.where(z < deviates[0], low, np.where(z > deviates[-1], high, inside))
    made: Floats = np.minimum(np.exp(np.minimum(found, 40.0)), most)
    return made


class TokenLaws:
    """Looks token counts up: as given, else the workload's that the tokens or service name."""

    def __init__(self, catalogue: Catalogue, ledger: Ledger) -> None:
        self.catalogue = catalogue
        self.ledger = ledger
        self._known: dict[tuple[str, Tokens, Role], TokenLaw | None] = {}

    def of(self, service: Service, tokens: Tokens, role: Role) -> TokenLaw | None:
        """The law of a service's tokens; None where nobody says."""
        key = (service.id, tokens, role)
        if key not in self._known:
            self._known[key] = self._looked_up(service, tokens, role)
        return self._known[key]

    def _looked_up(self, service: Service, tokens: Tokens, role: Role) -> TokenLaw | None:
        law = token_law(tokens)
        if law is not None:
            return law
        row = self.catalogue.workloads.get(tokens.catalogue or service.workload or "")
        if row is None:
            self.ledger.note(
                service.id, f"{role}_tokens", None, "unknown", "no token counts are given"
            )
            return None
        law = token_law(row.prompt_tokens if role == "prompt" else row.output_tokens)
        said = row.provenance()
        kind: FactKind = "guessed" if said.kind == "guessed" else "catalogue"
        self.ledger.note(
            service.id,
            f"{role}_tokens",
            None if law is None else round(law.mean, 1),
            "unknown" if law is None else kind,
            f"mean of workload {row.id}: {said.source}",
        )
        return law
