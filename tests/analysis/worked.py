"""A small design that can be worked out by hand, and studies of it."""

from functools import cache
from typing import Any

from immutables import Map

from designer.analysis.results import ServiceResult
from designer.analysis.study import Study, network_study, with_details, with_services
from designer.files.catalogue import load
from designer.model.base import Percentiles
from designer.model.catalog import Catalogue
from designer.model.design import Design, Settings
from designer.model.services import (
    Call,
    Demand,
    Deployment,
    ModelCall,
    Series,
    Service,
    Tokens,
    TrafficClass,
)
from designer.model.things import GpuOffer, Group, Link, Node, ServiceTime, Site

ACCESS_MS = 12.0
FIBRE_KM = 80.0
GATEWAY_MS = 3.0
CAPACITY_GBPS = 10.0
PROMPT = 1000.0
OUTPUT = 2.0


@cache
def catalogue() -> Catalogue:
    """The catalogue that the program comes with."""
    return load()


def table(*items: Any) -> Map[str, Any]:
    """Things by id."""
    return Map({item.id: item for item in items})


def constant_ms(ms: float) -> Percentiles:
    """A table of percentiles that says: always this long."""
    return Percentiles(p5=ms, p50=ms, p95=ms, p99=ms)


def users(key: str = "users", **fields: Any) -> Node:
    """A population with a constant access round trip."""
    given = {"access_rtt_ms": constant_ms(ACCESS_MS)} | fields
    return Node(id=key, kind="users", **given)


def gateway(key: str = "gw", **fields: Any) -> Node:
    """A gateway that takes a fixed time and never makes anyone wait."""
    time = ServiceTime(mean_ms=GATEWAY_MS, scv=0.0)
    given: dict[str, Any] = {"service_time": time, "servers": 1000} | fields
    return Node(id=key, kind="ai_gateway", **given)


def gpus(key: str = "pool", **fields: Any) -> Node:
    """Eight H100 in one server."""
    given: dict[str, Any] = {"kind": "server", "accelerator": "h100_sxm", "gpus": 8} | fields
    return Node(id=key, **given)


def link(a: str, b: str, **fields: Any) -> Link:
    """A cable of no length at 10 Gb/s."""
    given: dict[str, Any] = {"length_km": 0.0, "capacity_gbps": CAPACITY_GBPS, "medium": "smf"}
    return Link(id=f"{a}-{b}", a=a, b=b, **(given | fields))


def deployment(key: str = "llama", node: str = "pool", **fields: Any) -> Deployment:
    """One Llama 8B on one GPU."""
    given: dict[str, Any] = {"model": "Llama-3.1-8B"} | fields
    return Deployment(id=key, node=node, **given)


def chat(rate: float = 1e-4, **fields: Any) -> Service:
    """Users ask through the gateway; one model call."""
    given: dict[str, Any] = {
        "model": "Llama-3.1-8B",
        "prompt_tokens": Tokens(mean=PROMPT),
        "output_tokens": Tokens(mean=OUTPUT),
        "demands": (Demand(users="users", requests_per_s=rate),),
        "workflow": Series(steps=(Call(name="gateway", at="gw"), ModelCall())),
    } | fields
    return Service(id="chat", **given)


def small(*services: Service, **changes: Any) -> Design:
    """Users, 80 km of fibre, a router, a firewall, a gateway, a leaf and a GPU server."""
    given: dict[str, Any] = {
        "settings": Settings(seed=7),
        "nodes": table(
            users(),
            Node(id="router", kind="metro_router", forwarding_us=10.0),
            Node(id="fw", kind="firewall", forwarding_us=50.0),
            gateway(),
            Node(id="leaf", kind="leaf", forwarding_us=0.5),
            gpus(),
        ),
        "links": table(
            link("users", "router", length_km=None),
            link("router", "fw", length_km=FIBRE_KM),
            link("fw", "gw"),
            link("gw", "leaf"),
            link("leaf", "pool"),
        ),
        "classes": table(TrafficClass(id="interactive", priority=0, packet_bytes=1500.0)),
        "deployments": table(deployment()),
        "services": table(*services),
    }
    return Design(**(given | changes))


def studied(design: Design) -> Study:
    """The study of a design to its end."""
    return with_details(with_services(network_study(design, catalogue())))


def answered(design: Design, key: str = "chat") -> ServiceResult:
    """One service's answers."""
    return next(each for each in studied(design).services if each.id == key)


def site(key: str, usd_per_gpu_hour: float | None = 2.0, **fields: Any) -> Group:
    """A candidate site for H100."""
    offer = GpuOffer(
        accelerator="h100_sxm",
        most_gpus=fields.pop("most_gpus", 64),
        usd_per_gpu_hour=usd_per_gpu_hour,
    )
    given: dict[str, Any] = {"candidate": True, "jurisdiction": "DE", "offers": (offer,)} | fields
    return Group(id=key, name=f"Site {key}", kind="site", site=Site(**given))
