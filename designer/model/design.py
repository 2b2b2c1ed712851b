"""The meaning of a design: title block, settings, collections, scenarios and exclusions."""

import unicodedata
from datetime import date
from typing import Annotated

from immutables import Map
from pydantic import AfterValidator, Field

from designer.model.base import (
    Flag,
    Frozen,
    FrozenMap,
    Id,
    Item,
    Name,
    NonNegative,
    Number,
    OneOf,
    Positive,
    Share,
    Table,
    Text,
    Whole,
)
from designer.model.services import (
    Deployment,
    Flow,
    Percent,
    Service,
    Tenant,
    TrafficClass,
)
from designer.model.things import Group, Link, Node, Span


def _is_a_day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError("no calendar has this day; correct it") from None
    return text


Date = Annotated[str, Field(strict=True, pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_is_a_day)]


class Approval(Frozen):
    """Who approved which revision, in what role, when."""

    name: Name
    role: Name = ""
    date: Date | None = None


class TitleBlock(Frozen):
    """What stands on the cover of the report."""

    title: Name = ""
    revision_label: Name = ""
    date: Date | None = None
    author: Name = ""
    status: Annotated[str, OneOf(("draft", "in_review", "approved", "withdrawn"))] = "draft"
    story: Text = ""
    """One paragraph on what the design is for."""
    approvals: tuple[Approval, ...] = ()

    def title_or(self, other: str) -> str:
        """The title, or another where there is nothing in it that can be seen."""
        seen = any(unicodedata.category(letter)[0] not in "CZ" for letter in self.title)
        return self.title if seen else other


class Settings(Frozen):
    """How the design is to be analysed."""

    base_year: Annotated[int, Field(strict=True, ge=1990, le=2200)] | None = None
    percentiles: tuple[Percent, ...] = ()
    """Further percentiles beside 50, 95 and 99."""
    route_factor: Annotated[float, Field(strict=True, ge=1, le=10)] | None = None
    """Route length over great circle where a length is unknown; null: 1.3, a guess."""
    address_family: Annotated[str, OneOf(("ipv4", "ipv6"))] = "ipv4"
    balancing: Annotated[str, OneOf(("hash", "flowlet", "adaptive", "spraying"))] = "hash"
    utilisation_limit: Share = 0.8
    oversubscription_limits: FrozenMap[Name, Positive] = Map()
    """By tier id."""
    currency: Annotated[str, Field(strict=True, pattern=r"^[A-Z]{3}$")] = "USD"
    energy_usd_per_kwh: NonNegative | None = None
    seed: Whole = 7


class Change(Frozen):
    """One stress of a scenario: a factor or a value on one field of one thing, or a thing out."""

    target: Id
    field: Name = ""
    factor: NonNegative | None = None
    value: Number | None = None
    out_of_service: Flag = False


class Scenario(Item):
    """A named stress: multipliers and masks over the same design."""

    demand_factor: NonNegative = 1.0
    prompt_factor: Positive = 1.0
    output_factor: Positive = 1.0
    changes: tuple[Change, ...] = ()
    note: Text = ""


class FailureSet(Item):
    """Things that are out together: a maintenance window, a duct, a power feed."""

    nodes: tuple[Id, ...] = ()
    links: tuple[Id, ...] = ()
    groups: tuple[Id, ...] = ()
    srlgs: tuple[Name, ...] = ()
    kind: Annotated[str, OneOf(("maintenance", "failure"))] = "maintenance"


class Exclusion(Item):
    """A finding that is known and accepted: which, why, and by whom."""

    rule: Name
    elements: tuple[Id, ...] = ()
    reason: Text
    owner: Name


class RoutedPath(Item):
    """An explicit path (SR policy): nodes or links to pass, in order, from source to target."""

    source: Id
    target: Id
    via: tuple[Id, ...] = ()
    metric: Name = ""
    preference: Whole = 100
    disjoint_from: tuple[Id, ...] = ()
    traffic_classes: tuple[Id, ...] = ()


class Design(Frozen):
    """All that has a meaning; a change here makes results stale."""

    title_block: TitleBlock = TitleBlock()
    settings: Settings = Settings()
    groups: Table[Id, Group] = Map()
    nodes: Table[Id, Node] = Map()
    links: Table[Id, Link] = Map()
    spans: Table[Id, Span] = Map()
    classes: Table[Id, TrafficClass] = Map()
    tenants: Table[Id, Tenant] = Map()
    deployments: Table[Id, Deployment] = Map()
    services: Table[Id, Service] = Map()
    flows: Table[Id, Flow] = Map()
    paths: Table[Id, RoutedPath] = Map()
    scenarios: Table[Id, Scenario] = Map()
    failures: Table[Id, FailureSet] = Map()
    exclusions: Table[Id, Exclusion] = Map()
    severities: FrozenMap[Name, Name] = Map()
    """Severity of a rule in this project where it is not the rule's own: error, warning, info, or
    off."""
