"""Governments: the United States and its offices, codes of places, holidays of regions, and seats in a parliament."""

from fastapi import APIRouter

from talm_sim.world.routers.government import counties, places, seats, united_states

__all__ = ["router"]

router = APIRouter(prefix="/government")
for part in (united_states, counties, places, seats):
    router.include_router(part.router)
