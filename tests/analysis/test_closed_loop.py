"""The closed loop against the formula worked out step by step."""

import pytest

from designer.analysis.closed_loop import closed_loop
from designer.analysis.scale_up import CannotServe
from designer.analysis.serving import Replica
from designer.model.silicon import Accelerator, LanguageModel

CHIP = Accelerator(
    id="chip", vendor="NVIDIA", memory_gb=10, memory_usable_gbytes=10.0,
    memory_gbytes_per_s=1000, bf16_tflops=100,
)  # fmt: skip
MODEL = LanguageModel(
    id="dense", layers=2, hidden=1000, vocab=10_000, query_heads=10, attention="GQA", kv_heads=2,
    head_dim=100, qk_dim=100, v_dim=100, total_params=1_020_000_000, active_params=1_010_000_000,
)  # fmt: skip
REPLICA = Replica(MODEL, CHIP)


def test_one_client_waits_for_nobody() -> None:
    loop = closed_loop(REPLICA, 1, 1000, 100)
    prefill, step = REPLICA.prefill_s(1000), REPLICA.decode_s(1, 1050)
    assert loop.itl_ms == pytest.approx(1e3 * step)
    assert loop.ttft_ms == pytest.approx(39 + 1e3 * (prefill + step / 2))
    assert loop.request_ms == pytest.approx(loop.ttft_ms + 99 * 1e3 * step)


def test_other_prefills_lengthen_gaps_and_waits() -> None:
    loop = closed_loop(REPLICA, 5, 1000, 100, 0.2)
    prefill, step = REPLICA.prefill_s(1000), REPLICA.decode_s(5, 1050)
    itl = step + 0.8 * 4 * prefill / 100
    cycle = prefill + 100 * itl
    rho = 4 * prefill / cycle
    # the queue of a finite source: rho T / (2 (1 - rho 4/5)), never more than the four ahead
    queue = rho * prefill / (2 * (1 - rho * 0.8))
    assert queue < 4 * prefill / 2
    ttft = 0.039 + 0.8 * (prefill + step / 2 + queue) + 0.2 * prefill * 6 / 2
    assert loop.itl_ms == pytest.approx(1e3 * itl)
    assert loop.ttft_ms == pytest.approx(1e3 * ttft)
    # Little: five clients, each once a cycle
    assert loop.requests_per_s == pytest.approx(5 / cycle)


def test_clients_beyond_the_room_wait_for_whole_cycles() -> None:
    # room 2.98e9 / 1600 = 1,862,500 tokens; 931,250 a sequence: two fit of six
    loop = closed_loop(REPLICA, 6, 900_000, 62_500)
    assert loop.batch == pytest.approx(2.0)
    two = closed_loop(REPLICA, 2, 900_000, 62_500)
    assert loop.itl_ms == two.itl_ms
    assert loop.ttft_ms == pytest.approx(two.ttft_ms + 2 * two.cycle_ms)


def test_what_does_not_fit_is_refused_with_a_remedy() -> None:
    with pytest.raises(CannotServe, match=r"more than the room of 1862500 tokens"):
        closed_loop(REPLICA, 1, 2_000_000, 10)
    with pytest.raises(CannotServe, match=r"dense lacks 1\.5 GB on each chip"):
        closed_loop(Replica(MODEL, CHIP.replace(memory_usable_gbytes=5.0)), 1, 10, 10)
