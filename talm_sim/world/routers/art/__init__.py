"""Art and colour: colours of the web, paintings and their palettes, and what an artist needs to know of material."""

from fastapi import APIRouter

from talm_sim.world.routers.art import studio, web, works

__all__ = ["router"]

router = APIRouter(prefix="/art")
for part in (web, works, studio):
    router.include_router(part.router)
