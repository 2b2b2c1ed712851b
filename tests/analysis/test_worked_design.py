"""One small design worked out by hand: every segment of the time to first token, written out."""

import pytest

from designer.analysis.results import BudgetRow, ServiceResult
from designer.model.base import Percentiles
from designer.model.services import Demand, Slo, Tokens, Wire
from tests.analysis.worked import (
    ACCESS_MS,
    CAPACITY_GBPS,
    FIBRE_KM,
    GATEWAY_MS,
    OUTPUT,
    PROMPT,
    answered,
    chat,
    link,
    small,
    users,
)

# Single-mode fibre: group index 1.468, c = 299.792458 km/ms.
PROPAGATION_MS = FIBRE_KM * 1.468 / 299.792458
# Out and back: router and firewall between users and gateway, leaf between gateway and pool.
TO_GATEWAY_MS = (10.0 + 50.0) / 1000
TO_POOL_MS = 0.5 / 1000
PACKET_MS = 1500 * 8 / (CAPACITY_GBPS * 1e6)
# Ethernet 38, IPv4 20, TCP with timestamps 32, TLS record 22, around 1448 bytes of payload.
GOODPUT_GBPS = CAPACITY_GBPS * 1448 / (1448 + 38 + 20 + 32 + 22)
REQUEST_BYTES = PROMPT * 4 + 1000
ANSWER_BYTES = 217

# Llama-3.1-8B in bf16 on one H100: SERVING's formulas with the published shape.
LAYERS, WIDTH, VOCABULARY, HEADS, HEAD = 32, 4096, 128256, 32, 128
BODY = LAYERS * (WIDTH * WIDTH * 2 + 2 * WIDTH * 1024 + 3 * WIDTH * 14336)
HEAD_PARAMS = VOCABULARY * WIDTH
FLOPS, BANDWIDTH = 989e12, 3350e9


def _prefill_ms(tokens: float) -> float:
    products = (2 * BODY * tokens + 2 * HEAD_PARAMS) / (FLOPS * 0.70)
    attention = 2 * HEADS * 2 * HEAD * LAYERS * tokens * tokens / 2 / (FLOPS * 0.60)
    reading = 2 * (BODY + HEAD_PARAMS) / (BANDWIDTH * 0.85)
    return 1000 * (max(products + attention, reading) + 0.20e-3 * LAYERS)


def _step_ms(context: float) -> float:
    kv = 2 * 8 * HEAD * 2 * LAYERS * context
    read = (2 * (BODY + HEAD_PARAMS) + kv) / (0.85 * BANDWIDTH)
    products = 2 * (BODY + HEAD_PARAMS) / (FLOPS * 0.70)
    attention = 2 * HEADS * 2 * HEAD * LAYERS * context / (FLOPS * 0.60)
    return 1000 * (read + products + attention + 55e-6 * LAYERS + 0.35e-3)


def _transfer_ms(size: float) -> float:
    return size * 8 / (GOODPUT_GBPS * 1e6)


NETWORK_MS = 2 * (PROPAGATION_MS + TO_GATEWAY_MS + TO_POOL_MS) + 10 * PACKET_MS
GPU_MS = 39.0 + _prefill_ms(PROMPT)
TTFT_MS = (
    ACCESS_MS
    + NETWORK_MS
    + 2 * _transfer_ms(REQUEST_BYTES)
    + 2 * _transfer_ms(ANSWER_BYTES)
    + GATEWAY_MS
    + GPU_MS
)


def _row(result: ServiceResult, segment: str, element: str) -> BudgetRow:
    found = [row for row in result.budget if (row.segment, row.element) == (segment, element)]
    assert len(found) == 1, [(row.segment, row.element) for row in result.budget]
    return found[0]


@pytest.fixture(scope="module")
def result() -> ServiceResult:
    return answered(small(chat()))


def test_first_token_is_the_sum_of_its_parts(result: ServiceResult) -> None:
    for value in (result.ttft_ms.p50, result.ttft_ms.p95, result.ttft_ms.p99):
        assert value == pytest.approx(TTFT_MS, abs=2e-3)
    assert result.ttft_ms.mean == pytest.approx(TTFT_MS, abs=2e-3)
    assert not result.ttft_ms.at_least


@pytest.mark.parametrize(
    ("segment", "element", "tier", "expected_ms"),
    [
        ("access round trip", "users", "access", ACCESS_MS),
        ("propagation", "router-fw", "transport", 2 * PROPAGATION_MS),
        ("forwarding", "router", "transport", 2 * 10.0 / 1000),
        ("forwarding", "fw", "service_edge", 2 * 50.0 / 1000),
        ("forwarding", "leaf", "fabric", 2 * 0.5 / 1000),
        ("serialisation", "gw-leaf", "fabric", 2 * PACKET_MS),
        ("gateway", "gw", "service_edge", GATEWAY_MS),
        ("prefill", "pool", "gpu", _prefill_ms(PROMPT)),
        ("request handling", "pool", "gpu", 39.0),
    ],
)
def test_budget_names_each_part(
    result: ServiceResult, segment: str, element: str, tier: str, expected_ms: float
) -> None:
    row = _row(result, segment, element)
    assert row.tier == tier
    assert row.p95_ms == pytest.approx(expected_ms, abs=1e-3)


def test_transfers_are_charged_once_a_message(result: ServiceResult) -> None:
    rows = [row.p95_ms or 0.0 for row in result.budget if row.segment == "transfer"]
    expected = 2 * _transfer_ms(REQUEST_BYTES) + 2 * _transfer_ms(ANSWER_BYTES)
    assert sum(rows) == pytest.approx(expected, rel=1e-6)


def test_task_adds_the_decoding(result: ServiceResult) -> None:
    steps_ms = (OUTPUT - 1) * _step_ms(PROMPT + 1)
    assert result.task_ms.p95 == pytest.approx(TTFT_MS + steps_ms, abs=3e-3)
    assert result.itl_ms.p50 == pytest.approx(steps_ms, rel=5e-3)


def test_handshakes_are_round_trips_over_the_same_way() -> None:
    fresh = answered(small(chat(wire=Wire(handshakes=("tcp", "tls13")))))
    round_trip_ms = ACCESS_MS + 2 * (PROPAGATION_MS + TO_GATEWAY_MS) + 6 * PACKET_MS
    assert fresh.ttft_ms.p95 == pytest.approx(TTFT_MS + 2 * round_trip_ms, abs=3e-3)
    row = _row(fresh, "access, 3 round trips", "users")
    assert row.p95_ms == pytest.approx(3 * ACCESS_MS, abs=1e-6)
    assert _row(fresh, "handshakes", "router-fw").p95_ms == pytest.approx(
        4 * PROPAGATION_MS + 4 * PACKET_MS
    )


def test_a_resumed_handshake_costs_nothing() -> None:
    resumed = answered(small(chat(wire=Wire(handshakes=("quic_resumed",)))))
    assert resumed.ttft_ms.p95 == pytest.approx(TTFT_MS, abs=2e-3)


def test_slow_start_takes_five_rounds_for_400_kilobytes() -> None:
    wire = Wire(handshakes=("tcp", "tls13"), request_bytes_per_token=399.0)
    fresh = answered(small(chat(wire=wire)))
    round_trip_ms = ACCESS_MS + 2 * (PROPAGATION_MS + TO_GATEWAY_MS) + 6 * PACKET_MS
    larger_ms = 2 * (_transfer_ms(400_000) - _transfer_ms(REQUEST_BYTES))
    expected = TTFT_MS + larger_ms + (2 + 4) * round_trip_ms
    assert fresh.ttft_ms.p95 == pytest.approx(expected, abs=3e-3)


def test_a_kept_connection_has_no_slow_start() -> None:
    kept = answered(small(chat(wire=Wire(request_bytes_per_token=399.0))))
    larger_ms = 2 * (_transfer_ms(400_000) - _transfer_ms(REQUEST_BYTES))
    assert kept.ttft_ms.p95 == pytest.approx(TTFT_MS + larger_ms, abs=3e-3)


def test_columns_add_up_where_everything_varies() -> None:
    busy = chat(
        rate=12.0,
        prompt_tokens=Tokens(mean=800.0, scv=1.5),
        output_tokens=Tokens(mean=150.0, scv=1.0),
        demands=(Demand(users="users", requests_per_s=12.0),),
        slos=(Slo(metric="ttft", percentile=90.0, limit_ms=500.0),),
    )
    far = users(access_rtt_ms=Percentiles(p5=8.0, p50=14.0, p95=60.0, p99=130.0))
    nodes = small().nodes.set("users", far)
    links = small().links.set("router-fw", link("router", "fw", length_km=80.0, jitter_ms=0.7))
    seen = answered(small(busy, nodes=nodes, links=links))
    for rows, figure in ((seen.budget, seen.ttft_ms), (seen.task_budget, seen.task_ms)):
        for name, value in (("p50_ms", figure.p50), ("p95_ms", figure.p95), ("p99_ms", figure.p99)):
            assert value is not None
            assert sum(getattr(row, name) for row in rows) == pytest.approx(
                value, rel=1e-9, abs=1e-6
            )
    assert seen.ttft_ms.p50 < seen.ttft_ms.others["p90"] < seen.ttft_ms.p95  # type: ignore[operator]


def test_a_users_line_limits_the_transfer() -> None:
    slow = small().nodes.set("users", users(access_up_gbps=0.001))
    seen = answered(small(chat(), nodes=slow))
    # 1 Mb/s is 1000 bits a millisecond.
    more_ms = REQUEST_BYTES * 8 / 1000 - _transfer_ms(REQUEST_BYTES)
    assert seen.ttft_ms.p95 == pytest.approx(TTFT_MS + more_ms, abs=3e-3)


def test_loss_costs_a_round_trip_or_a_probe_timeout() -> None:
    """The mean: n packets, each lost with p; the last one waits two round trips, others one."""
    lossy = small().links.set("router-fw", link("router", "fw", length_km=80.0, loss=0.01))
    seen = answered(small(chat(), links=lossy))
    round_trip_ms = ACCESS_MS + 2 * (PROPAGATION_MS + TO_GATEWAY_MS) + 6 * PACKET_MS
    packets = -(-REQUEST_BYTES // 1448)
    request_ms = 0.01 * 2 * round_trip_ms
    request_ms += 0.99 * (1 - 0.99 ** (packets - 1)) * round_trip_ms
    # The answer's last packet is alone: it waits for the retransmission timeout of 200 ms.
    answer_ms = 0.01 * 200.0
    assert seen.ttft_ms.mean == pytest.approx(TTFT_MS + request_ms + answer_ms, abs=5e-3)
