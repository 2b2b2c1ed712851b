"""Walking a workflow: which calls and model calls it holds."""

from __future__ import annotations

from collections.abc import Iterator

from designer.model.services import (
    Branch,
    Call,
    Hedge,
    ModelCall,
    Parallel,
    Repeat,
    Retry,
    Series,
    Step,
)


def steps(step: Step | None) -> Iterator[Step]:
    """Every step of a workflow, from the outside in. An empty workflow is one model call."""
    pending: list[Step] = [step or ModelCall()]
    while pending:
        at = pending.pop()
        yield at
        match at:
            case Series() | Parallel():
                pending.extend(reversed(at.steps))
            case Repeat() | Retry() | Hedge():
                pending.append(at.step)
            case Branch():
                pending.extend(choice.step for choice in reversed(at.choices))
            case Call() | ModelCall():
                pass


def calls(step: Step | None) -> Iterator[Call]:
    """Every call to a node."""
    return (each for each in steps(step) if isinstance(each, Call))


def model_calls(step: Step | None) -> Iterator[ModelCall]:
    """Every call to a model."""
    return (each for each in steps(step) if isinstance(each, ModelCall))
