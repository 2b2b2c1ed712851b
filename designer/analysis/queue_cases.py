"""Queue cases of the reference, computed with the functions that the program uses on a drawing.

Forms of input and expected keys: the reference's README of cases. Numbers may be fractions as
text. The unit of time is the case's own.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from immutables import Map

from designer.analysis.latency_algebra import n_times
from designer.analysis.queue_trace import fifo_waits, priority_waits
from designer.analysis.queueing import ClassLoad, Wait, priority_wait
from designer.analysis.server_queues import ServerWait, ServiceShape, mgc_wait, mmc_wait
from designer.analysis.wait_latency import port_latency

_LEVELS: Final[Map[str, float]] = Map({"p50": 0.5, "p95": 0.95, "p99": 0.99})
_GBPS: Final = 8.0
"""On a port of 8 Gb/s a byte takes a nanosecond: sizes in bytes are service times in ns."""


def compute(
    case: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """The answer to the `input` of one queue case, with the keys of its `expected`.

    `others` holds the inputs of other cases by id, for a path of hops that names one. Where there
    is no steady state figures are None. Raises ValueError for a form that is not known.
    """
    if "hop" in case:
        return _hops(case, others or {})
    if "arrivals" in case:
        return _trace(case)
    if "lambdas_per_ns" in case:
        return {"classes": [_class_answer(wait) for wait in _priority(case)]}
    if "sizes" in case:
        return _mg1(case)
    if "c" in case:
        return _servers(case)
    raise ValueError(f"the queue model {case.get('model')!r} is not known; see the cases' README")


def _number(value: Any) -> float:
    return float(Fraction(value)) if isinstance(value, str) else float(value)


def _numbers(values: Sequence[Any]) -> list[float]:
    return [_number(value) for value in values]


def _priority(case: Mapping[str, Any]) -> tuple[Wait, ...]:
    rates, services = _numbers(case["lambdas_per_ns"]), _numbers(case["service_ns"])
    return priority_wait(
        [
            ClassLoad(rate * service * _GBPS, ((service, 1.0),), priority=place)
            for place, (rate, service) in enumerate(zip(rates, services, strict=True))
        ],
        _GBPS,
    )


def _class_answer(wait: Wait) -> dict[str, float | None]:
    found = wait.quantiles(tuple(_LEVELS.values())) or (None,) * len(_LEVELS)
    mean, second = wait.mean_us, wait.second_moment_us2
    answer = {name: _times(value, 1e3) for name, value in zip(_LEVELS, found, strict=True)}
    return answer | {"mean": _times(mean, 1e3), "second": _times(second, 1e6)}


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _mg1(case: Mapping[str, Any]) -> dict[str, Any]:
    packets = tuple(zip(_numbers(case["sizes"]), _numbers(case["probs"]), strict=True))
    rho = _number(case["lam"]) * sum(size * share for size, share in packets)
    load = ClassLoad(rho * _GBPS, packets)
    return {"rho": rho, **_class_answer(priority_wait([load], _GBPS)[0])}


def _servers(case: Mapping[str, Any]) -> dict[str, Any]:
    rate, service, servers = _number(case["lam"]), _number(case["mean_service"]), int(case["c"])
    markov = mmc_wait(rate, service * 1e3, servers)
    if "scv" not in case:
        return _server_answer(markov)
    scv = _number(case["scv"])
    wait = mgc_wait(rate, service * 1e3, scv, servers, _shape(str(case.get("service", ""))))
    simple = None if markov.mean_ms is None else markov.mean_ms / 1e3 * (1.0 + scv) / 2.0
    answer = _server_answer(wait)
    return answer | {"kimura_mean": answer["mean"], "allen_cunneen_mean": simple}


def _shape(service: str) -> ServiceShape:
    if service.startswith("gamma"):
        return "gamma"
    return "hyperexponential" if service.startswith("hyper") else "lognormal"


def _server_answer(wait: ServerWait) -> dict[str, float | None]:
    found = wait.quantiles(tuple(_LEVELS.values())) or (None,) * len(_LEVELS)
    answer = {name: _times(value, 1e-3) for name, value in zip(_LEVELS, found, strict=True)}
    return answer | {"p_wait": wait.p_wait, "mean": _times(wait.mean_ms, 1e-3)}


def _trace(case: Mapping[str, Any]) -> dict[str, Any]:
    arrivals, services = _numbers(case["arrivals"]), _numbers(case["service"])
    if "cls" in case:
        return {"waits": priority_waits(arrivals, services, [int(c) for c in case["cls"]])}
    return {"waits": fifo_waits(arrivals, services, int(case["c"]))}


def _hops(case: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    hop = case["hop"]
    one = hop if isinstance(hop, Mapping) else others.get(hop)
    if one is None:
        raise ValueError(f"the hop {hop!r} is not among the cases; add it to the file")
    classes: list[dict[str, float | None]] = []
    for wait in _priority(one):
        latency = port_latency("hop", wait)
        if latency is None:
            classes.append(dict.fromkeys((*_LEVELS, "mean")))
            continue
        path = n_times(latency, int(case["hops"]))
        points = {name: path.percentile(level) * 1e6 for name, level in _LEVELS.items()}
        classes.append({**points, "mean": path.mean_ms * 1e6})
    return {"classes": classes}
