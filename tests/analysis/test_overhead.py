"""Header bytes held against the protocols' own figures."""

import pytest

from designer.analysis.overhead import (
    UnknownEncapsulation,
    goodput_share,
    overhead_bytes,
    word_bytes,
)
from designer.files.catalogue import load
from designer.model.catalog_rows import OverheadRow

Words = dict[str, OverheadRow]


@pytest.fixture(scope="module")
def table() -> Words:
    return dict(load().overheads)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ethernet", 8 + 14 + 4 + 12),
        ("vlan", 4),
        ("vlan.2", 8),
        ("mpls", 4),
        ("mpls.3", 12),
        ("srv6", 40 + 8 + 16),
        ("srv6.3", 40 + 8 + 16 * 3),
        ("srv6_reduced.1", 40),
        ("srv6_reduced.2", 40 + 8 + 16),
        ("srv6_reduced.4", 40 + 8 + 16 * 3),
        ("gre", 24),
        ("vxlan", 50),
        ("vxlan_ipv6", 70),
        ("pppoe", 8),
        ("macsec", 32),
        ("infiniband", 26),
        ("rocev2", 8 + 12 + 4),
        ("rocev2_first", 8 + 12 + 4 + 16),
        ("udp", 8),
        ("tls_tcp", 22 + 32),
    ],
)
def test_bytes_of_a_word(table: Words, word: str, expected: int) -> None:
    assert word_bytes(word, table) == expected


@pytest.mark.parametrize(
    ("word", "low", "high"),
    [("tcp", 20, 32), ("gtpu", 36, 44), ("esp", 50, 73), ("tls_tcp", 42, 54)],
)
def test_ranges_stay_ranges(table: Words, word: str, low: int, high: int) -> None:
    assert word_bytes(word, table, "low") == low
    assert word_bytes(word, table, "high") == high
    assert low <= word_bytes(word, table) <= high


def test_the_known_rate_of_tcp_on_ethernet(table: Words) -> None:
    # 1,448 of 1,538 bytes on the wire: the 941 Mbit/s that a gigabit port is known for
    assert goodput_share(1448, (), "tcp", "ipv4", table) == pytest.approx(1448 / 1538)
    assert 1000 * goodput_share(1448, (), "tcp", "ipv4", table) == pytest.approx(941, abs=0.5)


def test_a_jumbo_frame_over_ipv6_and_a_tunnel(table: Words) -> None:
    beyond = 38 + 4 + 50 + 40 + 32
    assert overhead_bytes(("vlan", "vxlan"), "tcp", "ipv6", table) == beyond
    share = goodput_share(8900, ("vlan", "vxlan"), "tcp", "ipv6", table)
    assert share == pytest.approx(8900 / (8900 + beyond))


def test_a_row_of_rocev2_with_its_path_mtu(table: Words) -> None:
    assert goodput_share(4096, (), "rocev2", "ipv4", table) == pytest.approx(
        4096 / (4096 + 38 + 20 + 24)
    )


def test_infiniband_replaces_ethernet_and_rdma_needs_no_ip_on_it(table: Words) -> None:
    assert overhead_bytes(("infiniband",), "rocev2", "ipv6", table) == 26
    assert overhead_bytes(("infiniband",), "rocev2_first", "ipv6", table) == 26 + 16
    assert overhead_bytes(("infiniband",), "tcp", "ipv4", table) == 26 + 20 + 32


def test_ethernet_said_twice_is_one_frame(table: Words) -> None:
    assert overhead_bytes(("ethernet",), "udp", "ipv4", table) == 38 + 20 + 8


def test_two_tags_are_two_tags(table: Words) -> None:
    assert overhead_bytes(("vlan", "vlan"), "udp", "ipv4", table) == 38 + 8 + 28


def test_more_overhead_is_less_goodput(table: Words) -> None:
    bounds = [goodput_share(1400, ("esp",), "tcp", "ipv4", table, b) for b in ("high", "low")]
    assert 0 < bounds[0] < bounds[1] < 1


@pytest.mark.parametrize("word", ["mpsl", "mpls.0", "mpls.999", "mpls.x", "gre.2", "mpls.²", ""])
def test_unknown_words_are_refused(table: Words, word: str) -> None:
    with pytest.raises(UnknownEncapsulation, match="is not known"):
        overhead_bytes((word,), "tcp", "ipv4", table)


def test_a_near_word_is_named(table: Words) -> None:
    with pytest.raises(UnknownEncapsulation, match='write "vxlan"'):
        word_bytes("vxlam", table)


@pytest.mark.parametrize("payload", [0.0, -1.0, float("nan")])
def test_no_payload_has_no_goodput(table: Words, payload: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        goodput_share(payload, (), "tcp", "ipv4", table)
