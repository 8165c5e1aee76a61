"""Films, books, and emoji."""

from fastapi import APIRouter

from talm_sim.world.routers.content import books, emoji, films, novels

__all__ = ["router"]

router = APIRouter(prefix="/content")
for _part in (books, emoji, films, novels):
    router.include_router(_part.router)
