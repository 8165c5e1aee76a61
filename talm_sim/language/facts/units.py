"""The units in which quantities are given, and what one is in another: English ones from units.toml, those of other languages from CLDR."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from talm_sim.language.facts.cldr_spellings import currencies_of, fold_word, spelled_unit

_POWERS = re.compile(r"(?P<word>square|sq\.?|cubic|cu\.?) (?P<of>.+)|(?P<unit>[^\W\d_]+)(?:\^?(?P<power>[23])|(?P<sign>[²³]))")
_PER = re.compile(r" ?/ ?| per | an? (?=\w)|(?<=[^\W\d_])\^-1 ?")


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files("talm_sim.language.facts").joinpath("units.toml").read_text(encoding="utf-8"))


@cache
def _spellings() -> tuple[dict[str, str], dict[str, str], dict[str, tuple[str, float, float]]]:
    """Return the unit that each symbol names, the one that each word names without case, and what each unit is in those of the SI."""
    exact: dict[str, str] = {}
    words: dict[str, str] = {}
    table, sizes = _tables(), {}
    for name, unit in table["units"].items():
        for sign, (prefix, power) in [("", ("", 0)), *((sign, table["prefixes"][sign]) for sign in unit.get("prefixes", ""))]:
            exact |= {sign + symbol: prefix + name for symbol in unit.get("symbols", ())}
            words |= {prefix + word: prefix + name for word in unit["words"]}
            if "of" in unit:
                sizes[prefix + name] = table["dimensions"][unit["of"]], unit["size"] * 10.0**power, unit.get("zero", 0.0)
    once: dict[str, set[str]] = {}
    for symbol, name in exact.items():
        once.setdefault(fold_word(symbol), set()).add(name)
    words = {**{symbol: min(names) for symbol, names in once.items() if len(names) == 1 and len(symbol) > 1 and symbol != "in"}, **words}
    return exact, words, sizes


def unit_of(words: str) -> str:
    """Return the unit or currencies that `words` may name, separated by spaces, or nothing: `kr` is `NOK SEK DKK ISK`.

    >>> unit_of("MWh"), unit_of("square feet"), unit_of("€ per kilo"), unit_of("zorks")
    ('megawatt-hour', 'square-foot', 'EUR/kilogram', '')
    """
    exact, known, sizes = _spellings()
    words = words.strip().replace("_", " ")
    if len(words) > 100:
        return ""
    found = exact.get(words) or known.get(fold_word(words)) or (spelled_unit(words) if len(words) > 1 else "")
    money = _tables()["currencies"].get(words.lower()) or currencies_of(words)
    if found or money:
        return " ".join(filter(None, (found, money)))
    power = _POWERS.fullmatch(words)
    if power and (sizes.get(unit := unit_of(power["of"] or power["unit"])) or ("",))[0] == "[length]":
        return ("cubic-" if (power["word"] or power["power"] or power["sign"])[0] in "c3³" else "square-") + unit
    parts = _PER.split(words, maxsplit=1)
    named = [unit_of(part) for part in parts] if len(parts) == 2 and all(parts) else []
    return "/".join(named) if len(named) == 2 and all(named) else ""


def is_ordinary(word: str) -> bool:
    """Return whether a word behind a number is one of the language, and not the sign of some unit that is not known.

    >>> is_ordinary("members"), is_ordinary("for"), is_ordinary("kVArh"), is_ordinary("zk")
    (True, True, False, False)
    """
    plain = word.isalpha() and (word.islower() or word.istitle())
    return (plain and len(word) > 4) or word.casefold() in _short_words() or (word.istitle() and len(word) > 2 and plain)


@cache
def _short_words() -> frozenset[str]:
    return frozenset(_tables()["words"]["short"].split())


def _size(unit: str) -> tuple[str, float, float] | None:
    """Return the dimension of a unit, how many of the SI's it is, and where its zero is."""
    above, _, below = unit.partition("/")
    if below:
        one, other = _size(above), _size(below)
        return (f"{one[0]} / {other[0]}", one[1] / other[1], 0.0) if one and other else None
    for power, times in (("square-", 2), ("cubic-", 3)):
        if unit.startswith(power) and unit not in _spellings()[2] and (of := _size(unit.removeprefix(power))):
            return f"{of[0]} ** {times}", of[1] ** times, 0.0
    return _spellings()[2].get(unit)


def convert(value: float, unit: str, other: str) -> float | None:
    """Return a value in another unit; None if the two do not measure the same thing.

    >>> convert(1672.45, "megaelectronvolt", "gigaelectronvolt"), convert(3.0, "kilometer", "kelvin"), convert(13.9, "EUR/kilogram", "EUR/gram")
    (1.67245, None, 0.0139)
    """
    results = (_convert(value, one, another) for one in unit.split() for another in other.split())
    return next((found for found in results if found is not None), None)


def _convert(value: float, unit: str, other: str) -> float | None:
    if unit == other:
        return value
    for hundredth, whole in _tables()["hundredths"].items():
        if (unit in whole and other == hundredth) or (other in whole and unit == hundredth):
            return float(f"{value * 100 if other == hundredth else value / 100:.12g}")
    one, another = _size(unit), _size(other)
    if one and another and one[0] == another[0]:
        return float(f"{(value * one[1] + one[2] - another[2]) / another[1]:.12g}")
    (above, _, below), (above_other, _, below_other) = unit.partition("/"), other.partition("/")
    if not below or not below_other or (times := _convert(1.0, below_other, below)) is None:
        return None
    found = _convert(value, above, above_other)
    return None if found is None else float(f"{found * times:.12g}")
