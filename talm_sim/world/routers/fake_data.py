"""Invented people and firms for tests, and numbers that are reserved for tests: lists and draws of our own, which never change."""

from datetime import date, timedelta
from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from talm_sim.world.draws import draw, draw_number
from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/fake-data")

Country = Literal["France", "Germany", "Italy", "Spain", "United Kingdom", "United States"]
Network = Literal["American Express", "Diners Club", "Discover", "JCB", "Mastercard", "Mastercard 2-series", "UnionPay", "Visa", "Visa debit"]
Seed = Annotated[int, Path(description="Any number; the same one always gives the same result.", examples=[1], ge=0, le=1_000_000_000)]
IN_COUNTRY = Query(description="Country that it looks like it is from.", examples=["Spain"])
DRAWN = "What a seed gives is known only after the draw."
EARLIEST_BIRTH = date(1945, 1, 1)
BIRTH_DAYS = 21_900
"""About sixty years of birthdays."""
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


@lru_cache(maxsize=1)
def _people() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = read_data("fake_data", "people.json")
    return found


@lru_cache(maxsize=1)
def _business() -> dict[str, Any]:
    found: dict[str, Any] = read_data("fake_data", "business.json")
    return found


class Person(BaseModel):
    """Somebody who does not exist."""

    seed: int
    full_name: str
    birth_date: date
    email: str


class Address(BaseModel):
    """An address that does not exist."""

    seed: int
    street: str
    city: str
    postcode: str


class Company(BaseModel):
    """A firm that does not exist."""

    seed: int
    name: str
    slogan: str
    founded: int
    employees: int


class Order(BaseModel):
    """An order nobody placed."""

    seed: int
    order_number: str
    product: str
    quantity: int
    total: float
    status: str


class PhoneRange(BaseModel):
    """Telephone numbers that belong to nobody."""

    place: str
    first_number: str
    last_number: str
    count: int


class PaymentCard(BaseModel):
    """A card number that payment systems accept in tests only."""

    network: str
    number: str
    digits: int
    security_code_digits: int


@router.get(
    "/people/{seed}",
    operation_id="make_person",
    summary="Make up a person for a test: name, date of birth and e-mail address.",
    openapi_extra=person_cannot(DRAWN, record=True),
)
async def make_person(seed: Seed, country: Annotated[Country, IN_COUNTRY]) -> Person:
    lists, key = _people()[country], (country, str(seed))
    first, last = draw(lists["first_names"], "first", *key), draw(lists["last_names"], "last", *key)
    mailbox = ".".join("".join(char for char in fold(name) if char.isalnum()) for name in (first, last))
    return Person(
        seed=seed,
        full_name=f"{first} {last}",
        birth_date=EARLIEST_BIRTH + timedelta(days=draw_number(0, BIRTH_DAYS, "birth", *key)),
        email=f"{mailbox}{draw_number(10, 99, 'mailbox', *key)}@example.{draw(('com', 'net', 'org'), 'domain', *key)}",
    )


@router.get(
    "/addresses/{seed}",
    operation_id="make_address",
    summary="Make up a postal address for a test.",
    openapi_extra=person_cannot(DRAWN, record=True),
)
async def make_address(seed: Seed, country: Annotated[Country, IN_COUNTRY]) -> Address:
    lists, key = _people()[country], (country, str(seed))
    street, house = draw(lists["streets"], "street", *key), draw_number(1, 240, "house", *key)
    number_first = country in {"France", "United Kingdom", "United States"}
    return Address(
        seed=seed,
        street=f"{house} {street}" if number_first else f"{street} {house}",
        city=draw(lists["cities"], "city", *key),
        postcode=_postcode(country, key),
    )


def _postcode(country: str, key: tuple[str, str]) -> str:
    """Return a postcode of the country's form."""
    if country == "United Kingdom":
        outward = draw(LETTERS, "letter", *key) + "X" + str(draw_number(1, 99, "district", *key))
        return f"{outward} {draw_number(0, 9, 'sector', *key)}{draw(LETTERS, 'unit', *key)}{draw(LETTERS, 'second unit', *key)}"
    return f"{draw_number(10000, 89999, 'postcode', *key):05}"


@router.get(
    "/companies/{seed}",
    operation_id="make_company",
    summary="Make up a firm for a test: name, slogan, founding year and staff.",
    openapi_extra=person_cannot(DRAWN, record=True),
)
async def make_company(seed: Seed) -> Company:
    lists, key = _business(), str(seed)
    parts = (draw(lists[part], part, key) for part in ("first_words", "second_words", "forms"))
    return Company(
        seed=seed,
        name=" ".join(parts),
        slogan=draw(lists["slogans"], "slogan", key),
        founded=draw_number(1901, 2022, "founded", key),
        employees=draw_number(3, 4800, "employees", key),
    )


@router.get(
    "/orders/{seed}",
    operation_id="make_order",
    summary="Make up a customer's order for a test: number, product, quantity, total and status.",
    openapi_extra=person_cannot(DRAWN, record=True),
)
async def make_order(seed: Seed) -> Order:
    lists, key = _business(), str(seed)
    product, cents = draw(lists["products"], "product", key)
    quantity = draw_number(1, 12, "quantity", key)
    prefix = "".join(draw(LETTERS, f"letter {place}", key) for place in range(2))
    return Order(
        seed=seed,
        order_number=f"{prefix}-{draw_number(100_000, 999_999, 'order', key)}",
        product=product,
        quantity=quantity,
        total=cents * quantity / 100,
        status=draw(lists["statuses"], "status", key),
    )


@router.get(
    "/phone-ranges/{place}",
    operation_id="get_drama_phone_range",
    summary="Get the British telephone numbers that Ofcom keeps free for films and tests, by place.",
    openapi_extra=person_can("A person reads it on the regulator's page of numbers for drama use."),
)
async def get_drama_phone_range(
    place: Annotated[
        str, Path(description="City or kind of number, for example mobile or freephone.", examples=["no area"], min_length=2, max_length=40)
    ],
) -> PhoneRange:
    rows = {fold(row["place"]): row for row in read_data("fake_data", "phone_ranges.csv")}
    found = rows.get(fold(place))
    if found is None:
        raise not_found("place", place, (row["place"] for row in rows.values()), "Elsewhere, the numbers of 'no area' are used.")
    first, last = (int(found[end].replace(" ", "")) for end in ("first", "last"))
    return PhoneRange(place=found["place"], first_number=found["first"], last_number=found["last"], count=last - first + 1)


@router.get(
    "/test-cards/{network}",
    operation_id="get_test_card",
    summary="Get a payment card's number for tests, by network.",
    openapi_extra=person_can("A developer has it in the payment provider's guide to testing."),
)
async def get_test_card(network: Annotated[Network, Path(description="Network of the card.", examples=["Visa"])]) -> PaymentCard:
    row = next(row for row in read_data("fake_data", "test_cards.csv") if row["network"] == network)
    return PaymentCard(network=network, number=row["number"], digits=len(row["number"]), security_code_digits=int(row["security_digits"]))
