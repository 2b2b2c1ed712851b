"""The rows of the catalogue: what each kind of fact says, and where it comes from.

Every row names its source and how far it can be trusted, in the words of who collected it
("measured", "vendor claim", "assumption"). None is not known, never zero. A range stays a range.
"""

from typing import Annotated, Final, Literal, Self

from immutables import Map
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from designer.model.base import (
    Count,
    Flag,
    Frozen,
    FrozenMap,
    Id,
    Name,
    NonNegative,
    Number,
    OneOf,
    Percentiles,
    Positive,
    Provenance,
    Share,
    Whole,
)
from designer.model.kinds import ENGINES, NODE_KINDS
from designer.model.services import Tokens
from designer.model.things import ServiceTime

LIGHT_KM_PER_S: Final = 299_792.458
"""Speed of light in vacuum (SI definition)."""

_GUESS_WORDS: Final = ("assum", "recalled", "guess", "rule of thumb")

Source = Annotated[Name, Field(min_length=3)]
Trust = Annotated[Name, Field(min_length=3)]
NodeKind = Annotated[str, OneOf(NODE_KINDS)]


def is_guess(trust: str) -> bool:
    """Whether a kind of trust says that somebody assumed or recalled the figure."""
    return any(word in trust.lower() for word in _GUESS_WORDS)


class Entry(Frozen):
    """A row of the catalogue."""

    id: Id
    name: Name = ""
    source: Source
    trust: Trust
    note: Name = ""

    def provenance(self, note: str = "") -> Provenance:
        """What a design says about a value that it took from this row."""
        kind = "guessed" if is_guess(self.trust) else "catalogue"
        return Provenance(kind=kind, source=f"{self.source} [{self.trust}]", note=note or self.note)


class Range(Frozen):
    """Low, typical and high value of one quantity; the unit stands in the field's name."""

    low: NonNegative | None = None
    typical: NonNegative | None = None
    high: NonNegative | None = None

    @model_validator(mode="after")
    def _rising(self) -> Self:
        known = [value for value in (self.low, self.typical, self.high) if value is not None]
        if not known:
            raise PydanticCustomError("empty_range", "give at least one of low, typical, high", {})
        if known != sorted(known):
            raise PydanticCustomError("falling_range", "low, typical and high must rise", {})
        return self

    def middle(self) -> float:
        """The typical value, else the middle of what is known."""
        if self.typical is not None:
            return self.typical
        known = [value for value in (self.low, self.high) if value is not None]
        return sum(known) / len(known)


class Ports(Frozen):
    """A group of like ports of a device; `gbps` is one port, one direction."""

    count: Count
    gbps: Positive
    form: Name = ""


class Device(Entry):
    """A switch, router, firewall, NIC, DPU, server, rack or store, as its maker or others state."""

    vendor: Name = ""
    kind: NodeKind
    also: tuple[NodeKind, ...] = ()
    """Further kinds of node that such a device is used as."""
    ports: tuple[Ports, ...] = ()
    switching_tbps: Positive | None = None
    """One direction."""
    forwarding_us: Range | None = None
    """One-way, port to port, uncongested."""
    cut_through: Flag | None = None
    buffer_mb: Positive | None = None
    typical_power_w: Positive | None = None
    most_power_w: Positive | None = None
    space_u: Positive | None = None
    session_limit: Whole | None = None
    new_sessions_per_s: Positive | None = None
    throughput_gbps: FrozenMap[Name, Positive] = Map()
    """By kind of processing."""
    accelerator: Id | None = None
    gpus: Count | None = None
    nic_gbps_per_gpu: Positive | None = None
    price: Id | None = None
    """Row of the prices."""


class Medium(Entry):
    """What a link runs through. Its delay follows from the group index, or is stated."""

    group_index: Annotated[float, Field(strict=True, ge=1)] | None = None
    us_per_km: Positive | None = None
    """One-way."""
    attenuation_db_per_km: NonNegative | None = None
    slant_path: Flag = False
    """Whether the length is that of the radio path, not of the ground below it."""

    @model_validator(mode="after")
    def _has_delay(self) -> Self:
        if self.group_index is None and self.us_per_km is None:
            raise PydanticCustomError("no_delay", "give group_index or us_per_km", {})
        return self

    def one_way_us_per_km(self) -> float:
        """Propagation delay in µs per km: as stated, else group index / c."""
        if self.us_per_km is not None:
            return self.us_per_km
        return 1e6 * (self.group_index or 1.0) / LIGHT_KM_PER_S


class Fec(Entry):
    """A forward error correction; encoding and decoding of one hop together."""

    latency_us: Range | None = None


class Optic(Entry):
    """A cable, transceiver or transponder mode."""

    category: Annotated[str, OneOf(("cable", "optic", "coherent", "transponder_mode", "pon"))]
    gbps: Positive | None = None
    """One direction; downstream of a PON."""
    up_gbps: Positive | None = None
    reach_km: Positive | None = None
    fec: Id | None = None
    typical_power_w: NonNegative | None = None
    most_power_w: NonNegative | None = None
    lanes: Count | None = None
    runs_on: Name = ""
    min_osnr_db: Positive | None = None
    """In 0.1 nm at the receiver."""
    min_spacing_ghz: Positive | None = None
    price: Id | None = None


AccessScope = Literal["access", "near_server", "end_to_end"]


class AccessMedium(Entry):
    """How users reach the first provider device: one distribution of round trips."""

    medium: Name
    scope: AccessScope
    """Where the round trip ends: at the first device of the provider (or the access point), at a
    server nearby, or at a test or cloud server with the backbone in between."""
    ends_at: Name
    round_trip_ms: Percentiles
    jitter_ms: NonNegative | None = None
    """Mean absolute difference of successive round trips."""
    loss: Share | None = None
    down_mbps: Range | None = None
    """One user's line."""
    up_mbps: Range | None = None
    load: Name = ""
    place: Name = ""
    year: Whole | None = None

    def may_be_added(self) -> bool:
        """Whether it may stand before a drawn path without counting any of it twice."""
        return self.scope == "access"


class ServiceTimeRow(Entry):
    """How long a server works on one request, in ms, as a source gives it."""

    kinds: tuple[NodeKind, ...]
    percentiles_ms: Percentiles | None = None
    scv: NonNegative | None = None
    range_ms: Range | None = None
    """Where the source gives a range of means and no distribution."""
    load: Name = ""
    year: Whole | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        table = self.percentiles_ms
        known = table is not None and (table.mean is not None or bool(table.points()))
        if known == (self.range_ms is not None):
            raise PydanticCustomError(
                "no_time", "give either percentiles_ms with a value in it, or range_ms", {}
            )
        return self

    def shape_is_guessed(self) -> bool:
        """Whether the source gives a mean or a range alone, so that the spread is our guess."""
        table = self.percentiles_ms
        return self.scv is None and (table is None or not table.points())

    def service_time(self) -> ServiceTime:
        """The time as a design holds it.

        A mean alone gets scv 1 (exponential), a range that of a uniform one:
        (high - low)² / 12 / mean². Both are guesses; `shape_is_guessed` says so.
        """
        if self.percentiles_ms is not None and self.percentiles_ms.points():
            return ServiceTime(catalogue=self.id, percentiles_ms=self.percentiles_ms)
        if self.range_ms is None:
            mean = self.percentiles_ms.mean if self.percentiles_ms else None
            return ServiceTime(
                catalogue=self.id, mean_ms=mean, scv=1.0 if self.scv is None else self.scv
            )
        span, mean = self.range_ms, self.range_ms.middle()
        spread = (span.high or mean) - (span.low or mean)
        return ServiceTime(
            catalogue=self.id, mean_ms=mean, scv=spread**2 / 12 / mean**2 if mean else 0.0
        )


class PriceRow(Entry):
    """What something costs, without tax."""

    low: NonNegative | None = None
    typical: NonNegative | None = None
    high: NonNegative | None = None
    unit: Name
    currency: Annotated[str, Field(strict=True, pattern=r"^[A-Z]{3}$")] | None = None
    """None: a ratio."""
    date: Name = ""
    region: Name = ""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        Range(low=self.low, typical=self.typical, high=self.high)
        return self


class Workload(Entry):
    """What the requests of a kind of service look like."""

    use: Annotated[str, OneOf(("chat", "rag", "agent", "coding", "summary", "reasoning", "vision"))]
    prompt_tokens: Tokens
    output_tokens: Tokens
    gap_scv: NonNegative | None = None
    """Squared coefficient of variation of the gaps between requests; 1 is Poisson."""
    calls_per_task: Tokens | None = None
    """Model calls of one task, as a distribution."""
    new_tokens_per_call: NonNegative | None = None
    """Tokens that a call adds to the context of the next."""
    prefix_share: Share | None = None
    """Share of prompt tokens whose KV is already there (unlimited cache)."""
    tool_ms_per_call: Percentiles | None = None
    date: Name = ""


class FactRow(Entry):
    """A fact that no other table holds: numbers, or ranges as pairs, by name."""

    group: Name
    unit: Name
    values: FrozenMap[Name, Number | tuple[Number, ...]]
    load: Name = ""
    date: Name = ""


class ErrorBand(Entry):
    """Measured over predicted GPU time: factors at five levels, by engine."""

    engine: Annotated[str, OneOf(ENGINES)]
    ttft: Percentiles
    itl: Percentiles


class OverheadRow(Entry):
    """Bytes that a header, tag or tunnel adds to a packet.

    With a count k and f free ones: fixed + (header + each * (k - f) if k > f, else nothing).
    """

    layer: Annotated[str, OneOf(("link", "encapsulation", "network", "transport"))]
    bytes_each: Range
    fixed_bytes: NonNegative = 0.0
    header_bytes: NonNegative = 0.0
    """Added once where anything is counted."""
    counted: Flag = False
    """Whether the word takes a count: `mpls.3` is three labels."""
    free: Whole = 0
    """So many of those counted add nothing."""
    replaces_ethernet: Flag = False
    rdma_bytes: NonNegative | None = None
    """RDMA transports: what they add on a link that brings RDMA itself (InfiniBand)."""


class KindDefaults(Entry):
    """What the program assumes of a node of a kind until told better. The id is the kind."""

    forwarding_us: Range | None = None
    """One-way, port to port, uncongested. None: such a node forwards nothing."""
    service_time: Id | None = None
    """Row of the service times. None: no server, or not known."""
