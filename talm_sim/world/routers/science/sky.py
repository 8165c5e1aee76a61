"""Stars, planets and eclipses, from ephem (MIT; stars of the Hipparcos catalogue) and astronomy-engine (MIT)."""

import datetime as dt
import math
from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot

router = APIRouter()

FIRST_YEAR, LAST_YEAR = 1900, 2100
Body = Literal["Mercury", "Venus", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune", "Pluto"]


class Star(BaseModel):
    """A bright star, with its position of the year 2000."""

    name: str
    constellation: str
    magnitude: float
    right_ascension: str
    declination_deg: float
    proper_motion_mas_per_year: float


class PlanetPosition(BaseModel):
    """Where a planet is seen from the Earth at midnight, universal time."""

    planet: Body
    date: dt.date
    constellation: str
    distance_au: float
    distance_million_km: float
    magnitude: float
    elongation_deg: float


class Eclipse(BaseModel):
    """An eclipse of the sun or the moon."""

    body: Literal["sun", "moon"]
    date: dt.date
    peak_time_utc: str
    kind: str
    peak_latitude: float | None
    peak_longitude: float | None


@lru_cache(maxsize=1)
def _stars() -> dict[str, Any]:
    import ephem.stars  # type: ignore[import-untyped]

    found = {fold(name): star for name, star in ephem.stars.stars.items()}
    for star in found.values():
        star.compute("2000/1/1 12:00", epoch="2000")
    return found


def _check_year(date: dt.date, name: str) -> None:
    if not FIRST_YEAR <= date.year <= LAST_YEAR:
        raise HTTPException(422, f"{name}: must lie in the years {FIRST_YEAR} to {LAST_YEAR}")


@router.get(
    "/stars/{name}",
    operation_id="get_star",
    summary="Get a bright star's magnitude, position, proper motion and constellation, by the Hipparcos catalogue.",
    openapi_extra=person_cannot("The measured values are rows of a star catalogue.", record=True),
)
async def get_star(
    name: Annotated[str, Path(description="Proper name of the star.", examples=["Vega"], min_length=3, max_length=30)],
) -> Star:
    import ephem

    found = _stars().get(fold(name))
    if found is None:
        raise not_found("bright star", name, [star.name for star in _stars().values()], hint="Give its proper name.")
    hours = math.degrees(found._ra) / 15
    minutes = round(hours * 60, 1)
    return Star(
        name=found.name,
        constellation=ephem.constellation((found._ra, found._dec))[1],
        magnitude=round(found.mag, 2),
        right_ascension=f"{int(minutes // 60)} h {minutes % 60:.1f} min",
        declination_deg=round(math.degrees(found._dec), 3),
        proper_motion_mas_per_year=round(math.hypot(found._pmra, found._pmdec), 1),
    )


@router.get(
    "/planets/{planet}/position",
    operation_id="get_planet_position",
    summary="Compute a planet's constellation, distance, brightness and angle from the sun at midnight UTC of a date.",
    openapi_extra=person_cannot("An orbit is computed in many steps, which nobody does by hand."),
)
async def get_planet_position(
    planet: Annotated[Body, Path(description="Name of the planet.", examples=["Mars"])],
    date: Annotated[dt.date, Query(description="Date as YYYY-MM-DD.", examples=["2003-08-27"])],
) -> PlanetPosition:
    import ephem

    _check_year(date, "date")
    found = getattr(ephem, planet)()
    found.compute(dt.datetime(date.year, date.month, date.day))
    return PlanetPosition(
        planet=planet,
        date=date,
        constellation=ephem.constellation(found)[1],
        distance_au=round(found.earth_distance, 4),
        distance_million_km=round(found.earth_distance * ephem.meters_per_au / 1e9, 1),
        magnitude=round(found.mag, 1),
        elongation_deg=round(abs(math.degrees(found.elong)), 1),
    )


@router.get(
    "/eclipse",
    operation_id="find_eclipse",
    summary="Find the first eclipse of the sun or the moon after a date, anywhere on the Earth.",
    openapi_extra=person_can("An almanac or a calendar of the sky lists the eclipses of many years."),
)
async def find_eclipse(
    body: Annotated[Literal["sun", "moon"], Query(description="Which of the two is eclipsed.", examples=["sun"])],
    after: Annotated[dt.date, Query(description="Date from whose midnight (UTC) on to look, as YYYY-MM-DD.", examples=["1999-01-01"])],
) -> Eclipse:
    import astronomy  # type: ignore[import-untyped]

    _check_year(after, "after")
    start = astronomy.Time.Make(after.year, after.month, after.day, 0, 0, 0.0)
    found = astronomy.SearchGlobalSolarEclipse(start) if body == "sun" else astronomy.SearchLunarEclipse(start)
    peak = (found.peak.Utc() + dt.timedelta(seconds=30)).replace(second=0, microsecond=0)
    latitude, longitude = getattr(found, "latitude", None), getattr(found, "longitude", None)
    return Eclipse(
        body=body,
        date=peak.date(),
        peak_time_utc=f"{peak:%H:%M}",
        kind=found.kind.name.lower(),
        peak_latitude=None if latitude is None else round(latitude, 1),
        peak_longitude=None if longitude is None else round(longitude, 1),
    )
