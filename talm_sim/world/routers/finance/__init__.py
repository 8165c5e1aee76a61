"""Money: exchange rates, currencies, bank accounts, taxes and loans, stocks, and the economy of the United States.

From the lowest layer up:

- `accounts.py` has bank accounts, `markets.py` stock exchanges, `payments.py` loans, taxes and the economy
- `currencies.py` has currencies, `exchange_rates.py` their rates
"""

from fastapi import APIRouter

from talm_sim.world.routers.finance import accounts, currencies, exchange_rates, markets, payments

__all__ = ["router"]

router = APIRouter(prefix="/finance")
for part in (exchange_rates, currencies, accounts, markets, payments):
    router.include_router(part.router)
