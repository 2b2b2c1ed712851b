"""Traffic classes of a design: the ready ones, with what the project changes laid over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from designer.analysis.facts import Ledger
from designer.model.design import Design
from designer.model.services import TrafficClass
from designer.model.steps import calls


@dataclass(frozen=True, slots=True)
class ClassRule:
    """How a class is treated on every link.

    priority: 0 is served first; classes of one priority share by weight. elastic: takes what is
    left, its queue stands at the marking threshold.
    """

    id: str
    priority: int
    weight: float
    elastic: bool
    lossless: bool
    packet_bytes: float
    ecn_threshold_kb: float | None
    buffer_kb: float | None


_READY: Final = (
    #  id               prio weight elastic lossless packet
    ("control", 0, 1.0, False, False, 128.0),
    ("interactive", 1, 1.0, False, False, 600.0),
    ("retrieval", 2, 2.0, False, False, 1200.0),
    ("state", 2, 2.0, False, False, 1500.0),
    ("tools", 2, 1.0, False, False, 800.0),
    ("synchronisation", 3, 4.0, True, True, 4096.0),
    ("replication", 4, 2.0, True, False, 1500.0),
    ("checkpoint", 4, 2.0, True, False, 4096.0),
    ("ingest", 4, 1.0, True, False, 1500.0),
    ("observability", 5, 1.0, False, False, 600.0),
    ("background", 6, 1.0, True, False, 1500.0),
)
"""The project's own defaults: who waits for whom follows from what a person is waiting for."""

_SOURCE: Final = "default of Promptpath: interactive before bulk, no vendor's setting"


def class_rules(design: Design, ledger: Ledger) -> dict[str, ClassRule]:
    """Rules of every class by id, in order of priority; defaults that are used are noted."""
    rules = {
        key: ClassRule(key, priority, weight, elastic, lossless, packet, None, None)
        for key, priority, weight, elastic, lossless, packet in _READY
    }
    for key, item in design.classes.items():
        rules[key] = _laid_over(item, rules.get(key))
    for key in sorted(_used(design) - set(design.classes)):
        rule = rules.setdefault(key, ClassRule(key, 6, 1.0, True, False, 1500.0, None, None))
        ledger.note(
            key,
            "traffic_class",
            f"priority {rule.priority}, {'elastic' if rule.elastic else 'inelastic'}, "
            f"{rule.packet_bytes:g} B packets",
            "guessed",
            _SOURCE,
        )
    return dict(sorted(rules.items(), key=lambda pair: (pair[1].priority, pair[0])))


def _laid_over(item: TrafficClass, under: ClassRule | None) -> ClassRule:
    base = under or ClassRule(item.id, 6, 1.0, True, False, 1500.0, None, None)
    given = {
        name: getattr(item, name)
        for name in (
            "priority",
            "weight",
            "elastic",
            "lossless",
            "packet_bytes",
            "ecn_threshold_kb",
            "buffer_kb",
        )
    }
    return ClassRule(
        item.id,
        **{name: getattr(base, name) if value is None else value for name, value in given.items()},
    )


def _used(design: Design) -> set[str]:
    used = {flow.traffic_class for flow in design.flows.values()}
    for service in design.services.values():
        used.add(service.traffic_class)
        used.update(call.traffic_class for call in calls(service.workflow) if call.traffic_class)
    return used
