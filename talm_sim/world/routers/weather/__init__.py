"""Sun, moon and seasons, aviation weather, and the weather of past days."""

from fastapi import APIRouter

from talm_sim.world.routers.weather import climate, reports, sky

__all__ = ["router"]

router = APIRouter(prefix="/weather")
for part in (sky, reports, climate):
    router.include_router(part.router)
