"""What an analysis answers: frozen values with units in their names, described by JSON Schema.

A figure that is not known is null, with a reason among the assumptions; never 0, never left out.
"""

from typing import Annotated, Literal

from immutables import Map
from pydantic import BaseModel, ConfigDict, Field

from designer.model.base import FrozenMap

FactKind = Literal["given", "catalogue", "derived", "guessed", "measured", "unknown"]
Severity = Literal["error", "warning", "info"]
VerdictWord = Literal[
    "meets", "likely", "open", "unlikely", "breaks", "cannot_be_served", "unknown"
]
Scalar = float | int | str | bool | None


class Result(BaseModel):
    """A frozen part of the results; JSON names are the aliases."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, use_attribute_docstrings=True
    )


class Settings(Result):
    """Under which settings the results hold."""

    percentiles: tuple[float, ...]
    class_model: str = "strict priority between classes, weights within a priority"
    seed: int
    year: int | None
    scenario: str | None


class Figure(Result):
    """Percentiles and mean of a time in ms; `at_least` where a part of the sum is unknown."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    mean: float | None = None
    at_least: bool = False
    others: FrozenMap[str, float] = Map()
    """Further percentiles that the design or an SLO names, as "p90"."""


class BudgetRow(Result):
    """One segment's share of each percentile, on the realised critical path, in ms.

    `kind` says what the figure rests on. The columns of all rows add up to the figure.
    """

    segment: str
    tier: str
    element: str
    kind: FactKind
    source: str = ""
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class SloResult(Result):
    """One SLO of a service and how likely it is to be met."""

    metric: str
    percentile: float
    limit_ms: float
    whose: str
    value_ms: float | None
    verdict: VerdictWord
    probability: float | None
    headroom_ms: float | None
    settles: str = ""
    """The unknown most worth measuring."""


class Scorecard(Result):
    """What a benchmark of the service would collect, predicted."""

    queue_wait_ms: Figure = Figure()
    gpu_duty_cycle: float | None = None
    host_cpu_share: float | None = None
    cache_hit_rate: float | None = None
    remote_fetch_ms: Figure = Figure()
    bytes_per_completed_request: float | None = None
    retransmitted_bytes_per_request: float | None = None
    usd_per_request: float | None = None
    usd_per_million_tokens: float | None = None


class Sensitivity(Result):
    """What a change would do for the p95 of the time to first token (negative is better)."""

    change: str
    element: str
    tier: str
    gain_ms: float | None
    settles: bool = False


class ErrorBandResult(Result):
    """Measured over predicted, 5 / 25 / 50 / 75 / 95 %, for the GPU segment."""

    metric: str
    engine: str
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float


class UserSite(Result):
    """The same figures for one population of users, and where it is served."""

    users: str
    requests_per_s: float
    deployments: tuple[str, ...]
    distance_km: float | None
    ttft_ms: Figure
    itl_ms: Figure
    task_ms: Figure


class ServiceResult(Result):
    """The times of one service: those of its worst user site, and each site's beside them."""

    id: str
    name: str
    slo: tuple[SloResult, ...]
    ttft_ms: Figure
    itl_ms: Figure
    task_ms: Figure
    worst_site: str | None = None
    served_from: tuple[str, ...] = ()
    user_sites: tuple[UserSite, ...] = ()
    budget: tuple[BudgetRow, ...]
    """Of the time to first token at the worst site."""
    task_budget: tuple[BudgetRow, ...] = ()
    stall_probability: float | None = None
    error_bands: tuple[ErrorBandResult, ...] = ()
    scorecard: Scorecard = Scorecard()
    sensitivity: tuple[Sensitivity, ...] = ()


class LinkResult(Result):
    """One direction of a drawn link; loads are those of its most loaded instance, busiest hour."""

    id: str
    name: str
    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    direction: Literal["a_to_b", "b_to_a"]
    instances: int
    capacity_gbps: float | None
    load_gbps: FrozenMap[str, float]
    utilisation: float | None
    oversubscription: float | None
    queue_wait_p95_us: float | None = None
    one_way_ms: float | None = None
    grows_gbps_per_s: float | None = None
    """How fast the backlog grows where an inelastic load passes the capacity."""


class FlowResult(Result):
    """What one flow gets of the port that it starts at, step by step."""

    id: str
    service: str | None
    traffic_class: Annotated[str, Field(alias="class")]
    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    path: tuple[str, ...]
    """Drawn links of one shortest path, in order."""
    flows: int
    demand_gbps: float | None
    port_gbps: float | None
    after_overhead_gbps: float | None
    after_balancing_gbps: float | None
    after_contention_gbps: float | None
    effective_gbps: float | None
    slowest_pair_gbps: float | None = None
    """Of a flow that takes what is left: what the slowest pair of instances gets."""
    bottleneck: str | None
    bottleneck_name: str | None = None
    next_bottleneck: str | None = None


class SwitchRatio(Result):
    """Downlink over uplink capacity of one switch (of one instance)."""

    id: str
    name: str
    tier: str
    downlink_gbps: float
    uplink_gbps: float
    ratio: float
    limit: float | None


class TierRatio(Result):
    """The worst ratio of a tier."""

    tier: str
    ratio: float
    switch: str


class CutRatio(Result):
    """What a group's inside could send out over what its boundary carries (max-flow)."""

    group: str
    name: str
    inside_gbps: float
    cut_gbps: float
    ratio: float


class Oversubscription(Result):
    """Ratios at switches, tiers and cuts."""

    switches: tuple[SwitchRatio, ...] = ()
    tiers: tuple[TierRatio, ...] = ()
    cuts: tuple[CutRatio, ...] = ()


class ServedShare(Result):
    """The share of a service's requests from one population that certain replicas serve."""

    service: str
    users: str
    share: float


class PlacedReplicas(Result):
    """Replicas of one model that the plan puts at a site, for all services of that model.

    service: the one with most requests there; `serves` lists all, `users` everyone served.
    """

    service: str
    site: str
    node: str
    model: str
    accelerator: str
    tensor_parallel: int
    replicas: int
    gpus: int
    usd_per_month: float | None
    users: tuple[str, ...]
    serves: tuple[ServedShare, ...] = ()

    @property
    def services(self) -> tuple[str, ...]:
        """Every service that these replicas serve, the main one first."""
        return tuple(dict.fromkeys((self.service, *(each.service for each in self.serves))))


class SiteReason(Result):
    """Why a candidate site was chosen or not for a service."""

    service: str
    site: str
    site_name: str
    outcome: Literal[
        "chosen",
        "out_of_reach",
        "out_of_region",
        "no_capacity",
        "does_not_fit",
        "dearer",
        "unknown",
    ]
    by: float | None
    unit: str
    message: str


class Placement(Result):
    """Where the models should live at least cost, with the proof and the reasons."""

    status: Literal["optimal", "feasible", "infeasible", "not_asked", "unknown"]
    objective_usd_per_month: float | None = None
    proven_gap: float | None = None
    replicas: tuple[PlacedReplicas, ...] = ()
    reasons: tuple[SiteReason, ...] = ()
    message: str = ""


class ScenarioResult(Result):
    """A scenario against the baseline, one row a service."""

    id: str
    name: str
    service: str
    ttft_p95_ms: float | None
    task_p95_ms: float | None
    ttft_p95_change_ms: float | None
    task_p95_change_ms: float | None
    verdict: VerdictWord
    bottleneck: str | None


class Finding(Result):
    """One objection of the rule check: what, where, and what to do."""

    rule: str
    severity: Severity
    elements: tuple[str, ...]
    message: str
    remedy: str
    excluded: str | None = None
    """Reason and owner where the project has accepted it."""


class Assumption(Result):
    """One value that results rest on and that nobody gave, or that nobody knows."""

    element: str
    field: str
    value: Scalar
    kind: FactKind
    source: str


class Results(Result):
    """Everything that `analyse` answers about one revision of a design."""

    program: str
    format: int
    file: str
    content: str
    revision: int = 0
    settings: Settings
    services: tuple[ServiceResult, ...] = ()
    links: tuple[LinkResult, ...] = ()
    flows: tuple[FlowResult, ...] = ()
    oversubscription: Oversubscription = Oversubscription()
    placement: Placement = Placement(status="not_asked")
    scenarios: tuple[ScenarioResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
