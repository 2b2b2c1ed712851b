"""Places in rings."""

import pytest

from designer.graph.geometry import inside

SQUARE = ((0.0, 0.0), (10.0, 0.0), (10.0, 5.0), (0.0, 5.0))
"""Longitudes 0 to 10, latitudes 0 to 5."""


@pytest.mark.parametrize(
    ("latitude", "longitude", "is_inside"),
    [(2.0, 8.0, True), (8.0, 2.0, False), (5.0, 10.0, True), (2.0, -0.01, False)],
)
def test_latitude_and_longitude_keep_their_order(latitude, longitude, is_inside):
    assert inside(latitude, longitude, [SQUARE]) is is_inside


def test_any_ring_will_do():
    far = tuple((x + 100.0, y) for x, y in SQUARE)
    assert inside(2.0, 103.0, [SQUARE, far])
    assert not inside(2.0, 50.0, [SQUARE, far])
    assert not inside(2.0, 2.0, [])


def test_a_ring_that_crosses_itself_holds_both_its_halves():
    bow = ((0.0, 0.0), (10.0, 10.0), (10.0, 0.0), (0.0, 10.0))
    assert inside(5.0, 1.0, [bow])
    assert inside(5.0, 9.0, [bow])
    assert not inside(9.0, 5.0, [bow])


def test_two_points_are_no_area():
    assert not inside(0.0, 0.0, [((0.0, 0.0), (1.0, 1.0))])
