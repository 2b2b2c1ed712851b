"""A workflow resolved: who moves what where, and what is there when the first token is."""

from collections.abc import Callable
from typing import Any

import pytest

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
    leaves,
)
from designer.analysis.workflow import CONTEXT_BUCKETS, Request, Unresolved, Wiring, resolve
from designer.model.services import (
    Branch,
    Caching,
    Call,
    Choice,
    Hedge,
    ModelCall,
    Parallel,
    Repeat,
    Retry,
    Series,
    Service,
    Step,
    Tokens,
    Wire,
)

PER_TOKEN, OVERHEAD, STREAM, LAST = 4.0, 1000.0, 217.0, 239.0
KINDS = {"gw": "ai_gateway", "vectors": "vector_store", "tool": "tool_service", "pool": "server"}


def _nearest(what: str, _: str) -> str | None:
    if what in KINDS or what == "users":
        return what
    return next((node for node, kind in KINDS.items() if kind == what), None)


def _wiring(**changes: Any) -> Wiring:
    given: dict[str, Any] = {
        "users": "users",
        "nearest": _nearest,
        "kind_of": lambda node: KINDS.get(node, "users"),
        "serves": {None: ("d", "pool")},
        "mean_tokens": lambda tokens, _: tokens.mean,
        "request_bytes_per_token": PER_TOKEN,
        "request_overhead_bytes": OVERHEAD,
        "stream_bytes_per_token": STREAM,
        "last_packet_bytes": LAST,
    }
    return Wiring(**(given | changes))


def _resolved(workflow: Step | None, wiring: Wiring | None = None, **fields: Any) -> Request:
    given: dict[str, Any] = {
        "prompt_tokens": Tokens(mean=500.0),
        "output_tokens": Tokens(mean=100.0),
    } | fields
    service = Service(id="s", model="m", workflow=workflow, **given)
    return resolve(service, wiring or _wiring())


def _all(part: Part, kind: type) -> list[Any]:
    return [each for each in every_leaf(part) if isinstance(each, kind)]


def _ways(part: Part) -> list[tuple[str, str]]:
    return [(move.source, move.target) for move in _all(part, Move)]


def test_no_workflow_is_one_model_call_and_its_answer() -> None:
    made = _resolved(None)
    assert _ways(made.whole) == [("users", "pool"), ("pool", "users")]
    there, back = _all(made.whole, Move)
    assert there.waited_bytes == there.carried_bytes == 500 * PER_TOKEN + OVERHEAD
    assert (back.waited_bytes, back.carried_bytes) == (LAST, 100 * STREAM)


def test_through_is_a_waypoint_both_ways() -> None:
    made = _resolved(Series(steps=(Call(at="gw"), ModelCall())))
    assert _ways(made.whole) == [
        ("users", "gw"), ("gw", "pool"), ("pool", "gw"), ("gw", "users"),
    ]  # fmt: skip
    assert [each.node for each in _all(made.whole, Serve)] == ["gw"]


def test_from_path_is_a_round_trip_from_the_last_waypoint() -> None:
    call = Call(at="tool", reached="from_path", request_bytes=10.0, response_bytes=20.0)
    made = _resolved(Series(steps=(Call(at="gw"), call, ModelCall())))
    assert _ways(made.whole)[:3] == [("users", "gw"), ("gw", "tool"), ("tool", "gw")]
    there, back = _all(made.whole, Move)[1:3]
    assert (there.carried_bytes, back.carried_bytes) == (10.0, 20.0)


def test_from_model_starts_where_the_model_runs() -> None:
    made = _resolved(Series(steps=(ModelCall(), Call(at="tool", reached="from_model"))))
    assert ("pool", "tool") in _ways(made.whole)
    assert ("tool", "pool") in _ways(made.whole)


def test_a_kind_means_its_nearest_node() -> None:
    made = _resolved(Series(steps=(Call(at="vector_store", reached="from_path"), ModelCall())))
    assert [each.node for each in _all(made.whole, Serve)] == ["vectors"]


def test_parallel_waits_for_all_and_ends_where_it_began() -> None:
    tool = Call(at="tool", reached="from_path")
    made = _resolved(Series(steps=(Parallel(steps=(tool, Call(at="gw"))), ModelCall())))
    (fork,) = [part for part in made.whole.parts[1].parts if isinstance(part, Fork)]  # type: ignore[union-attr]
    assert _ways(fork.parts[0]) == [("users", "tool"), ("tool", "users")]
    # What passes a waypoint inside a fork comes back, since the model is asked from the start.
    assert _ways(fork.parts[1]) == [("users", "gw"), ("gw", "users")]
    assert ("users", "pool") in _ways(made.whole)


@pytest.mark.parametrize("times", [1, 2, 3, 7, 40, 1000])
def test_growing_context_keeps_its_sum(times: int) -> None:
    """Round k of n finds k × growth more: in all growth × n(n - 1)/2."""
    made = _resolved(Repeat(times=times, step=ModelCall(), context_growth_tokens=300.0))
    added = sum(
        leaf.growth_tokens * many for leaf, many in leaves(made.whole) if isinstance(leaf, Generate)
    )
    assert added == pytest.approx(300.0 * times * (times - 1) / 2)
    calls = [(leaf, many) for leaf, many in leaves(made.whole) if isinstance(leaf, Generate)]
    assert sum(many for _, many in calls) == times
    assert len({leaf.slot for leaf, _ in calls}) == len(calls) <= CONTEXT_BUCKETS


def test_nested_growth_adds_up() -> None:
    inner = Repeat(times=2, step=ModelCall(), context_growth_tokens=10.0)
    made = _resolved(Repeat(times=3, step=inner, context_growth_tokens=100.0))
    added = sum(
        leaf.growth_tokens * many for leaf, many in leaves(made.whole) if isinstance(leaf, Generate)
    )
    assert added == pytest.approx(2 * 100 * (0 + 1 + 2) + 3 * 10 * (0 + 1))


def test_a_loop_goes_to_its_waypoint_once() -> None:
    loop = Repeat(times=5, step=Series(steps=(Call(at="gw"), ModelCall())))
    rates: dict[tuple[str, str], float] = {}
    for leaf, many in leaves(_resolved(loop).whole):
        if isinstance(leaf, Move):
            key = leaf.source, leaf.target
            rates[key] = rates.get(key, 0.0) + many
    assert rates == {
        ("users", "gw"): 1, ("gw", "pool"): 5, ("pool", "gw"): 5, ("gw", "users"): 1,
    }  # fmt: skip


def test_branches_count_by_probability() -> None:
    step = Branch(
        choices=(
            Choice(probability=0.3, step=Call(at="tool", reached="from_path")),
            Choice(probability=0.5, step=ModelCall()),
        )
    )
    counted = {type(leaf): many for leaf, many in leaves(_resolved(step).whole)
               if not isinstance(leaf, Move)}  # fmt: skip
    assert counted == {Serve: 0.3, Generate: 0.5}


def test_retry_and_hedge_keep_their_terms() -> None:
    tool = Call(at="tool", reached="from_path")
    made = _resolved(Retry(timeout_ms=50.0, attempts=3, step=Hedge(after_ms=9.0, step=tool)))
    body = made.whole.parts[1]  # type: ignore[union-attr]
    assert isinstance(body, Tries)
    assert (body.timeout_ms, body.attempts) == (50.0, 3)
    assert isinstance(body.part, Twice)
    assert body.part.after_ms == 9.0
    assert made.to_first_token is None


def test_a_cached_response_asks_no_model() -> None:
    made = _resolved(None, caching=Caching(response_hits=0.4))
    counted = {type(leaf): many for leaf, many in leaves(made.whole)}
    assert counted[Generate] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Call(at="vectors", reached="from_path"), 0.75),
        (Call(at="tool", reached="from_path", traffic_class="retrieval"), 0.75),
        (Call(at="tool", reached="from_path"), 1.0),
        (Call(at="vectors", reached="from_path", hit_share=0.9), 0.1),
    ],
)
def test_retrieval_hits_spare_retrieval_only(call: Call, expected: float) -> None:
    made = _resolved(Series(steps=(call, ModelCall())), caching=Caching(retrieval_hits=0.25))
    (work,) = [many for leaf, many in leaves(made.whole) if isinstance(leaf, Serve)]
    assert work == pytest.approx(expected)


def test_prefix_share_is_the_calls_own_else_the_services() -> None:
    caching = Caching(prefix_share=0.5)
    step = Series(steps=(ModelCall(), ModelCall(cached_share=0.0)))
    first, second = _all(_resolved(step, caching=caching).whole, Generate)
    assert (first.cached_share, second.cached_share) == (0.5, 0.0)


def test_the_prompt_of_the_first_call_is_sent_where_the_service_has_none() -> None:
    call = ModelCall(prompt_tokens=Tokens(mean=50.0), output_tokens=Tokens(mean=8.0))
    made = _resolved(
        Series(steps=(Call(at="gw"), call)), prompt_tokens=Tokens(), output_tokens=Tokens()
    )
    first, last = _all(made.whole, Move)[0], _all(made.whole, Move)[-1]
    assert first.carried_bytes == 50 * PER_TOKEN + OVERHEAD
    assert last.carried_bytes == 8 * STREAM


def test_unknown_tokens_are_unknown_bytes() -> None:
    made = _resolved(None, prompt_tokens=Tokens())
    assert _all(made.whole, Move)[0].waited_bytes is None


def test_access_knows_the_first_message() -> None:
    made = _resolved(Series(steps=(Call(at="gw"), ModelCall())), wire=Wire(handshakes=("tcp",)))
    (access,) = _all(made.whole, Access)
    assert access.handshakes == ("tcp",)
    assert (access.first.source, access.first.target) == ("users", "gw")


def _round_trips(part: Part, times: int = 1) -> int:
    """Over the users' access medium, one after the other."""
    match part:
        case Access():
            return times * part.exchanges
        case Chain() | Fork():
            return sum(_round_trips(each, times) for each in part.parts)
        case Again():
            return _round_trips(part.part, times * part.times)
        case Tries() | Twice():
            return _round_trips(part.part, times)
        case _:
            return 0


_LOOK = Call(at="tool", reached="from_path")


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [
        (None, 1),
        (Call(at="gw"), 1),
        (Series(steps=(Call(at="gw"), ModelCall(), ModelCall())), 1),
        (Series(steps=(ModelCall(), ModelCall())), 2),
        (Repeat(times=10, step=ModelCall()), 10),
        (Repeat(times=10, step=ModelCall(), context_growth_tokens=9.0), 10),
        (Repeat(times=10, step=Series(steps=(ModelCall(), _LOOK))), 20),
        (Repeat(times=10, step=Series(steps=(Call(at="gw"), ModelCall()))), 1),
        (Series(steps=(_LOOK, Call(at="gw"), ModelCall())), 2),
        (Series(steps=(ModelCall(), _LOOK.replace(reached="from_model"))), 1),
        (Retry(timeout_ms=9.0, step=ModelCall()), 1),
    ],
)
def test_every_exchange_of_the_users_is_a_round_trip(workflow: Any, expected: int) -> None:
    """Whatever leaves the users' node and comes back; what waits at a waypoint comes back once."""
    made = _resolved(workflow, wire=Wire(handshakes=("tcp",)))
    assert _round_trips(made.whole) == expected
    shaking = [each for each in _all(made.whole, Access) if each.handshakes]
    assert [each.handshakes for each in shaking] == [("tcp",)]
    if workflow is None or isinstance(workflow, Repeat):
        assert made.to_first_token is not None
        assert _round_trips(made.to_first_token) == 1


def test_a_cached_response_without_a_waypoint_comes_from_the_pool() -> None:
    made = _resolved(None, caching=Caching(response_hits=0.4))
    moved: dict[tuple[str, str], float] = {}
    for leaf, many in leaves(made.whole):
        if isinstance(leaf, Move):
            key = leaf.source, leaf.target
            moved[key] = moved.get(key, 0.0) + many
    assert moved == {("users", "pool"): pytest.approx(1.0), ("pool", "users"): pytest.approx(1.0)}


# ---- until the first token ----------------------------------------------------------------------

MODEL = Generate("s", None, "d", Tokens(), Tokens(), 0.0, 0.0)
EARLY = Generate("s", None, "d", Tokens(), Tokens(), 0.0, 0.0, first_token_only=True)
BACK = Move("pool", "gw", "c", 1.0, 1.0, "answer")
TOOL = Serve("tool", None, "tool")


def _flat(part: Part | None) -> list[Part]:
    assert part is not None
    return list(every_leaf(part))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Chain((TOOL, MODEL, BACK, TOOL)), [TOOL, EARLY, BACK]),
        (lambda: Chain((TOOL, Chain((MODEL, BACK)), TOOL)), [TOOL, EARLY, BACK]),
        (lambda: Fork((TOOL, Chain((MODEL, BACK)))), [EARLY, BACK]),
        (lambda: Again(9, Chain((TOOL, MODEL, BACK))), [TOOL, EARLY, BACK]),
        (lambda: Tries(9.0, 2, Chain((MODEL, BACK, TOOL))), [EARLY, BACK]),
        (lambda: Twice(9.0, Chain((MODEL, BACK, TOOL))), [EARLY, BACK]),
    ],
)
def test_cut_after_the_first_token(make: Callable[[], Part], expected: list[Part]) -> None:
    assert _flat(first_token(make())) == expected


@pytest.mark.parametrize("part", [TOOL, BACK, Chain(()), Chain((TOOL, BACK)), Fork((TOOL,))])
def test_no_model_no_first_token(part: Part) -> None:
    assert first_token(part) is None


def test_a_way_without_a_model_goes_on_to_the_next_one() -> None:
    """Half ask a model at once; 0.3 use a tool first, 0.2 go on at once, and ask afterwards."""
    choice = Maybe(((0.5, Chain((MODEL, BACK))), (0.3, TOOL)))
    cut = first_token(Chain((choice, Chain((MODEL, BACK)))))
    assert isinstance(cut, Chain)
    (made,) = cut.parts
    assert isinstance(made, Maybe)
    assert [(share, _flat(part)) for share, part in made.choices] == [
        (0.5, [EARLY, BACK]),
        (0.3, [TOOL, EARLY, BACK]),
        (pytest.approx(0.2), [EARLY, BACK]),
    ]


def test_a_cached_answer_needs_no_later_model() -> None:
    hit_or_miss = Maybe(((0.6, Chain((MODEL, BACK))),), answered=True)
    cut = first_token(Chain((hit_or_miss, Chain((MODEL, BACK)))))
    assert isinstance(cut, Chain)
    (made,) = cut.parts
    assert isinstance(made, Maybe)
    assert [share for share, _ in made.choices] == [0.6]


# ---- what cannot be resolved --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workflow", "says"),
    [
        (Call(at="nowhere"), "nowhere"),
        (ModelCall(model="other"), "other"),
        (Series(steps=(ModelCall(), Parallel(steps=(Call(name="Lookup", at="gone"),)))), "Lookup"),
    ],
)
def test_unresolved_steps_say_what_is_missing(workflow: Step, says: str) -> None:
    with pytest.raises(Unresolved, match=says):
        _resolved(workflow)


def test_without_a_pool_nothing_goes_out_from_it() -> None:
    with pytest.raises(Unresolved, match="nobody serves"):
        _resolved(Call(at="tool", reached="from_model"), _wiring(serves={None: None}))
