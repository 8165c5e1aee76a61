"""Chemistry, particles, minerals, the sky, units and constants.

From the lowest layer up:

- `elements.py` finds a chemical element, `chemistry.py` has compounds, `nuclei.py` isotopes and particles
- `minerals.py` has minerals, `sky.py` stars, planets and eclipses
- `quantities.py` has units and constants
"""

from fastapi import APIRouter

from talm_sim.world.routers.science import chemistry, minerals, nuclei, quantities, sky

__all__ = ["router"]

router = APIRouter(prefix="/science")
for part in (chemistry, nuclei, quantities, minerals, sky):
    router.include_router(part.router)
