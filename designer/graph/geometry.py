"""Places and regions on the globe, as longitude and latitude in degrees."""

from __future__ import annotations

from collections.abc import Sequence

from shapely.geometry import Point, Polygon
from shapely.validation import make_valid

Ring = Sequence[tuple[float, float]]


def inside(latitude_deg: float, longitude_deg: float, rings: Sequence[Ring]) -> bool:
    """Whether a place lies in any of some rings of (longitude, latitude), borders included.

    Rings are flat in degrees: one that crosses the date line must be given as two.
    """
    place = Point(longitude_deg, latitude_deg)
    return any(
        len(ring) >= 3 and make_valid(Polygon(ring)).covers(place)  # a drawn ring may cross itself
        for ring in rings
    )
