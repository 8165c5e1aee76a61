"""Positions: distance and direction between cities, and the nearest city to a point."""

import math
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from talm_sim.world.geodesy import KM_PER_MILE, great_circle_km
from talm_sim.world.lookup import not_found
from talm_sim.world.routers.geo.places import all_cities, city_called, country_name
from talm_sim.world.stand_in import person_cannot

router = APIRouter()

POINTS = ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")


class CityDistance(BaseModel):
    """Straight-line distance between two cities."""

    origin: str
    destination: str
    distance_km: int
    distance_miles: int


class CityDirection(BaseModel):
    """The way from one city to another along the great circle."""

    origin: str
    destination: str
    bearing_degrees: float
    compass_point: str
    midpoint_latitude: float
    midpoint_longitude: float


class NearestCity(BaseModel):
    """The city that lies nearest to a point."""

    city: str
    country: str
    distance_km: float
    population: int


@router.get(
    "/distance",
    operation_id="get_city_distance",
    summary="Compute the straight-line distance between two cities.",
    openapi_extra=person_cannot("A great circle needs the coordinates of both ends and trigonometry."),
)
async def get_city_distance(
    origin: Annotated[str, Query(description="Name of the first city.", examples=["Hanoi"], min_length=1)],
    destination: Annotated[str, Query(description="Name of the second city.", examples=["Bangkok"], min_length=1)],
) -> CityDistance:
    start, end = city_called(origin), city_called(destination)
    kilometres = great_circle_km((start["latitude"], start["longitude"]), (end["latitude"], end["longitude"]))
    return CityDistance(
        origin=start["name"], destination=end["name"], distance_km=round(kilometres), distance_miles=round(kilometres / KM_PER_MILE)
    )


@router.get(
    "/direction",
    operation_id="get_city_direction",
    summary="Compute in which direction one sets out from a city to reach another by the shortest way, and the point halfway.",
    openapi_extra=person_cannot("The bearing of a great circle needs the coordinates of both ends and trigonometry."),
)
async def get_city_direction(
    origin: Annotated[str, Query(description="Name of the city to start from.", examples=["Hanoi"], min_length=1, max_length=60)],
    destination: Annotated[str, Query(description="Name of the city to reach.", examples=["Bangkok"], min_length=1, max_length=60)],
) -> CityDirection:
    start, end = city_called(origin), city_called(destination)
    lat1, lat2 = math.radians(start["latitude"]), math.radians(end["latitude"])
    lon1, turn = math.radians(start["longitude"]), math.radians(end["longitude"] - start["longitude"])
    east = math.cos(lat2) * math.cos(turn), math.cos(lat2) * math.sin(turn)
    bearing = math.degrees(math.atan2(east[1], math.cos(lat1) * math.sin(lat2) - math.sin(lat1) * east[0])) % 360
    latitude = math.atan2(math.sin(lat1) + math.sin(lat2), math.hypot(math.cos(lat1) + east[0], east[1]))
    longitude = math.degrees(lon1 + math.atan2(east[1], math.cos(lat1) + east[0]))
    return CityDirection(
        origin=start["name"],
        destination=end["name"],
        bearing_degrees=round(bearing, 1) % 360,
        compass_point=POINTS[round(bearing / 22.5) % 16],
        midpoint_latitude=round(math.degrees(latitude), 2),
        midpoint_longitude=round((longitude + 540) % 360 - 180, 2),
    )


@router.get(
    "/nearest-city",
    operation_id="find_nearest_city",
    summary="Find the city that lies nearest to a point on the map, with its distance and population by a gazetteer.",
    openapi_extra=person_cannot("It measures the way to every row of a gazetteer of 25,000 cities.", record=True),
)
async def find_nearest_city(
    latitude: Annotated[float, Query(description="Latitude in degrees, north is positive.", examples=[20.5], ge=-90, le=90)],
    longitude: Annotated[float, Query(description="Longitude in degrees, east is positive.", examples=[105.5], ge=-180, le=180)],
    min_population: Annotated[
        int, Query(description="Smallest number of inhabitants that counts as a city.", examples=[100000], ge=15000, le=20_000_000)
    ] = 15000,
) -> NearestCity:
    near = [
        (great_circle_km((latitude, longitude), (city["latitude"], city["longitude"])), index)
        for index, city in enumerate(all_cities())
        if city["population"] >= min_population
    ]
    if not near:
        raise not_found("city with as many inhabitants as", str(min_population))
    kilometres, index = min(near)
    city = all_cities()[index]
    return NearestCity(
        city=city["name"], country=country_name(city["countrycode"]), distance_km=round(kilometres, 1), population=city["population"]
    )
