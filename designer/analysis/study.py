"""One design under analysis: everything worked out about it so far, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from immutables import Map

from designer.analysis.answers import service_result
from designer.analysis.bandwidth import Flows, LinkLoads, Shares, flows_of, loads, share
from designer.analysis.classes import ClassRule, class_rules
from designer.analysis.clock import Clock
from designer.analysis.demand import (
    MeanTokens,
    Plan,
    Stream,
    calls_by_node,
    plans,
    prompts_by_deployment,
    streams,
)
from designer.analysis.elements import Elements
from designer.analysis.facts import Ledger
from designer.analysis.fanout import unequal_hops
from designer.analysis.gpu_price import gpu_hour
from designer.analysis.headers import Headers
from designer.analysis.oversubscription import oversubscription
from designer.analysis.pools import PoolAnswer, Pools, asks_of
from designer.analysis.results import FlowResult, Oversubscription, ServiceResult
from designer.analysis.scorecard import scorecard, why_unknown
from designer.analysis.sensitivity import Steps, sensitivity
from designer.analysis.steering import Distance
from designer.analysis.times import Times, times_of
from designer.analysis.tokens import Role, TokenLaws
from designer.analysis.transit import Traffic, Transit, elastic_flows
from designer.analysis.verdict import Band
from designer.analysis.waterfall import waterfalls
from designer.graph.arrays import Arrays, arrays, out_of_service
from designer.graph.expand import expand
from designer.graph.paths import PathFinder
from designer.model.catalog import Catalogue
from designer.model.design import Design
from designer.model.services import Service, Tokens

_UNKNOWN_MS: Final = 1e6
"""What an unknown delay counts as where ways are put in order: longer than any way on Earth."""


@dataclass(frozen=True, slots=True)
class Study:
    """What is known of one design. `pools`, `times` and `services` are empty until that stage."""

    design: Design
    catalogue: Catalogue
    ledger: Ledger
    elements: Elements
    laws: TokenLaws
    arrays: Arrays
    finder: PathFinder
    rules: Mapping[str, ClassRule]
    plans: tuple[Plan, ...]
    streams: tuple[Stream, ...]
    flows: Flows
    shares: Shares
    loads: LinkLoads
    transit: Transit
    oversubscription: Oversubscription
    flow_rows: tuple[FlowResult, ...]
    pools: Mapping[str, PoolAnswer] = Map()
    clock: Clock | None = None
    times: Mapping[str, tuple[Times, ...]] = Map()
    services: tuple[ServiceResult, ...] = ()

    def one_way_ms(self, source: str, target: str) -> float | None:
        """How near one drawn node is to another, to order by alone: see `_distance`."""
        return _distance(self.finder)(source, target)

    def way_km(self, source: str, target: str) -> float | None:
        """Length of the way that most traffic takes; None where a part of it is not known.

        The line of an access medium has no length of its own and counts nothing.
        """
        paths = self.finder.paths(source, target)
        if not paths:
            return None
        total = 0.0
        for key in paths[0].links:
            link = self.design.links[key]
            length = self.elements.link_length_km(link).value
            if length is None and self.elements.link_one_way_ms(link).value != 0.0:
                return None
            total += length or 0.0
        return total

    def bands(self, engine: str, metric: str) -> Band:
        """The error band of the GPU segment for an engine, "ttft" or "itl"."""
        row = self.catalogue.error_bands.get(engine) or self.catalogue.error_band("any")
        return Band.through(row.ttft if metric == "ttft" else row.itl)


def network_study(design: Design, catalogue: Catalogue, out: frozenset[str] = frozenset()) -> Study:
    """Everything but the services' times; `out` are nodes and links out of service."""
    ledger = Ledger()
    elements = Elements(design, catalogue, ledger)
    expansion = expand(design)
    delays = [elements.link_one_way_ms(design.links[key]).value for key in expansion.link_ids]
    net = arrays(design, expansion, delays)
    finder = PathFinder(net, out_of_service(net, out, out))
    rules = class_rules(design, ledger)
    laws = TokenLaws(catalogue, ledger)
    made = plans(design, _distance(finder), _mean_tokens(laws), ledger)
    headers = Headers(design, catalogue, ledger)
    network = _network(design, net, finder, rules, streams(design, made, ledger), headers)
    transit = Transit(design, net, finder, elements, network.traffic, headers, ledger)
    return Study(
        design,
        catalogue,
        ledger,
        elements,
        laws,
        net,
        finder,
        rules,
        made,
        network.streams,
        network.flows,
        network.shares,
        network.traffic.loads,
        transit,
        oversubscription(design, net),
        network.rows,
    )


@dataclass(frozen=True, slots=True)
class _Network:
    streams: tuple[Stream, ...]
    flows: Flows
    shares: Shares
    traffic: Traffic
    rows: tuple[FlowResult, ...]


def _network(
    design: Design,
    net: Arrays,
    finder: PathFinder,
    rules: Mapping[str, ClassRule],
    traffic: tuple[Stream, ...],
    headers: Headers,
) -> _Network:
    """Who shares what on the links, and what each flow gets."""

    def drawn(source: str, target: str) -> tuple[str, ...]:
        paths = finder.paths(source, target)
        return paths[0].links if paths else ()

    def balancing(vertex: int) -> str:
        return design.nodes[net.node_of(vertex)].balancing or design.settings.balancing

    goodput = [
        headers.goodput(
            each.payload_bytes, drawn(each.source, each.target), rules[each.traffic_class]
        )
        for each in traffic
    ]
    sizes = [
        (each.payload_bytes, rules[each.traffic_class], share_of)
        for each, share_of in zip(traffic, goodput, strict=True)
    ]
    wire = headers.weights(sizes, net.expansion.link_ids)
    flows = flows_of(net, traffic, goodput, wire, balancing, finder.down)
    _note_unequal(net, flows, headers.ledger)
    shared = share(net, flows, traffic, rules)
    rows = waterfalls(
        net,
        flows,
        shared,
        traffic,
        goodput,
        rules,
        balancing,
        {key: link.name or key for key, link in design.links.items()},
        drawn,
    )
    return _Network(
        traffic,
        flows,
        shared,
        Traffic(
            loads(net, flows, shared, traffic, rules),
            rules,
            elastic_flows(net, flows, traffic, rules),
        ),
        rows,
    )


def _note_unequal(net: Arrays, flows: Flows, ledger: Ledger) -> None:
    """Says where one flow is sent in equal parts over edges of unequal capacity."""
    for node, capacities in unequal_hops(net, flows).items():
        ledger.note(
            node,
            "equal_cost_gbps",
            " and ".join(f"{gbps:g}" for gbps in capacities),
            "guessed",
            "equal-cost next hops of unequal capacity get equal parts, so the smallest holds all "
            "back and the others stay partly idle; give the links metrics by their capacity",
        )


def _distance(finder: PathFinder) -> Distance:
    """One-way propagation of the route, to order by; no way is None.

    Each link of unknown delay comes after everything known, so that the nearest is never one whose
    way is not known where another's is; among such ways the known parts decide.
    """

    def distance(source: str, target: str) -> float | None:
        paths = finder.paths(source, target)
        if not paths:
            return None
        delays = finder.arrays.one_way_ms
        return sum(
            path.share * float(np.nan_to_num(delays[hop.edge], nan=_UNKNOWN_MS))
            for path in paths
            for hop in path.hops
        )

    return distance


def _mean_tokens(laws: TokenLaws) -> MeanTokens:
    def mean(service: Service, tokens: Tokens, role: Role) -> float | None:
        law = laws.of(service, tokens, role)
        return None if law is None else law.mean

    return mean


def with_services(study: Study) -> Study:
    """The study with its pools simulated and its services timed."""
    design = study.design
    builder = Pools(design, study.catalogue, study.ledger)
    answers: dict[str, PoolAnswer] = {}
    asked = prompts_by_deployment(study.plans)
    for key in sorted(design.deployments):
        asks, burst = asks_of(design, asked.get(key, ()), study.laws)
        answers[key] = builder.answer(key, asks, burst, design.settings.seed)
    clock = Clock(
        design, study.transit, study.elements, answers, calls_by_node(study.plans), study.ledger
    )
    times = {key: _times(clock, study.plans, key) for key in sorted(design.services)}
    results = tuple(
        service_result(
            clock,
            design.services[key],
            times[key],
            study.bands,
            design.settings.percentiles,
            study.ledger,
        )
        for key in times
    )
    placed = tuple(_with_distances(study, result) for result in results)
    return replace(study, pools=answers, clock=clock, times=times, services=placed)


def _with_distances(study: Study, result: ServiceResult) -> ServiceResult:
    """With the length of the way from each population to the pool that serves it first."""
    sites = tuple(
        site.model_copy(
            update={
                "distance_km": study.way_km(
                    site.users, study.design.deployments[site.deployments[0]].node
                )
            }
        )
        if site.deployments
        else site
        for site in result.user_sites
    )
    return result.model_copy(update={"user_sites": sites})


def with_details(study: Study) -> Study:
    """The study with each service's scorecard and what would help it; after `with_services`."""
    assert study.clock is not None
    clock, design = study.clock, study.design
    steps = Steps(clock, Pools(design, study.catalogue, study.ledger), {})

    def usd_per_gpu_hour(node: str) -> float | None:
        fact = gpu_hour(design, study.catalogue, node)
        return study.ledger.fact(node, "usd_per_gpu_hour", fact).value

    services = tuple(
        each.model_copy(
            update={
                "scorecard": scorecard(
                    clock,
                    design.services[each.id],
                    study.times[each.id],
                    usd_per_gpu_hour,
                    tuple(design.settings.percentiles),
                ),
                "sensitivity": sensitivity(steps, each, study.times[each.id]),
            }
        )
        for each in study.services
    )
    for each in services:
        for name, reason in why_unknown(each.scorecard):
            study.ledger.note(each.id, f"scorecard.{name}", None, "unknown", reason)
    return replace(study, services=services)


def _times(clock: Clock, made: Sequence[Plan], service: str) -> tuple[Times, ...]:
    by_users: dict[tuple[str, int], list[Plan]] = {}
    for plan in made:
        if plan.service == service:
            by_users.setdefault((plan.users, plan.demand), []).append(plan)
    return tuple(times_of(clock, each) for each in by_users.values())
