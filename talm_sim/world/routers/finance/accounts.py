"""Bank accounts and banks, from python-stdnum 2.2 (LGPL-2.1-or-later).

Its data: SWIFT's registry of IBANs; the lists of bank codes of the National Bank of Belgium, the Czech National Bank and Payments NZ.
"""

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot

router = APIRouter()

PIECE = re.compile(r"(\d+)!([nac])")
PIECE_WORDS = {"n": "digits", "a": "letters", "c": "letters or digits"}
BANK_LISTS = {"Belgium": "stdnum.be", "Czech Republic": "stdnum.cz", "New Zealand": "stdnum.nz"}
"""Countries whose bank codes are known, with the packages that have the list."""
BANK_LINE = re.compile(r"(?P<codes>[\d,-]+) (?P<rest>.*)")
FIELD = re.compile(r'(\w+)="([^"]*)"')
WORD = re.compile(r"[^\W_]+")
MOST_CODES = 12


class Bank(NamedTuple):
    """A bank of one country, with every way in which the country's list writes its name."""

    country: str
    names: tuple[str, ...]
    bic: str
    codes: tuple[str, ...]


@lru_cache(maxsize=1)
def _iban_registry() -> Any:
    from stdnum import numdb

    return numdb.get("iban")


def _bban_of(country: str) -> tuple[str, str]:
    """Return the name of a country and the structure of its account numbers, as in `8!n10!n`."""
    found = _iban_registry().info(country.upper())[0][1]
    if "bban" not in found:
        raise not_found("IBAN country", country, hint="Give the two-letter code of a country that uses IBANs, such as DE.")
    return re.sub(r" *\(The\)", "", found["country"]), found["bban"]


@cache
def _banks() -> tuple[Bank, ...]:
    """Return the banks in the order of the countries and of their lists; lines of one BIC are one bank."""
    found: dict[tuple[str, str], tuple[str, list[str], list[str]]] = {}
    for country, package in BANK_LISTS.items():
        for line in (files(package) / "banks.dat").read_text(encoding="utf-8").splitlines():
            match = BANK_LINE.fullmatch(line)  # lines of branches are indented, comments begin with a hash
            fields = dict(FIELD.findall(match["rest"])) if match else {}
            if match is None or "bank" not in fields:
                continue
            bic, name = fields.get("bic", ""), fields["bank"]
            _bic, names, codes = found.setdefault((country, bic or name), (bic, [], []))
            codes += map(_short_span, match["codes"].split(","))
            names += [name] if name not in names else []
    return tuple(Bank(country, tuple(names), bic, tuple(codes)) for (country, _), (bic, names, codes) in found.items())


def _words(name: str) -> str:
    """Return the words of a bank's name, for a comparison that no punctuation disturbs."""
    return f" {' '.join(WORD.findall(fold(name)))} "


def _short_span(codes: str) -> str:
    """Write `100-100` as `100`."""
    first, _, last = codes.partition("-")
    return first if first == last else codes


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


class BankDetails(BaseModel):
    """A bank, with the numbers by which transfers find it."""

    bank: str
    country: str
    bic: str | None
    bank_codes: list[str]


@router.get(
    "/iban",
    operation_id="build_iban",
    summary="Build the IBAN of a bank account from its country and national account number, computing the check digits.",
    openapi_extra=person_cannot("The check digits are a remainder of a number of twenty digits and more, which nobody works out in passing."),
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
    from stdnum import iban
    from stdnum.exceptions import ValidationError

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
    openapi_extra=person_can("Anyone who has an account there counts the characters of their own IBAN."),
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
    "/banks",
    operation_id="find_bank",
    summary="Find a bank's BIC and its national bank codes by its name.",
    openapi_extra=person_can("A customer of the bank reads its BIC and its code on any statement of account."),
)
async def find_bank(
    bank: Annotated[str, Query(description="Name of the bank, words of it, or its BIC.", examples=["Kiwibank"], min_length=2, max_length=60)],
    country: Annotated[
        str | None, Query(description="Country in English, to tell banks of one name apart.", examples=["New Zealand"], max_length=40)
    ] = None,
) -> BankDetails:
    wanted, place = _words(bank), fold(country or "")
    if place and place not in map(fold, BANK_LISTS):
        raise not_found("list of banks for", country or "", BANK_LISTS, f"Known are the banks of {', '.join(BANK_LISTS)}.")
    known = [one for one in _banks() if place in ("", fold(one.country))]
    found = [one for one in known if wanted.strip() and wanted in map(_words, (*one.names, one.bic))]
    found = found or [one for one in known if wanted.strip() and any(wanted in _words(name) for name in one.names)]
    if not found:
        raise not_found("bank", bank, [one.names[0] for one in known], "Give its name as it is registered, or words of that.")
    countries = list(dict.fromkeys(one.country for one in found))
    if len(countries) > 1:
        raise HTTPException(422, f"country: there are banks called '{bank}' in several countries: {', '.join(countries)}. Say which is meant.")
    if len(found) > 1:
        raise HTTPException(
            422, f"bank: several banks of {countries[0]} fit '{bank}': {'; '.join(f'{one.names[0]} ({one.bic})' for one in found[:8])}."
        )
    (one,) = found
    return BankDetails(bank=one.names[0], country=one.country, bic=one.bic or None, bank_codes=list(one.codes[:MOST_CODES]))
