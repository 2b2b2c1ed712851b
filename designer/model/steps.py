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
        pending.extend(reversed(inner_steps(at)))


def inner_steps(step: Step) -> tuple[Step, ...]:
    """The steps right inside one."""
    match step:
        case Series() | Parallel():
            return step.steps
        case Repeat() | Retry() | Hedge():
            return (step.step,)
        case Branch():
            return tuple(choice.step for choice in step.choices)
        case Call() | ModelCall():
            return ()


def calls(step: Step | None) -> Iterator[Call]:
    """Every call to a node."""
    return (each for each in steps(step) if isinstance(each, Call))


def model_calls(step: Step | None) -> Iterator[ModelCall]:
    """Every call to a model."""
    return (each for each in steps(step) if isinstance(each, ModelCall))
