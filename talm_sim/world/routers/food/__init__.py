"""Food: what it contains, and what a cook looks up."""

from fastapi import APIRouter

from talm_sim.world.routers.food import kitchen, nutrition

__all__ = ["router"]

router = APIRouter(prefix="/food")
router.include_router(nutrition.router)
router.include_router(kitchen.router)
