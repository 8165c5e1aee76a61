"""Exchange rates of the European Central Bank, from currencyconverter 0.18.23 (Apache-2.0; rates published by the bank since 1999)."""

import datetime as dt
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found
from talm_sim.world.routers.finance.currencies import currencies_called
from talm_sim.world.stand_in import person_cannot

router = APIRouter()

LONGEST_CLOSURE = 10
"""Days in a row without a reference rate that are bridged: longer gaps mean the currency was not quoted."""
LONGEST_WINDOW = 366
DATED = person_cannot("The rate of a past day is a published figure that nobody knows by heart.", record=True)

FromCurrency = Annotated[
    str, Query(description="Three-letter code of the currency to convert from.", examples=["USD"], min_length=3, max_length=3)
]
ToCurrency = Annotated[str, Query(description="Three-letter code of the currency to convert to.", examples=["EUR"], min_length=3, max_length=3)]


@lru_cache(maxsize=1)
def _converter() -> Any:
    from currency_converter import CurrencyConverter  # type: ignore[import-untyped]

    return CurrencyConverter()


def _currency(code: str) -> str:
    upper = code.upper()
    if upper not in _converter().currencies:
        raise not_found("currency", code, hint="Only currencies for which the European Central Bank publishes rates are known.")
    return upper


def _rate_on(day: dt.date, source: str, target: str) -> tuple[float, dt.date] | None:
    """Return the last rate published up to `day`, with the day of its publication; None if there is none nearby."""
    from currency_converter import RateNotFoundError

    for days_back in range(LONGEST_CLOSURE):
        published = day - dt.timedelta(days=days_back)
        try:
            return float(_converter().convert(1, source, target, date=published)), published
        except RateNotFoundError:
            continue
    return None


class Conversion(BaseModel):
    """An amount of money in another currency."""

    amount: float
    from_currency: str
    to_currency: str
    converted: float
    rate: float
    rate_date: dt.date


class RateOfDay(BaseModel):
    """An exchange rate and the day it held."""

    date: dt.date
    rate: float


class RateRange(BaseModel):
    """Extremes of an exchange rate over a period."""

    from_currency: str
    to_currency: str
    highest: RateOfDay
    lowest: RateOfDay
    change_percent: float


class RateComparison(BaseModel):
    """What one unit of a currency bought of another one on two days."""

    currency_code: str
    currency: str
    against: str
    first: RateOfDay
    second: RateOfDay
    value_change_percent: float


@router.get(
    "/convert",
    operation_id="convert_currency",
    summary="Convert an amount of money at the European Central Bank's reference rate of a given day.",
    openapi_extra=DATED,
)
async def convert_currency(
    amount: Annotated[float, Query(description="Amount to convert.", examples=[100], gt=0, le=1e12)],
    from_currency: FromCurrency,
    to_currency: ToCurrency,
    date: Annotated[dt.date, Query(description="Day of the rate, as YYYY-MM-DD, from 1999 on.", examples=["2023-06-15"])],
) -> Conversion:
    source, target = _currency(from_currency), _currency(to_currency)
    found = _rate_on(date, source, target)
    if found is None:
        raise not_found("rate on", date.isoformat(), hint=f"{source} and {target} have no common reference rate around that day.")
    rate, published = found
    return Conversion(
        amount=amount,
        from_currency=source,
        to_currency=target,
        converted=round(amount * rate, 2),
        rate=float(f"{rate:.6g}"),
        rate_date=published,
    )


@router.get(
    "/rate-range",
    operation_id="get_exchange_rate_range",
    summary="Find the highest and the lowest reference rate of the European Central Bank for two currencies in up to a year, with the days.",
    openapi_extra=DATED,
)
async def get_exchange_rate_range(
    from_currency: FromCurrency,
    to_currency: ToCurrency,
    start: Annotated[dt.date, Query(description="First day, as YYYY-MM-DD.", examples=["2022-01-01"])],
    end: Annotated[dt.date, Query(description="Last day, as YYYY-MM-DD.", examples=["2022-12-31"])],
) -> RateRange:
    source, target = _currency(from_currency), _currency(to_currency)
    span = (end - start).days
    if not 0 <= span <= LONGEST_WINDOW:
        raise HTTPException(422, f"end: must lie 0 to {LONGEST_WINDOW} days after start")
    found = (_rate_on(start + dt.timedelta(days=offset), source, target) for offset in range(span + 1))
    rates = {published: rate for entry in found if entry for rate, published in [entry] if published >= start}
    if not rates:
        raise not_found("rate between", f"{start} and {end}", hint=f"{source} and {target} have no common reference rate then.")
    highest, lowest = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    return RateRange(
        from_currency=source,
        to_currency=target,
        highest=RateOfDay(date=highest, rate=float(f"{rates[highest]:.5g}")),
        lowest=RateOfDay(date=lowest, rate=float(f"{rates[lowest]:.5g}")),
        change_percent=round((rates[max(rates)] / rates[min(rates)] - 1) * 100, 2),
    )


@router.get(
    "/rate-comparison",
    operation_id="compare_exchange_rates",
    summary="Compare how much of a currency one euro, or one unit of another one, bought on two days at the European Central Bank's rates.",
    openapi_extra=DATED,
)
async def compare_exchange_rates(
    currency: Annotated[
        str, Query(description="The currency: its name in English, or its three-letter code.", examples=["zloty"], min_length=2, max_length=40)
    ],
    first_date: Annotated[dt.date, Query(description="The earlier day, as YYYY-MM-DD, from 1999 on.", examples=["2015-03-02"])],
    second_date: Annotated[dt.date, Query(description="The later day, as YYYY-MM-DD.", examples=["2015-09-01"])],
    country: Annotated[
        str | None,
        Query(description="Country of the currency in English, to tell currencies of one name apart.", examples=["Poland"], max_length=40),
    ] = None,
    against: Annotated[
        str, Query(description="Three-letter code of the currency to compare with.", examples=["EUR"], min_length=3, max_length=3)
    ] = "EUR",
) -> RateComparison:
    base = _currency(against)
    code, name = _quoted(currency, country)
    rates = []
    for day in (first_date, second_date):
        found = _rate_on(day, base, code)
        if found is None:
            raise not_found("rate on", day.isoformat(), hint=f"{base} and {code} have no common reference rate around that day.")
        rates.append(found)
    (first, first_day), (second, second_day) = rates
    return RateComparison(
        currency_code=code,
        currency=name,
        against=base,
        first=RateOfDay(date=first_day, rate=float(f"{first:.6g}")),
        second=RateOfDay(date=second_day, rate=float(f"{second:.6g}")),
        value_change_percent=round((first / second - 1) * 100, 2),
    )


def _quoted(currency: str, country: str | None) -> tuple[str, str]:
    """Return code and name of the one currency that is meant, among those for which the bank publishes rates."""
    published = _converter().currencies
    if currency.upper() in published and country is None:
        return currency.upper(), currency.upper()
    found = [one for one in currencies_called(currency, country) if one.code in published]
    if not found:
        raise not_found("currency", currency, hint="Only currencies for which the European Central Bank publishes rates are known.")
    if len(found) > 1:
        named = ", ".join(f"{one.name} ({one.countries[0]})" for one in found)
        raise HTTPException(422, f"country: several currencies are called '{currency}': {named}. Say which country's is meant.")
    return found[0].code, found[0].name
