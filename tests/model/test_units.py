"""Quantities: what people write, against the definitions of the units."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer.model import units
from designer.model.units import Kind, Quantity, UnitRefused, parse, parse_field


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("10g", 10), ("400G", 400), ("50 GB/s", 400), ("2.5 Gbps", 2.5), ("100 Mbit/s", 0.1),
        ("45 Mbps", 0.045), ("1.5t", 1500), ("64 kb/s", 64e-6), ("9600 bit/s", 9.6e-6),
        ("100m", 0.1), ("1 GByte/s", 8), ("1 gbytes/s", 8), ("12.5 MB/s", 0.1), ("400", 400),
        ("400 Gb/s (50 GB/s)", 400), ("1e3 Mb/s", 1), (" 10 gbit/s ", 10), ("8 bits/s", 8e-9),
    ],
)  # fmt: skip
def test_capacity(text: str, gbps: float) -> None:
    assert parse(text, "capacity").value == pytest.approx(gbps, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("80 km", "length", 80), ("12 mi", "length", 12 * 1.609344), ("300 m", "length", 0.3),
        ("1000 ft", "length", 0.3048), ("10 nmi", "length", 18.52),
        ("5 µs", "time", 0.005), ("5 μs", "time", 0.005), ("5us", "time", 0.005),
        ("1 s", "time", 1000), ("250 ns", "time", 2.5e-4), ("2 min", "time", 120_000),
        ("64 kB", "size", 64_000), ("64 KB", "size", 64_000), ("16 MiB", "size", 16 * 1024**2),
        ("4096", "size", 4096), ("8 Mbit", "size", 1_000_000), ("12 bytes", "size", 12),
        ("320 kW", "power", 320), ("700 W", "power", 0.7), ("1.2 MW", "power", 1200),
        ("$1200", "money", 1200), ("1200 USD", "money", 1200),
        ("$3/h", "money_rate", 3), ("$2190/month", "money_rate", 3),
        ("3 USD/hour", "money_rate", 3),
    ],
)  # fmt: skip
def test_other_kinds(text: str, kind: Kind, value: float) -> None:
    assert parse(text, kind).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("3 ms rtt", "round_trip"), ("3 ms round trip", "round_trip"),
        ("3 ms round-trip", "round_trip"), ("3 RTT", "round_trip"),
        ("3 ms one-way", "one_way"), ("3ms one way", "one_way"), ("3 ms", None),
        ("3 ms one-way (6 ms round trip)", "one_way"),
    ],
)  # fmt: skip
def test_way_of_a_time(text: str, way: str | None) -> None:
    assert parse(text, "time") == Quantity("time", 3.0, way)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "field", "stored"),
    [
        ("3 ms rtt", "one_way_ms", 1.5), ("3 ms", "one_way_ms", 3.0),
        ("1.5 ms one-way", "access_rtt_ms.p95", 3.0), ("40", "access_rtt_ms.p50", 40.0),
        ("5 µs", "forwarding_us", 5.0), ("10 µs rtt", "forwarding_us", 5.0),
        ("1 ms", "forwarding_us", 1000.0), ("7", "forwarding_us", 7.0),
        ("50 GB/s", "b_to_a.capacity_gbps", 400.0), ("12 mi", "length_km", 19.312128),
        ("16 MiB", "buffer_mb", 16.777216), ("150 kB", "ecn_threshold_kb", 150.0),
        ("1.2 kW", "power_w", 1200.0), ("320", "power_kw", 320.0),
        ("$3/h", "usd_per_month", 2190.0), ("$3/h", "usd_per_gpu_hour", 3.0),
        ("2190", "usd_per_month", 2190.0), ("400g", "nic_gbps_per_gpu", 400.0),
        ("2 s", "limit_ms", 2000.0), ("9 kB", "mtu_bytes", 9000.0),
    ],
)  # fmt: skip
def test_into_a_field(text: str, field: str, stored: float) -> None:
    assert parse_field(text, field) == pytest.approx(stored, rel=1e-12)


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("capacity_gbps", "capacity"), ("length_km", "length"), ("one_way_ms", "time"),
        ("jitter_ms", "time"), ("queue_wait_p95_us", "time"), ("request_bytes", "size"),
        ("request_bytes_per_token", "size"), ("ecn_threshold_kb", "size"), ("buffer_mb", "size"),
        ("power_kw", "power"), ("power_w", "power"), ("price_usd", "money"),
        ("usd_per_gpu_hour", "money_rate"), ("service_time.mean_ms", "time"),
        ("requests_per_s", None), ("latitude_deg", None), ("members", None), ("name", None),
        ("energy_usd_per_kwh", None), ("carbon_g_per_kwh", None), ("space_u", None),
    ],
)  # fmt: skip
def test_kind_of_field(field: str, kind: str | None) -> None:
    assert units.kind_of_field(field) == kind


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("", "capacity", "400 Gb/s"), ("fast", "capacity", "400 Gb/s"),
        ("10 km", "capacity", "400 Gb/s"),
        ("-3 km", "length", "80 km"), ("nan", "length", "80 km"), ("1e999 km", "length", "80 km"),
        ("2,5 Gb/s", "capacity", "write a point"),
        ("16 Mb", "size", '"MB" for bytes'), ("3 mW", "power", "320 kW"),
        ("$3", "capacity", "50 GB/s"),
        ("$3/week", "money_rate", "$3/h"), ("3/h", "money", "USD"), ("1.2.3 ms", "time", "3 ms"),
        ("1e ms", "time", "3 ms"), ("10 g g", "capacity", "50 GB/s"), ("x" * 500, "time", "…"),
    ],
)  # fmt: skip
def test_refused_in_one_sentence_with_a_remedy(text: str, kind: Kind, part: str) -> None:
    with pytest.raises(UnitRefused) as refused:
        parse(text, kind)
    message = str(refused.value)
    assert part in message
    assert "\n" not in message
    assert len(message) < 160


def test_a_field_without_direction_refuses_a_round_trip() -> None:
    with pytest.raises(UnitRefused, match="jitter_ms is not"):
        parse_field("3 ms rtt", "jitter_ms")


def test_a_field_without_unit_is_named() -> None:
    with pytest.raises(UnitRefused, match="members has no unit"):
        parse_field("3", "members")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.show_capacity(400), "400 Gb/s (50 GB/s)"),
        (units.show_capacity(0.155), "155 Mb/s (19.4 MB/s)"),
        (units.show_capacity(1600), "1.6 Tb/s (200 GB/s)"),
        (units.show_capacity(999.99), "1 Tb/s (125 GB/s)"),
        (units.show_capacity(0), "0 b/s (0 B/s)"),
        (units.show_length(80), "80 km (49.7 mi)"),
        (units.show_length(0.3), "300 m (984 ft)"),
        (units.show_length(0), "0 km (0 mi)"),
        (units.show_time(3, "one_way"), "3 ms one-way (6 ms round trip)"),
        (units.show_time(3, "round_trip"), "3 ms round trip (1.5 ms one-way)"),
        (units.show_time(0.005), "5 µs"),
        (units.show_time(1500), "1.5 s"),
        (units.show_size(64000), "64 kB"),
        (units.show_field(0.7e3, "power_w"), "700 W"),
        (units.show_field(5, "forwarding_us"), "5 µs one-way (10 µs round trip)"),
        (units.show_field(2190, "usd_per_month"), "3 USD/h (2190 USD/month)"),
        (units.show_field(64, "members"), "64"),
    ],
)
def test_shown(shown: str, expected: str) -> None:
    assert shown == expected


KINDS: list[Kind] = ["capacity", "length", "time", "size", "power", "money", "money_rate"]


@given(
    kind=st.sampled_from(KINDS),
    value=st.floats(min_value=1e-9, max_value=1e12, allow_nan=False),
    way=st.sampled_from([None, "one_way", "round_trip"]),
)
def test_what_is_shown_reads_back_to_the_digits_shown(
    kind: Kind, value: float, way: units.Way | None
) -> None:
    quantity = Quantity(kind, value, way if kind == "time" else None)
    back = parse(units.show(quantity), kind)
    assert back.way == quantity.way
    assert math.isclose(back.value, value, rel_tol=0.5001e-3)


@given(text=st.text(max_size=30), kind=st.sampled_from(KINDS))
def test_any_text_is_read_or_refused(text: str, kind: Kind) -> None:
    try:
        value = parse(text, kind).value
    except UnitRefused:
        return
    assert math.isfinite(value)
    assert value >= 0
