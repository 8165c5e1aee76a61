"""Jobs by sector, industries and pay, from tables of the Bureau of Labor Statistics, NAICS 2022, NACE 2.1, and arithmetic."""

from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/jobs")

CATEGORY = "jobs"
MONTH = Query(description="Month as a number.", examples=[1], ge=1, le=12)
AMOUNT = Query(description="Amount of money.", examples=[1000], ge=0, le=1e9, allow_inf_nan=False)
MONTHS_OF_A_YEAR = 12
Sector = Literal[
    "nonfarm",
    "private",
    "mining_and_logging",
    "construction",
    "manufacturing",
    "wholesale_trade",
    "retail_trade",
    "transportation_and_warehousing",
    "utilities",
    "information",
    "financial_activities",
    "professional_and_business_services",
    "education_and_health_services",
    "leisure_and_hospitality",
    "other_services",
    "government",
]
INDUSTRIES = {
    "agriculture": "Agriculture",
    "business_services": "Business services",
    "construction": "Construction",
    "education_and_health": "Education and Health",
    "finance": "Finance",
    "government": "Government",
    "information": "Information",
    "leisure_and_hospitality": "Leisure and hospitality",
    "manufacturing": "Manufacturing",
    "mining_and_extraction": "Mining and Extraction",
    "other": "Other",
    "self_employed": "Self-employed",
    "transportation_and_utilities": "Transportation and Utilities",
    "wholesale_and_retail_trade": "Wholesale and Retail Trade",
}
Industry = Literal[
    "agriculture",
    "business_services",
    "construction",
    "education_and_health",
    "finance",
    "government",
    "information",
    "leisure_and_hospitality",
    "manufacturing",
    "mining_and_extraction",
    "other",
    "self_employed",
    "transportation_and_utilities",
    "wholesale_and_retail_trade",
]
Period = Literal["hour", "day", "week", "month", "year"]


class SectorJobs(BaseModel):
    """How many jobs a sector had in a month, seasonally adjusted."""

    sector: str
    year: int
    month: int
    jobs: int


class IndustryUnemployment(BaseModel):
    """How many people of an industry were out of work in a month, not seasonally adjusted."""

    industry: str
    year: int
    month: int
    unemployed: int
    rate_percent: float


class NaicsIndustry(BaseModel):
    """An industry of the North American classification."""

    code: str
    title: str
    sector_code: str
    sector: str


class NaceActivity(BaseModel):
    """An economic activity of the European classification."""

    code: str
    title: str
    section: str
    section_title: str


class ConvertedPay(BaseModel):
    """The same pay for another period."""

    amount: float
    from_period: str
    to_period: str
    pay: float


class OvertimePay(BaseModel):
    """The pay of a week with overtime."""

    regular_pay: float
    overtime_hours: float
    overtime_pay: float
    total_pay: float


@cache
def _titles() -> dict[str, str]:
    return {row["code"]: row["title"] for row in read_data(CATEGORY, "naics.csv.gz")}


@cache
def _sectors() -> dict[str, str]:
    """Return the code of the sector for each first two digits: some sectors have several."""
    found: dict[str, str] = {}
    for code in _titles():
        first, _, last = code.partition("-")
        if len(first) == 2:
            found |= {str(number): code for number in range(int(first), int(last or first) + 1)}
    return found


@router.get(
    "/sectors/{sector}",
    operation_id="get_sector_employment",
    summary="Get the number of jobs in a US sector in a month of January 2006 to December 2015, seasonally adjusted.",
    openapi_extra=person_cannot("It is one cell of a monthly survey of employers.", record=True),
)
async def get_sector_employment(
    sector: Annotated[Sector, Path(description="Sector.", examples=["utilities"])],
    year: Annotated[int, Query(description="Year.", examples=[2006], ge=2006, le=2015)],
    month: Annotated[int, MONTH],
) -> SectorJobs:
    row = next(row for row in read_data(CATEGORY, "us_employment.csv") if row["month"] == f"{year}-{month:02}-01")
    return SectorJobs(sector=sector, year=year, month=month, jobs=round(float(row[sector]) * 1000))


@router.get(
    "/industries/{industry}/unemployment",
    operation_id="get_industry_unemployment",
    summary="Get the number and rate of unemployed in a US industry in a month of January 2000 to February 2010, not seasonally adjusted.",
    openapi_extra=person_cannot("It is one cell of a monthly survey of households.", record=True),
)
async def get_industry_unemployment(
    industry: Annotated[Industry, Path(description="Industry.", examples=["finance"])],
    year: Annotated[int, Query(description="Year.", examples=[2000], ge=2000, le=2010)],
    month: Annotated[int, MONTH],
) -> IndustryUnemployment:
    for row in read_data(CATEGORY, "industry_unemployment.csv.gz"):
        if (row["series"], row["year"], row["month"]) == (INDUSTRIES[industry], str(year), str(month)):
            return IndustryUnemployment(
                industry=industry, year=year, month=month, unemployed=int(row["count"]) * 1000, rate_percent=float(row["rate"])
            )
    raise HTTPException(404, f"There is no row for {year}-{month:02}; the table is from January 2000 to February 2010.")


@router.get(
    "/naics/{code}",
    operation_id="get_naics_industry",
    summary="Look up the title and the sector of a code of the North American industry classification (NAICS 2022).",
    openapi_extra=person_can("The classification is a public table, and the code is on an employer's tax form."),
)
async def get_naics_industry(
    code: Annotated[str, Path(description="NAICS code of two to six digits.", examples=["111110"], pattern=r"^\d{2,6}$")],
) -> NaicsIndustry:
    sector = _sectors().get(code[:2], "")
    known = sector if len(code) == 2 else code
    if known not in _titles():
        raise not_found("NAICS code", code, _titles())
    return NaicsIndustry(code=known, title=_titles()[known], sector_code=sector, sector=_titles()[sector])


@router.get(
    "/nace/{code}",
    operation_id="get_nace_activity",
    summary="Look up the title and the section of a code of the European activity classification (NACE 2.1).",
    openapi_extra=person_can("The classification is a public table, and the code is on a company's registration."),
)
async def get_nace_activity(
    code: Annotated[str, Path(description="NACE code, with or without its dot.", examples=["01.11"], pattern=r"^\d{2}(\.?\d{1,2})?$")],
) -> NaceActivity:
    from stdnum.eu import nace
    from stdnum.exceptions import ValidationError

    try:
        found = nace.info(nace.validate(code, revision="2.1"), revision="2.1")
    except ValidationError:
        raise HTTPException(404, f"No NACE code '{code}' in revision 2.1.") from None
    title = nace.info(found["section"], revision="2.1")["label"]
    plain = nace.compact(code)
    shown = f"{plain[:2]}.{plain[2:]}" if len(plain) > 2 else plain
    return NaceActivity(code=shown, title=found["label"], section=found["section"], section_title=title.capitalize())


@router.get(
    "/pay",
    operation_id="convert_pay",
    summary="Convert pay per hour, day, week, month or year into pay for another of these periods.",
    openapi_extra=person_can("It is a multiplication and a division."),
)
async def convert_pay(
    amount: Annotated[float, AMOUNT],
    from_period: Annotated[Period, Query(description="Period that the amount is for.", examples=["week"])],
    to_period: Annotated[Period, Query(description="Period to convert to.", examples=["month"])],
    hours_per_week: Annotated[float, Query(description="Hours of a working week.", examples=[36], ge=1, le=168, allow_inf_nan=False)] = 40,
    weeks_per_year: Annotated[float, Query(description="Weeks that are paid.", examples=[50], ge=1, le=53, allow_inf_nan=False)] = 52,
    days_per_week: Annotated[int, Query(description="Days of a working week.", examples=[6], ge=1, le=7)] = 5,
) -> ConvertedPay:
    per_year = {
        "hour": hours_per_week * weeks_per_year,
        "day": days_per_week * weeks_per_year,
        "week": weeks_per_year,
        "month": MONTHS_OF_A_YEAR,
        "year": 1,
    }
    pay = round(amount * per_year[from_period] / per_year[to_period], 2)
    return ConvertedPay(amount=amount, from_period=from_period, to_period=to_period, pay=pay)


@router.get(
    "/overtime",
    operation_id="compute_overtime_pay",
    summary="Compute the pay of a week in which the hours beyond a limit are paid at a higher rate.",
    openapi_extra=person_can("Anyone who reads a payslip works it out with a calculator."),
)
async def compute_overtime_pay(
    hourly_wage: Annotated[float, Query(description="Pay per hour.", examples=[15], ge=0, le=1e6, allow_inf_nan=False)],
    hours: Annotated[float, Query(description="Hours worked in the week.", examples=[42], ge=0, le=168, allow_inf_nan=False)],
    limit: Annotated[float, Query(description="Hours after which overtime begins.", examples=[40], ge=0, le=168, allow_inf_nan=False)] = 40,
    factor: Annotated[float, Query(description="By what overtime is multiplied.", examples=[1.5], ge=1, le=10, allow_inf_nan=False)] = 1.5,
) -> OvertimePay:
    extra = max(hours - limit, 0)
    regular, overtime = (hours - extra) * hourly_wage, extra * hourly_wage * factor
    return OvertimePay(
        regular_pay=round(regular, 2), overtime_hours=round(extra, 2), overtime_pay=round(overtime, 2), total_pay=round(regular + overtime, 2)
    )
