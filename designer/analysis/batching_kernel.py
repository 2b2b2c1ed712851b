"""The step-level batching model, compiled: one engine step after another on each replica.

A step gives every decoding request one token and prefills chunks of others within the token
budget. All times are seconds, all sizes tokens. `batching` is the door; nothing else calls this.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_F = TypeVar("_F", bound=Callable[..., Any])

GAP_BINS: Final = 4096
GAP_LEAST_S: Final = 1e-4
GAP_BINS_PER_E: Final = 250.0
"""Bins of the gaps between tokens: 0.4 % wide, from 0.1 ms to some 1,300 s."""

NEVER: Final = 1 << 60
LEAST_LOADED: Final = -1


def _compiled(function: _F) -> _F:
    # without the lock, so that a window stays alive while a service is simulated
    return cast(_F, numba.njit(cache=True, forceinline=True, nogil=True)(function))


class Coefficients(NamedTuple):
    """The formulas of one replica as numbers; see `batching.coefficients`."""

    decode_s: float
    decode_token_s: float
    decode_full_s: float
    """Per sequence and token of context, all full layers."""
    decode_window_s: float
    decode_experts_s: float
    """Reading all experts."""
    parts: float
    """Sequences of a batch that one group's stage holds: batch / parts."""
    groups: float
    untouched: float
    """Share of the experts that one token leaves alone; 1 without experts."""
    window: float
    prefill_s: float
    prefill_token_s: float
    prefill_full_s: float
    prefill_window_s: float
    reading_s: float
    reading_experts_s: float
    talking_s: float
    talking_token_s: float
    interference: float


class Limits(NamedTuple):
    """What an engine admits, and over which time its use is counted."""

    most_sequences: int
    token_budget: int
    room: float
    kept_free: float
    still_cached: float
    count_from_s: float
    count_until_s: float


REQUEST: Final = np.dtype(
    [
        ("arrival_s", np.float64),
        ("prompt", np.int64),
        ("output", np.int64),
        ("replica", np.int64),  # LEAST_LOADED is replaced by the one taken
        ("scheduled_s", np.float64),  # NaN: never, as the next two
        ("first_s", np.float64),
        ("last_s", np.float64),
        ("preempted", np.int64),
        ("need", np.int64),  # tokens that must be in the cache before the next token comes
        ("kv", np.int64),  # of these, how many were when it last began to decode
        ("done", np.int64),  # tokens given when it last began to decode
        ("entered", np.int64),  # the step at which it did, -1: it does not decode
        ("chunk", np.int64),  # prefilled in the step under way
        ("next", np.int64),  # the request behind it in the queue, or -1
    ]
)
"""One request and what becomes of it; requests rise in arrival."""

REPLICA: Final = np.dtype(
    [
        ("clock_s", np.float64),
        ("end_s", np.float64),  # of the step under way, negative: none is
        ("used", np.float64),
        ("context", np.float64),  # sum of the contexts of decoding requests
        ("decoding", np.int64),
        ("running", np.int64),
        ("fresh", np.int64),  # how many of the last running ones prefill in the step under way
        ("waiting", np.int64),
        ("head", np.int64),
        ("tail", np.int64),
        ("step", np.int64),
        ("next_finish", np.int64),
        ("busy_s", np.float64),
        ("kv_time", np.float64),
        ("sequence_time", np.float64),
    ]
)
"""The state of one replica, and its use while use is counted."""

Record = Any
"""One element of such an array."""
Records = NDArray[np.void]


@_compiled
def touched_share(c: Coefficients, tokens: float) -> float:
    if c.untouched >= 1.0:
        return 0.0
    return float(1.0 - c.untouched**tokens)


@_compiled
def decode_base(c: Coefficients, batch: float) -> float:
    part = batch / c.parts
    experts = c.decode_experts_s * touched_share(c, part * c.groups)
    return c.decode_s + part * c.decode_token_s + experts


@_compiled
def decode_context(c: Coefficients, batch: float, context: float) -> float:
    part = batch / c.parts
    return part * (c.decode_full_s * context + c.decode_window_s * min(context, c.window))


@_compiled
def decode_time(c: Coefficients, batch: float, context: float) -> float:
    """t(B, c)."""
    return decode_base(c, batch) + decode_context(c, batch, context)


@_compiled
def prefill_time(c: Coefficients, tokens: float, prefix: float) -> float:
    """T_p(S, p)."""
    half = tokens / 2
    arithmetic = c.prefill_s + tokens * (
        c.prefill_token_s
        + c.prefill_full_s * (prefix + half)
        + c.prefill_window_s * min(c.window, half)
    )
    reading = c.reading_s + c.reading_experts_s * touched_share(c, tokens)
    return max(arithmetic, reading) + c.talking_s + c.talking_token_s * tokens


@_compiled
def _count_gaps(gaps: Floats, limits: Limits, gap_s: float, tokens: float, end_s: float) -> None:
    if end_s <= limits.count_from_s or end_s > limits.count_until_s or gap_s <= 0.0:
        return
    place = int(np.log(gap_s / GAP_LEAST_S) * GAP_BINS_PER_E)
    place = min(max(place, 0), GAP_BINS - 1)
    gaps[0, place] += tokens
    gaps[1, place] += tokens * gap_s


@_compiled
def _count_use(s: Record, limits: Limits, start_s: float, end_s: float) -> None:
    span = min(end_s, limits.count_until_s) - max(start_s, limits.count_from_s)
    if span > 0.0:
        s["busy_s"] += span
        s["kv_time"] += span * s["used"]
        s["sequence_time"] += span * s["running"]


@_compiled
def _push(s: Record, q: Records, i: int) -> None:
    q[i]["next"] = -1
    if s["waiting"] == 0:
        s["head"] = i
    else:
        q[s["tail"]]["next"] = i
    s["tail"] = i
    s["waiting"] += 1


@_compiled
def _preempt_last(s: Record, q: Records, order: Ints, limits: Limits) -> None:
    """Takes the request that came last out of the batch, to the front of the queue."""
    s["running"] -= 1
    i = order[s["running"]]
    if q[i]["entered"] >= 0:
        steps = s["step"] - q[i]["entered"]
        held = q[i]["need"] + steps
        s["used"] -= held
        s["context"] -= held + 1
        s["decoding"] -= 1
        q[i]["done"] += steps
        q[i]["need"] = held + 1
        q[i]["entered"] = -1
        q[i]["last_s"] = s["clock_s"]
    else:
        held = q[i]["kv"]
        s["used"] -= q[i]["need"]
    q[i]["kv"] = int(limits.still_cached * held)
    q[i]["preempted"] += 1
    q[i]["next"] = s["head"]
    if s["waiting"] == 0:
        q[i]["next"] = -1
        s["tail"] = i
    s["head"] = i
    s["waiting"] += 1


@_compiled
def _admit(s: Record, q: Records, order: Ints, limits: Limits, budget: int) -> None:
    """First come first served, while room, sequences and the token budget last."""
    while s["waiting"] > 0 and s["running"] < limits.most_sequences and budget > 0:
        i = s["head"]
        kept_free = limits.kept_free if s["running"] > 0 else 0.0
        if s["used"] + s["decoding"] + q[i]["need"] + kept_free > limits.room:
            return
        s["head"] = q[i]["next"]
        s["waiting"] -= 1
        order[s["running"]] = i
        s["running"] += 1
        s["fresh"] += 1
        s["used"] += q[i]["need"]
        q[i]["kv"] = min(q[i]["kv"], q[i]["need"] - 1)
        q[i]["chunk"] = min(q[i]["need"] - q[i]["kv"], budget)
        budget -= q[i]["chunk"]
        if np.isnan(q[i]["scheduled_s"]):
            q[i]["scheduled_s"] = s["clock_s"]


@_compiled
def _plan(s: Record, q: Records, order: Ints, c: Coefficients, limits: Limits) -> bool:
    """Puts together the step that starts now and says when it ends.

    Answers whether the steps after it are like it until somebody comes or goes.
    """
    evicted = False
    while s["used"] + s["decoding"] > limits.room:
        _preempt_last(s, q, order, limits)
        evicted = True
    if evicted:
        s["next_finish"] = _soonest(s, q, order)
    s["fresh"] = 0
    budget = limits.token_budget - s["decoding"]
    # only the request admitted last can be half prefilled: it took what was left of the budget
    if s["running"] > 0 and budget > 0:
        i = order[s["running"] - 1]
        if q[i]["entered"] < 0:
            q[i]["chunk"] = min(q[i]["need"] - q[i]["kv"], budget)
            budget -= q[i]["chunk"]
            s["fresh"] = 1
    if not evicted:
        _admit(s, q, order, limits, budget)
    prefill_s = 0.0
    for place in range(s["running"] - s["fresh"], s["running"]):
        i = order[place]
        prefill_s += prefill_time(c, q[i]["chunk"], q[i]["kv"])
    n = s["decoding"]
    if n > 0:
        prefill_s = c.interference * prefill_s + decode_time(c, n, s["context"] / n)
    s["end_s"] = s["clock_s"] + prefill_s
    return s["fresh"] == 0 and not evicted


@_compiled
def _soonest(s: Record, q: Records, order: Ints) -> int:
    soonest = NEVER
    for place in range(s["running"]):
        i = order[place]
        if q[i]["entered"] >= 0:
            soonest = min(soonest, q[i]["entered"] + q[i]["output"] - q[i]["done"])
    return soonest


@_compiled
def _retire(s: Record, q: Records, order: Ints) -> None:
    """Takes finished requests out of the batch."""
    kept = 0
    for place in range(s["running"]):
        i = order[place]
        if q[i]["entered"] < 0:
            finished = q[i]["done"] == q[i]["output"]
            held = q[i]["need"]
        else:
            steps = s["step"] - q[i]["entered"]
            finished = q[i]["done"] + steps == q[i]["output"]
            held = q[i]["need"] + steps
            if finished:
                s["decoding"] -= 1
                s["context"] -= held + 1
        if finished:
            s["used"] -= held
            q[i]["last_s"] = s["clock_s"]
        else:
            order[kept] = i
            kept += 1
    s["running"] = kept
    s["next_finish"] = _soonest(s, q, order)


@_compiled
def _finish_step(s: Record, q: Records, order: Ints, gaps: Floats, limits: Limits) -> None:
    start_s, now_s = s["clock_s"], s["end_s"]
    n = s["decoding"]
    _count_use(s, limits, start_s, now_s)
    if n > 0:
        _count_gaps(gaps, limits, now_s - start_s, n, now_s)
    s["clock_s"] = now_s
    s["end_s"] = -1.0
    s["step"] += 1
    s["used"] += n
    s["context"] += n
    ended = s["step"] >= s["next_finish"]
    for place in range(s["running"] - s["fresh"], s["running"]):
        i = order[place]
        q[i]["kv"] += q[i]["chunk"]
        if q[i]["kv"] < q[i]["need"]:
            continue
        if q[i]["done"] == 0:
            q[i]["first_s"] = now_s
        else:
            _count_gaps(gaps, limits, now_s - q[i]["last_s"], 1.0, now_s)
        q[i]["done"] += 1
        if q[i]["done"] == q[i]["output"]:
            ended = True
            continue
        q[i]["entered"] = s["step"]
        s["decoding"] += 1
        s["context"] += q[i]["need"] + 1
        s["next_finish"] = min(s["next_finish"], s["step"] + q[i]["output"] - q[i]["done"])
    s["fresh"] = 0
    if ended:
        _retire(s, q, order)


@_compiled
def _decode_run(s: Record, gaps: Floats, c: Coefficients, limits: Limits, until_s: float) -> None:
    """Takes decode steps between which nobody can come or go; the last one stays under way.

    A queue that is blocked stays so: running requests only take more room.
    """
    n = s["decoding"]
    base_s = decode_base(c, n)
    start_s = s["clock_s"]
    clock, end, used, context = s["clock_s"], s["end_s"], s["used"], s["context"]
    step, last_step = s["step"], s["next_finish"] - 1
    first_step = step
    while end <= until_s and step < last_step and used + 2 * n <= limits.room:
        clock = end
        step += 1
        used += n
        context += n
        end = clock + (base_s + decode_context(c, n, context / n))
    steps = step - first_step
    if steps == 0:
        return
    s["used"] = (s["used"] + used - n) / 2
    _count_use(s, limits, start_s, clock)
    _count_gaps(gaps, limits, (clock - start_s) / steps, n * steps, clock)
    s["clock_s"], s["end_s"], s["used"], s["context"] = clock, end, used, context
    s["step"] = step


@_compiled
def _advance(
    s: Record,
    q: Records,
    order: Ints,
    gaps: Floats,
    c: Coefficients,
    limits: Limits,
    until_s: float,
) -> None:
    """Runs a replica up to a time; the step under way then is left so."""
    while True:
        if s["end_s"] < 0.0:
            if s["clock_s"] >= until_s or s["running"] + s["waiting"] == 0:
                return
            if _plan(s, q, order, c, limits):
                _decode_run(s, gaps, c, limits, until_s)
        if s["end_s"] > until_s:
            return
        _finish_step(s, q, order, gaps, limits)


@_compiled
def _load(s: Record) -> int:
    return int(s["running"] + s["waiting"])


@_compiled
def serve(
    pool: Records, q: Records, order: Ints, gaps: Floats, c: Coefficients, limits: Limits
) -> None:
    """Serves all requests to the end; one larger than the room is turned away (stays NaN).

    `pool` and `q` hold REPLICA and REQUEST records, `order` a row a replica for its running
    requests in the order of admission, `gaps` the count and the sum of gaps a bin.
    """
    for i in range(len(q)):
        now_s = q[i]["arrival_s"]
        r = q[i]["replica"]
        if r == LEAST_LOADED:
            r = 0
            for other in range(len(pool)):
                _advance(pool[other], q, order[other], gaps, c, limits, now_s)
                if _load(pool[other]) < _load(pool[r]):
                    r = other
            q[i]["replica"] = r
        else:
            _advance(pool[r], q, order[r], gaps, c, limits, now_s)
        if q[i]["prompt"] + q[i]["output"] > limits.room:
            continue
        s = pool[r]
        if _load(s) == 0:
            s["clock_s"] = max(s["clock_s"], now_s)
        _push(s, q, i)
    for r in range(len(pool)):
        _advance(pool[r], q, order[r], gaps, c, limits, np.inf)
