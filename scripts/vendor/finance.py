"""Make the data files of category `finance` from the published archives of packages.

Stock prices: bokeh-sampledata 2026.1. Currencies: iso4217 1.16.20260101. VAT rates: eu-vat-rates-data 2026.9.29. Economy of the United States:
statsmodels 0.15.0. Their data are read as files; none of these packages is installed or imported.

    python scripts/vendor/finance.py FOLDER_OF_THE_WHEELS
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

TARGET = Path(__file__).parents[2] / "talm_sim/world/data/finance"
ARCHIVES = {
    "bokeh_sampledata-2026.1-py3-none-any.whl": "f40331a40ca30c64a1c1471835aad9006b61b0d9731a3f649ee8cbbf48d3822f",
    "iso4217-1.16.20260101-py2.py3-none-any.whl": "69c591b93c7d783ec8c309ebee8df1aa28f8403d44bcce518ae8db050462084b",
    "eu_vat_rates_data-2026.9.29-py3-none-any.whl": "3f36b6ba74c8982110c7b98d5d144f35c7e6277bad426faa5204b8eba87f6ae8",
    "statsmodels-0.15.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl": (
        "b67886b66d9c7ca118526accedb5c6de7ffd74c015dc0492ea0b1690192b65da"
    ),
}
"""File names with their SHA-256."""
SHORT_NAMES = {
    "BOLIVIA (PLURINATIONAL STATE OF)": "Bolivia",
    "CONGO (THE DEMOCRATIC REPUBLIC OF THE)": "Democratic Republic of the Congo",
    "CONGO (THE)": "Republic of the Congo",
    "FALKLAND ISLANDS (THE) [MALVINAS]": "Falkland Islands",
    "HOLY SEE (THE)": "Vatican",
    "KOREA (THE DEMOCRATIC PEOPLE’S REPUBLIC OF)": "North Korea",
    "KOREA (THE REPUBLIC OF)": "South Korea",
    "LAO PEOPLE’S DEMOCRATIC REPUBLIC (THE)": "Laos",
    "BRUNEI DARUSSALAM": "Brunei",
    "RUSSIAN FEDERATION (THE)": "Russia",
    "SYRIAN ARAB REPUBLIC": "Syria",
    "TAIWAN (PROVINCE OF CHINA)": "Taiwan",
    "TANZANIA, UNITED REPUBLIC OF": "Tanzania",
    "TÜRKİYE": "Turkey",
    "UNITED KINGDOM OF GREAT BRITAIN AND NORTHERN IRELAND (THE)": "United Kingdom",
    "UNITED STATES OF AMERICA (THE)": "United States",
    "VIET NAM": "Vietnam",
    "VIRGIN ISLANDS (BRITISH)": "British Virgin Islands",
    "VIRGIN ISLANDS (U.S.)": "US Virgin Islands",
}
"""Countries as they are commonly called, where the standard's name differs by more than its case and what it has in brackets."""
SMALL_WORDS = frozenset({"and", "of", "the"})
FIRST_COUNTRY = {
    "AUD": "Australia",
    "CHF": "Switzerland",
    "DKK": "Denmark",
    "GBP": "United Kingdom",
    "ILS": "Israel",
    "INR": "India",
    "MAD": "Morocco",
    "NOK": "Norway",
    "NZD": "New Zealand",
    "USD": "United States",
    "ZAR": "South Africa",
}
"""The country that issues a currency which others use as well."""


def read(folder: Path, archive: str, member: str) -> bytes:
    """Return one file of an archive whose digest is right."""
    path = folder / next(name for name in ARCHIVES if name.startswith(archive))
    if hashlib.sha256(path.read_bytes()).hexdigest() != ARCHIVES[path.name]:
        raise SystemExit(f"{path}: its SHA-256 is not the expected one: get the version that this script names")
    with zipfile.ZipFile(path) as unpacked:
        return unpacked.read(member)


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def write(name: str, text: str) -> None:
    """Write one data file, compressed if its name says so, and print its digest."""
    data = text.encode()
    if name.endswith(".gz"):
        data = gzip.compress(data, 9, mtime=0)
    (TARGET / name).write_bytes(data)
    print(f"{name}  {len(data)} bytes  sha256 {hashlib.sha256(data).hexdigest()}")


def stocks(folder: Path) -> str:
    """Return the daily prices of five stocks, unadjusted."""
    text = gzip.decompress(read(folder, "bokeh_sampledata", "bokeh_sampledata/_data/stocks.csv.gz")).decode()
    rows = csv.DictReader(io.StringIO(text))
    wanted = ("Ticker", "Date", "Open", "High", "Low", "Close", "Volume")
    return to_csv([name.lower() for name in wanted], ([row[name] for name in wanted] for row in rows))


def country_name(name: str) -> str:
    """Return the common English name of a country that the standard writes in capitals.

    >>> country_name("GAMBIA (THE)"), country_name("TRINIDAD AND TOBAGO")
    ('Gambia', 'Trinidad and Tobago')
    """
    if name in SHORT_NAMES:
        return SHORT_NAMES[name]
    words = name.partition(" (")[0].strip().lower().split()
    return " ".join(word if word in SMALL_WORDS else "-".join(part[:1].upper() + part[1:] for part in word.split("-")) for word in words)


def currencies(folder: Path) -> str:
    """Return the currencies in use, without funds, metals and codes for tests."""
    found: dict[str, tuple[str, str, str, list[str]]] = {}
    for row in ElementTree.fromstring(read(folder, "iso4217", "iso4217/table.xml")).iter("CcyNtry"):
        name = row.find("CcyNm")
        code, numeric, minor = (row.findtext(tag) or "" for tag in ("Ccy", "CcyNbr", "CcyMnrUnts"))
        country = (row.findtext("CtryNm") or "").strip()
        if not minor.isdigit() or name is None or name.get("IsFund") or country.startswith(("ZZ", "ARAB MONETARY")):
            continue
        entry = found.setdefault(code, (numeric, minor, " ".join((name.text or "").split()), []))
        entry[3].append(country_name(country))
    rows = []
    for code, (numeric, minor, name_text, countries) in sorted(found.items()):
        issuer = [country for country in countries if country == FIRST_COUNTRY.get(code)]
        others = sorted(country for country in countries if country not in issuer)
        rows.append((code, numeric, minor, name_text, ";".join([*issuer, *others])))
    return to_csv(("code", "numeric", "minor_units", "name", "countries"), rows)


def vat_rates(folder: Path) -> str:
    """Return the rates of value added tax in European countries, one country a line."""
    found = json.loads(read(folder, "eu_vat_rates_data", "eu_vat_rates_data/eu_vat_rates_data.json"))
    rows = []
    for code, entry in sorted(found["rates"].items()):
        if code.startswith("X"):  # no country of ISO 3166
            continue
        reduced = sorted({*entry["reduced"], *(rate for rate in (entry["super_reduced"], entry["parking"]) if rate is not None)})
        rows.append(
            (code, entry["country"], entry["vat_name"], entry["vat_abbr"], entry["standard"], ";".join(f"{rate:g}" for rate in reduced))
        )
    return to_csv(("country_code", "country", "name", "abbreviation", "standard", "reduced"), rows)


def us_economy(folder: Path) -> str:
    """Return quarterly figures of the United States, 1959 to 2009."""
    text = read(folder, "statsmodels", "statsmodels/datasets/macrodata/macrodata.csv").decode()
    wanted = ("year", "quarter", "realgdp", "cpi", "unemp", "tbilrate", "m1", "pop")
    return to_csv(wanted, ([row[name] for name in wanted] for row in csv.DictReader(io.StringIO(text))))


def main() -> None:
    """Write every file."""
    folder = Path(sys.argv[1])
    write("stocks.csv.gz", stocks(folder))
    write("currencies.csv", currencies(folder))
    write("vat_rates.csv", vat_rates(folder))
    write("us_economy.csv", us_economy(folder))


if __name__ == "__main__":
    main()
