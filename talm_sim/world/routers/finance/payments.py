"""Loans (computed), value added tax and the economy of the United States.

Sources: eu-vat-rates-data 2026.9.29 (MIT; European Commission and national authorities), statsmodels 0.15.0 (data in the public domain: Federal
Reserve Bank of St. Louis and Bureau of Labor Statistics, as of 2009-12-15).
"""

import math
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()


class VatRates(BaseModel):
    """Value added tax of a country, as of September 2026."""

    country: str
    country_code: str
    local_name: str
    abbreviation: str
    standard_percent: float
    reduced_percent: list[float]


class LoanPlan(BaseModel):
    """A loan that is paid back in equal monthly payments."""

    monthly_payment: float
    total_paid: float
    total_interest: float


class SeveralQuarters(BaseModel):
    """The quarters of a year that have figures, where none was named."""

    year: int
    several: list[int]
    hint: str


class EconomicQuarter(BaseModel):
    """Figures of the United States in one quarter, as they were known in 2009."""

    year: int
    quarter: int
    real_gdp_2005_usd: int
    consumer_price_index: float
    unemployment_percent: float
    treasury_bill_percent: float
    money_supply_m1_usd: int
    population: int


@router.get(
    "/vat/{country}",
    operation_id="get_vat_rates",
    summary="Get a European country's rates of value added tax, and what the tax is called there.",
    openapi_extra=person_can("Any shopkeeper there knows the rates, and every receipt prints them."),
)
async def get_vat_rates(
    country: Annotated[
        str, Path(description="European country in English, or its two-letter code.", examples=["Denmark"], min_length=2, max_length=40)
    ],
) -> VatRates:
    rows = read_data("finance", "vat_rates.csv")
    for row in rows:
        if fold(country) in (fold(row["country"]), row["country_code"].lower()):
            return VatRates(
                country=row["country"],
                country_code=row["country_code"],
                local_name=row["name"],
                abbreviation=row["abbreviation"],
                standard_percent=float(row["standard"]),
                reduced_percent=[float(rate) for rate in row["reduced"].split(";") if rate],
            )
    raise not_found("VAT country", country, [row["country"] for row in rows], "Only European countries are known.")


@router.get(
    "/loan",
    operation_id="plan_loan",
    summary="Compute the monthly payment of a loan that is paid back in equal payments, and the interest paid in all.",
    openapi_extra=person_cannot("The payment needs a power with several hundred factors, which nobody works out in passing."),
)
async def plan_loan(
    amount: Annotated[float, Query(description="Sum that is borrowed.", examples=[150000], gt=0, le=1e9)],
    annual_rate_percent: Annotated[float, Query(description="Yearly interest rate in percent.", examples=[4.5], ge=0, le=100)],
    months: Annotated[int, Query(description="Number of monthly payments.", examples=[300], ge=1, le=600)],
) -> LoanPlan:
    rate = annual_rate_percent / 1200
    # Exact for tiny rates as well, where 1 - (1 + rate) ** -months is what rounding leaves of zero.
    payment = amount * rate / -math.expm1(-months * math.log1p(rate)) if rate else amount / months
    return LoanPlan(
        monthly_payment=round(payment, 2), total_paid=round(payment * months, 2), total_interest=round(payment * months - amount, 2)
    )


@router.get(
    "/us-economy/{year}",
    operation_id="get_us_economic_quarter",
    summary=(
        "Get US real GDP (annual rate), unemployment and the average Treasury bill rate of a quarter from 1959 to 2009, and "
        "prices, money and population at its end."
    ),
    openapi_extra=person_cannot("Statistics of a past quarter are rows of a table that nobody knows by heart.", record=True),
)
async def get_us_economic_quarter(
    year: Annotated[int, Path(description="Calendar year.", examples=[1987], ge=1959, le=2009)],
    quarter: Annotated[int | None, Query(description="Quarter of the year, counted from January.", examples=[3], ge=1, le=4)] = None,
) -> EconomicQuarter | SeveralQuarters:
    found = [row for row in read_data("finance", "us_economy.csv") if int(row["year"]) == year]
    quarters = [int(row["quarter"]) for row in found]
    if quarter is None:
        return SeveralQuarters(year=year, several=quarters, hint="Figures are kept for each quarter: say which one is meant by 'quarter'.")
    if quarter not in quarters:
        raise not_found(f"figures of {year} for quarter", str(quarter), hint=f"They end with quarter {quarters[-1]}.")
    row = found[quarters.index(quarter)]
    return EconomicQuarter(
        year=year,
        quarter=quarter,
        real_gdp_2005_usd=round(float(row["realgdp"]) * 1e9),
        consumer_price_index=float(row["cpi"]),
        unemployment_percent=float(row["unemp"]),
        treasury_bill_percent=float(row["tbilrate"]),
        money_supply_m1_usd=round(float(row["m1"]) * 1e9),
        population=round(float(row["pop"]) * 1e6),
    )
