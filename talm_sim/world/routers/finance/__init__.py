"""Money: exchange rates, currencies, bank accounts, taxes and loans, stocks, and the economy of the United States."""

from fastapi import APIRouter

from talm_sim.world.routers.finance import accounts, currencies, exchange_rates, markets, payments

__all__ = ["router"]

router = APIRouter(prefix="/finance")
for part in (exchange_rates, currencies, accounts, markets, payments):
    router.include_router(part.router)
