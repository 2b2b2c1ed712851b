"""What the GPU tier is computed from: accelerators, language models, constants, all-reduce figures.

Gbytes are 1e9 bytes and Gbits 1e9 bits. `None` is not known, never zero.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import Field

from designer.model.base import Frozen, Name, NonNegative, OneOf, Positive, Share, Whole

Ways = Annotated[int, Field(strict=True, ge=1)]

MARKETED_GB_TO_GBYTES: Final = 1.0737
"""Vendors' GB of accelerator memory are GiB."""


class Accelerator(Frozen):
    """One GPU (or other accelerator): dense arithmetic rates, links in ONE direction."""

    id: Name
    name: Name = ""
    vendor: Name = ""
    memory_gb: Positive
    """As marketed."""
    memory_usable_gbytes: Positive | None = None
    memory_gbytes_per_s: Positive
    bf16_tflops: Positive
    fp8_tflops: Positive | None = None
    fp4_tflops: Positive | None = None
    link_gbytes_per_s: Positive | None = None
    """Of one accelerator into the scale-up domain, one direction."""
    link_kind: Name = ""
    link_pair_gbytes_per_s: Positive | None = None
    """Full mesh only: between two accelerators, one direction."""
    scale_up_domain: Ways = 1
    """Accelerators that the fast links join."""
    nic_gbits_per_s: Positive | None = None
    """Typical NIC rate per accelerator, one direction."""
    tdp_w: Positive | None = None
    confidence: Name = ""
    source: Name = ""
    note: Name = ""

    @classmethod
    def from_row(cls, row: Mapping[str, Any], key: str = "") -> Self:
        """Reads one row of the catalogue's accelerators; `key` is the id where the row has none.

        Raises KeyError for a missing column and pydantic.ValidationError for a wrong value.
        """
        return cls(
            id=key or row.get("id") or row["name"],
            name=row.get("name") or "",
            vendor=row.get("vendor") or "",
            memory_gb=row["mem_gb"],
            memory_usable_gbytes=row["mem_usable_gb"],
            memory_gbytes_per_s=row["mem_bw_gbs"],
            bf16_tflops=row["bf16_tflops"],
            fp8_tflops=row["fp8_tflops"],
            fp4_tflops=row["fp4_tflops"],
            link_gbytes_per_s=row["link_gbs_per_direction"],
            link_kind=row.get("link_kind") or "",
            link_pair_gbytes_per_s=row.get("link_pair_gbs_per_direction"),
            scale_up_domain=row.get("scale_up_domain") or 1,
            nic_gbits_per_s=row.get("nic_gbps_typical"),
            tdp_w=row.get("tdp_w"),
            confidence=row.get("confidence") or "",
            source=row.get("source") or "",
            note=row.get("note") or "",
        )

    @property
    def memory_gbytes(self) -> float:
        """What an engine can address, in 1e9 bytes."""
        return self.memory_usable_gbytes or self.memory_gb * MARKETED_GB_TO_GBYTES

    @property
    def is_pcie(self) -> bool:
        """Whether cards of a server talk over PCIe only."""
        return self.link_kind.startswith("PCIe")

    @property
    def is_full_mesh(self) -> bool:
        """Whether each pair has its own link, so that few cards use few links."""
        return self.link_pair_gbytes_per_s is not None

    @property
    def is_calibrated(self) -> bool:
        """Whether the formulas were held against measured rows of such hardware."""
        return self.vendor == "NVIDIA" and not self.name.startswith("Jetson")


class LanguageModel(Frozen):
    """The shape of a language model; parameters are counts, dimensions are elements."""

    id: Name
    layers: Ways
    hidden: Ways
    vocab: Ways
    query_heads: Ways
    attention: Annotated[str, OneOf(("GQA", "MLA"))]
    kv_heads: Ways | None = None
    head_dim: Ways | None = None
    qk_dim: Ways
    v_dim: Ways
    kv_lora_rank: Ways | None = None
    rope_head_dim: Ways | None = None
    window_tokens: Ways | None = None
    window_layers: Whole = 0
    moe_layers: Whole = 0
    experts: Whole = 0
    experts_per_token: Whole = 0
    params_per_expert: Whole = 0
    total_params: Ways
    active_params: Ways
    """Used per token, the LM head among them, the input embedding not."""
    max_context_tokens: Ways | None = None
    native_format: Name = "bf16"
    source: Name = ""

    @classmethod
    def from_row(cls, row: Mapping[str, Any], key: str = "") -> Self:
        """Reads one row of the catalogue's models; `key` is the id where the row has none.

        Raises KeyError for a missing column and pydantic.ValidationError for a wrong value.
        """
        return cls(
            id=key or row.get("id") or row["name"],
            layers=row["layers"],
            hidden=row["hidden"],
            vocab=row["vocab"],
            query_heads=row["q_heads"],
            attention=row["attention"],
            kv_heads=row["kv_heads"],
            head_dim=row["head_dim"],
            qk_dim=row["qk_dim"],
            v_dim=row["v_dim"],
            kv_lora_rank=row["kv_lora_rank"],
            rope_head_dim=row["rope_head_dim"],
            window_tokens=row["window"],
            window_layers=row["window_layers"],
            moe_layers=row["moe_layers"],
            experts=row["experts"],
            experts_per_token=row["experts_per_token"],
            params_per_expert=row["expert_params"],
            total_params=row["total_params"],
            active_params=row["active_params_excl_input_embedding"],
            max_context_tokens=row.get("max_context"),
            native_format=row.get("native_weight_dtype") or "bf16",
            source=row.get("source") or "",
        )

    @property
    def head_params(self) -> int:
        """Parameters of the LM head."""
        return self.vocab * self.hidden

    @property
    def routed_params(self) -> int:
        """Parameters of all routed experts."""
        return self.moe_layers * self.experts * self.params_per_expert

    @property
    def routed_params_per_token(self) -> int:
        """P_e: parameters of the routed experts that one token uses."""
        return self.moe_layers * self.experts_per_token * self.params_per_expert

    @property
    def other_params(self) -> int:
        """P_o: parameters used by every token, LM head and routed experts apart."""
        return self.active_params - self.head_params - self.routed_params_per_token

    @property
    def full_layers(self) -> int:
        """Layers whose attention sees the whole context."""
        return self.layers - self.window_layers


class ServingConstants(Frozen):
    """The fitted constants of the formulas (fractions, seconds)."""

    mfu_bf16: Share = 0.70
    mfu_fp8: Share = 0.55
    mfu_fp4: Share = 0.33
    mfu_attention: Share = 0.60
    moe_compute_share: Share = 0.21
    """Further factor on the arithmetic rate of routed experts."""
    memory_share: Share = 0.85
    """Reached share of the memory bandwidth."""
    moe_memory_share: Share = 0.80
    """Further factor on it for routed experts."""
    step_s: NonNegative = 0.00035
    decode_layer_s: NonNegative = 55e-6
    prefill_layer_s: NonNegative = 0.0002
    request_s: NonNegative = 0.039
    """Of one request outside the engine's steps, part of the time to first token."""
    all_reduce_s: NonNegative = 6e-6
    all_reduce_share: Share = 0.70
    """Reached share of the scale-up link's rate."""
    interference: Share = 0.80
    """Share of a prefill's time by which it lengthens the decode step that it rides on."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Reads the catalogue's constants. Raises KeyError where one is missing."""
        return cls(
            mfu_bf16=row["mfu_bf16"],
            mfu_fp8=row["mfu_fp8"],
            mfu_fp4=row["mfu_fp4"],
            mfu_attention=row["mfu_attn"],
            moe_compute_share=row["moe_eff"],
            memory_share=row["mbu"],
            moe_memory_share=row["moe_mbu"],
            step_s=row["t_step"],
            decode_layer_s=row["t_layer"],
            prefill_layer_s=row["t_layer_p"],
            request_s=row["t_req"],
            all_reduce_s=row["ar_alpha"],
            all_reduce_share=row["ar_eff"],
            interference=row["kappa"],
        )


class AllReduceFigure(Frozen):
    """A measured all-reduce of one kernel: time = latency + 2(n-1)/n * bytes / bus rate."""

    system: Name
    accelerators: Ways
    kernel: Name = ""
    latency_us: NonNegative
    bus_gbytes_per_s: Positive

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Reads one row of the all-reduce table, its numbers as numbers or as text."""
        return cls(
            system=row["system"],
            accelerators=int(row["gpus"]),
            kernel=row.get("kernel") or "",
            latency_us=float(row["fit_alpha_us"]),
            bus_gbytes_per_s=float(row["fit_bw_GBs"]),
        )
