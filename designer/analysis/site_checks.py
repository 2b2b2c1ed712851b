"""What a placement breaks when the design that it makes is analysed in full, and what to cut off.

The rows of a placement hold single replicas and single ways; queues that form together, links that
fill up and pools that several services share are seen here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from designer.analysis.demand import Plan
from designer.analysis.judging import slo_result
from designer.analysis.objections import called
from designer.analysis.request_parts import Move, leaves
from designer.analysis.results import SloResult
from designer.analysis.site_rounds import Cuts, LinkCut, Pair
from designer.analysis.study import Study
from designer.graph.arrays import Ints
from designer.model.units import number

LOWERED: Final = 0.8
"""A busy pair that breaks is trusted with this share of what it was."""

BUSY: Final = 0.8
"""Load, of what the replicas bear, above which a lower one may help."""

FILLED: Final = 0.9
"""Share of a link's capacity that is left to a plan which asked for more than all of it."""

_METRICS: Final = {"ttft": "TTFT", "itl": "ITL", "tpot": "TPOT", "task": "task time"}


@dataclass(frozen=True, slots=True)
class Break:
    """One thing that does not hold, and who is part of it. forbids: no load makes it hold."""

    said: str
    pairs: tuple[Pair, ...]
    forbids: bool = False
    link: LinkCut | None = None


def breaks_of(after: Study, services: Sequence[str]) -> tuple[Break, ...]:
    """What the analysed design breaks for the services that were placed; links and pools first."""
    return (
        *_links(after, services),
        *_pools(after, services),
        *(each for key in services for each in _slos(after, key)),
    )


def doubts_of(after: Study, services: Sequence[str]) -> str:
    """Verdicts that hold at the predicted GPU time but not for sure, as a sentence; else empty."""
    found = [
        f"{_name(after, result.id, slo)} would be {slo.verdict}"
        + ("" if slo.probability is None else f" ({slo.probability:.0%} likely to be met)")
        for result in after.services
        if result.id in services
        for slo in result.slo
        if slo.verdict in ("open", "unlikely", "unknown")
    ]
    if not found:
        return ""
    return f"At the predicted GPU times all holds, but {'; '.join(found)}."


def cut(cuts: Cuts, breaks: Sequence[Break], loads: Mapping[Pair, float]) -> Cuts:
    """Cuts with these breaks; the same where none of them can be laid on a pair.

    loads: of each pair's replicas, as share of what they were trusted with. A pair that a link or
    a pool explains is not blamed for its times as well.
    """
    factor, said, links = dict(cuts.factor), dict(cuts.said), {cut.link: cut for cut in cuts.links}
    explained: set[Pair] = set()
    for each in breaks:
        if each.link is not None:
            links[each.link.link] = _tighter(links.get(each.link.link), each.link)
            explained.update(each.pairs)
            continue
        for pair in each.pairs:
            if pair in explained:
                continue
            explained.add(pair)
            can_be_less = not each.forbids and loads.get(pair, 0.0) >= BUSY
            factor[pair] = factor.get(pair, 1.0) * LOWERED if can_be_less else 0.0
            said[pair] = each.said
    return Cuts(factor, said, tuple(links.values()))


def _tighter(old: LinkCut | None, new: LinkCut) -> LinkCut:
    if old is None:
        return new
    return LinkCut(
        new.link,
        {**old.gbps_per_request_s, **new.gbps_per_request_s},
        min(old.most_gbps, new.most_gbps),
    )


def _links(after: Study, services: Sequence[str]) -> Iterator[Break]:
    net = after.arrays
    for key, edges in zip(net.expansion.link_ids, net.edges_by_link(), strict=True):
        for way, mine in (("", edges[0::2]), (" back", edges[1::2])):
            over = after.loads.offered_gbps[mine] - net.capacity_gbps[mine]
            if not len(mine) or not np.nanmax(over, initial=0.0) > 0:
                continue
            edge = int(mine[np.nanargmax(over)])
            found = _over(after, services, f"{key}{way}", mine, edge)
            if found is not None:
                yield found


def _over(after: Study, services: Sequence[str], name: str, mine: Ints, edge: int) -> Break | None:
    """The cut for a direction of a link whose edge is asked for too much; None: by others."""
    edges = {int(each) for each in mine}
    taken: dict[Pair, float] = {}
    whole_gbps = 0.0
    for plan in after.plans:
        pair = _pair(after, plan)
        if pair is None or plan.service not in services:
            continue
        gbps = _gbps_per_request_s(after, plan, edges)
        if gbps > 0:
            taken[pair] = max(taken.get(pair, 0.0), gbps)
            whole_gbps += gbps * plan.requests_per_s
    if not taken:
        return None
    offered = float(after.loads.offered_gbps[edge])
    carries = float(after.arrays.capacity_gbps[edge])
    # Bytes on the wire are more than these, so that taking as many away is enough.
    excess = (offered - FILLED * carries) * max(1.0, whole_gbps / offered)
    key = name.removesuffix(" back")
    return Break(
        f"{called(after.design, key)} would be asked for {number(offered, 3)} Gb/s and carries "
        f"{number(carries, 3)}",
        tuple(taken),
        link=LinkCut(name, taken, max(0.0, whole_gbps - excess)),
    )


def _gbps_per_request_s(after: Study, plan: Plan, edges: set[int]) -> float:
    """Inelastic payload of one request a second on a link, one way, Gb/s."""
    if plan.request is None:
        return 0.0
    total = 0.0
    for leaf, times in leaves(plan.request.whole):
        if not isinstance(leaf, Move) or leaf.source == leaf.target or not leaf.carried_bytes:
            continue
        if after.rules[leaf.traffic_class].elastic:
            continue
        crossing = sum(
            path.share
            for path in after.finder.paths(leaf.source, leaf.target)
            if any(hop.edge in edges for hop in path.hops)
        )
        total += times * leaf.carried_bytes * 8e-9 * crossing
    return total


def _pools(after: Study, services: Sequence[str]) -> Iterator[Break]:
    for key, answer in sorted(after.pools.items()):
        pairs = [
            pair
            for plan in after.plans
            if plan.deployment == key
            and plan.service in services
            and (pair := _pair(after, plan)) is not None
        ]
        if answer.overloaded and pairs:
            node = after.design.deployments[key].node
            yield Break(
                f"{answer.per_s:.3g} prompts a second are more than the replicas at "
                f"{called(after.design, node)} bear",
                tuple(dict.fromkeys(pairs)),
            )


def _slos(after: Study, key: str) -> Iterator[Break]:
    service = after.design.services[key]
    result = next(each for each in after.services if each.id == key)
    for slo, judged in zip(service.slos, result.slo, strict=True):
        if not _is_missed(judged):
            continue
        for times in after.times[key]:
            alone = slo_result(slo, (times,), after.bands)
            if not times.per_s or not _is_missed(alone):
                continue
            nodes = [after.design.deployments[each].node for each in times.deployments]
            value = "no figure" if alone.value_ms is None else f"{number(alone.value_ms, 3)} ms"
            yield Break(
                f"{_name(after, key, alone)} would be {value} for "
                f"{called(after.design, times.users)}, over its {slo.limit_ms:g} ms",
                tuple((key, times.users, node) for node in nodes),
                forbids=alone.verdict == "cannot_be_served",
            )


def _is_missed(judged: SloResult) -> bool:
    """Whether it fails at the predicted GPU time; what is not known is not missed."""
    if judged.value_ms is None:
        return judged.verdict in ("breaks", "cannot_be_served")
    return judged.value_ms > judged.limit_ms


def _name(after: Study, key: str, slo: SloResult) -> str:
    return f"{_METRICS[slo.metric]} p{slo.percentile:g} of {called(after.design, key)}"


def _pair(after: Study, plan: Plan) -> Pair | None:
    if plan.deployment is None or plan.requests_per_s <= 0:
        return None
    return plan.service, plan.users, after.design.deployments[plan.deployment].node
