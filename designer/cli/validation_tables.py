"""Tables of the engine against cases with right answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from designer.cli.facade import api
from designer.cli.table_parts import cut, figure, put, row, sentence, table, time
from designer.model.units import number
from designer.report.words import UNKNOWN, plural

if TYPE_CHECKING:
    # Brings the kernels along, which a table does not need.
    from designer.analysis.serving_accuracy import Errors

MOST_DIFFERENCES: Final = 3
MOST_UNPREDICTED: Final = 20
MOST_CHARACTERS: Final = 38


def network(console: Console, judged: Sequence[api.JudgedCase]) -> None:
    """Each case beside its right answer and tolerance; differences below."""
    made = table(
        "Network cases", ("Case", "Kind", "Ours", "Right answer"), ("tolerance",), ("Result",)
    )
    for case in judged:
        expected = case.expected
        answer = "none given" if expected is None else _short(_like(expected, expected))
        ours = _short(case.result if expected is None else _like(expected, case.result))
        row(made, case.id, case.kind, ours, answer, _tolerance(case), _word(case))
    put(console, made)
    _differences(console, judged)
    answered = [case for case in judged if case.expected is not None]
    off = sum(1 for case in answered if case.differences)
    none = len(judged) - len(answered)
    said = f"{len(answered) - off:,} of {plural(len(answered), 'case')} agree"
    sentence(console, f"{said}; {none:,} without a right answer." if none else f"{said}.")


def _tolerance(case: api.JudgedCase) -> str:
    return "" if case.expected is None else f"{case.rel_tol:g}"


def _word(case: api.JudgedCase) -> Text:
    if case.expected is None:
        return Text("computed")
    return Text("off", "bold red") if case.differences else Text("agrees", "green")


def _differences(console: Console, judged: Sequence[api.JudgedCase]) -> None:
    for case in judged:
        rest = len(case.differences) - MOST_DIFFERENCES
        if case.differences:
            said = "; ".join(cut(each, 120) for each in case.differences[:MOST_DIFFERENCES])
            more = f"; {rest:,} more" if rest > 0 else ""
            sentence(console, f"{case.id}: {said}{more}", "red")


def _like(expected: object, found: object) -> object:
    """What was found, in the order of the right answer, without what is there for information."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        keys = [key for key in expected if not str(key).startswith("sim_")]
        return {key: _like(expected[key], found.get(key)) for key in keys}
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [_like(one, other) for one, other in zip(expected, found, strict=True)]
    return found


def _short(answer: object) -> str:
    return cut(_value(answer).removeprefix("{").removesuffix("}"), MOST_CHARACTERS)


def _value(value: object) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    try:
        return number(float(Fraction(str(value))), 6)
    except ValueError:
        return str(value)


def serving(console: Console, accuracy: api.ServingAccuracy) -> None:
    """How far predictions of measured runs are off, whole and by model, engine and GPU."""
    summary = accuracy.summary
    count = len(accuracy.predictions)
    predicted = count - len(summary.not_predicted)
    sentence(console, f"{predicted:,} of {plural(count, 'measured run')} predicted.")
    groups: dict[str, tuple[Errors, ...]] = {
        "Runs": (summary.unsaturated, summary.saturated),
        "Model": summary.by_model,
        "Engine": summary.by_engine,
        "GPU": summary.by_accelerator,
    }
    for name, found in groups.items():
        _errors(console, name, [each for each in found if each.rows])
    _goals(console, accuracy)
    _unpredicted(console, summary.not_predicted)


def _errors(console: Console, name: str, found: Sequence[Errors]) -> None:
    if not found:
        return
    made = table(
        f"Absolute error by {name.lower()}, %",
        (name,),
        ("rows", "TTFT\nmedian", "TTFT\np90", "ITL\nmedian", "ITL\np90", "request\nmedian",
         "request\np90"),
    )  # fmt: skip
    for each in found:
        spread = (
            each.ttft_median, each.ttft_p90, each.itl_median, each.itl_p90, each.request_median,
            each.request_p90,
        )  # fmt: skip
        row(made, each.name or "not said", f"{each.rows:,}", *(_percent(e) for e in spread))
    put(console, made)


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def _goals(console: Console, accuracy: api.ServingAccuracy) -> None:
    made = table("Goals, unsaturated runs", ("Error",), ("reached\n%", "at most\n%"), ("Result",))
    for goal in accuracy.summary.goals:
        if goal.reached_percent is None:
            word = Text("nothing measured")
        else:
            word = Text("met", "green") if goal.is_met else Text("missed", "bold red")
        row(made, goal.name, _percent(goal.reached_percent), str(goal.limit_percent), word)
    put(console, made)


def _unpredicted(console: Console, found: Sequence[tuple[str, str]]) -> None:
    if not found:
        return
    by_reason: dict[str, list[str]] = defaultdict(list)
    for case, reason in found:
        by_reason[reason].append(case)
    made = table("Not predicted", ("Reason",), ("rows",), ("First case",))
    for reason, cases in list(by_reason.items())[:MOST_UNPREDICTED]:
        row(made, reason, f"{len(cases):,}", cases[0])
    put(console, made)
    if len(by_reason) > MOST_UNPREDICTED:
        sentence(console, f"{len(by_reason) - MOST_UNPREDICTED:,} more reasons.")


def openloop(console: Console, replayed: api.TraceReplay) -> None:
    """Measured beside predicted percentiles of a trace."""
    replay, by = replayed.replay, replayed.served_by
    sentence(
        console,
        f"{plural(replay.requests, 'request')} served by {by.model} on {by.gpu}, "
        f"{by.tensor_parallel} GPU a replica; turned away {replay.turned_away:,}, "
        f"pre-empted {replay.preemptions:,}.",
    )
    made = table(
        "Measured and predicted",
        ("Time", "Percentile"),
        ("measured\nms", "predicted\nms", "off\n%"),
    )
    words = {"ttft_ms": "first token", "tpot_ms": "per output token", "request_ms": "whole request"}
    for metric, measured in replay.measured.items():
        for level, value in measured.items():
            ours = replay.predicted[metric][level]
            off = None if not value or ours is None else 100 * (ours / value - 1)
            shown = UNKNOWN if off is None else f"{'+' if off > 0 else ''}{figure(off, 2)}"
            row(made, words[metric], level, time(value), time(ours), shown)
    put(console, made)
