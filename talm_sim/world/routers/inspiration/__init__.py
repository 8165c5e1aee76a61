"""Quotations, proverbs, prompts, and what flowers, names and anniversaries stand for: lists of our own."""

from fastapi import APIRouter

from talm_sim.world.routers.inspiration import meanings, prompts, words

__all__ = ["router"]

router = APIRouter(prefix="/inspiration")
for _part in (meanings, prompts, words):
    router.include_router(_part.router)
