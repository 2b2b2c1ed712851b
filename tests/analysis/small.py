"""Small designs for tests of the analysis, written in a few words."""

from functools import cache
from typing import Any

from immutables import Map

from designer.analysis.classes import ClassRule, class_rules
from designer.analysis.demand import Stream
from designer.analysis.elements import Elements
from designer.analysis.facts import Ledger
from designer.analysis.link_rows import link_rows
from designer.analysis.results import FlowResult
from designer.analysis.study import Study, network_study
from designer.files.catalogue import load
from designer.graph.arrays import Arrays, arrays
from designer.graph.expand import expand
from designer.model.catalog import Catalogue
from designer.model.design import Design
from designer.model.services import (
    Demand,
    Deployment,
    Flow,
    Service,
    Tokens,
    TrafficClass,
    Wire,
)
from designer.model.things import Link, Node

SILICA_US_PER_KM = 1.468 / 0.299792458
"""One-way µs/km of single-mode fibre: group index over the speed of light in km/µs."""


@cache
def catalogue() -> Catalogue:
    """The catalogue that the program comes with."""
    return load()


def table(*things: Any) -> Any:
    """Things by id, as a design holds them."""
    return Map({thing.id: thing for thing in things})


def design(*things: Any, **fields: Any) -> Design:
    """A design of things of any kind, each put into its collection."""
    homes = {
        "Group": "groups", "Node": "nodes", "Link": "links", "Span": "spans",
        "TrafficClass": "classes", "Tenant": "tenants", "Deployment": "deployments",
        "Service": "services", "Flow": "flows", "Exclusion": "exclusions", "Scenario": "scenarios",
    }  # fmt: skip
    collections: dict[str, list[Any]] = {}
    for thing in things:
        collections.setdefault(homes[type(thing).__name__], []).append(thing)
    return Design(**{home: table(*some) for home, some in collections.items()}, **fields)


def nodes(kind: str, *ids: str, **fields: Any) -> tuple[Node, ...]:
    """Nodes of one kind."""
    return tuple(Node(id=each, kind=kind, **fields) for each in ids)


def link(ends: str, gbps: float | None = None, **fields: Any) -> Link:
    """A link written "a-b", which is also its id unless one is given."""
    a, b = ends.split("-")
    return Link(**{"id": ends, "a": a, "b": b, "capacity_gbps": gbps, **fields})


def flow(ends: str, rate_gbps: float | None = None, **fields: Any) -> Flow:
    """Traffic written "a-b"; of class background and elastic unless more is said."""
    source, target = ends.split("-")
    return Flow(
        **{"id": ends, "source": source, "target": target, "rate_gbps": rate_gbps, **fields}
    )


def chat(users: str, requests_per_s: float, **fields: Any) -> Service:
    """A service of model m with 1 kB prompts and answers of ten 100-byte tokens.

    500 prompt tokens × 2 B and no more around them; 10 output tokens × 100 B.
    """
    given: dict[str, Any] = {
        "id": "chat",
        "model": "m",
        "prompt_tokens": Tokens(mean=500.0),
        "output_tokens": Tokens(mean=10.0),
        "wire": Wire(
            request_bytes_per_token=2.0,
            request_overhead_bytes=0.0,
            stream_bytes_per_token=100.0,
            tokens_per_packet=1.0,
        ),
        "demands": (Demand(users=users, requests_per_s=requests_per_s),),
    }
    return Service(**(given | fields))


def pool(node: str, **fields: Any) -> Deployment:
    """A deployment of model m on a node, called after it."""
    return Deployment(**({"id": f"m_{node}", "node": node, "model": "m"} | fields))


def inelastic(id_: str, priority: int, **fields: Any) -> TrafficClass:
    """A class that asks for its rate."""
    return TrafficClass(id=id_, priority=priority, elastic=False, **fields)


def elastic(id_: str, priority: int, **fields: Any) -> TrafficClass:
    """A class that takes what is left."""
    return TrafficClass(id=id_, priority=priority, elastic=True, **fields)


def study(made: Design, *out: str) -> Study:
    """The network part of its analysis, with some nodes and links out of service."""
    return network_study(made, catalogue(), frozenset(out))


def arrays_of(made: Design) -> Arrays:
    """Its arrays, with the delays that the analysis would find."""
    elements = Elements(made, catalogue(), Ledger())
    expansion = expand(made)
    return arrays(
        made,
        expansion,
        [elements.link_one_way_ms(made.links[key]).value for key in expansion.link_ids],
    )


def rules_of(made: Design) -> dict[str, ClassRule]:
    """Rules of its classes."""
    return class_rules(made, Ledger())


def stream(source: str, target: str, payload_gbps: float | None, **fields: Any) -> Stream:
    """Traffic between two nodes, inelastic where it has a rate, of the class background."""
    given: dict[str, Any] = {
        "id": f"{source}>{target}",
        "service": None,
        "users": None,
        "traffic_class": "background",
        "source": source,
        "target": target,
        "payload_gbps": payload_gbps,
        "elastic": payload_gbps is None,
        "payload_bytes": 1448.0,
        "connections": 1,
        "day": (),
    }
    return Stream(**(given | fields))


def row(made: Study, id_: str) -> FlowResult:
    """The waterfall of one flow."""
    return next(each for each in made.flow_rows if each.id == id_)


def load_of(made: Study, link_id: str, direction: str = "a_to_b") -> dict[str, float]:
    """Load by class of one direction of a link, Gb/s on the wire."""
    found = next(
        each for each in link_rows(made) if each.id == link_id and each.direction == direction
    )
    return dict(found.load_gbps)


TLS_HEADERS_BYTES = 38 + 20 + 54
"""Ethernet with preamble and gap, IPv4, TCP with time stamps and a TLS record (MODEL section 1)."""


def goodput(payload_bytes: float = 1448.0) -> float:
    """Payload share of packets over plain Ethernet."""
    return payload_bytes / (payload_bytes + TLS_HEADERS_BYTES)
