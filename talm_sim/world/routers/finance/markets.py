"""Stock exchanges: closing days from holidays 0.108 (MIT), prices of five stocks from bokeh-sampledata 2026.1 (public domain; Quandl WIKI)."""

import bisect
import datetime as dt
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

FIRST_YEAR, LAST_YEAR = 2000, 2013
DATED = person_cannot("The prices of a past day are rows of a table that nobody knows by heart.", record=True)

Ticker = Annotated[
    Literal["AAPL", "FB", "GOOG", "IBM", "MSFT"],
    Path(description="Symbol of the stock: Apple, Facebook (from 2012-05-18), Google (from 2004-08-19), IBM or Microsoft.", examples=["IBM"]),
]


class Session(NamedTuple):
    """The prices of one stock on one day."""

    date: dt.date
    open: float
    high: float
    low: float
    close: float
    volume: int


@lru_cache(maxsize=64)
def _closures(exchange: str) -> Any:
    import holidays

    known = holidays.list_supported_financial()
    if exchange not in known:
        raise not_found("stock exchange", exchange, known, hint="Give its short name or market code, such as NYSE or XLON.")
    return holidays.financial_holidays(exchange, language="en_US")


@cache
def _sessions() -> dict[str, list[Session]]:
    """Return the sessions of every stock, by date."""
    found: dict[str, list[Session]] = {}
    for row in read_data("finance", "stocks.csv.gz"):
        opened, high, low, close = (float(row[name]) for name in ("open", "high", "low", "close"))
        session = Session(dt.date.fromisoformat(row["date"]), opened, high, low, close, int(row["volume"]))
        found.setdefault(row["ticker"], []).append(session)
    return {ticker: sorted(sessions) for ticker, sessions in found.items()}


class TradingDay(BaseModel):
    """Whether a stock exchange trades on a day."""

    exchange: str
    date: dt.date
    weekday: str
    is_open: bool
    closed_because: str | None
    next_trading_day: dt.date


class StockDay(BaseModel):
    """Prices of a stock on one day, in US dollars and as they were then."""

    ticker: str
    date: dt.date
    open: float
    high: float
    low: float
    close: float
    volume: int


class CloseOfDay(BaseModel):
    """A closing price and its day."""

    date: dt.date
    close: float


class BusiestDay(BaseModel):
    """The day on which most shares were traded."""

    date: dt.date
    volume: int


class StockYear(BaseModel):
    """The extremes of a stock in one year."""

    ticker: str
    year: int
    sessions: int
    highest: CloseOfDay
    lowest: CloseOfDay
    busiest: BusiestDay
    last: CloseOfDay


@router.get(
    "/exchanges/{exchange}/trading-day",
    operation_id="check_trading_day",
    summary="Check whether a stock exchange is open on a day, why it is closed, and when it trades next.",
    openapi_extra=person_can("Any broker, and the exchange's own calendar of the year, says when it is closed."),
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


@router.get(
    "/stocks/{ticker}/days/{date}",
    operation_id="get_stock_prices",
    summary=(
        "Get a US stock's opening, highest, lowest and closing price and its volume on a day from March 2000 to February "
        "2013, not adjusted for later splits."
    ),
    openapi_extra=DATED,
)
async def get_stock_prices(
    ticker: Ticker,
    date: Annotated[dt.date, Path(description="Day of trading, as YYYY-MM-DD.", examples=["2007-06-29"])],
) -> StockDay:
    sessions = _sessions()[ticker]
    at = bisect.bisect_right(sessions, date, key=lambda one: one.date)
    if not at or sessions[at - 1].date != date:
        near = [one.date.isoformat() for one in sessions[max(at - 1, 0) : at + 1]]
        raise not_found(f"prices of {ticker} on", date.isoformat(), hint=f"The nearest sessions are {' and '.join(near)}.")
    return StockDay(ticker=ticker, **sessions[at - 1]._asdict())


@router.get(
    "/stocks/{ticker}/years/{year}",
    operation_id="get_stock_year",
    summary="Find a US stock's highest and lowest closing price of a year, its busiest day and its last close, not adjusted for later splits.",
    openapi_extra=DATED,
)
async def get_stock_year(
    ticker: Ticker,
    year: Annotated[int, Path(description="Calendar year.", examples=[2007], ge=FIRST_YEAR, le=LAST_YEAR)],
) -> StockYear:
    sessions = [one for one in _sessions()[ticker] if one.date.year == year]
    if not sessions:
        raise not_found(f"prices of {ticker} in", str(year), hint=f"They begin on {_sessions()[ticker][0].date}.")
    highest = max(sessions, key=lambda one: one.close)
    lowest = min(sessions, key=lambda one: one.close)
    busiest = max(sessions, key=lambda one: one.volume)
    return StockYear(
        ticker=ticker,
        year=year,
        sessions=len(sessions),
        highest=CloseOfDay(date=highest.date, close=highest.close),
        lowest=CloseOfDay(date=lowest.date, close=lowest.close),
        busiest=BusiestDay(date=busiest.date, volume=busiest.volume),
        last=CloseOfDay(date=sessions[-1].date, close=sessions[-1].close),
    )
