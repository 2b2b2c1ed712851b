"""One row a drawn link and direction: its most loaded instance in its busiest hour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
from immutables import Map

from designer.analysis.oversubscription import by_uplink
from designer.analysis.results import LinkResult
from designer.analysis.study import Study
from designer.graph.arrays import Ints

Direction = Literal["a_to_b", "b_to_a"]
DIRECTIONS: Final[tuple[Direction, ...]] = ("a_to_b", "b_to_a")

MOST_WAITS: Final = 40
"""Directions whose queueing percentile is worked out: the most loaded ones."""


def link_rows(study: Study) -> tuple[LinkResult, ...]:
    """All rows, by link id; the wait of the most loaded directions alone is worked out."""
    ratios = {row.id: row.ratio for row in study.oversubscription.switches}
    uplinks = by_uplink(study.design, ratios)
    made = [
        (_link_row(study, key, mine, direction, uplinks), mine)
        for key, edges in zip(
            study.arrays.expansion.link_ids, study.arrays.edges_by_link(), strict=True
        )
        for direction in DIRECTIONS
        if len(mine := edges[DIRECTIONS.index(direction) :: 2])
    ]
    order = sorted(range(len(made)), key=lambda at: -(made[at][0].utilisation or 0.0))
    hot = set(order[:MOST_WAITS])
    return tuple(
        row.model_copy(update={"queue_wait_p95_us": _wait_p95_us(study, row, mine)})
        if at in hot
        else row
        for at, (row, mine) in enumerate(made)
    )


def _wait_p95_us(study: Study, row: LinkResult, mine: Ints) -> float | None:
    """What a packet of the most urgent class with load waits, p95; None where it grows."""
    urgent = [cls for cls in study.rules if row.load_gbps.get(cls, 0.0) > 0]
    if not urgent:
        return None
    edge = int(mine[np.argmax(study.loads.total_gbps[mine])])
    wait = study.transit.wait(edge, urgent[0])
    return None if wait is None else wait.percentile(0.95)


def _link_row(
    study: Study,
    key: str,
    mine: Ints,
    direction: Direction,
    uplinks: Mapping[tuple[str, bool], float],
) -> LinkResult:
    net, link = study.arrays, study.design.links[key]
    total = study.loads.total_gbps[mine]
    edge = int(mine[np.argmax(total)])
    capacity = float(net.capacity_gbps[edge])
    by_class = {
        cls: float(load[edge]) for cls, load in study.loads.by_class.items() if load[edge] > 0
    }
    background = float(study.loads.background_gbps[edge])
    if background > 0:
        by_class["background"] = by_class.get("background", 0.0) + background
    known = not np.isnan(capacity)
    delay = float(net.one_way_ms[edge])
    ends = (link.a, link.b) if direction == "a_to_b" else (link.b, link.a)
    growth = max(0.0, float(study.loads.offered_gbps[edge]) - capacity) if known else 0.0
    return LinkResult(
        id=key,
        name=link.name or key,
        source=ends[0],
        target=ends[1],
        direction=direction,
        instances=len(mine),
        capacity_gbps=capacity if known else None,
        load_gbps=Map(by_class),
        utilisation=float(total.max()) / capacity if known else None,
        oversubscription=uplinks.get((key, direction == "a_to_b")),
        one_way_ms=None if np.isnan(delay) else delay,
        grows_gbps_per_s=growth or None,
    )
