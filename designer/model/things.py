"""Groups, nodes, links and shared spans: what is drawn, in the units that the names say."""

from typing import Annotated

from immutables import Map
from pydantic import Field

from designer.model.base import (
    Count,
    Flag,
    Frozen,
    FrozenMap,
    Id,
    Item,
    Name,
    NonNegative,
    OneOf,
    Percentiles,
    Positive,
    Share,
    Text,
    Whole,
)
from designer.model.kinds import BALANCING, GROUP_KINDS, NODE_KINDS, PAIRINGS, TIERS

Latitude = Annotated[float, Field(strict=True, ge=-90, le=90)]
Longitude = Annotated[float, Field(strict=True, ge=-180, le=180)]
Tier = Annotated[str, OneOf(TIERS)]
Jurisdiction = Annotated[str, Field(strict=True, pattern=r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$")]


class GpuOffer(Frozen):
    """GPUs that a site can take of one kind, at what price."""

    accelerator: Id
    most_gpus: Whole | None = None
    usd_per_gpu_hour: NonNegative | None = None


class Site(Frozen):
    """What makes a group a place: where it lies, under whose law, and what it can host."""

    latitude_deg: Latitude | None = None
    longitude_deg: Longitude | None = None
    jurisdiction: Jurisdiction | None = None
    """ISO 3166-1 alpha-2 country, or an ISO 3166-2 subdivision."""
    candidate: Flag = False
    """Whether models may be hosted here."""
    power_kw: NonNegative | None = None
    space_u: Whole | None = None
    power_usage_effectiveness: Annotated[float, Field(strict=True, ge=1, le=1000)] | None = None
    energy_usd_per_kwh: NonNegative | None = None
    carbon_g_per_kwh: NonNegative | None = None
    fixed_usd_per_month: NonNegative | None = None
    offers: tuple[GpuOffer, ...] = ()


class Group(Item):
    """A region, site, room, pod, rack, fabric, zone or custom box; groups nest."""

    kind: Annotated[str, OneOf(GROUP_KINDS)] = "custom"
    parent: Id | None = None
    count: Count = 1
    site: Site | None = None
    note: Text = ""


class ServiceTime(Frozen):
    """How long a server works on one request, in ms, without network and without queue.

    Either percentiles, or mean and squared coefficient of variation, or a catalogue row.
    """

    catalogue: Id | None = None
    mean_ms: NonNegative | None = None
    scv: NonNegative | None = None
    percentiles_ms: Percentiles | None = None
    measured_csv_sha256: Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{64}$")] | None = None
    """Fingerprint of the measured file that the percentiles were taken from."""


class Node(Item):
    """One drawn device, population of users, pool or store; `count` of them are meant."""

    kind: Annotated[str, OneOf(NODE_KINDS)]
    tier: Tier | None = None
    """None: the kind's own."""
    group: Id | None = None
    count: Count = 1
    device: Id | None = None
    """Row of the device catalogue."""
    latitude_deg: Latitude | None = None
    longitude_deg: Longitude | None = None
    note: Text = ""

    users: Whole | None = None
    access: Id | None = None
    """Row of the access-media catalogue: how these users reach the first provider device."""
    access_rtt_ms: Percentiles | None = None
    """Round trip of the access medium where it is known better than by the catalogue."""
    access_down_gbps: Positive | None = None
    """Rate of one user's line, towards the user."""
    access_up_gbps: Positive | None = None
    local_breakout: Flag = False

    forwarding_us: NonNegative | None = None
    """One-way, port to port, uncongested."""
    service_time: ServiceTime | None = None
    servers: Whole | None = None
    """Requests that one instance works on at the same time."""
    endpoints: Whole | None = None
    session_limit: Whole | None = None
    onboarding_per_s: NonNegative | None = None
    throughput_gbps: Positive | None = None
    chain: tuple[Id, ...] = ()
    """Service chain: the nodes that a request visits, in order."""
    balancing: Annotated[str, OneOf(BALANCING)] | None = None
    buffer_mb: NonNegative | None = None
    ecn_threshold_kb: NonNegative | None = None
    lossless: Flag | None = None
    mtu_bytes: Annotated[int, Field(strict=True, ge=64, le=1_000_000)] | None = None
    oversubscription_limit: Positive | None = None

    accelerator: Id | None = None
    gpus: Whole | None = None
    """GPUs in one instance."""
    nic_gbps_per_gpu: Positive | None = None
    host_cores: Whole | None = None

    power_w: NonNegative | None = None
    space_u: NonNegative | None = None
    price_usd: NonNegative | None = None
    usd_per_month: NonNegative | None = None
    srlgs: tuple[Name, ...] = ()


class Reverse(Frozen):
    """What differs in the direction b to a; null means as a to b."""

    capacity_gbps: Positive | None = None
    background_gbps: NonNegative | None = None
    metric: Annotated[int, Field(strict=True, ge=1, le=2**31)] | None = None


Metric = Annotated[int, Field(strict=True, ge=1, le=2**31)]


class Link(Item):
    """A cable, wave, tunnel or bundle between two nodes. Capacity is that of one member."""

    a: Id
    b: Id
    a_port: Name = ""
    b_port: Name = ""
    members: Count = 1
    capacity_gbps: Positive | None = None
    background_gbps: NonNegative | None = None
    metric: Metric | None = None
    metrics: FrozenMap[Name, Metric] = Map()
    """Named metrics (flexible algorithms)."""
    b_to_a: Reverse | None = None
    pairing: Annotated[str, OneOf(PAIRINGS)] = "spread_evenly"
    """How it pairs the instances of counted ends; capacity is that of one pair's link."""
    length_km: NonNegative | None = None
    medium: Id | None = None
    one_way_ms: NonNegative | None = None
    """Overrides the delay that length and medium give."""
    jitter_ms: NonNegative | None = None
    loss: Share | None = None
    """Share of packets lost."""
    mtu_bytes: Annotated[int, Field(strict=True, ge=64, le=1_000_000)] | None = None
    encapsulations: tuple[Id, ...] = ()
    optic: Id | None = None
    fec: Id | None = None
    lossless: Flag | None = None
    srlgs: tuple[Name, ...] = ()
    spans: tuple[Id, ...] = ()
    usd_per_month: NonNegative | None = None
    price_usd: NonNegative | None = None
    note: Text = ""

    def reverse_capacity_gbps(self) -> float | None:
        """Capacity of one member from b to a."""
        other = self.b_to_a.capacity_gbps if self.b_to_a else None
        return self.capacity_gbps if other is None else other

    def reverse_background_gbps(self) -> float | None:
        """Background load from b to a, of the whole bundle."""
        other = self.b_to_a.background_gbps if self.b_to_a else None
        return self.background_gbps if other is None else other

    def reverse_metric(self) -> int | None:
        """Metric from b to a."""
        other = self.b_to_a.metric if self.b_to_a else None
        return self.metric if other is None else other


class Span(Item):
    """A duct or fibre span that several links share: they fail together."""

    length_km: NonNegative | None = None
    srlgs: tuple[Name, ...] = ()
