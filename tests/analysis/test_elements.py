"""What links, nodes, access media and servers take, and what each figure rests on."""

import pytest

from designer.analysis.elements import Elements
from designer.analysis.facts import Ledger
from designer.model.base import Percentiles, Provenance
from designer.model.services import Call
from designer.model.things import Group, Node, ServiceTime, Site
from tests.analysis.small import SILICA_US_PER_KM, catalogue, design, link, nodes


def of(made):
    return Elements(made, catalogue(), Ledger())


def one_way(made):
    """Delay of the design's only link, and the ledger."""
    elements = of(made)
    (only,) = made.links.values()
    return elements.link_one_way_ms(only), elements.ledger


def pair(**fields):
    return design(*nodes("core_router", "a", "b"), link("a-b", **fields))


def test_silica_is_4_9_us_a_km():
    assert pytest.approx(4.9, abs=0.005) == SILICA_US_PER_KM


@pytest.mark.parametrize(
    ("medium", "us_per_km"),
    [("smf", 1.468 / 0.299792458), ("hollow_core", 3.35), ("dac", 4.6), ("radio", 1 / 0.299792458)],
)
def test_propagation_is_length_times_medium(medium, us_per_km):
    fact, ledger = one_way(pair(length_km=250.0, medium=medium))
    assert fact.value == pytest.approx(250 * us_per_km / 1000)
    assert fact.kind == "derived"
    assert ledger.lines() == ()


def test_without_a_medium_fibre_is_guessed():
    fact, ledger = one_way(pair(length_km=100.0))
    assert fact.value == pytest.approx(100 * SILICA_US_PER_KM / 1000)
    assert fact.kind == "guessed"
    assert [(line.field, line.value, line.kind) for line in ledger.lines()] == [
        ("medium", "smf", "guessed")
    ]


def test_fec_is_added_once():
    fact, _ = one_way(pair(length_km=100.0, medium="smf", fec="rs544"))
    assert fact.value == pytest.approx((100 * SILICA_US_PER_KM + 0.1) / 1000)


def test_a_fec_that_is_not_in_the_catalogue_is_said_to_be_left_out():
    fact, ledger = one_way(pair(length_km=100.0, medium="smf", fec="magic"))
    assert fact.value == pytest.approx(100 * SILICA_US_PER_KM / 1000)
    assert [(line.field, line.kind) for line in ledger.lines()] == [("fec", "unknown")]


def test_a_given_delay_comes_before_the_length():
    fact, _ = one_way(pair(length_km=100.0, one_way_ms=3.5))
    assert (fact.value, fact.kind) == (3.5, "given")


def placed(**settings):
    # A degree of the equator: 6378.137 km × π / 180 = 111.319 km.
    made = design(
        Group(id="x", kind="site", site=Site(latitude_deg=0.0, longitude_deg=10.0)),
        *nodes("core_router", "a", group="x"),
        *nodes("core_router", "b", latitude_deg=0.0, longitude_deg=11.0),
        link("a-b", medium="smf"),
    )
    return made.replace(settings=made.settings.replace(**settings)) if settings else made


def test_between_placed_ends_the_great_circle_counts_1_3_times_as_a_guess():
    fact, ledger = one_way(placed())
    assert fact.value == pytest.approx(111.319 * 1.3 * SILICA_US_PER_KM / 1000, rel=1e-5)
    assert fact.kind == "guessed"
    (line,) = ledger.lines()
    assert (line.element, line.field, line.kind) == ("a-b", "length_km", "guessed")
    assert line.value == pytest.approx(111.319 * 1.3, rel=1e-5)
    assert "1.3" in line.source


def test_the_route_factor_can_be_set():
    fact, _ = one_way(placed(route_factor=2.0))
    assert fact.value == pytest.approx(111.319 * 2 * SILICA_US_PER_KM / 1000, rel=1e-5)


@pytest.mark.parametrize("other", [{}, {"latitude_deg": 1.0, "longitude_deg": 2.0}])
def test_unknown_is_not_zero(other):
    # No place, or both at the same place: no length follows from it.
    here = {"latitude_deg": 1.0, "longitude_deg": 2.0}
    made = design(
        *nodes("core_router", "a", **here), *nodes("core_router", "b", **other), link("a-b")
    )
    fact, ledger = one_way(made)
    assert (fact.value, fact.kind) == (None, "unknown")
    assert [(line.field, line.kind) for line in ledger.lines()] == [("length_km", "unknown")]


def test_a_medium_that_is_not_in_the_catalogue_is_unknown():
    fact, ledger = one_way(pair(length_km=1.0, medium="string"))
    assert fact.value is None
    assert ("medium", "unknown") in {(line.field, line.kind) for line in ledger.lines()}


def test_the_access_line_is_in_the_access_mediums_round_trip():
    made = design(
        *nodes("users", "u", access_rtt_ms=Percentiles(p50=8.0)), *nodes("olt", "o"), link("u-o")
    )
    fact, ledger = one_way(made)
    assert (fact.value, fact.kind) == (0.0, "derived")
    assert ledger.lines() == ()
    plain = made.replace(nodes=made.nodes.set("u", Node(id="u", kind="users")))
    assert one_way(plain)[0].value is None


def test_provenance_says_what_a_length_rests_on():
    measured = {"length_km": Provenance(kind="measured", source="OTDR")}
    fact, ledger = one_way(pair(length_km=10.0, medium="smf", provenance=measured))
    assert fact.value == pytest.approx(10 * SILICA_US_PER_KM / 1000)
    (line,) = ledger.lines()
    assert (line.kind, line.source, line.value) == ("measured", "OTDR", 10.0)


def test_forwarding_as_given_else_by_kind():
    given = Node(id="a", kind="firewall", forwarding_us=12.5)
    by_kind = Node(id="b", kind="firewall")
    elements = of(design(given, by_kind))
    assert (elements.forwarding_us(given).value, elements.forwarding_us(given).kind) == (
        12.5,
        "given",
    )
    # The catalogue's typical firewall.
    assert elements.forwarding_us(by_kind).value == 50.0
    assert elements.forwarding_us(by_kind).kind in ("catalogue", "guessed")
    assert {line.element for line in elements.ledger.lines()} == {"b"}


def test_forwarding_of_a_kind_without_figure_is_unknown():
    odd = Node(id="a", kind="service_chain")
    assert of(design(odd)).forwarding_us(odd).value is None


def test_access_comes_from_the_node_or_the_catalogue_or_is_unknown():
    own = Node(id="a", kind="users", access_rtt_ms=Percentiles(p50=8.0))
    row = next(iter(catalogue().access.values()))
    listed = Node(id="b", kind="users", access=row.id)
    unknown = Node(id="c", kind="users", access="carrier_pigeon")
    none = Node(id="d", kind="users")
    elements = of(design(own, listed, unknown, none))
    assert elements.access(own).round_trip_ms == Percentiles(p50=8.0)
    assert elements.access(listed).round_trip_ms == row.round_trip_ms
    assert elements.access(unknown).round_trip_ms is None
    assert elements.access(none) is None
    assert ("c", "unknown") in {(line.element, line.kind) for line in elements.ledger.lines()}


def test_service_time_of_the_call_then_of_the_node_then_of_the_kind():
    own = ServiceTime(mean_ms=4.0, scv=1.0)
    node = Node(id="p", kind="policy", service_time=own, servers=3)
    called = Call(at="p", service_time=ServiceTime(mean_ms=9.0))
    plain = Node(id="q", kind="policy", servers=2)
    elements = of(design(node, plain))
    assert elements.timing(node, called).time.mean_ms == 9.0
    assert (elements.timing(node, None).time, elements.timing(node, None).servers) == (own, 3)
    assert elements.timing(node, Call(at="p")).time == own
    default = catalogue().default_service_time("policy")
    assert elements.timing(plain, None).time == default.service_time
    assert elements.timing(plain, None).servers == 2


def test_a_service_time_that_is_nowhere_is_unknown():
    node = Node(id="p", kind="leaf")
    lost = Node(id="q", kind="policy", service_time=ServiceTime(catalogue="nothing_such"))
    elements = of(design(node, lost))
    assert elements.timing(node, None).time is None
    assert elements.timing(lost, None).time is None
    assert {(line.element, line.kind) for line in elements.ledger.lines()} == {
        ("p", "unknown"),
        ("q", "unknown"),
    }
