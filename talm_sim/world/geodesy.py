"""Distance on the globe."""

import math

EARTH_RADIUS_KM = 6371.0088
"""Mean radius (IUGG)."""
KM_PER_MILE = 1.609344


def great_circle_km(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Return the great-circle distance in kilometres between two points given as latitude and longitude in degrees."""
    lat1, lat2 = math.radians(start[0]), math.radians(end[0])
    half_lon = math.radians(end[1] - start[1]) / 2
    haversine = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(half_lon) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, haversine)))
