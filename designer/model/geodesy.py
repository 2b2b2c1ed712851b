"""Distances on the Earth: geodesics on WGS-84, and routes that are longer than they."""

from typing import Final

from geographiclib.geodesic import Geodesic

ROUTE_FACTOR: Final = 1.3
"""Guessed length of a terrestrial route over its geodesic, where nothing better is known."""


class PlaceRefused(ValueError):
    """Coordinates that no place has; `str()` is one sentence with the remedy."""


def distance_km(
    latitude_1_deg: float, longitude_1_deg: float, latitude_2_deg: float, longitude_2_deg: float
) -> float:
    """Length in km of the shortest line on the WGS-84 ellipsoid between two places.

    By Karney, "Algorithms for geodesics" (2013); right to nanometres for any pair, poles and
    antipodes included. Raises PlaceRefused outside latitude -90…90 or longitude -180…180.
    """
    for latitude, longitude in (
        (latitude_1_deg, longitude_1_deg),
        (latitude_2_deg, longitude_2_deg),
    ):
        if not -90 <= latitude <= 90:
            raise PlaceRefused(f"latitude {latitude} is no place; give degrees from -90 to 90")
        if not -180 <= longitude <= 180:
            raise PlaceRefused(f"longitude {longitude} is no place; give degrees from -180 to 180")
    line = Geodesic.WGS84.Inverse(
        latitude_1_deg, longitude_1_deg, latitude_2_deg, longitude_2_deg, Geodesic.DISTANCE
    )
    return float(line["s12"]) / 1e3


def route_km(
    latitude_1_deg: float,
    longitude_1_deg: float,
    latitude_2_deg: float,
    longitude_2_deg: float,
    *,
    route_factor: float = ROUTE_FACTOR,
) -> float:
    """Length in km of a route between two places: geodesic times `route_factor` (at least 1).

    Raises PlaceRefused as `distance_km` does, and for a factor below 1.
    """
    if not route_factor >= 1:
        raise PlaceRefused(
            f"route factor {route_factor} is shorter than the geodesic; give 1 or more"
        )
    return route_factor * distance_km(
        latitude_1_deg, longitude_1_deg, latitude_2_deg, longitude_2_deg
    )
