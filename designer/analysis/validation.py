"""The engine against cases with right answers: each computed as on a drawing, then judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from designer.analysis import network_cases, serving_accuracy
from designer.analysis.batching import EngineLimits
from designer.analysis.case_reading import CaseRefused
from designer.analysis.scale_up import CannotServe
from designer.analysis.serving_accuracy import Prediction, Replay, Silicon, Summary
from designer.model.catalog import Catalogue
from designer.model.silicon import Accelerator, AllReduceFigure, LanguageModel, ServingConstants


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """One case and what came of it.

    result: with the keys of `expected`. differences: where it is off by more than rel_tol, in
    words; empty if it agrees, or has no right answer.
    """

    id: str
    kind: str
    result: Mapping[str, Any]
    expected: Mapping[str, Any] | None
    differences: tuple[str, ...]
    rel_tol: float


def judged(cases: Mapping[str, Mapping[str, Any]]) -> tuple[JudgedCase, ...]:
    """Every case computed without a look at its answer, then compared. Raises CaseRefused."""
    questions = {
        key: {name: value for name, value in case.items() if name != "expected"}
        for key, case in cases.items()
    }
    return tuple(_judged(key, case, questions) for key, case in cases.items())


def _judged(
    key: str, case: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]]
) -> JudgedCase:
    result = network_cases.compute(questions[key], questions)
    return JudgedCase(
        id=key,
        kind=str(case.get("kind")),
        result=result,
        expected=case.get("expected"),
        differences=tuple(network_cases.agrees(case, result)),
        rel_tol=float(case.get("rel_tol", 0)),
    )


@dataclass(frozen=True, slots=True)
class ServingAccuracy:
    """Predictions of measured runs by case id, and how far they are off."""

    predictions: Mapping[str, Prediction]
    summary: Summary

    def as_json(self) -> dict[str, dict[str, float | None]]:
        """As `validate serving --json` prints it: null where a run cannot be predicted."""
        return {key: made.figures for key, made in self.predictions.items()}

    @property
    def reaches_goals(self) -> bool:
        """Whether no goal is missed; one that no measured row speaks of is not."""
        return all(goal.is_met for goal in self.summary.goals if goal.reached_percent is not None)


def serving(rows: Sequence[Mapping[str, str]], catalogue: Catalogue) -> ServingAccuracy:
    """Predicts measured runs and compares. Raises CaseRefused for a row that cannot be used."""
    try:
        predictions = serving_accuracy.serving(rows, silicon_of(catalogue))
        return ServingAccuracy(predictions, serving_accuracy.summary(rows, predictions))
    except ValueError as error:
        raise CaseRefused(_placed(error)) from error


@dataclass(frozen=True, slots=True)
class ServedBy:
    """What served a trace: a model (its format of weights may follow, as "Qwen3-32B fp8"; bf16 if
    it does not), a GPU by its catalogue id, and the engine's limits; kv_tokens None: by formula."""

    model: str
    gpu: str
    tensor_parallel: int = 1
    max_seqs: int = 256
    token_budget: int = 2048
    kv_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TraceReplay:
    """A trace served again by the simulator, measured beside predicted."""

    served_by: ServedBy
    replay: Replay

    def as_json(self) -> dict[str, Any]:
        """As `validate openloop --json` prints it: ms by metric and percentile."""
        return {
            "requests": self.replay.requests,
            "turned_away": self.replay.turned_away,
            "preemptions": self.replay.preemptions,
            "measured": {key: dict(value) for key, value in self.replay.measured.items()},
            "predicted": {key: dict(value) for key, value in self.replay.predicted.items()},
        }


def openloop(
    records: Sequence[Mapping[str, Any]], catalogue: Catalogue, by: ServedBy
) -> TraceReplay:
    """Replays a trace. Raises CaseRefused for a record, CannotServe for what cannot serve it."""
    model, _, weights = by.model.partition(" ")
    replica = silicon_of(catalogue).replica(
        model, by.gpu, by.tensor_parallel, 1, weights.strip() or "bf16", "bf16"
    )
    limits = EngineLimits(by.max_seqs, by.token_budget, by.kv_tokens)
    try:
        return TraceReplay(by, serving_accuracy.openloop(records, replica, limits))
    except CannotServe:
        raise
    except ValueError as error:
        raise CaseRefused(_placed(error)) from error


def silicon_of(catalogue: Catalogue) -> Silicon:
    """What the catalogue knows of models and accelerators."""
    return Silicon(
        models={
            key: LanguageModel.from_row(row.row(), key) for key, row in catalogue.models.items()
        },
        accelerators={
            key: Accelerator.from_row(row.row(), key) for key, row in catalogue.accelerators.items()
        },
        constants=ServingConstants.from_row(catalogue.serving_constants().row()),
        all_reduce_figures=tuple(
            AllReduceFigure.from_row(row.row()) for row in catalogue.allreduce.values()
        ),
    )


def _placed(error: ValueError) -> str:
    """The sentence as it goes on after the file's name and a comma."""
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:]
