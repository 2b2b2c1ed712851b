"""Services, users and pools turned into requests, streams of traffic, and work for servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from designer.analysis.facts import Ledger
from designer.analysis.objections import called
from designer.analysis.request_parts import (
    Generate,
    Move,
    Serve,
    leaves,
)
from designer.analysis.steering import Choice, Distance, choices
from designer.analysis.tokens import Role
from designer.analysis.wire import SEGMENT_BYTES, WireSizes, wire_sizes
from designer.analysis.workflow import Request, Unresolved, Wiring, resolve
from designer.model.design import Design
from designer.model.services import Demand, Service, Tokens

MeanTokens = Callable[[Service, Tokens, Role], float | None]
"""Mean tokens of a service's prompt or output; None where nobody says."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Requests of one service from one population that take one choice of pools.

    requests_per_s: of the busiest hour, this choice's share alone. request None: they cannot be
    served, and `refused` says why.
    """

    service: str
    users: str
    demand: int
    share: float
    requests_per_s: float
    request: Request | None
    refused: str
    deployment: str | None


@dataclass(frozen=True, slots=True)
class Stream:
    """Traffic of one class between two drawn nodes, all their instances together, one way.

    payload_gbps: application bytes in the busiest hour; None with `elastic` True: takes what is
    left; None otherwise: not known. payload_bytes: of one packet, for the overhead. connections:
    parallel flows, which count for hashing and for shares. day: 24 relative values by UTC hour,
    or empty. via: nodes or links that an explicit path passes.
    """

    id: str
    service: str | None
    users: str | None
    traffic_class: str
    source: str
    target: str
    payload_gbps: float | None
    elastic: bool
    payload_bytes: float
    connections: int
    day: tuple[float, ...]


def plans(
    design: Design, distance: Distance, mean_tokens: MeanTokens, ledger: Ledger
) -> tuple[Plan, ...]:
    """Every service's requests, by users and by pool that serves them."""
    made: list[Plan] = []
    for key in sorted(design.services):
        service = design.services[key]
        sizes = wire_sizes(service, ledger)
        for index, demand in enumerate(service.demands):
            for choice in choices(design, service, demand.users, distance):
                made.append(
                    _plan(design, service, index, demand, choice, sizes, distance, mean_tokens)
                )
    return tuple(made)


def _plan(
    design: Design,
    service: Service,
    index: int,
    demand: Demand,
    choice: Choice,
    sizes: WireSizes,
    distance: Distance,
    mean_tokens: MeanTokens,
) -> Plan:
    wiring = Wiring(
        demand.users,
        nearest_of(design, distance),
        lambda node: design.nodes[node].kind,
        choice.serves,
        partial(mean_tokens, service),
        sizes.request_per_token,
        sizes.request_overhead,
        sizes.stream_per_token,
        sizes.stream_packet,
        partial(called, design),
    )
    served = choice.serves.get(None)
    request, refused = None, ""
    try:
        request = resolve(service, wiring)
    except Unresolved as error:
        refused = str(error)
    return Plan(
        service.id,
        demand.users,
        index,
        choice.share,
        demand.requests_per_s * choice.share,
        request,
        refused,
        served[0] if served else None,
    )


def nearest_of(design: Design, distance: Distance) -> Callable[[str, str], str | None]:
    """A look-up of the node that a step means: itself, or the nearest one of that kind."""

    def nearest(what: str, start: str) -> str | None:
        if what in design.nodes:
            return what if what == start or distance(start, what) is not None else None
        far = [
            (ms, key)
            for key, node in design.nodes.items()
            if node.kind == what and (ms := _from(distance, start, key)) is not None
        ]
        return min(far)[1] if far else None

    return nearest


def _from(distance: Distance, start: str, node: str) -> float | None:
    return 0.0 if node == start else distance(start, node)


def streams(design: Design, made: Sequence[Plan], ledger: Ledger) -> tuple[Stream, ...]:
    """All traffic: what the requests move, summed over steps, and the design's own flows."""
    return (*_request_streams(design, made, ledger), *_flow_streams(design))


def _request_streams(design: Design, made: Sequence[Plan], ledger: Ledger) -> Iterator[Stream]:
    sums: dict[tuple[str, str, int, str, str, str, str], float | None] = {}
    for plan in made:
        if plan.request is None:
            continue
        for leaf, times in leaves(plan.request.whole):
            if not isinstance(leaf, Move) or leaf.source == leaf.target:
                continue
            key = (
                plan.service,
                plan.users,
                plan.demand,
                leaf.traffic_class,
                leaf.what,
                leaf.source,
                leaf.target,
            )
            more = _gbps(leaf.carried_bytes, times * plan.requests_per_s)
            had = sums.get(key, 0.0)
            sums[key] = None if more is None or had is None else had + more
    for (service, users, index, cls, what, source, target), gbps in sums.items():
        owner = design.services[service]
        packet = SEGMENT_BYTES
        if what == "answer":
            packet = min(packet, wire_sizes(owner, ledger).stream_packet)
        yield Stream(
            f"{service}/{users}{_again(owner, index)}/{cls}/{what}/{source}>{target}",
            service,
            users,
            cls,
            source,
            target,
            gbps,
            False,
            packet,
            1 + int(owner.demands[index].requests_per_s),
            owner.demands[index].day,
        )


def _again(service: Service, index: int) -> str:
    """Tells two demands from the same users apart."""
    users = service.demands[index].users
    before = sum(demand.users == users for demand in service.demands[:index])
    return f".{before + 1}" if before else ""


def _gbps(carried_bytes: float | None, per_s: float) -> float | None:
    return None if carried_bytes is None else carried_bytes * 8 * per_s / 1e9


def _flow_streams(design: Design) -> Iterator[Stream]:
    for key in sorted(design.flows):
        flow = design.flows[key]
        yield Stream(
            key,
            flow.owner,
            None,
            flow.traffic_class,
            flow.source,
            flow.target,
            flow.rate_gbps,
            flow.rate_gbps is None,
            SEGMENT_BYTES,
            flow.flows,
            flow.day,
        )


def prompts_by_deployment(
    made: Sequence[Plan],
) -> dict[str, tuple[tuple[Plan, Generate, float], ...]]:
    """What each deployment is asked: the plan, the prompt, and how many a second of it."""
    asked: dict[str, list[tuple[Plan, Generate, float]]] = {}
    for plan in made:
        if plan.request is None:
            continue
        for leaf, times in leaves(plan.request.whole):
            if isinstance(leaf, Generate):
                asked.setdefault(leaf.deployment, []).append(
                    (plan, leaf, times * plan.requests_per_s)
                )
    return {key: tuple(rows) for key, rows in sorted(asked.items())}


def calls_by_node(made: Sequence[Plan]) -> dict[str, float]:
    """Requests a second that each serving node works on."""
    rates: dict[str, float] = {}
    for plan in made:
        if plan.request is None:
            continue
        for leaf, times in leaves(plan.request.whole):
            if isinstance(leaf, Serve):
                rates[leaf.node] = rates.get(leaf.node, 0.0) + times * plan.requests_per_s
    return rates
