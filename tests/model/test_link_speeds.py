"""Link labels as network maps write them, against the carriers' standard rates."""

import pytest

from designer.model.link_speeds import link_speed


@pytest.mark.parametrize(
    ("text", "gbps", "members"),
    [
        ("10 Gbps", 10, 1), ("OC-192", 192 * 0.05184, 1), ("OC-192c", 9.95328, 1),
        ("STM-64", 64 * 0.15552, 1), ("OC48/STM16", 2.48832, 1), ("45 Mbps DS-3", 0.045, 1),
        ("DS-3", 0.044736, 1), ("T1", 0.001544, 1), ("E1", 0.002048, 1), ("E3", 0.034368, 1),
        ("2x10Gb/s", 10, 2), ("4*10Gb/s", 10, 4), ("STM-64x2", 9.95328, 2), ("10GEx12", 10, 12),
        ("8*GbE", 1, 8), ("2 x E3 (68Mbps)", 0.034368, 2), ("1GE Primary Link", 1, 1),
        ("10G Ethernet", 10, 1), ("155M", 0.155, 1), ("9600 bit/s", 9.6e-6, 1),
        ("Lit fibre (10 Gbps)", 10, 1), ("0.5 M", 0.0005, 1),
    ],
)  # fmt: skip
def test_certain(text: str, gbps: float, members: int) -> None:
    found = link_speed(text)
    assert found.gbps == pytest.approx(gbps, rel=1e-12)
    assert found.members == members
    assert found.certain
    assert found.reason == ""


@pytest.mark.parametrize(
    ("text", "gbps", "reason"),
    [
        ("155Mbps - 2.5 Gbps", 0.155, "155 Mb/s to 2.5 Gb/s"), ("1-20Gbps", 1, "the lowest"),
        ("E3/DS3", 0.034368, "34.37 Mb/s to 44.74 Mb/s"), ("34/45 Mbit/s", 0.034, "the lowest"),
        ("300M-1Gb/s", 0.3, "the lowest"), (">10Gbps", 10, "lower limit"),
        ("100 Mbps and more", 0.1, "lower limit"), ("24 MB/s", 0.024, "read as bits"),
        ("N*10Gbit/s", 10, "number of members"), ("Managed (10Gbps, 100Mbps)", 0.1, "the lowest"),
    ],
)  # fmt: skip
def test_guessed_with_its_reason(text: str, gbps: float, reason: str) -> None:
    found = link_speed(text)
    assert found.gbps == pytest.approx(gbps, rel=1e-12)
    assert not found.certain
    assert reason in found.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("< 2.5 Gbps", "upper limit of 2.5 Gb/s"), ("<= 10 Mbps", "upper limit of 10 Mb/s"),
        ("less than 100 Mbps", "upper limit"), ("4x1 Gbps + 2x STM-1", "sum"),
        ("Dark fibre", "no speed"), ("", "no speed"), ("SeaMeWe-3", "no speed"),
        ("Completion 2007-2008", "no speed"), ("72 Lambda ROADM", "no speed"),
        ("0 Mbps", "no speed"),
    ],
)  # fmt: skip
def test_unknown_with_its_reason(text: str, reason: str) -> None:
    found = link_speed(text)
    assert found.gbps is None
    assert not found.certain
    assert reason in found.reason
