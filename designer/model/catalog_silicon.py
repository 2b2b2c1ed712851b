"""Catalogue rows of the GPU tier, with the column names that `silicon.py` reads."""

from typing import Annotated, Any

from designer.model.base import Count, Name, NonNegative, OneOf, Positive, Share, Whole
from designer.model.catalog_rows import Entry


class _SiliconRow(Entry):
    def row(self) -> dict[str, Any]:
        """The columns as a plain mapping, for the `from_row` of `silicon.py`."""
        return {name: getattr(self, name) for name in type(self).model_fields} | {
            "confidence": self.trust
        }


class AcceleratorRow(_SiliconRow):
    """An accelerator: gb and gbs are 1e9 bytes (as marketed), links and NIC in ONE direction."""

    vendor: Name
    mem_gb: Positive
    mem_usable_gb: Positive | None = None
    mem_bw_gbs: Positive
    bf16_tflops: Positive
    fp8_tflops: Positive | None = None
    fp4_tflops: Positive | None = None
    int8_tops: Positive | None = None
    link_gbs_per_direction: Positive | None = None
    link_gbs_bidirectional: Positive | None = None
    link_kind: Name
    link_pair_gbs_per_direction: Positive | None = None
    scale_up_domain: Count
    nic_gbps_typical: Positive | None = None
    tdp_w: Positive | None = None
    flops: Name = "dense"


class ModelRow(_SiliconRow):
    """The shape of a language model: counts of parameters, widths in elements."""

    layers: Count
    hidden: Count
    q_heads: Count
    kv_heads: Count | None = None
    head_dim: Count | None = None
    attention: Annotated[str, OneOf(("GQA", "MLA"))]
    kv_lora_rank: Count | None = None
    q_lora_rank: Count | None = None
    rope_head_dim: Count | None = None
    qk_dim: Count
    v_dim: Count
    intermediate: Whole
    experts: Whole
    experts_per_token: Whole
    shared_experts: Whole
    moe_intermediate: Whole
    dense_layers: Whole
    moe_layers: Whole
    vocab: Count
    window: Count | None = None
    window_layers: Whole = 0
    attn_params_per_layer: Whole
    expert_params: Whole
    total_params: Whole
    active_params_excl_input_embedding: Whole
    published_total_params: Positive | None = None
    published_active_params: Positive | None = None
    kv_elems_per_token_per_layer: Whole
    kv_bytes_per_token_bf16: Whole
    kv_bytes_per_token_bf16_beyond_window: Whole | None = None
    max_context: Whole | None = None
    native_weight_dtype: Name = "bf16"


class AllReduceRow(_SiliconRow):
    """A measured all-reduce inside one server: `gpus` cards, fitted latency and bus bandwidth."""

    system: Name
    gpus: Count
    kernel: Name
    n: Count
    """Message sizes measured."""
    max_bytes: Positive
    min_latency_us: Positive
    t_at_64KiB_us: Positive
    t_at_1MiB_us: Positive
    busbw_at_max_GBs: Positive
    fit_alpha_us: NonNegative
    fit_bw_GBs: Positive
    v: Name


class ConstantsRow(_SiliconRow):
    """The fitted constants of the GPU tier: shares, and seconds where the name starts with t."""

    mfu_bf16: Share
    mfu_fp8: Share
    mfu_fp4: Share
    mfu_attn: Share
    moe_eff: Share
    mbu: Share
    moe_mbu: Share
    t_step: NonNegative
    t_layer: NonNegative
    t_req: NonNegative
    t_layer_p: NonNegative
    ar_alpha: NonNegative
    ar_eff: Share
    kappa: Share
