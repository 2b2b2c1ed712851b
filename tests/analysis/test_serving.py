"""The formulas of the GPU tier against numbers worked out by hand and published figures."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from designer.analysis.scale_up import (
    CannotServe,
    ExpertSpread,
    Fabric,
    handoff_s,
    measured_all_reduce,
    scale_up_line,
)
from designer.analysis.serving import (
    Replica,
    compute_format,
    expert_format,
    other_format,
    touched_share,
)
from designer.model.silicon import Accelerator, AllReduceFigure, LanguageModel, ServingConstants

CHIP = Accelerator(
    id="chip",
    vendor="NVIDIA",
    memory_gb=10,
    memory_usable_gbytes=10.0,
    memory_gbytes_per_s=1000,
    bf16_tflops=100,
    fp8_tflops=200,
    link_gbytes_per_s=100,
    link_kind="NVLink",
    scale_up_domain=8,
)
DENSE = LanguageModel(
    id="dense",
    layers=2,
    hidden=1000,
    vocab=10_000,
    query_heads=10,
    attention="GQA",
    kv_heads=2,
    head_dim=100,
    qk_dim=100,
    v_dim=100,
    total_params=1_020_000_000,
    active_params=1_010_000_000,
)
"""P_o = 1e9, LM head 1e7."""

MIXTURE = DENSE.replace(
    id="mixture",
    moe_layers=2,
    experts=8,
    experts_per_token=2,
    params_per_expert=100_000_000,
    total_params=2_620_000_000,
    active_params=1_410_000_000,
)
"""P_o = 1e9, P_e = 4e8, routed experts 1.6e9."""


@pytest.fixture(scope="module")
def chips(reference_dir: Path) -> dict[str, Accelerator]:
    rows = json.loads((reference_dir / "accelerators.json").read_text())["accelerators"]
    return {key: Accelerator.from_row(row, key) for key, row in rows.items()}


@pytest.fixture(scope="module")
def models(reference_dir: Path) -> dict[str, LanguageModel]:
    rows = json.loads((reference_dir / "models.json").read_text())
    return {key: LanguageModel.from_row(row, key) for key, row in rows.items()}


@pytest.fixture(scope="module")
def figures(reference_dir: Path) -> tuple[AllReduceFigure, ...]:
    with (reference_dir / "cases" / "allreduce_summary.csv").open() as file:
        return tuple(AllReduceFigure.from_row(row) for row in csv.DictReader(file))


def test_constants_are_the_published_ones(reference_dir: Path) -> None:
    row = json.loads((reference_dir / "constants.json").read_text())
    assert ServingConstants.from_row(row) == ServingConstants()


def test_prefill_of_a_long_prompt_is_bound_by_arithmetic() -> None:
    # products 2*1e9*100 / (100e12*0.70) = 2.857142857 ms, head 2*1e7 / 70e12 = 0.000285714 ms
    # attention 2*10*200 * 2 layers * 100*50 = 4e7 over 60e12 = 0.000666667 ms
    # reading (2e9 + 2e7) / 850e9 = 2.376470588 ms is less; layers 2 * 0.20 ms
    expected_ms = 2.857142857 + 0.000285714 + 0.000666667 + 0.4
    assert Replica(DENSE, CHIP).prefill_s(100) == pytest.approx(expected_ms * 1e-3, rel=1e-9)


def test_a_cached_prefix_costs_attention_only() -> None:
    # 2*10*200 * 2 layers * 100 * 1000 more = 8e8 over 60e12 = 0.013333 ms
    more = Replica(DENSE, CHIP).prefill_s(100, 1000) - Replica(DENSE, CHIP).prefill_s(100)
    assert more == pytest.approx(8e8 / 60e12, rel=1e-9)


def test_prefill_of_one_token_is_bound_by_reading_the_weights() -> None:
    expected_ms = (2e9 + 2e7) / 850e9 * 1e3 + 0.4
    assert Replica(DENSE, CHIP).prefill_s(1) == pytest.approx(expected_ms * 1e-3, rel=1e-12)


def test_a_decode_step_sums_memory_and_arithmetic() -> None:
    # KV 4 sequences * 2*2*100*2 bytes * 2 layers * 500 = 3.2e6 bytes
    # reading (2.02e9 + 3.2e6) / 850e9 = 2.380235294 ms
    # products 4 * (2e9 + 2e7) / 70e12 = 0.115428571 ms; attention 4000*4*2*500 / 60e12
    # layers 2 * 0.055 ms, step 0.35 ms
    expected_ms = 2.380235294 + 0.115428571 + 1.6e7 / 60e12 * 1e3 + 0.11 + 0.35
    assert Replica(DENSE, CHIP).decode_s(4, 500) == pytest.approx(expected_ms * 1e-3, rel=1e-9)


def test_two_ways_halve_the_work_and_pay_two_all_reduces_a_layer() -> None:
    # all-reduce of 2 bytes * 100 tokens * 1000: 6 us + 1 * 2e5 / 70e9 = 8.857142857 us, four times
    one, two = Replica(DENSE, CHIP), Replica(DENSE, CHIP, tensor_parallel=2)
    talking_ms = 4 * 8.857142857e-3
    expected_ms = (one.prefill_s(100) * 1e3 - 0.4) / 2 + 0.4 + talking_ms
    assert two.prefill_s(100) * 1e3 == pytest.approx(expected_ms, rel=1e-9)


def test_experts_are_read_as_far_as_tokens_touch_them() -> None:
    # u(3) = 1 - 0.75^3 = 0.578125; experts 3.2e9 bytes * u / (850e9 * 0.80)
    assert touched_share(MIXTURE, 3) == 0.578125
    more = Replica(MIXTURE, CHIP).decode_s(3, 0) - Replica(DENSE, CHIP).decode_s(3, 0)
    # and 2 * 4e8 * 3 / (70e12 * 0.21) of arithmetic
    expected = 3.2e9 * 0.578125 / (850e9 * 0.80) + 2.4e9 / (70e12 * 0.21)
    assert more == pytest.approx(expected, rel=1e-9)


def test_window_layers_see_no_further_than_their_window() -> None:
    windowed = DENSE.replace(window_tokens=50, window_layers=1)
    # decode at 500: one full layer and 50 tokens of the other, 550 instead of 1000
    kv_ms, attention_ms = 4 * 800 * 450 / 850e9 * 1e3, 4 * 4000 * 450 / 60e12 * 1e3
    less = Replica(DENSE, CHIP).decode_s(4, 500) - Replica(windowed, CHIP).decode_s(4, 500)
    assert less * 1e3 == pytest.approx(kv_ms + attention_ms, rel=1e-6)
    # prefill of 400: 400 * min(50, 200) instead of 400 * 200 in that layer
    less = Replica(DENSE, CHIP).prefill_s(400) - Replica(windowed, CHIP).prefill_s(400)
    assert less == pytest.approx(4000 * 400 * 150 / 60e12, rel=1e-6)


def test_latent_attention_keeps_the_whole_cache_on_every_rank() -> None:
    latent = DENSE.replace(
        attention="MLA", kv_heads=None, head_dim=None, kv_lora_rank=512, rope_head_dim=64
    )
    replica = Replica(latent, CHIP, tensor_parallel=4, kv_format="fp8")
    assert replica.kv_layer_bytes == 576
    assert replica.kv_bytes(10) == 576 * 2 * 10
    # 2 * 512 + 64 elements a head and token: 2*10*1088 * 2 layers * 100 over 4 * 60e12
    wide = replica.decode_s(1, 100) - replica.decode_s(1, 0)
    assert wide == pytest.approx(576 * 200 / 850e9 + 21_760 * 200 / 240e12, rel=1e-6)


def test_formats_that_the_chip_lacks_save_bytes_only() -> None:
    hopper = CHIP.replace(fp4_tflops=None)
    blackwell = CHIP.replace(fp4_tflops=400.0)
    assert compute_format(hopper, "fp4") == "bf16"
    assert compute_format(blackwell, "fp4") == "fp4"
    assert compute_format(blackwell, "int4") == "bf16"
    assert compute_format(blackwell, "mxfp4") == "fp8"
    assert compute_format(hopper, "mxfp4") == "bf16"
    assert compute_format(CHIP.replace(fp8_tflops=None), "fp8") == "bf16"


def test_four_bits_are_for_experts_only_where_there_are_any() -> None:
    eight = MIXTURE.replace(native_format="fp8")
    published = MIXTURE.replace(native_format="mxfp4(experts)")
    assert other_format(DENSE, "fp4") == "fp4"
    assert other_format(MIXTURE, "fp4") == "bf16"
    assert other_format(eight, "int4") == "fp8"
    assert other_format(eight, "fp8") == "fp8"
    assert expert_format(published, "fp4") == "mxfp4"
    assert expert_format(MIXTURE, "fp4") == "fp4"
    four = Replica(MIXTURE, CHIP, weight_format="fp4")
    assert (four.expert_bytes, four.other_bytes) == (1.6e9 * 0.5625, 2e9 + 2e7)


def test_room_for_kv() -> None:
    # 0.9 * 10e9 - 4e9 - 2.02e9 = 2.98e9 bytes of 2 layers * 800 bytes a token
    replica = Replica(DENSE, CHIP)
    assert replica.kv_room_tokens == pytest.approx(2.98e9 / 1600)
    assert replica.missing_gbytes is None
    # a window layer counts half
    windowed = Replica(DENSE.replace(window_tokens=50, window_layers=1), CHIP)
    assert windowed.kv_room_tokens == pytest.approx(2.98e9 / 1200)


def test_a_model_that_does_not_fit_says_what_is_missing() -> None:
    # 0.9 * 10e9 - 4e9 - (2.02e9 + 3.2e9) = -0.22e9
    replica = Replica(MIXTURE, CHIP)
    assert replica.kv_room_tokens is None
    assert replica.missing_gbytes == pytest.approx(0.22)


def test_vendors_gb_of_memory_are_gib(chips: dict[str, Accelerator]) -> None:
    assert chips["a100_sxm"].memory_gbytes == pytest.approx(80 * 1.0737)
    assert chips["b200_sxm"].memory_gbytes == 180


def test_parameters_and_kv_of_published_models(
    models: dict[str, LanguageModel], chips: dict[str, Accelerator], reference_dir: Path
) -> None:
    rows = json.loads((reference_dir / "models.json").read_text())
    for key, model in models.items():
        replica = Replica(model, chips["h100_sxm"], tensor_parallel=8)
        assert replica.kv_bytes(1) == rows[key]["kv_bytes_per_token_bf16"]
        tables = 1 if key == "Gemma-3-27B" else 2
        # Gemma uses its input embedding as LM head
        total = model.other_params + model.routed_params + tables * model.head_params
        assert total == model.total_params


def test_a_pcie_card_takes_the_fastest_measured_kernel(
    chips: dict[str, Accelerator], figures: tuple[AllReduceFigure, ...]
) -> None:
    best = measured_all_reduce(figures, "l40s", 4)
    assert best is not None
    assert (best.kernel, best.latency_us, best.bus_gbytes_per_s) == ("NCCL", 11.5, 5.1)
    line = scale_up_line(chips["l40s"], 4, ServingConstants(), figures)
    # 11.5 us + 2 * 3/4 * 1e6 / 5.1e9
    assert line.at(1e6) == pytest.approx(11.5e-6 + 1.5e6 / 5.1e9, rel=1e-12)
    guess = scale_up_line(chips["rtx_4090"], 2, ServingConstants(), figures)
    assert guess == scale_up_line(chips["l40s"], 2, ServingConstants(), figures)
    with pytest.raises(CannotServe, match="No all-reduce of 16 l40s"):
        scale_up_line(chips["l40s"], 16, ServingConstants(), figures)


@pytest.mark.parametrize(("ways", "bus_gbytes_per_s"), [(2, 47.7), (8, 312.9)])
def test_a_full_mesh_reaches_its_measured_bus_rate(
    chips: dict[str, Accelerator], ways: int, bus_gbytes_per_s: float
) -> None:
    line = scale_up_line(chips["mi300x"], ways, ServingConstants())
    assert 2 * (ways - 1) / ways / line.s_per_byte / 1e9 == pytest.approx(bus_gbytes_per_s)


def test_across_servers_the_drawn_path_counts() -> None:
    far = Replica(DENSE, CHIP, tensor_parallel=16)
    with pytest.raises(CannotServe, match="draw the path"):
        far.prefill_s(10)
    drawn = replace(far, fabric=Fabric(gbytes_per_s=50, one_way_s=5e-6, share=0.9))
    # 8 inside: 6 us + 2*7/8 / 70e9 a byte; 2 servers: 2 * 5 us + 2*1/2 / 8 / 45e9 a byte
    line = drawn.all_reduce
    assert line.fixed_s == pytest.approx(16e-6)
    assert line.s_per_byte == pytest.approx(1.75 / 70e9 + 1 / (8 * 45e9))
    assert "across servers" in drawn.reasons[0]


def test_a_pipeline_is_hops_on_top_and_not_calibrated() -> None:
    deep = Replica(DENSE, CHIP, pipeline_parallel=2)
    hop = 6e-6 + 2 * 1000 * 100 / 70e9
    assert deep.prefill_s(100) == pytest.approx(Replica(DENSE, CHIP).prefill_s(100) + hop)
    # each stage holds half of the batch
    half = Replica(DENSE, CHIP).decode_s(2, 500)
    assert deep.decode_s(4, 500) == pytest.approx(half + 6e-6 + 2 * 1000 * 2 / 70e9)
    assert not deep.is_calibrated
    assert deep.accelerators == 2


def test_expert_exchange_is_as_slow_as_its_slower_part() -> None:
    spread = ExpertSpread(
        ranks=16, domain=8, link_gbytes_per_s=400, nic_gbytes_per_s=40, one_way_s=2e-6, overlap=0.5
    )
    # 3 bytes * 7168 * 8 experts a token, 8 of 16 ranks beyond the domain: 86,016 bytes at 40 GB/s
    line = spread.exchange(7168, 8)
    assert line.fixed_s == pytest.approx(0.5 * 4e-6)
    assert line.s_per_byte == pytest.approx(0.5 * 86_016 / 40e9)
    wide = Replica(MIXTURE, CHIP, tensor_parallel=2, expert_parallel=8)
    assert (wide.groups, wide.accelerators, wide.is_calibrated) == (4, 8, False)
    assert Replica(MIXTURE, CHIP, tensor_parallel=8, expert_parallel=8).is_calibrated


@pytest.mark.parametrize(
    ("kv_mib", "measured_ms"),
    [(20, 0.54), (146, 1.5), (578, 4.75), (1.13 * 1024, 8.84), (4.5 * 1024, 31.65)],
)
def test_handoff_fits_mooncakes_points(kv_mib: float, measured_ms: float) -> None:
    assert 1e3 * handoff_s(kv_mib * 2**20, 1600) == pytest.approx(measured_ms, rel=0.07)


def test_hardware_without_measured_rows_says_so(chips: dict[str, Accelerator]) -> None:
    assert Replica(DENSE, chips["h100_sxm"]).is_calibrated
    for key in ("mi300x", "tpu_v6e", "gaudi3", "trainium2", "jetson_agx_orin_64"):
        assert "specification only" in Replica(DENSE, chips[key]).reasons[0]


def test_an_accelerator_without_links_serves_alone(chips: dict[str, Accelerator]) -> None:
    alone = Replica(DENSE, chips["jetson_agx_orin_64"])
    assert alone.prefill_s(10) > 0
    with pytest.raises(CannotServe, match="draw the path"):
        replace(alone, tensor_parallel=2).prefill_s(10)
