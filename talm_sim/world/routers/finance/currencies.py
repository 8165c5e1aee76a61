"""Currencies of the world, from iso4217 1.16.20260101 (public domain; the list of ISO 4217 as published on 2026-01-01)."""

from functools import cache
from typing import Annotated, NamedTuple

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can
from talm_sim.world.vendored import read_data

router = APIRouter()

MOST_NAMED = 24
"""Currencies that the answer to an ambiguous name lists."""


class Currency(NamedTuple):
    """One currency of the list."""

    code: str
    numeric: str
    minor_units: int
    name: str
    countries: tuple[str, ...]


class CurrencyDetails(BaseModel):
    """What ISO 4217 says of a currency."""

    code: str
    numeric_code: str
    name: str
    decimal_places: int
    country_count: int
    countries: list[str]


@cache
def _currencies() -> tuple[Currency, ...]:
    rows = read_data("finance", "currencies.csv")
    return tuple(
        Currency(row["code"], row["numeric"], int(row["minor_units"]), row["name"], tuple(row["countries"].split(";"))) for row in rows
    )


def currencies_called(name: str, country: str | None = None) -> list[Currency]:
    """Return the currencies of a code or name, those of one country if it is given, ordered by country.

    Args:
        name: Its code, its whole name, or words of it such as `dollar`, in the plural as well.
        country: A country that uses it.
    """
    wanted, place = fold(name), fold(country or "")
    for spelling in (wanted, wanted.removesuffix("s"), wanted.removesuffix("r")):  # dollars, kroner
        found = [one for one in _currencies() if spelling in (one.code.lower(), fold(one.name))]
        found = found or [one for one in _currencies() if spelling and f" {spelling} " in f" {fold(one.name)} "]
        if place:
            found = [one for one in found if place in map(fold, one.countries)]
        if found:
            return sorted(found, key=lambda one: one.countries[0])
    return []


@router.get(
    "/currencies",
    operation_id="get_currency_details",
    summary="Get a currency's ISO 4217 codes, its decimal places and the countries that use it.",
    openapi_extra=person_can("Somebody who lives where the currency is used reads its code on any bank form or exchange board."),
)
async def get_currency_details(
    currency: Annotated[
        str, Query(description="Name of the currency in English, or its three-letter code.", examples=["zloty"], min_length=2, max_length=40)
    ],
    country: Annotated[
        str | None,
        Query(description="Country that uses it, in English, to tell currencies of one name apart.", examples=["Poland"], max_length=40),
    ] = None,
) -> CurrencyDetails:
    found = currencies_called(currency, country)
    if not found:
        hint = f"No currency of {country} has that name." if country else ""
        raise not_found("currency", currency, [one.name for one in _currencies()], hint)
    if len(found) > 1:
        named = ", ".join(f"{one.countries[0]} ({one.code})" for one in found[:MOST_NAMED])
        raise HTTPException(422, f"country: several countries have a currency called '{currency}': {named}. Say which country's is meant.")
    (one,) = found
    return CurrencyDetails(
        code=one.code,
        numeric_code=one.numeric,
        name=one.name,
        decimal_places=one.minor_units,
        country_count=len(one.countries),
        countries=list(one.countries),
    )
