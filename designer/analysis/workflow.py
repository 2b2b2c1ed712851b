"""A service's workflow, resolved on the drawing: who moves what to where, who works, who generates.

The request starts at the user, stays at each
waypoint that it passes, and goes out to the model's pool and back for each model call; the answer
returns to the user over the same waypoints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from designer.analysis.request_parts import (
    Access,
    Again,
    Chain,
    Fork,
    Generate,
    Maybe,
    Move,
    Part,
    Serve,
    Tries,
    Twice,
    every_leaf,
    first_token,
)
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
from designer.model.steps import model_calls

CONTEXT_BUCKETS = 4
"""Rounds of a loop are grouped into at most so many parts with a prompt length each."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a resolution needs to know of the design, as look-ups.

    nearest: (node or kind of node, from node) to a node, or None where none can be reached.
    kind_of: a node's kind.
    serves: model (None: the service's) to its deployment and node, or None.
    mean_tokens: of a distribution of token counts; None where it is not known.
    last_packet_bytes: the packet that ends a streamed answer.
    called: a node to what people call it.
    """

    users: str
    nearest: Callable[[str, str], str | None]
    kind_of: Callable[[str], str]
    serves: Mapping[str | None, tuple[str, str] | None]
    mean_tokens: Callable[[Tokens, Literal["prompt", "output"]], float | None]
    request_bytes_per_token: float
    request_overhead_bytes: float
    stream_bytes_per_token: float
    last_packet_bytes: float
    called: Callable[[str], str] = str


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
    parts = tuple(every_leaf(body))
    first = next((part for part in parts if isinstance(part, Move)), None)
    stands = stays_at != wiring.users
    leading = None if stands else _without_access(body)
    start = Access(
        wiring.users, first, service.wire.handshakes, 1 if stands or leading is not None else 0
    )
    body = leading or body
    home = _homeward(walk, stays_at, parts)
    early = first_token(body)
    return Request(
        None if early is None else Chain((start, early, *home)),
        Chain((start, body, *home)),
    )


def _without_access(part: Part) -> Part | None:
    """The part without the access that it begins with; None where it begins with something else.

    That round trip and the handshakes before it are over one medium at one time.
    """
    if not isinstance(part, Chain) or not part.parts:
        return None
    head, *tail = part.parts
    if isinstance(head, Access):
        return Chain(tuple(tail))
    inner = _without_access(head)
    return None if inner is None else Chain((inner, *tail))


def _homeward(walk: _Walk, position: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The answer from the last waypoint to the user: the last model call's, else the last call's.

    What is written or looked up after the model has answered does not change what the user gets.
    """
    if position == walk.wiring.users:
        return ()
    last: Part | None = next((part for part in reversed(parts) if isinstance(part, Generate)), None)
    last = last or next((part for part in reversed(parts) if isinstance(part, Serve)), None)
    waited: float | None = walk.wiring.last_packet_bytes
    if isinstance(last, Serve):
        carried = waited = last.call.response_bytes if last.call else None
    else:
        tokens = last.output if isinstance(last, Generate) else walk.service.output_tokens
        carried = walk.streamed(tokens)
    cls = walk.service.traffic_class
    return (Move(position, walk.wiring.users, cls, waited, carried, "answer"),)


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
                    self.aside(each, at, growth, (*trail, k)) for k, each in enumerate(step.steps)
                ]
                return Fork(tuple(made)), at
            case Repeat():
                return self.repeated(step, at, growth, trail)
            case Branch():
                ways = [
                    (choice.probability, self.aside(choice.step, at, growth, (*trail, k)))
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

    def aside(self, step: Step, at: str, growth: float, trail: tuple[int, ...]) -> Part:
        """A way of a branch or fork; back at the start if it passed a waypoint."""
        part, stays = self.step(step, at, growth, trail)
        if stays == at:
            return part
        size = self.wiring.last_packet_bytes
        back = Move(stays, at, self.service.traffic_class, size, size, "call")
        return self.exchange(at, stays, (part, back))

    def exchange(self, at: str, node: str, parts: tuple[Part, ...]) -> Part:
        """A trip there and back: from the users, one more round trip over their access medium."""
        leaves_users = at == self.wiring.users and node != at
        return Chain((Access(at), *parts) if leaves_users else parts)

    def repeated(
        self, step: Repeat, at: str, growth: float, trail: tuple[int, ...]
    ) -> tuple[Part, str]:
        """Rounds in buckets: the prompt grows from round to round, in a bucket it is the mean.

        A round that ends elsewhere than it began (it passed a waypoint) is one of its own: the
        next ones begin there.
        """
        part, stays = self.step(step.step, at, growth, (*trail, 0))
        done = 0 if stays == at else 1
        parts: list[Part] = [part] * done
        left = step.times - done
        buckets = min(CONTEXT_BUCKETS, left) if step.context_growth_tokens else min(1, left)
        edges = [done + left * k // max(buckets, 1) for k in range(buckets + 1)]
        for k in range(buckets):
            middle = (edges[k] + edges[k + 1] - 1) / 2
            grown = growth + middle * step.context_growth_tokens
            part, stays = self.step(step.step, stays, grown, (*trail, k + done))
            parts.append(Again(edges[k + 1] - edges[k], part))
        return Chain(tuple(parts)), stays

    def call(self, call: Call, at: str) -> tuple[Part, str]:
        start = at
        if call.reached == "from_model":
            served = self.wiring.serves.get(None)
            if served is None:
                raise Unresolved(f"nobody serves the model that {_title(call)} goes out from")
            start = served[1]
        node = self.wiring.nearest(call.at, start)
        if node is None:
            called = self.wiring.called
            raise Unresolved(
                f"{_title(call)} needs {called(call.at)}, which cannot be reached from "
                f"{called(start)}"
            )
        cls = call.traffic_class or self.service.traffic_class
        there = Move(start, node, cls, call.request_bytes, call.request_bytes, "call")
        work = Serve(node, call, _title(call))
        back = Move(node, start, cls, call.response_bytes, call.response_bytes, "call")
        if call.reached == "through":
            size = self.prompt_bytes(self.first_prompt(), 0.0)
            passing = replace(there, waited_bytes=size, carried_bytes=size, what="request")
            return Chain((passing, work) if node != at else (work,)), node
        trip = self.exchange(start, node, (there, work, back)) if node != start else Chain((work,))
        hits = self.hits(call, node)
        return Maybe(((1 - hits, trip),)) if hits else trip, at

    def hits(self, call: Call, node: str) -> float:
        """Share of calls that a cache answers: the call's own; for retrieval the service's."""
        if call.hit_share is not None:
            return call.hit_share
        retrieves = call.traffic_class == "retrieval" or self.wiring.kind_of(node) == "vector_store"
        return (self.service.caching.retrieval_hits or 0.0) if retrieves else 0.0

    def model_call(self, call: ModelCall, at: str, growth: float, trail: tuple[int, ...]) -> Part:
        served = self.wiring.serves.get(call.model)
        if served is None:
            raise Unresolved(
                f"nobody serves {call.model or self.service.model or 'a model'} to "
                f"{self.wiring.called(self.wiring.users)}"
            )
        deployment, node = served
        prompt = call.prompt_tokens or self.service.prompt_tokens
        output = call.output_tokens or self.service.output_tokens
        cached = self.service.caching.prefix_share if call.cached_share is None else None
        share = (call.cached_share if cached is None else cached) or 0.0
        cls = self.service.traffic_class
        size = self.prompt_bytes(prompt, growth)
        slot = f"{self.service.id}:{'.'.join(map(str, trail))}"
        made = Generate(slot, call.model, deployment, prompt, output, share, growth)
        there = Move(at, node, cls, size, size, "request")
        back = Move(node, at, cls, self.wiring.last_packet_bytes, self.streamed(output), "answer")
        hits = self.service.caching.response_hits
        trip = self.exchange(at, node, (there, made, back))
        if not hits:
            return trip
        if at != self.wiring.users or node == at:
            return Maybe(((1 - hits, trip),), answered=True)
        # Without a waypoint the cache stands before the pool: the network counts, the GPU does not.
        answer = self.exchange(at, node, (there, back))
        return Maybe(((1 - hits, trip), (hits, answer)), answered=True)

    def first_prompt(self) -> Tokens:
        """What the user sends: the service's prompt, or its first model call's where not given."""
        given = self.service.prompt_tokens
        if self.wiring.mean_tokens(given, "prompt") is not None:
            return given
        called = (each.prompt_tokens for each in model_calls(self.service.workflow))
        return next((each for each in called if each is not None), given)

    def streamed(self, output: Tokens) -> float | None:
        """Bytes of a streamed answer before packet headers."""
        tokens = self.wiring.mean_tokens(output, "output")
        return None if tokens is None else tokens * self.wiring.stream_bytes_per_token

    def prompt_bytes(self, prompt: Tokens, growth: float) -> float | None:
        tokens = self.wiring.mean_tokens(prompt, "prompt")
        if tokens is None:
            return None
        per_token = self.wiring.request_bytes_per_token
        return (tokens + growth) * per_token + self.wiring.request_overhead_bytes


def _title(call: Call) -> str:
    return call.name or call.at.replace("_", " ")
