"""Rules about the length of prompts: what a model takes, and what its pool has room for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from designer.analysis.batching import room_tokens
from designer.analysis.demand import Plan
from designer.analysis.objections import Objection, called
from designer.analysis.pools import limits_of
from designer.analysis.request_parts import Generate, leaves
from designer.analysis.scale_up import CannotServe
from designer.analysis.study import Study
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


@dataclass(frozen=True, slots=True)
class _Length:
    """Tokens of a service's longest prompt in a pool, and the limits there (None: not known)."""

    service: str
    deployment: str
    mean: float
    p99: float
    answer: float
    most: float | None
    room: float | None


def context_too_long(study: Study) -> Iterator[Objection]:
    """A prompt is longer than the model's context on average, or has no room with its answer."""
    for length in _lengths(study):
        if length.most is not None and length.mean > length.most:
            yield _longer(study, length, "", length.mean)
        elif length.room is not None and length.mean + length.answer > length.room:
            yield Objection(
                (length.service, length.deployment),
                f"A prompt of {called(study.design, length.service)} has {length.mean:,.0f} tokens "
                f"and its answer {length.answer:,.0f}; "
                f"{called(study.design, length.deployment)} has room for {length.room:,.0f}.",
                "Shorten the prompt, raise the deployment's KV tokens, or use more or larger GPUs.",
            )


def context_sometimes_too_long(study: Study) -> Iterator[Objection]:
    """One prompt in a hundred is longer than the model's context, though not the mean one."""
    for length in _lengths(study):
        if length.most is not None and length.mean <= length.most < length.p99:
            yield _longer(study, length, "p99 ", length.p99)


def _longer(study: Study, length: _Length, which: str, tokens: float) -> Objection:
    deployment = study.design.deployments[length.deployment]
    return Objection(
        (length.service, length.deployment),
        f"The longest prompt of {called(study.design, length.service)} has {which}{tokens:,.0f} "
        f"tokens, and {deployment.model} in {called(study.design, deployment.id)} takes "
        f"{length.most:,.0f}.",
        "Shorten the prompt or what each round adds to it, or deploy a model with a context of "
        f"{tokens:,.0f} tokens or more.",
    )


def _lengths(study: Study) -> Iterator[_Length]:
    """The longest prompt of each service in each pool that it asks."""
    longest: dict[tuple[str, str], _Length] = {}
    for plan in study.plans:
        for length in _of_plan(study, plan):
            key = length.service, length.deployment
            if key not in longest or longest[key].mean < length.mean:
                longest[key] = length
    yield from longest.values()


def _of_plan(study: Study, plan: Plan) -> Iterator[_Length]:
    if plan.request is None:
        return
    service = study.design.services[plan.service]
    pools = {
        leaf.model: leaf.deployment
        for leaf, _ in leaves(plan.request.whole)
        if isinstance(leaf, Generate)
    }
    for call, growth in _calls(service.workflow or ModelCall(), 0.0):
        prompt = study.laws.of(service, call.prompt_tokens or service.prompt_tokens, "prompt")
        output = study.laws.of(service, call.output_tokens or service.output_tokens, "output")
        pool = pools.get(call.model)
        if prompt is None or pool is None:
            continue
        rare = float(prompt.quantile(np.array([0.99]))[0])
        most, room = _limits(study, pool)
        answer = 0.0 if output is None else output.mean
        yield _Length(service.id, pool, prompt.mean + growth, rare + growth, answer, most, room)


def _limits(study: Study, pool: str) -> tuple[float | None, float | None]:
    """The longest context of a pool's model, and its room for KV, in tokens."""
    answer = study.pools.get(pool)
    if answer is None or answer.replica is None:
        return None, None
    most = answer.replica.model.max_context_tokens
    limits = limits_of(study.design.deployments[pool])
    try:
        room = room_tokens(answer.replica, limits)
    except CannotServe:
        return most, None
    return most, room


def _calls(step: Step, growth: float) -> Iterator[tuple[ModelCall, float]]:
    """Every model call with what earlier rounds have added to its last prompt, in tokens."""
    match step:
        case ModelCall():
            yield step, growth
        case Series() | Parallel():
            for each in step.steps:
                yield from _calls(each, growth)
        case Repeat():
            yield from _calls(step.step, growth + (step.times - 1) * step.context_growth_tokens)
        case Branch():
            for choice in step.choices:
                yield from _calls(choice.step, growth)
        case Retry() | Hedge():
            yield from _calls(step.step, growth)
        case Call():
            return
        case _:
            assert_never(step)
