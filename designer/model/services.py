"""What runs on the network: traffic classes, tenants, deployments of models, services and SLOs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from designer.model.base import (
    Count,
    Flag,
    Frozen,
    Id,
    Item,
    Name,
    NonNegative,
    OneOf,
    Positive,
    Share,
    Text,
    Whole,
    check_rising,
)
from designer.model.kinds import ENGINES, FORMATS
from designer.model.things import Jurisdiction, ServiceTime

Percent = Annotated[float, Field(strict=True, gt=0, lt=100)]


class TrafficClass(Item):
    """A class of traffic on links. Its id is its name in results ("interactive")."""

    priority: Whole | None = None
    """0 is served first. Classes of one priority share by weight."""
    weight: Positive | None = None
    elastic: Flag | None = None
    """Elastic classes take what is left; inelastic ones ask for their rate."""
    lossless: Flag | None = None
    ecn_threshold_kb: NonNegative | None = None
    buffer_kb: NonNegative | None = None
    packet_bytes: Positive | None = None


class Tenant(Item):
    """Owns services; isolated from others by class, by segment (VRF, slice) or not at all."""

    isolation: Annotated[str, OneOf(("class", "segment", "none"))] = "none"
    segment: Name = ""
    note: Text = ""


class Deployment(Item):
    """Replicas of one model on the GPUs of one node."""

    node: Id
    model: Id
    role: Annotated[str, OneOf(("serving", "prefill", "decode"))] = "serving"
    replicas: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 1
    """Replicas in all, over every instance of the node."""
    tensor_parallel: Count = 1
    pipeline_parallel: Count = 1
    expert_parallel: Count = 1
    weight_format: Annotated[str, OneOf(FORMATS)] | None = None
    """None: the model's native format."""
    kv_format: Annotated[str, OneOf(FORMATS)] | None = None
    engine: Annotated[str, OneOf(ENGINES)] = "any"
    most_sequences: Count = 256
    token_budget: Count = 2048
    kv_tokens: Whole | None = None
    """Room for KV in tokens of one replica; null: by the memory formula."""
    kv_policy: Annotated[str, OneOf(("watermark", "preempt"))] | None = None
    watermark: Share | None = None
    share_still_cached: Share | None = None
    balancer: Annotated[str, OneOf(("random", "round_robin", "least_loaded", "prefix_affine"))] = (
        "least_loaded"
    )
    partner: Id | None = None
    """For a prefill pool: the decode deployment that takes over."""
    handoff_share: Share | None = None
    """Share of the NIC rate that a KV hand-off reaches."""


class Tokens(Frozen):
    """Token count of a request: a mean alone is a constant; quantiles or scv spread it."""

    mean: Positive | None = None
    scv: NonNegative | None = None
    p5: NonNegative | None = None
    p25: NonNegative | None = None
    p50: NonNegative | None = None
    p75: NonNegative | None = None
    p90: NonNegative | None = None
    p95: NonNegative | None = None
    p99: NonNegative | None = None
    max: NonNegative | None = None
    catalogue: Id | None = None

    @model_validator(mode="after")
    def _rising(self) -> Tokens:
        check_rising(self)
        return self


class Burst(Frozen):
    """How many requests arrive together: one, always `mean`, or geometric with that mean."""

    kind: Annotated[str, OneOf(("single", "constant", "geometric"))] = "single"
    mean: Annotated[float, Field(strict=True, ge=1, le=10_000)] = 1.0


class Demand(Frozen):
    """Requests of one service from one population of users (all its instances together)."""

    users: Id
    """The node at which the requests start."""
    requests_per_s: NonNegative
    """Mean of the busiest hour."""
    day: tuple[NonNegative, ...] = ()
    """Empty, or 24 relative values by UTC hour; the largest stands for `requests_per_s`."""
    burst: Burst = Burst()
    growth_per_year: Positive | None = None
    """Factor a year from the design's base year; null: the service's."""

    @model_validator(mode="after")
    def _whole_day(self) -> Demand:
        _check_day(self.day)
        return self


def _check_day(day: tuple[float, ...]) -> None:
    if len(day) not in (0, 24):
        raise ValueError("a day has 24 hourly values; give 24 or none")
    if day and max(day) <= 0:
        raise ValueError("the hourly values are all zero; leave the day out or give one above 0")


class Slo(Frozen):
    """A promise: a metric's percentile stays under a limit."""

    metric: Annotated[str, OneOf(("ttft", "itl", "tpot", "task"))]
    percentile: Percent
    limit_ms: Positive
    whose: Annotated[str, OneOf(("worst_site", "all_requests"))] = "worst_site"


class Residency(Frozen):
    """Where a service's prompts and data may go. Empty: anywhere."""

    jurisdictions: tuple[Jurisdiction, ...] = ()
    polygons: tuple[tuple[tuple[float, float], ...], ...] = ()
    """Rings of (longitude, latitude) in degrees; a site in any of them is allowed."""


class PlacedShare(Frozen):
    """A share of a population's requests that goes to one deployment, as a placement chose."""

    users: Id
    deployment: Id
    share: Annotated[float, Field(strict=True, gt=0, le=1)]


class Steering(Frozen):
    """Which deployment serves whom."""

    policy: Annotated[str, OneOf(("fixed", "nearest", "least_loaded", "weighted", "placed"))] = (
        "nearest"
    )
    targets: tuple[Id, ...] = ()
    """Deployments, nodes or groups that may serve, in order of failover; empty: all that can."""
    weights: tuple[Positive, ...] = ()
    placed: tuple[PlacedShare, ...] = ()
    """Who is served by which deployment, for policy "placed"; where none of a population's is left
    the targets take over in their order."""
    local_breakout: Flag = False
    spill_over_load: Share | None = None
    """Load of the first choice above which requests go to the next."""
    sticky_sessions: Flag = False

    @model_validator(mode="after")
    def _one_weight_a_target(self) -> Steering:
        if self.policy == "weighted" and len(self.weights) != len(self.targets):
            raise ValueError("weighted steering needs one weight for each target")
        return self


class Caching(Frozen):
    """Hit rates are inputs; null is not known and counts as no hit, listed as assumed."""

    prefix_share: Share | None = None
    """Share of a prompt's tokens whose KV is already there."""
    retrieval_hits: Share | None = None
    response_hits: Share | None = None


Handshake = Annotated[str, OneOf(("dns", "tcp", "tls13", "tls13_resumed", "quic", "quic_resumed"))]


class Wire(Frozen):
    """What a request and a token stream look like on the wire."""

    request_bytes_per_token: Positive | None = None
    request_overhead_bytes: NonNegative | None = None
    stream_bytes_per_token: Positive | None = None
    """Text and framing of one streamed token before packet headers."""
    tokens_per_packet: Positive | None = None
    handshakes: tuple[Handshake, ...] = ()
    """Round trips before a fresh request; empty: the connection is kept alive."""


class Series(Frozen):
    """Steps one after the other."""

    do: Literal["series"] = "series"
    steps: tuple[Step, ...]


class Parallel(Frozen):
    """Steps at the same time; all are waited for."""

    do: Literal["parallel"] = "parallel"
    steps: tuple[Step, ...]


class Repeat(Frozen):
    """A step some number of times in a row; model calls in it grow their context."""

    do: Literal["repeat"] = "repeat"
    times: Annotated[int, Field(strict=True, ge=1, le=1000)]
    step: Step
    context_growth_tokens: NonNegative = 0.0
    """Tokens that each round adds to the prompt of the next."""


class Choice(Frozen):
    """One way of a branch."""

    probability: Share
    step: Step


class Branch(Frozen):
    """One of several ways, by probability; what is missing to 1 does nothing."""

    do: Literal["branch"] = "branch"
    choices: tuple[Choice, ...]

    @model_validator(mode="after")
    def _adds_up(self) -> Branch:
        if sum(choice.probability for choice in self.choices) > 1 + 1e-9:
            raise ValueError("the probabilities of a branch add up to more than 1")
        return self


class Retry(Frozen):
    """Given up after a timeout and tried again."""

    do: Literal["retry"] = "retry"
    timeout_ms: Positive
    attempts: Annotated[int, Field(strict=True, ge=2, le=10)] = 2
    step: Step


class Hedge(Frozen):
    """Sent a second time when the first has not answered by then; the first answer counts."""

    do: Literal["hedge"] = "hedge"
    after_ms: NonNegative
    step: Step


class Call(Frozen):
    """A request to a node and its answer: gateway, policy, retrieval, a tool, a state write."""

    do: Literal["call"] = "call"
    name: Name = ""
    at: Id
    """A node, or a kind of node (the nearest one that can be reached)."""
    reached: Annotated[str, OneOf(("through", "from_path", "from_model"))] = "through"
    """through: the request passes it on its way to the model and stays there as a waypoint;
    from_path: a round trip from the last waypoint; from_model: one from where the model runs."""
    request_bytes: NonNegative | None = None
    response_bytes: NonNegative | None = None
    service_time: ServiceTime | None = None
    """None: the node's own."""
    traffic_class: Id | None = None
    hit_share: Share | None = None
    """Share of calls that a cache answers with no call at all."""


class ModelCall(Frozen):
    """A prompt to the model and its answer; null token counts are the service's."""

    do: Literal["model"] = "model"
    name: Name = ""
    model: Id | None = None
    prompt_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cached_share: Share | None = None


Step = Annotated[
    Series | Parallel | Repeat | Branch | Retry | Hedge | Call | ModelCall,
    Field(discriminator="do"),
]


class Service(Item):
    """What users ask for: a model, its tokens, its rate, the steps of a request and its SLOs."""

    tenant: Id | None = None
    traffic_class: Id = "interactive"
    model: Id | None = None
    prompt_tokens: Tokens = Tokens()
    output_tokens: Tokens = Tokens()
    demands: tuple[Demand, ...] = ()
    growth_per_year: Positive | None = None
    workflow: Step | None = None
    """None: the path to the model, one model call."""
    caching: Caching = Caching()
    wire: Wire = Wire()
    residency: Residency = Residency()
    resilience: Annotated[str, OneOf(("none", "any_one_site", "two_regions"))] = "none"
    steering: Steering = Steering()
    slos: tuple[Slo, ...] = ()
    stall_limit_ms: Positive | None = None
    workload: Id | None = None
    """Row of the workload catalogue that the token counts were taken from."""
    note: Text = ""


class Flow(Item):
    """Traffic that no request causes: replication, checkpoints, model synchronisation, bulk."""

    source: Id
    target: Id
    traffic_class: Id = "background"
    rate_gbps: NonNegative | None = None
    """Mean of the busiest hour; null for an elastic flow: takes what is left."""
    day: tuple[NonNegative, ...] = ()
    flows: Count = 1
    """Parallel connections, which count for hashing and for shares."""
    owner: Id | None = None
    """Service that it belongs to."""

    @model_validator(mode="after")
    def _whole_day(self) -> Flow:
        _check_day(self.day)
        return self


for _kind in (Series, Parallel, Repeat, Choice, Branch, Retry, Hedge, Service):
    _kind.model_rebuild()
