"""The GPU tier held against measured runs: closed-loop benchmarks and replayed open-loop traces."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import numpy as np

from designer.analysis.batching import EngineLimits, simulate
from designer.analysis.closed_loop import closed_loop
from designer.analysis.scale_up import CannotServe
from designer.analysis.serving import BYTES_PER_PARAMETER, Replica
from designer.model.silicon import Accelerator, AllReduceFigure, LanguageModel, ServingConstants

OPENING_SHARES: Final = {"InferenceX": 0.10, "NVIDIA gap analysis": 0.20, "GPUStack": 0.04}
"""Share of first tokens in the opening burst, by the harness of the benchmark."""

OTHER_OPENING_SHARE: Final = 0.10

PERCENTILES: Final = (50.0, 90.0, 95.0, 99.0)

MODEL_ALIASES: Final = {
    "DeepSeek-V3": "DeepSeek-R1",
    "DeepSeek-R1-0528": "DeepSeek-R1",
    "Llama-3.3-70B": "Llama-3.1-70B",
    "Llama-3.1-8B-Instruct": "Llama-3.1-8B",
    "Llama-3.1-70B-Instruct": "Llama-3.1-70B",
    "Llama-3.3-70B-Instruct": "Llama-3.1-70B",
    "Llama-3.1-405B-Instruct": "Llama-3.1-405B",
    "Meta-Llama-3.1-8B": "Llama-3.1-8B",
    "Meta-Llama-3.1-70B": "Llama-3.1-70B",
    "Meta-Llama-3.1-405B": "Llama-3.1-405B",
    "Qwen3-235B-A22B-FP8": "Qwen3-235B-A22B",
}
"""Models of the same shape, or other spellings of the same model."""

ACCELERATOR_ALIASES: Final = {
    "h100": "h100_sxm",
    "h200": "h200_sxm",
    "b200": "b200_sxm",
    "b300": "b300_sxm",
    "a100": "a100_sxm",
    "rtx4090": "rtx_4090",
    "rtx_pro_6000": "rtx_pro_6000_server",
}

FORMAT_ALIASES: Final = {"nvfp4": "fp4", "fp16": "bf16", "float16": "bf16", "bfloat16": "bf16"}


@dataclass(frozen=True, slots=True)
class Silicon:
    """What cases are looked up in, by catalogue id."""

    models: Mapping[str, LanguageModel]
    accelerators: Mapping[str, Accelerator]
    constants: ServingConstants
    all_reduce_figures: tuple[AllReduceFigure, ...]

    def replica(
        self, model: str, accelerator: str, ways: int, experts: int, weights: str, kv: str
    ) -> Replica:
        """A replica by the names of a case. Raises CannotServe for a name that is not known."""
        shape = self.models.get(MODEL_ALIASES.get(model, model))
        chip = self.accelerators.get(ACCELERATOR_ALIASES.get(accelerator, accelerator))
        if shape is None:
            raise CannotServe(f"The model {model} is not in the catalogue; add a row for it.")
        if chip is None:
            raise CannotServe(f"{accelerator} is not in the catalogue; add a row for it.")
        return Replica(
            model=shape,
            accelerator=chip,
            tensor_parallel=ways,
            expert_parallel=experts,
            weight_format=_format(weights),
            kv_format=_format(kv),
            constants=self.constants,
            all_reduce_figures=self.all_reduce_figures,
        )


def _format(name: str) -> str:
    known = FORMAT_ALIASES.get(name, name)
    if known not in BYTES_PER_PARAMETER:
        raise CannotServe(f"The format {name} is not known; use one of bf16, fp8, fp4, int4.")
    return known


@dataclass(frozen=True, slots=True)
class Prediction:
    """Mean times of one case in ms; all None with the `reason` where it cannot be predicted."""

    ttft_ms: float | None
    itl_ms: float | None
    request_ms: float | None
    reason: str = ""

    @property
    def figures(self) -> dict[str, float | None]:
        """The keys of a case's `expected`."""
        return {"ttft_ms": self.ttft_ms, "itl_ms": self.itl_ms, "request_ms": self.request_ms}


def serving(rows: Iterable[Mapping[str, str]], silicon: Silicon) -> dict[str, Prediction]:
    """Predicts each row's closed loop, by `case_id`; measured columns are not read.

    Raises ValueError for a row without the columns or with a number that is none.
    """
    made: dict[str, Prediction] = {}
    for line, row in enumerate(rows, start=2):
        case = row.get("case_id") or ""
        if not case or case in made:
            raise ValueError(
                f"Line {line}: case_id {case!r} is empty or used twice; make it unique."
            )
        made[case] = _predict(row, silicon)
    return made


def _predict(row: Mapping[str, str], silicon: Silicon) -> Prediction:
    ways, experts = int(_number(row, "tp")), int(_number(row, "moe_ep", "1"))
    prompt = _number(row, "isl_mean" if row.get("isl_mean") else "isl")
    output = _number(row, "osl_mean" if row.get("osl_mean") else "osl")
    clients = _number(row, "concurrency")
    opening = OPENING_SHARES.get(row.get("harness", ""), OTHER_OPENING_SHARE)
    kv = row.get("kv_dtype_assumed") or "bf16"
    names = (row.get("model", ""), row.get("gpu", ""))
    try:
        replica = silicon.replica(*names, ways, experts, row.get("weight_dtype") or "bf16", kv)
        loop = closed_loop(replica, clients, prompt, output, opening)
    except CannotServe as refusal:
        return Prediction(None, None, None, str(refusal))
    return Prediction(loop.ttft_ms, loop.itl_ms, loop.request_ms)


def _number(row: Mapping[str, str], column: str, default: str = "") -> float:
    text = row.get(column) or default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"Case {row.get('case_id')}: {column} is {text!r}; give a number above 0.")
    return value


@dataclass(frozen=True, slots=True)
class Errors:
    """Absolute relative errors of a set of rows in percent; None where none has the figure."""

    name: str
    rows: int
    ttft_median: float | None
    ttft_p90: float | None
    itl_median: float | None
    itl_p90: float | None
    request_median: float | None
    request_p90: float | None


@dataclass(frozen=True, slots=True)
class Goal:
    """One line of accuracy: the error that may not be passed, in whole percent."""

    name: str
    limit_percent: int
    reached_percent: float | None

    @property
    def is_met(self) -> bool:
        """Rounded to whole percent, no worse than the limit."""
        return self.reached_percent is not None and round(self.reached_percent) <= (
            self.limit_percent
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """How far predictions are off: rows with more clients than the engine admits stand apart."""

    unsaturated: Errors
    saturated: Errors
    by_model: tuple[Errors, ...]
    by_engine: tuple[Errors, ...]
    by_accelerator: tuple[Errors, ...]
    not_predicted: tuple[tuple[str, str], ...]
    """Case and reason."""

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What the formulas reached when they were fitted: ours must be no worse."""
        errors = self.unsaturated
        return (
            Goal("ITL median", 11, errors.itl_median),
            Goal("ITL p90", 37, errors.itl_p90),
            Goal("TTFT median", 27, errors.ttft_median),
            Goal("TTFT p90", 73, errors.ttft_p90),
        )


_Case = tuple[Mapping[str, str], Prediction]


def summary(rows: Iterable[Mapping[str, str]], results: Mapping[str, Prediction]) -> Summary:
    """Errors of `results` against the measured columns; tables are over unsaturated rows."""
    cases = [(row, results[row["case_id"]]) for row in rows]
    answered = [case for case in cases if not case[1].reason]
    easy = [case for case in answered if row_text(case[0], "saturated") != "True"]
    hard = [case for case in answered if row_text(case[0], "saturated") == "True"]
    return Summary(
        unsaturated=_errors("unsaturated", easy),
        saturated=_errors("saturated", hard),
        by_model=_by(easy, "model"),
        by_engine=_by(easy, "backend"),
        by_accelerator=_by(easy, "gpu"),
        not_predicted=tuple((row["case_id"], made.reason) for row, made in cases if made.reason),
    )


def row_text(row: Mapping[str, str], column: str) -> str:
    """A column's text, empty where the row lacks it."""
    return row.get(column) or ""


def _by(cases: list[_Case], column: str) -> tuple[Errors, ...]:
    names = sorted({row_text(row, column) for row, _ in cases})
    return tuple(
        _errors(name, [case for case in cases if row_text(case[0], column) == name])
        for name in names
    )


def _errors(name: str, cases: list[_Case]) -> Errors:
    ttft = _spread(cases, measured_ttft_ms, lambda made: made.ttft_ms)
    itl = _spread(cases, measured_itl_ms, lambda made: made.itl_ms)
    request = _spread(cases, measured_request_ms, lambda made: made.request_ms)
    return Errors(name, len(cases), *ttft, *itl, *request)


def measured_ttft_ms(row: Mapping[str, str]) -> float | None:
    """The row's measured time to first token; None where it has none."""
    return float(row["ttft_ms"]) if row.get("ttft_ms") else None


def measured_itl_ms(row: Mapping[str, str]) -> float | None:
    """The row's measured mean gap; None where it has none."""
    return float(row["itl_ms"]) if row.get("itl_ms") else None


def measured_request_ms(row: Mapping[str, str]) -> float | None:
    """The measured request time: first token and all gaps."""
    ttft, itl = measured_ttft_ms(row), measured_itl_ms(row)
    if ttft is None or itl is None:
        return None
    output = _number(row, "osl_mean" if row.get("osl_mean") else "osl")
    return ttft + (output - 1) * itl


def _spread(
    cases: list[_Case],
    measured: Callable[[Mapping[str, str]], float | None],
    predicted: Callable[[Prediction], float | None],
) -> tuple[float | None, float | None]:
    errors = []
    for row, made in cases:
        truth, guess = measured(row), predicted(made)
        if truth and guess is not None:
            errors.append(100 * abs(guess / truth - 1))
    if not errors:
        return None, None
    median, high = np.percentile(errors, (50, 90))
    return float(median), float(high)


@dataclass(frozen=True, slots=True)
class Replay:
    """Percentiles of a replayed trace in ms: metric ("ttft_ms", ...) to {"p50": ...}."""

    measured: Mapping[str, Mapping[str, float | None]]
    predicted: Mapping[str, Mapping[str, float | None]]
    requests: int
    turned_away: int
    preemptions: int


def openloop(
    records: Iterable[Mapping[str, Any]], replica: Replica, limits: EngineLimits
) -> Replay:
    """Serves a trace's requests as they were queued and compares p50, p90, p95, p99.

    Records have `input_toks`, `output_toks`, `queued_ts` and, where measured, `first_token_ts` and
    `last_token_ts` (s). Raises ValueError for a record without them, CannotServe as `simulate`.
    """
    columns = ("queued_ts", "input_toks", "output_toks", "first_token_ts", "last_token_ts")
    table = [_record(place, record, columns) for place, record in enumerate(records, start=1)]
    if not table:
        raise ValueError("The trace is empty; give at least one request.")
    queued, prompt, output, first, last = np.array(sorted(table, key=itemgetter(0))).T
    served = simulate(replica, queued - queued[0], prompt, output, 0, limits)
    gaps = np.where(output > 1, output - 1, np.nan)
    measured = {
        "ttft_ms": 1e3 * (first - queued),
        "tpot_ms": 1e3 * (last - first) / gaps,
        "request_ms": 1e3 * (last - queued),
    }
    predicted = {
        "ttft_ms": served.ttft_ms,
        "tpot_ms": served.tpot_ms,
        "request_ms": served.request_ms,
    }
    return Replay(
        measured={name: _percentiles(values) for name, values in measured.items()},
        predicted={name: _percentiles(values) for name, values in predicted.items()},
        requests=len(table),
        turned_away=served.turned_away,
        preemptions=served.preemptions,
    )


def _record(place: int, record: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[float, ...]:
    values = []
    for column in columns:
        value = record.get(column)
        if value is None and column in columns[3:]:
            values.append(math.nan)
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or not is_number or not math.isfinite(value):
            raise ValueError(f"Line {place}: {column} is {value!r}; give a number.")
        values.append(float(value))
    return tuple(values)


def _percentiles(values_ms: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float | None]:
    known = values_ms[~np.isnan(values_ms)]
    if len(known) == 0:
        return {f"p{level:g}": None for level in PERCENTILES}
    levels = np.percentile(known, PERCENTILES)
    return {f"p{level:g}": float(at) for level, at in zip(PERCENTILES, levels, strict=True)}
