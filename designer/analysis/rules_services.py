"""Rules about services: reach, SLOs, models on GPUs, residency, resilience."""

from __future__ import annotations

from collections.abc import Iterator

from designer.analysis.demand import Plan
from designer.analysis.objections import Objection, called
from designer.analysis.pools import Pools
from designer.analysis.request_parts import (
    Generate,
    Move,
    Serve,
    leaves,
)
from designer.analysis.resilience import Losses
from designer.analysis.results import SloResult
from designer.analysis.scale_up import CannotServe
from designer.analysis.steering import allowed_at
from designer.analysis.study import Study
from designer.model.kinds import STORES
from designer.model.references import site_of
from designer.model.units import number

_METRICS = {"ttft": "TTFT", "itl": "ITL", "tpot": "TPOT", "task": "task time"}


def unknown_on_path(study: Study) -> Iterator[Objection]:
    """A service's way crosses a link whose delay or capacity is not known."""
    seen: set[tuple[str, str]] = set()
    for plan in study.plans:
        for link_id in _links(study, plan):
            link = study.design.links[link_id]
            what = []
            if study.elements.link_one_way_ms(link).value is None:
                what.append("length")
            if link.capacity_gbps is None:
                what.append("capacity")
            if what and (plan.service, link_id) not in seen:
                seen.add((plan.service, link_id))
                missing = " and ".join(what)
                yield Objection(
                    (link_id, plan.service),
                    f"The way of {called(study.design, plan.service)} crosses "
                    f"{called(study.design, link_id)}, whose {missing} is not known, so its "
                    "figures say at least.",
                    f"Give the link's {missing}, or coordinates to both its ends.",
                )


def _links(study: Study, plan: Plan) -> list[str]:
    if plan.request is None:
        return []
    found: dict[str, None] = {}
    for leaf, _ in leaves(plan.request.whole):
        if isinstance(leaf, Move) and leaf.source != leaf.target:
            for path in study.finder.paths(leaf.source, leaf.target):
                found.update(dict.fromkeys(path.links))
    return list(found)


def unreachable(study: Study) -> Iterator[Objection]:
    """Users cannot reach their service: no way, no pool, or a step that is nowhere."""
    for plan in study.plans:
        if plan.request is None:
            yield Objection(
                (plan.service, plan.users),
                f"{called(study.design, plan.users)} cannot use "
                f"{called(study.design, plan.service)}: {plan.refused}.",
                "Draw the missing link, deploy the model where the service may run, or correct "
                "the step's node.",
            )
            continue
        for leaf, _ in leaves(plan.request.whole):
            if not isinstance(leaf, Move) or leaf.source == leaf.target:
                continue
            if not study.finder.paths(leaf.source, leaf.target):
                yield Objection(
                    (plan.service, leaf.source, leaf.target),
                    f"{called(study.design, plan.service)} has no way from "
                    f"{called(study.design, leaf.source)} to {called(study.design, leaf.target)}.",
                    "Draw a link between them, or take one that is out back into service.",
                )
                break


def slo_broken(study: Study) -> Iterator[Objection]:
    """An SLO is broken, or unlikely to be met."""
    for service in study.services:
        for slo in service.slo:
            if slo.verdict in ("breaks", "unlikely", "cannot_be_served"):
                yield _slo(study, service.id, slo)


def slo_open(study: Study) -> Iterator[Objection]:
    """An SLO that may or may not be met, or that cannot be judged."""
    for service in study.services:
        for slo in service.slo:
            if slo.verdict in ("open", "unknown"):
                yield _slo(study, service.id, slo)


def _slo(study: Study, key: str, slo: SloResult) -> Objection:
    name = f"{_METRICS[slo.metric]} p{slo.percentile:g} of {called(study.design, key)}"
    if slo.value_ms is None:
        said = "has no figure" if slo.verdict != "breaks" else "has no steady state"
        return Objection(
            (key,),
            f"{name} {said} against its limit of {slo.limit_ms:g} ms.",
            "See the assumptions for what is missing, and the other findings for what stops it.",
        )
    chance = "" if slo.probability is None else f", {slo.probability:.0%} likely to be met"
    return Objection(
        (key,),
        f"{name} is {slo.value_ms:.3g} ms against a limit of {slo.limit_ms:g} ms{chance}.",
        f"Measure: {slo.settles}."
        if slo.settles and slo.verdict == "open"
        else "See the budget for where the time goes, and what would help most.",
    )


def model_does_not_fit(study: Study) -> Iterator[Objection]:
    """Weights leave no room for KV on the GPUs that a deployment names, or its node lacks GPUs."""
    builder = Pools(study.design, study.catalogue, study.ledger)
    for key in sorted(study.design.deployments):
        deployment = study.design.deployments[key]
        node = study.design.nodes[deployment.node]
        try:
            replica = builder.replica(deployment)
        except CannotServe as refusal:
            yield Objection((key, node.id), str(refusal), "Complete the deployment or its node.")
            continue
        if replica.missing_gbytes is not None:
            yield Objection(
                (key, node.id),
                f"{deployment.model} lacks {replica.missing_gbytes:.1f} GB on each "
                f"{replica.accelerator.id} at tensor parallel {deployment.tensor_parallel}.",
                "Use more tensor-parallel ways, a smaller weight format, or larger GPUs.",
            )
        total = None if node.gpus is None else node.gpus * int(_instances(study, node.id))
        needed = replica.accelerators * deployment.replicas
        if total is not None and needed > total:
            yield Objection(
                (key, node.id),
                f"{called(study.design, key)} needs {needed} GPUs ({deployment.replicas} replicas "
                f"of {replica.accelerators}), and {called(study.design, node.id)} has {total}.",
                "Take fewer replicas, or more servers.",
            )


def _instances(study: Study, node_id: str) -> int:
    return int(study.arrays.expansion.count[study.arrays.node_position(node_id)])


def pool_overloaded(study: Study) -> Iterator[Objection]:
    """A pool is asked more than it can serve."""
    for key, answer in sorted(study.pools.items()):
        most = 0.0 if answer.served is None else answer.served.saturation_per_s or 0.0
        # A pool that bears nothing at all has no room for its prompts: no queue, another finding.
        if answer.overloaded and most > 0:
            yield Objection(
                (key,),
                f"{called(study.design, key)} is asked {answer.per_s:.3g} requests/s and bears "
                f"{most:.3g}; its queue grows by {answer.per_s - most:.3g} requests/s.",
                f"Add replicas (about {answer.per_s / most:.1f} times as many), or steer users "
                "elsewhere.",
            )


def server_overloaded(study: Study) -> Iterator[Objection]:
    """A node that works on requests is asked more than its servers bear."""
    clock = study.clock
    if clock is None:
        return
    seen: set[str] = set()
    for leaf in _work(study):
        most, asked = clock.bears_per_s(leaf), clock.calls_per_s.get(leaf.node, 0.0)
        if leaf.node in seen or most is None or asked < most:
            continue
        seen.add(leaf.node)
        yield Objection(
            (leaf.node,),
            f"{called(study.design, leaf.node)} is asked {number(asked, 3)} requests/s and bears "
            f"{number(most, 3)}; its queue grows by {number(asked - most, 3)} requests/s.",
            f"Add servers (more than {number(asked / most, 3)} times as many), or send it less.",
        )


def _work(study: Study) -> Iterator[Serve]:
    for plan in study.plans:
        if plan.request is not None:
            for leaf, _ in leaves(plan.request.whole):
                if isinstance(leaf, Serve):
                    yield leaf


def residency(study: Study) -> Iterator[Objection]:
    """Prompts or data of a service go where they may not, or where the law is not known."""
    seen: set[tuple[str, str]] = set()
    for plan in study.plans:
        if plan.request is None:
            continue
        service = study.design.services[plan.service]
        for leaf, _ in leaves(plan.request.whole):
            node = _data_at(study, leaf)
            if node is None or (service.id, node) in seen:
                continue
            allowed = allowed_at(study.design, service, node)
            if allowed is True:
                continue
            seen.add((service.id, node))
            site = site_of(study.design, node)
            inside = f" in {called(study.design, site)}" if site else ""
            where = called(study.design, node) + inside
            said = "is outside its residency" if allowed is False else "has no known jurisdiction"
            yield Objection(
                (service.id, node),
                f"{service.name or service.id} has prompts or data at {where}, which {said}.",
                "Serve it from a place inside its residency, or give the site's jurisdiction.",
            )


def _data_at(study: Study, leaf: object) -> str | None:
    """The node at which a step puts a prompt or data."""
    if isinstance(leaf, Generate):
        return study.design.deployments[leaf.deployment].node
    if isinstance(leaf, Move) and leaf.what == "call":
        return leaf.target if study.design.nodes[leaf.target].kind in STORES else None
    return None


def single_point_of_failure(study: Study) -> Iterator[Objection]:
    """A service that must survive any one site (or two regions) is lost with one thing."""
    losses = Losses(study)
    for key in sorted(study.design.services):
        service = study.design.services[key]
        if service.resilience == "none":
            continue
        for lost in losses.of(service):
            yield Objection(
                (key, lost.element),
                f"{service.name or key} must survive the loss of any one site, and is lost with "
                f"{called(study.design, lost.element)} for {called(study.design, lost.users)}.",
                "Deploy the model at a second site with a way of its own, or lower the service's "
                "resilience class.",
            )
