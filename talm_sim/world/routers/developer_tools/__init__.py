"""What developers look up and compute: networks, releases, languages and licences, codes."""

from fastapi import APIRouter

from talm_sim.world.routers.developer_tools import codes, networks, registers, releases

__all__ = ["router"]

router = APIRouter(prefix="/developer-tools")
for part in (networks, releases, registers, codes):
    router.include_router(part.router)
