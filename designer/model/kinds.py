"""The closed word lists of a design: tiers, kinds of node and group, media of meaning."""

from types import MappingProxyType
from typing import Final

TIERS: Final = ("access", "service_edge", "transport", "fabric", "gpu", "services")
"""Five tiers and the Services lane, in the order of the drawing."""

TIER_NAMES: Final = MappingProxyType(
    {
        "access": "Access",
        "service_edge": "Service edge",
        "transport": "Transport & DCI",
        "fabric": "AI fabric",
        "gpu": "GPU",
        "services": "Services",
    }
)

_BY_TIER: Final = (
    (
        "access",
        (
            "users branch campus factory vehicle camera base_station olt cmts access_point "
            "aggregation_router upf edge_ai_server"
        ),
    ),
    (
        "service_edge",
        (
            "bng pe firewall steering load_balancer api_gateway ai_gateway model_router auth "
            "policy service_chain"
        ),
    ),
    (
        "transport",
        "metro_router core_router roadm optical_span dci cloud_onramp peering_gateway",
    ),
    ("fabric", "leaf spine super_spine rail_switch storage_switch optical_circuit_switch"),
    ("gpu", "server nvlink_domain nic dpu serving_pool prefill_pool decode_pool"),
    (
        "services",
        (
            "object_storage file_storage vector_store kv_store tool_service scheduler "
            "observability external_api"
        ),
    ),
)

TIER_OF_KIND: Final = MappingProxyType(
    {kind: tier for tier, kinds in _BY_TIER for kind in kinds.split()}
)

NODE_KINDS: Final = tuple(TIER_OF_KIND)

SWITCHES: Final = frozenset(
    ("leaf", "spine", "super_spine", "rail_switch", "storage_switch", "optical_circuit_switch")
)
GPU_HOSTS: Final = frozenset(
    ("server", "nvlink_domain", "serving_pool", "prefill_pool", "decode_pool", "edge_ai_server")
)
"""Kinds of node that may hold GPUs."""

USER_KINDS: Final = frozenset(("users", "branch", "campus", "factory", "vehicle", "camera"))
"""Kinds of node at which demand starts."""

STORES: Final = frozenset(("object_storage", "file_storage", "vector_store", "kv_store"))

GROUP_KINDS: Final = ("region", "site", "room", "pod", "rack", "fabric", "zone", "custom")

PAIRINGS: Final = ("each_to_each", "one_to_one", "spread_evenly")
ENGINES: Final = ("any", "vllm", "tensorrt_llm", "sglang")
FORMATS: Final = ("bf16", "fp8", "fp4", "int4", "mxfp4")
BALANCING: Final = ("hash", "flowlet", "adaptive", "spraying")
PERCENTILES: Final = (50.0, 95.0, 99.0)
"""Percentiles that are always shown; those that SLOs name come on top."""


def tier_of(kind: str, override: str | None = None) -> str:
    """The tier of a node: its kind's, unless overridden; what is unknown stands in Services."""
    if override is None:
        return TIER_OF_KIND.get(kind, "services")
    return override if override in TIERS else "services"
