from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from talm_sim.world.geodesy import EARTH_RADIUS_KM, great_circle_km

points = st.tuples(st.floats(-90, 90), st.floats(-180, 180))


def test_a_quarter_of_the_equator() -> None:
    assert great_circle_km((0, 0), (0, 90)) == pytest.approx(math.pi / 2 * EARTH_RADIUS_KM)


@given(points, points)
def test_symmetric_and_at_most_half_the_globe(start: tuple[float, float], end: tuple[float, float]) -> None:
    assert great_circle_km(start, end) == pytest.approx(great_circle_km(end, start))
    assert 0 <= great_circle_km(start, end) <= math.pi * EARTH_RADIUS_KM + 1e-6


@given(points)
def test_antipodes_do_not_leave_the_domain_of_asin(point: tuple[float, float]) -> None:
    lat, lon = point
    assert great_circle_km(point, (-lat, lon + 180)) == pytest.approx(math.pi * EARTH_RADIUS_KM, rel=1e-6)
