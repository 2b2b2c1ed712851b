"""Distances against published geodesics and the ellipsoid's own measures."""

import math

import pytest

from designer.model.geodesy import PlaceRefused, distance_km, route_km

EQUATOR_RADIUS_KM = 6378.137
QUARTER_MERIDIAN_KM = 10001.965729
"""WGS-84: semi-major axis, and equator to pole along a meridian (both published constants)."""


def test_published_geodesic_wellington_to_salamanca() -> None:
    # C. F. F. Karney, GeographicLib documentation: 19959679.267 m.
    assert distance_km(-41.32, 174.81, 40.96, -5.50) == pytest.approx(19959.679267, abs=1e-6)


def test_published_geodesic_jfk_to_lhr() -> None:
    # C. F. F. Karney, GeodSolve documentation: 5551759.400 m.
    found = distance_km(40.6, -73.8, 51.6, -0.5)
    assert found == pytest.approx(5551.759400, abs=1e-6)


def test_equator_is_an_arc_of_the_larger_radius() -> None:
    assert distance_km(0, 0, 0, 90) == pytest.approx(EQUATOR_RADIUS_KM * math.pi / 2, rel=1e-12)


@pytest.mark.parametrize("longitude", [-180.0, 0.0, 77.7, 180.0])
def test_equator_to_pole_by_any_meridian(longitude: float) -> None:
    assert distance_km(0, longitude, 90, 12.0) == pytest.approx(QUARTER_MERIDIAN_KM, abs=1e-6)
    assert distance_km(0, longitude, -90, 12.0) == pytest.approx(QUARTER_MERIDIAN_KM, abs=1e-6)


def test_antipodes_go_over_the_pole() -> None:
    assert distance_km(0, 0, 0, 180) == pytest.approx(2 * QUARTER_MERIDIAN_KM, abs=1e-5)
    assert distance_km(90, 0, -90, 0) == pytest.approx(2 * QUARTER_MERIDIAN_KM, abs=1e-5)


def test_same_place_and_date_line() -> None:
    assert distance_km(51.5, -0.1, 51.5, -0.1) == 0.0
    assert distance_km(10, 180, 10, -180) == pytest.approx(0.0, abs=1e-9)


def test_route_is_longer_by_its_factor() -> None:
    straight = distance_km(52.52, 13.405, 48.137, 11.575)
    assert route_km(52.52, 13.405, 48.137, 11.575) == pytest.approx(1.3 * straight)
    assert route_km(52.52, 13.405, 48.137, 11.575, route_factor=1) == straight


@pytest.mark.parametrize(
    "place",
    [(90.1, 0, 0, 0), (0, 0, -91, 0), (0, 181, 0, 0), (0, 0, 0, -180.5), (math.nan, 0, 0, 0)],
)
def test_no_such_place(place: tuple[float, float, float, float]) -> None:
    with pytest.raises(PlaceRefused, match="give degrees from"):
        distance_km(*place)


@pytest.mark.parametrize("factor", [0.99, 0.0, -1.0, math.nan])
def test_a_route_is_never_shorter(factor: float) -> None:
    with pytest.raises(PlaceRefused, match="give 1 or more"):
        route_km(0, 0, 1, 1, route_factor=factor)
