"""Payload shares, from header sizes of MODEL section 1 added up by hand."""

import pytest

from designer.analysis.facts import Ledger
from designer.analysis.headers import Headers
from tests.analysis.small import catalogue, design, inelastic, link, nodes, rules_of

ETHERNET = 8 + 14 + 4 + 12
TLS_TCP = 32 + 22
ROCE = 8 + 12 + 4


def share(payload, *encapsulations, lossless=False, family="ipv4", links=None):
    made = design(
        *nodes("leaf", "a", "b"),
        *(link("a-b", id=f"x{k}", encapsulations=words) for k, words in enumerate(encapsulations)),
        inelastic("gold", 0, lossless=lossless),
    )
    made = made.replace(settings=made.settings.replace(address_family=family))
    ledger = Ledger()
    headers = Headers(made, catalogue(), ledger)
    found = headers.goodput(payload, sorted(made.links), rules_of(made)["gold"])
    return found, ledger


def test_plain_ethernet():
    found, ledger = share(1448.0, ())
    assert found == pytest.approx(1448 / (1448 + ETHERNET + 20 + TLS_TCP))
    assert ledger.lines() == ()


def test_ipv6_has_20_bytes_more():
    assert share(1448.0, (), family="ipv6")[0] == pytest.approx(
        1448 / (1448 + ETHERNET + 40 + TLS_TCP)
    )


def test_a_lossless_class_is_rdma():
    assert share(4096.0, (), lossless=True)[0] == pytest.approx(
        4096 / (4096 + ETHERNET + 20 + ROCE)
    )


def test_rdma_over_infiniband_needs_no_ethernet_and_no_ip():
    assert share(4096.0, ("infiniband",), lossless=True)[0] == pytest.approx(4096 / (4096 + 26))


def test_encapsulations_add_up_on_one_link():
    # A tag, three labels and VXLAN: 4 + 12 + 50.
    assert share(1000.0, ("vlan", "mpls.3", "vxlan"))[0] == pytest.approx(
        1000 / (1000 + ETHERNET + 20 + TLS_TCP + 66)
    )


def test_the_heaviest_link_of_a_path_counts():
    assert share(1000.0, ("vlan",), ("vxlan",), ())[0] == pytest.approx(
        1000 / (1000 + ETHERNET + 20 + TLS_TCP + 50)
    )


def test_a_path_of_no_links_has_plain_headers():
    assert share(1448.0)[0] == pytest.approx(1448 / (1448 + ETHERNET + 20 + TLS_TCP))


def test_an_unknown_word_is_left_out_and_listed():
    found, ledger = share(1000.0, ("vlan", "pixie_dust"))
    assert found == pytest.approx(1000 / (1000 + ETHERNET + 20 + TLS_TCP + 4))
    (line,) = ledger.lines()
    assert (line.value, line.kind) == ("pixie_dust", "unknown")
