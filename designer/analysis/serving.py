"""The GPU tier on one page: how long a prompt, a decode step and an all-reduce take.

Times are seconds, bytes are bytes, `tokens` are counts. The formulas and their constants were
fitted to measured rows of NVIDIA GPUs; `Replica.reasons` names what lies outside of them.
"""

from dataclasses import dataclass
from typing import Final

from designer.analysis.scale_up import (
    NO_TIME,
    CannotServe,
    ExpertSpread,
    Fabric,
    Line,
    scale_up_line,
)
from designer.model.silicon import Accelerator, AllReduceFigure, LanguageModel, ServingConstants

BYTES_PER_PARAMETER: Final = {
    "bf16": 2.0, "fp8": 1.0, "fp4": 0.5625, "int4": 0.53125, "mxfp4": 0.53125,
}  # fmt: skip
"""Scales included."""

FOUR_BIT: Final = frozenset({"fp4", "int4", "mxfp4"})

MEMORY_SHARE_OF_ENGINE: Final = 0.9
ENGINE_BYTES: Final = 4e9

FITTED: Final = ServingConstants()


def native_format(model: LanguageModel) -> str:
    """The format in which the model is published: "mxfp4(experts)" is mxfp4."""
    return model.native_format.partition("(")[0]


def expert_format(model: LanguageModel, weight_format: str) -> str:
    """Format of the routed experts; a model published in mxfp4 and marked fp4 is mxfp4."""
    return "mxfp4" if weight_format == "fp4" and native_format(model) == "mxfp4" else weight_format


def other_format(model: LanguageModel, weight_format: str) -> str:
    """Format of all but the routed experts: 4 bits are for experts only where there are any."""
    if weight_format not in FOUR_BIT or model.routed_params == 0:
        return weight_format
    return "fp8" if native_format(model) == "fp8" else "bf16"


def compute_format(accelerator: Accelerator, weight_format: str) -> str:
    """Format of the arithmetic: what the chip lacks (and int4) is computed at bf16."""
    if weight_format == "mxfp4":
        return "fp8" if accelerator.fp4_tflops and accelerator.fp8_tflops else "bf16"
    has = {"fp8": accelerator.fp8_tflops, "fp4": accelerator.fp4_tflops}
    return weight_format if has.get(weight_format) else "bf16"


def touched_share(model: LanguageModel, tokens: float) -> float:
    """u(T): expected share of the experts that `tokens` tokens touch; 0 without experts."""
    if model.experts == 0:
        return 0.0
    return float(1.0 - (1.0 - model.experts_per_token / model.experts) ** tokens)


@dataclass(frozen=True, slots=True)
class Replica:
    """One copy of a model on `accelerators` accelerators, and what its steps cost.

    `expert_parallel` up to `tensor_parallel` only says how the experts lie inside the group; above
    it, `expert_parallel / tensor_parallel` groups share the experts and the sequences.
    """

    model: LanguageModel
    accelerator: Accelerator
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    weight_format: str = "bf16"
    kv_format: str = "bf16"
    constants: ServingConstants = FITTED
    all_reduce_figures: tuple[AllReduceFigure, ...] = ()
    accelerators_per_server: int | None = None
    """Where drawn servers hold fewer than a scale-up domain; None: the accelerator's domain."""
    fabric: Fabric | None = None
    """Between servers; needed once the replica is larger than a scale-up domain."""
    overlap: float = 0.0
    """Share of the experts' exchange that hides behind arithmetic."""

    # ---- size -------------------------------------------------------------------------------

    @property
    def domain(self) -> int:
        """Accelerators of the replica that fast links may join."""
        limit = self.accelerators_per_server or self.accelerator.scale_up_domain
        return min(limit, self.accelerator.scale_up_domain)

    @property
    def groups(self) -> int:
        """Tensor-parallel groups that share the experts and the sequences."""
        if self.model.experts == 0:
            return 1
        return max(1, self.expert_parallel // self.tensor_parallel)

    @property
    def accelerators(self) -> int:
        """Accelerators of one replica."""
        return self.tensor_parallel * self.pipeline_parallel * self.groups

    @property
    def expert_bytes(self) -> float:
        """W_e: bytes of all routed experts."""
        form = expert_format(self.model, self.weight_format)
        return self.model.routed_params * BYTES_PER_PARAMETER[form]

    @property
    def other_bytes(self) -> float:
        """W_o: bytes of everything else, the LM head (2 bytes a parameter) once."""
        form = other_format(self.model, self.weight_format)
        return self.model.other_params * BYTES_PER_PARAMETER[form] + 2.0 * self.model.head_params

    @property
    def kv_layer_bytes(self) -> float:
        """KV bytes of one token and layer on one accelerator."""
        model, width = self.model, BYTES_PER_PARAMETER[self.kv_format]
        if model.attention == "MLA":
            return (_known(model.kv_lora_rank) + _known(model.rope_head_dim)) * width
        heads, dim = _known(model.kv_heads), _known(model.head_dim)
        return 2.0 * heads * dim * width / min(self.tensor_parallel, heads)

    @property
    def room_bytes(self) -> float:
        """Bytes that weights leave for KV on one accelerator; negative where they do not fit."""
        on_one = self.other_bytes / self.tensor_parallel
        on_one += self.expert_bytes / (self.tensor_parallel * self.groups)
        room = MEMORY_SHARE_OF_ENGINE * self.accelerator.memory_gbytes * 1e9 - ENGINE_BYTES
        return room - on_one / self.pipeline_parallel

    @property
    def kv_room_tokens(self) -> float | None:
        """Tokens of KV that the replica holds (window layers count half); None: does not fit."""
        if self.room_bytes <= 0:
            return None
        layers = self.model.full_layers + self.model.window_layers / 2
        token_bytes = layers * self.kv_layer_bytes / self.pipeline_parallel
        return self.groups * self.room_bytes / token_bytes

    @property
    def missing_gbytes(self) -> float | None:
        """What each accelerator lacks for the weights alone; None where they fit."""
        return -self.room_bytes / 1e9 if self.room_bytes <= 0 else None

    def kv_bytes(self, tokens: float) -> float:
        """Bytes of one sequence's KV over the whole replica, as a hand-off moves it."""
        model = self.model
        copies = 1 if model.attention == "MLA" else min(self.tensor_parallel, model.kv_heads or 1)
        window = min(tokens, model.window_tokens or tokens)
        seen = model.full_layers * tokens + model.window_layers * window
        return self.kv_layer_bytes * copies * seen

    # ---- links ------------------------------------------------------------------------------

    @property
    def all_reduce(self) -> Line:
        """AR over bytes, in seconds: inside a server, then between servers on its n-th part.

        Raises CannotServe where a link is not known.
        """
        ways = self.tensor_parallel
        inside = min(ways, self.domain)
        near = scale_up_line(self.accelerator, inside, self.constants, self.all_reduce_figures)
        if ways <= self.domain:
            return near
        fabric, servers = self._fabric(), ways / inside
        far_s = 2 * (servers - 1) * fabric.one_way_s
        per_byte = 2 * (servers - 1) / servers / inside * fabric.s_per_byte
        return Line(near.fixed_s + far_s, near.s_per_byte + per_byte)

    @property
    def stage_hop(self) -> Line:
        """All hand-overs between pipeline stages, over TOKENS: PP - 1 of 2h bytes a token."""
        stages = self.pipeline_parallel
        if stages == 1:
            return NO_TIME
        token_bytes = 2.0 * self.model.hidden
        if self.tensor_parallel * stages <= self.domain and self.accelerator.link_gbytes_per_s:
            fixed = self.constants.all_reduce_s
            rate = self.constants.all_reduce_share * self.accelerator.link_gbytes_per_s * 1e9
            return Line((stages - 1) * fixed, (stages - 1) * token_bytes / rate)
        fabric = self._fabric()
        return Line((stages - 1) * fabric.one_way_s, (stages - 1) * token_bytes * fabric.s_per_byte)

    @property
    def expert_exchange(self) -> Line:
        """All MoE layers' exchanges over the TOKENS of one group; nothing inside one group."""
        if self.groups == 1:
            return NO_TIME
        inside = self.expert_parallel <= self.domain
        fabric = None if inside else self._fabric()
        link = self.accelerator.link_gbytes_per_s
        if link is None:
            raise CannotServe(
                f"{self.accelerator.id} has no link to others of its kind; "
                "use no more expert-parallel than tensor-parallel ways."
            )
        spread = ExpertSpread(
            ranks=self.expert_parallel,
            domain=self.domain,
            link_gbytes_per_s=self.constants.all_reduce_share * link,
            nic_gbytes_per_s=fabric.gbytes_per_s * fabric.share if fabric else link,
            one_way_s=fabric.one_way_s if fabric else self.constants.all_reduce_s,
            overlap=self.overlap,
        )
        layer = spread.exchange(self.model.hidden, self.model.experts_per_token)
        # a rank holds its tensor-parallel share of its group's tokens
        return Line(
            self.model.moe_layers * layer.fixed_s,
            self.model.moe_layers * layer.s_per_byte / self.tensor_parallel,
        )

    def _fabric(self) -> Fabric:
        if self.fabric is None:
            raise CannotServe(
                f"{self.accelerators} {self.accelerator.id} span more than one scale-up domain "
                f"of {self.domain}; draw the path between the servers."
            )
        return self.fabric

    # ---- time -------------------------------------------------------------------------------

    def flops_per_s(self, form: str) -> float:
        """Dense peak times the reached share (MFU) of one accelerator at a compute format."""
        chip, c = self.accelerator, self.constants
        peaks = {
            "bf16": (chip.bf16_tflops, c.mfu_bf16),
            "fp8": (chip.fp8_tflops, c.mfu_fp8),
            "fp4": (chip.fp4_tflops, c.mfu_fp4),
        }
        peak, reached = peaks[form]
        return _known(peak) * 1e12 * reached

    @property
    def attention_flops_per_s(self) -> float:
        """Reached rate of attention over one tensor-parallel group."""
        return (
            self.tensor_parallel
            * self.accelerator.bf16_tflops
            * 1e12
            * (self.constants.mfu_attention)
        )

    @property
    def decode_width(self) -> float:
        """Elements that a decode step multiplies per query head and token of context."""
        if self.model.attention == "MLA":
            return 2 * _known(self.model.kv_lora_rank) + _known(self.model.rope_head_dim)
        return self.model.qk_dim + self.model.v_dim

    def product_s(self, tokens: float, to_head: float) -> float:
        """G(T, H): seconds of the matrix products of T tokens of which H reach the LM head."""
        model, chip = self.model, self.accelerator
        other = compute_format(chip, other_format(model, self.weight_format))
        expert = compute_format(chip, expert_format(model, self.weight_format))
        seconds = 2.0 * model.other_params * tokens / self.flops_per_s(other)
        seconds += (
            2.0 * model.routed_params_per_token * tokens
            / (self.flops_per_s(expert) * self.constants.moe_compute_share)
        )  # fmt: skip
        seconds += 2.0 * model.head_params * to_head / self.flops_per_s("bf16")
        return seconds / self.tensor_parallel

    def prefill_s(self, tokens: float, prefix: float = 0.0) -> float:
        """T_p: seconds of the prefill of `tokens` new tokens after a cached `prefix`.

        Raises CannotServe where a link is not known.
        """
        model, c = self.model, self.constants
        half = tokens / 2
        scores = model.full_layers * tokens * (prefix + half)
        scores += model.window_layers * tokens * min(model.window_tokens or half, half)
        attention = 2.0 * model.query_heads * (model.qk_dim + model.v_dim) * scores
        arithmetic = self.product_s(tokens, 1) + attention / self.attention_flops_per_s
        experts = self.expert_bytes * touched_share(model, tokens) / self.groups
        reading = (self.other_bytes + experts) / (
            self.tensor_parallel * self.accelerator.memory_gbytes_per_s * 1e9 * c.memory_share
        )
        talking = 2 * model.layers * self.all_reduce.at(2.0 * tokens * model.hidden)
        talking += self.stage_hop.at(tokens) + self.expert_exchange.at(tokens)
        return max(arithmetic, reading) + talking + c.prefill_layer_s * model.layers

    def decode_s(self, batch: float, context: float) -> float:
        """t: seconds of one decode step of `batch` sequences at a mean context in tokens.

        A pipeline holds one part of the batch in each stage, groups of experts share it evenly.
        Raises CannotServe where a link is not known.
        """
        model, c = self.model, self.constants
        part = batch / (self.pipeline_parallel * self.groups)
        seen = model.full_layers * context
        seen += model.window_layers * min(context, model.window_tokens or context)
        attention = 2.0 * model.query_heads * self.decode_width * part * seen
        touched = touched_share(model, part * self.groups)
        experts = self.expert_bytes * touched / (self.tensor_parallel * self.groups)
        read = self.other_bytes / self.tensor_parallel + part * self.kv_layer_bytes * seen
        read += experts / c.moe_memory_share
        seconds = read / (c.memory_share * self.accelerator.memory_gbytes_per_s * 1e9)
        seconds += self.product_s(part, part) + attention / self.attention_flops_per_s
        seconds += 2 * model.layers * self.all_reduce.at(2.0 * part * model.hidden)
        seconds += self.stage_hop.at(part) + self.expert_exchange.at(part)
        return seconds + c.decode_layer_s * model.layers + c.step_s

    # ---- trust ------------------------------------------------------------------------------

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the figures are not calibrated, a phrase each; empty where they are."""
        chip = self.accelerator
        found = (
            (not chip.is_calibrated, f"{chip.id}: specification only, no measured rows"),
            (self.pipeline_parallel > 1, "pipeline parallelism is not calibrated"),
            (self.groups > 1, "experts beyond one tensor-parallel group are not calibrated"),
            (self.tensor_parallel > self.domain, "tensor parallelism across servers: as drawn"),
            (
                self.tensor_parallel > 1 and chip.is_pcie and not self._is_own_table,
                f"{chip.id}: all-reduce of another card of its PCIe generation, a guess",
            ),
        )
        return tuple(reason for holds, reason in found if holds)

    @property
    def _is_own_table(self) -> bool:
        return any(figure.system == self.accelerator.id for figure in self.all_reduce_figures)

    @property
    def is_calibrated(self) -> bool:
        """Whether the figures lie within what was measured."""
        return not self.reasons


def _known(value: float | None) -> float:
    if value is None:
        raise CannotServe("The model or accelerator lacks a figure; complete its catalogue row.")
    return value
