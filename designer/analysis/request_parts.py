"""The parts of a resolved request: a tree of messages, work and prompts, and how they are put
together.

One tree serves three questions: what loads the links and servers, what the GPUs are asked, and how
long it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from designer.model.services import Call, Tokens


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
    """Round trips over the users' access medium, one for each exchange, and the handshakes before.

    first: the message that a fresh connection sends first; None where nothing is sent.
    exchanges: round trips beside the handshakes'.
    """

    users: str
    first: Move | None = None
    handshakes: tuple[str, ...] = ()
    exchanges: int = 1


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
    """One of several parts by probability; what is missing to 1 takes no time.

    answered: ways without a model call, and what is missing to 1, are answers from a cache: there
    is no later first token.
    """

    choices: tuple[tuple[float, Part], ...]
    answered: bool = False


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


def every_leaf(part: Part) -> Iterator[Part]:
    """Every leaf of a part, in order."""
    match part:
        case Chain() | Fork():
            for each in part.parts:
                yield from every_leaf(each)
        case Again() | Tries() | Twice():
            yield from every_leaf(part.part)
        case Maybe():
            for _, each in part.choices:
                yield from every_leaf(each)
        case _:
            yield part


def first_token(part: Part, later: Part | None = None) -> Part | None:
    """The part cut off after the first token of its first model call; None without one.

    later: what comes after the part until a first token, for ways through it that have none.
    """
    match part:
        case Generate():
            return replace(part, first_token_only=True)
        case Chain():
            return _first_token_of_chain(part.parts, later)
        case Fork():
            return next(
                (cut for each in part.parts if (cut := first_token(each)) is not None), None
            )
        case Again():
            return first_token(part.part, later)
        case Tries() | Twice():
            early = first_token(part.part)
            return None if early is None else replace(part, part=early)
        case Maybe():
            return _first_token_of_choices(part, later)
        case _:
            return None


def _first_token_of_chain(parts: tuple[Part, ...], later: Part | None) -> Part | None:
    early = None
    for k in range(len(parts) - 1, -1, -1):
        cut = first_token(parts[k], later if early is None else early)
        if cut is not None:
            # The way back from the pool belongs to the first token's journey.
            after = parts[k + 1 : k + 2] if isinstance(parts[k], Generate) else ()
            early = Chain((cut, *after))
        elif early is not None:
            early = Chain((parts[k], *early.parts))
    return early


def _first_token_of_choices(part: Maybe, later: Part | None) -> Part | None:
    """Ways with a model call are cut; the others go on to the next one after the choice."""
    ways = [(share, each, first_token(each, later)) for share, each in part.choices]
    if all(early is None for _, _, early in ways):
        return None
    cut = [
        (share, early or (each if later is None or part.answered else Chain((each, later))))
        for share, each, early in ways
    ]
    rest = 1.0 - sum(share for share, _ in part.choices)
    if later is not None and not part.answered and rest > 1e-12:
        cut.append((rest, later))
    return replace(part, choices=tuple(cut))


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
