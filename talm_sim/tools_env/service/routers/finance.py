"""Money across borders and across weekends.

Sources: currencyconverter (Apache-2.0; reference rates of the European Central Bank), python-stdnum (LGPL-2.1-or-later; SWIFT's IBAN registry),
holidays (MIT; closing days of stock exchanges).
"""

import datetime as dt
import re
from functools import lru_cache
from typing import Annotated, Any

import holidays
from currency_converter import CurrencyConverter, RateNotFoundError  # type: ignore[import-untyped]
from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel
from stdnum import iban, numdb
from stdnum.exceptions import ValidationError

from talm_sim.tools_env.service.lookup import not_found

__all__ = ["router"]

router = APIRouter(prefix="/finance")

EURO = "EUR"
LONGEST_CLOSURE = 10
"""Days in a row without a reference rate that are bridged: longer gaps mean the currency was not quoted."""
LONGEST_WINDOW = 366
PIECE = re.compile(r"(\d+)!([nac])")
PIECE_WORDS = {"n": "digits", "a": "letters", "c": "letters or digits"}

FromCurrency = Annotated[
    str, Query(description="Three-letter code of the currency to convert from.", examples=["USD"], min_length=3, max_length=3)
]
ToCurrency = Annotated[str, Query(description="Three-letter code of the currency to convert to.", examples=["EUR"], min_length=3, max_length=3)]


@lru_cache(maxsize=1)
def _converter() -> Any:
    return CurrencyConverter()


@lru_cache(maxsize=1)
def _iban_registry() -> Any:
    return numdb.get("iban")


@lru_cache(maxsize=64)
def _closures(exchange: str) -> Any:
    known = holidays.list_supported_financial()
    if exchange not in known:
        raise not_found("stock exchange", exchange, known, hint="Give its short name or market code, such as NYSE or XLON.")
    return holidays.financial_holidays(exchange, language="en_US")


def _currency(code: str) -> str:
    upper = code.upper()
    if upper not in _converter().currencies:
        raise not_found("currency", code, hint="Only currencies for which the European Central Bank publishes rates are known.")
    return upper


def _rate_on(day: dt.date, source: str, target: str) -> tuple[float, dt.date] | None:
    """The last rate published up to `day`, with the day of its publication; None where there is none nearby."""
    for days_back in range(LONGEST_CLOSURE):
        published = day - dt.timedelta(days=days_back)
        try:
            return float(_converter().convert(1, source, target, date=published)), published
        except RateNotFoundError:
            continue
    return None


def _bban_of(country: str) -> tuple[str, str]:
    """Name of a country and the structure of its account numbers, as in `8!n10!n`."""
    found = _iban_registry().info(country.upper())[0][1]
    if "bban" not in found:
        raise not_found("IBAN country", country, hint="Give the two-letter code of a country that uses IBANs, such as DE.")
    return re.sub(r" *\(The\)", "", found["country"]), found["bban"]


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


class Iban(BaseModel):
    """An international bank account number."""

    country: str
    iban: str
    printed: str
    check_digits: str


class IbanFormat(BaseModel):
    """What a country's IBANs look like."""

    country: str
    country_code: str
    length: int
    after_check_digits: list[str]


class TradingDay(BaseModel):
    """Whether a stock exchange trades on a day."""

    exchange: str
    date: dt.date
    weekday: str
    is_open: bool
    closed_because: str | None
    next_trading_day: dt.date


@router.get(
    "/convert",
    operation_id="convert_currency",
    summary="Convert an amount of money at the European Central Bank's reference rate of a given day.",
    openapi_extra={"x-human-replaceable": False},
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
    summary="Find the highest and the lowest exchange rate of two currencies within a period of up to one year.",
    openapi_extra={"x-human-replaceable": False},
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
    "/iban",
    operation_id="build_iban",
    summary="Build the IBAN of a bank account from its country and national account number, computing the check digits.",
    openapi_extra={"x-human-replaceable": False},
)
async def build_iban(
    country_code: Annotated[str, Query(description="Two-letter country code.", examples=["DE"], min_length=2, max_length=2)],
    account: Annotated[
        str,
        Query(
            description="Bank code and account number (BBAN).",
            examples=["370400440532013000"],
            max_length=40,
            pattern=r"^[A-Za-z0-9][A-Za-z0-9 -]*$",
        ),
    ],
) -> Iban:
    country, _ = _bban_of(country_code)
    number = re.sub(r"[\s-]", "", account).upper()
    try:
        check_digits = iban.calc_check_digits(f"{country_code.upper()}00{number}")
        valid = iban.validate(f"{country_code.upper()}{check_digits}{number}", check_country=False)
    except ValidationError as error:
        raise HTTPException(422, f"account: no account number of {country}: {error}") from None
    return Iban(country=country, iban=valid, printed=iban.format(valid), check_digits=check_digits)


@router.get(
    "/iban-formats/{country_code}",
    operation_id="get_iban_format",
    summary="Get the length of a country's IBANs and what stands in them after the check digits.",
    openapi_extra={"x-human-replaceable": True},
)
async def get_iban_format(
    country_code: Annotated[str, Path(description="Two-letter country code.", examples=["DE"], min_length=2, max_length=2)],
) -> IbanFormat:
    country, structure = _bban_of(country_code)
    pieces = PIECE.findall(structure)
    return IbanFormat(
        country=country,
        country_code=country_code.upper(),
        length=4 + sum(int(count) for count, _ in pieces),
        after_check_digits=[f"{count} {PIECE_WORDS[kind]}" for count, kind in pieces],
    )


@router.get(
    "/exchanges/{exchange}/trading-day",
    operation_id="check_trading_day",
    summary="Check whether a stock exchange is open on a day, why it is closed, and when it trades next.",
    openapi_extra={"x-human-replaceable": True},
)
async def check_trading_day(
    exchange: Annotated[str, Path(description="Short name or market code of the exchange.", examples=["NYSE"], max_length=8)],
    date: Annotated[dt.date, Query(description="Day to check, as YYYY-MM-DD, 2000 to 2030.", examples=["2025-04-18"])],
) -> TradingDay:
    if not 2000 <= date.year <= 2030:
        raise HTTPException(422, "date: must lie in the years 2000 to 2030")
    calendar = _closures(exchange.upper())
    is_open = bool(calendar.is_working_day(date))
    return TradingDay(
        exchange=exchange.upper(),
        date=date,
        weekday=date.strftime("%A"),
        is_open=is_open,
        closed_because=None if is_open else calendar.get(date) or "weekend",
        next_trading_day=calendar.get_nth_working_day(date, 1),
    )
