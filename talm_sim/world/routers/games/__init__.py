"""Games: chess openings, cards, boards and dice, and the open rules of a role-playing game."""

from fastapi import APIRouter

from talm_sim.world.routers.games import boards, cards, openings, rules

__all__ = ["router"]

router = APIRouter(prefix="/games")
for part in (openings, rules, cards, boards):
    router.include_router(part.router)
