"""Published statistics and old tables, one row at a time."""

from fastapi import APIRouter

from talm_sim.world.routers.open_data import history, nature, people

__all__ = ["router"]

router = APIRouter(prefix="/open-data")
for part in (people, nature, history):
    router.include_router(part.router)
