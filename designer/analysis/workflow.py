"""A service's workflow, resolved on the drawing: who moves what to where, who works, who generates.

One tree serves three questions: what loads the links and servers (`traffic`), what the GPUs are
asked (`prompts`), and how long it takes (`latency`). The request starts at the user, stays at each
waypoint that it passes, and goes out to the model's pool and back for each model call; the answer
returns to the user over the same waypoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from designer.model.services import (
    Branch,
    Call,
    Hedge,
    ModelCall,
    Parallel,
    Repeat,
    Retry,
    Series,
    Service,
    Step,
    Tokens,
)

CONTEXT_BUCKETS = 4
"""Rounds of a loop are grouped into at most so many parts with a prompt length each."""


@dataclass(frozen=True, slots=True)
class Move:
    """A message from one drawn node to another, one way.

    waited_bytes: what must arrive before the next step can start (a streamed answer: its last
    packet). carried_bytes: what loads the links.
    """

    source: str
    target: str
    traffic_class: str
    waited_bytes: float | None
    carried_bytes: float | None
    what: Literal["request", "answer", "call"]


@dataclass(frozen=True, slots=True)
class Serve:
    """Work of a node on one request."""

    node: str
    call: Call | None
    name: str


@dataclass(frozen=True, slots=True)
class Generate:
    """A prompt to a pool. `growth_tokens` is what earlier rounds have added to the prompt.

    first_token_only: the part of it until the first token.
    """

    slot: str
    model: str | None
    deployment: str
    prompt: Tokens
    output: Tokens
    cached_share: float
    growth_tokens: float
    first_token_only: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One round trip over the users' access medium and the handshakes before the request."""

    users: str
    first_stop: str
    handshakes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Fork:
    """Parts at the same time; the slowest is waited for."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Again:
    """The same part some times in a row."""

    times: int
    part: Part


@dataclass(frozen=True, slots=True)
class Maybe:
    """One of several parts by probability; what is missing to 1 takes no time."""

    choices: tuple[tuple[float, Part], ...]


@dataclass(frozen=True, slots=True)
class Tries:
    """Given up after `timeout_ms` and tried again, `attempts` times in all."""

    timeout_ms: float
    attempts: int
    part: Part


@dataclass(frozen=True, slots=True)
class Twice:
    """Sent again when not answered after `after_ms`; the first answer counts."""

    after_ms: float
    part: Part


Part = Move | Serve | Generate | Access | Chain | Fork | Again | Maybe | Tries | Twice


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a resolution needs to know of the design, as look-ups.

    nearest: (node or kind of node, from node) to a node, or None where none can be reached.
    serves: model (None: the service's) to its deployment and node, or None.
    mean_tokens: of a distribution of token counts; None where it is not known.
    last_packet_bytes: the packet that ends a streamed answer.
    """

    users: str
    nearest: Callable[[str, str], str | None]
    serves: Mapping[str | None, tuple[str, str] | None]
    mean_tokens: Callable[[Tokens, Literal["prompt", "output"]], float | None]
    request_bytes_per_token: float
    request_overhead_bytes: float
    stream_bytes_per_token: float
    last_packet_bytes: float


class Unresolved(ValueError):
    """The workflow cannot be carried out on this drawing; the message says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """A service's request from one population of users to one choice of pools.

    to_first_token: until the user sees the first token; None where no model is asked.
    whole: until the last byte of the last step is at the user.
    """

    to_first_token: Part | None
    whole: Part


def resolve(service: Service, wiring: Wiring) -> Request:
    """Lays a service's workflow on the drawing.

    Raises Unresolved where a step names a node that cannot be reached or a model that nobody
    serves.
    """
    walk = _Walk(service, wiring)
    body, stays_at = walk.step(service.workflow or ModelCall(), wiring.users, 0.0, ())
    parts = _flat(body)
    first_stop = next((part.target for part in parts if isinstance(part, Move)), wiring.users)
    start = Access(wiring.users, first_stop, service.wire.handshakes)
    home = _homeward(walk, stays_at)
    early = first_token(body)
    return Request(
        None if early is None else Chain((start, early, *home)),
        Chain((start, body, *home)),
    )


def _homeward(walk: _Walk, position: str) -> tuple[Part, ...]:
    if position == walk.wiring.users:
        return ()
    tokens = walk.wiring.mean_tokens(walk.service.output_tokens, "output")
    carried = None if tokens is None else tokens * walk.wiring.stream_bytes_per_token
    return (
        Move(
            position,
            walk.wiring.users,
            walk.service.traffic_class,
            walk.wiring.last_packet_bytes,
            carried,
            "answer",
        ),
    )


@dataclass(frozen=True, slots=True)
class _Walk:
    service: Service
    wiring: Wiring

    def step(self, step: Step, at: str, growth: float, trail: tuple[int, ...]) -> tuple[Part, str]:
        """The resolved step and where the request stands afterwards."""
        match step:
            case Series():
                return self.in_turn(step.steps, at, growth, trail)
            case Parallel():
                made = [
                    self.step(each, at, growth, (*trail, k)) for k, each in enumerate(step.steps)
                ]
                return Fork(tuple(part for part, _ in made)), at
            case Repeat():
                return self.repeated(step, at, growth, trail)
            case Branch():
                ways = [
                    (choice.probability, self.step(choice.step, at, growth, (*trail, k))[0])
                    for k, choice in enumerate(step.choices)
                ]
                return Maybe(tuple(ways)), at
            case Retry():
                part, stays = self.step(step.step, at, growth, trail)
                return Tries(step.timeout_ms, step.attempts, part), stays
            case Hedge():
                part, stays = self.step(step.step, at, growth, trail)
                return Twice(step.after_ms, part), stays
            case Call():
                return self.call(step, at)
            case ModelCall():
                return self.model_call(step, at, growth, trail), at
            case _:
                assert_never(step)

    def in_turn(
        self, steps: tuple[Step, ...], at: str, growth: float, trail: tuple[int, ...]
    ) -> tuple[Part, str]:
        parts: list[Part] = []
        for k, each in enumerate(steps):
            part, at = self.step(each, at, growth, (*trail, k))
            parts.append(part)
        return Chain(tuple(parts)), at

    def repeated(
        self, step: Repeat, at: str, growth: float, trail: tuple[int, ...]
    ) -> tuple[Part, str]:
        """Rounds in buckets: the prompt grows from round to round, in a bucket it is the mean."""
        buckets = min(CONTEXT_BUCKETS, step.times) if step.context_growth_tokens else 1
        edges = [step.times * k // buckets for k in range(buckets + 1)]
        parts: list[Part] = []
        for k in range(buckets):
            middle = (edges[k] + edges[k + 1] - 1) / 2
            grown = growth + middle * step.context_growth_tokens
            part, at = self.step(step.step, at, grown, (*trail, k))
            parts.append(Again(edges[k + 1] - edges[k], part))
        return Chain(tuple(parts)), at

    def call(self, call: Call, at: str) -> tuple[Part, str]:
        start = at
        if call.reached == "from_model":
            served = self.wiring.serves.get(None)
            if served is None:
                raise Unresolved(f"nobody serves the model that {_title(call)} goes out from")
            start = served[1]
        node = self.wiring.nearest(call.at, start)
        if node is None:
            raise Unresolved(
                f"{_title(call)} needs {call.at}, which cannot be reached from {start}"
            )
        cls = call.traffic_class or self.service.traffic_class
        there = Move(start, node, cls, call.request_bytes, call.request_bytes, "call")
        work = Serve(node, call, _title(call))
        back = Move(node, start, cls, call.response_bytes, call.response_bytes, "call")
        if call.reached == "through":
            size = self.prompt_bytes(self.service.prompt_tokens, 0.0)
            passing = replace(there, waited_bytes=size, carried_bytes=size, what="request")
            return Chain((passing, work) if node != at else (work,)), node
        trip = Chain((there, work, back) if node != start else (work,))
        if call.hit_share:
            return Maybe(((1 - call.hit_share, trip),)), at
        return trip, at

    def model_call(self, call: ModelCall, at: str, growth: float, trail: tuple[int, ...]) -> Part:
        served = self.wiring.serves.get(call.model)
        if served is None:
            raise Unresolved(
                f"nobody serves {call.model or self.service.model or 'a model'} to "
                f"{self.wiring.users}"
            )
        deployment, node = served
        prompt = call.prompt_tokens or self.service.prompt_tokens
        output = call.output_tokens or self.service.output_tokens
        cached = self.service.caching.prefix_share if call.cached_share is None else None
        share = (call.cached_share if cached is None else cached) or 0.0
        cls = self.service.traffic_class
        size = self.prompt_bytes(prompt, growth)
        tokens = self.wiring.mean_tokens(output, "output")
        streamed = None if tokens is None else tokens * self.wiring.stream_bytes_per_token
        slot = f"{self.service.id}:{'.'.join(map(str, trail))}"
        made = Generate(slot, call.model, deployment, prompt, output, share, growth)
        there = Move(at, node, cls, size, size, "request")
        back = Move(node, at, cls, self.wiring.last_packet_bytes, streamed, "answer")
        hits = self.service.caching.response_hits
        trip = Chain((there, made, back))
        return Maybe(((1 - hits, trip),)) if hits else trip

    def prompt_bytes(self, prompt: Tokens, growth: float) -> float | None:
        tokens = self.wiring.mean_tokens(prompt, "prompt")
        if tokens is None:
            return None
        per_token = self.wiring.request_bytes_per_token
        return (tokens + growth) * per_token + self.wiring.request_overhead_bytes


def _title(call: Call) -> str:
    return call.name or call.at.replace("_", " ")


def _flat(part: Part) -> Iterator[Part]:
    """Every leaf of a part, in order."""
    match part:
        case Chain() | Fork():
            for each in part.parts:
                yield from _flat(each)
        case Again() | Tries() | Twice():
            yield from _flat(part.part)
        case Maybe():
            for _, each in part.choices:
                yield from _flat(each)
        case _:
            yield part


def first_token(part: Part) -> Part | None:
    """The part cut off after the first token of its first model call; None without one."""
    match part:
        case Generate():
            return replace(part, first_token_only=True)
        case Chain():
            for k, each in enumerate(part.parts):
                early = first_token(each)
                if early is not None:
                    # The way back from the pool belongs to the first token's journey.
                    after = part.parts[k + 1 : k + 2] if isinstance(each, Generate) else ()
                    return Chain((*part.parts[:k], early, *after))
            return None
        case Fork():
            return next(
                (cut for each in part.parts if (cut := first_token(each)) is not None), None
            )
        case Again():
            return first_token(part.part)
        case Tries() | Twice():
            early = first_token(part.part)
            return None if early is None else replace(part, part=early)
        case Maybe():
            return _first_token_of_choices(part)
        case _:
            return None


def _first_token_of_choices(part: Maybe) -> Part | None:
    """Ways with a model call are cut; ways without one stay whole beside them."""
    ways = [(share, each, first_token(each)) for share, each in part.choices]
    if all(early is None for _, _, early in ways):
        return None
    return Maybe(tuple((share, each if early is None else early) for share, each, early in ways))


def leaves(part: Part, times: float = 1.0) -> Iterator[tuple[Move | Serve | Generate, float]]:
    """Every leaf that costs something, with how often one request needs it on average.

    A hedge or a retry is counted once: how often it happens depends on the latency.
    """
    match part:
        case Chain() | Fork():
            for each in part.parts:
                yield from leaves(each, times)
        case Again():
            yield from leaves(part.part, times * part.times)
        case Tries() | Twice():
            yield from leaves(part.part, times)
        case Maybe():
            for share, each in part.choices:
                yield from leaves(each, times * share)
        case Access():
            return
        case _:
            yield part, times
