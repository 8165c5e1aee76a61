"""The vocabulary behind `about_missing.question_is_about`: stems, words that name nothing, and concepts with the words that ask for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLURAL_ES = ("sses", "xes", "zes", "ches", "shes")


@cache
def stem(word: str) -> str:
    """Strip case, a possessive, a plural and the endings -ing and -ed.

    >>> stem("Cities"), stem("airport's"), stem("departing"), stem("gas")
    ('city', 'airport', 'depart', 'gas')
    """
    word = re.sub(r"['\u2019]s?$", "", word.lower())
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(_PLURAL_ES):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 6 and word.endswith("ing"):
        return word[:-3]
    if len(word) > 5 and word.endswith("ed"):
        return word[:-2]
    return word


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


STOP = _stems(
    "a an the this that these those there here it its is are was were be been being am do does did doing done have has had having can "
    "could will would shall should may might must i me my mine you your yours we us our he she they them their and or but nor not no "
    "if then than so as of for at in on to from by with about into over under between within per up out off please kindly thanks "
    "thank sorry hi hello just also only more most some any each every all both either other another one ones like want wish need "
    "know tell give provide specify share supply clarify confirm enter indicate mention choose select pick say state mean meant refer "
    "ask asking interest help missing missed get got getting use used using make find found look looking let still yet exactly able "
    "again same such ahead go proceed s t m re ve ll d which what whose who whom how prefer"
)
"""Stems that say nothing about what is asked for."""

GENERIC = _stems(
    "code id identifier name number value type kind info information detail details thing item items data query request question "
    "answer result results specific exact particular certain full complete correct right current input parameter argument option list "
    "search lookup fetch return show check tool call api context clarification part task available additional further following text "
    "word first second next last"
)
"""Stems that name the missing thing only when it bears such a name itself (argument `code`: "which code?")."""

_CONCEPTS: tuple[tuple[str, str], ...] = (
    # what the missing thing may be called | further words that ask for it
    ("airport iata icao airfield aerodrome airline_code", "where place location city"),
    ("city town municipality village capital", "where place location"),
    ("country nation", "where place location region"),
    ("state province county region district", "where place location area"),
    ("station stop platform", "where place location"),
    ("place location position site venue address street postcode zip", "where place location city town area"),
    ("latitude longitude lat lon lng coordinate coordinates", "where place location city town spot position point"),
    ("origin departure depart source start", "where leave depart begin"),
    ("destination arrival arrive target end", "where arrive go reach"),
    ("timezone tz zone", "where zone"),
    ("date day month year week", "when date day month year"),
    ("time hour minute", "when time hour clock"),
    ("amount quantity count total sum number price", "amount quantity much many"),
    ("distance radius range", "far distance"),
    ("duration period length days hours", "long duration"),
    ("height elevation altitude", "high tall"),
    ("weight mass", "heavy weight mass"),
    ("person author artist composer director actor player user", "who person"),
    ("currency money coin cryptocurrency crypto symbol ticker", "currency coin money"),
    ("language locale lang translation", "language"),
    ("unit measure measurement", "unit measure"),
    ("color colour shade hex rgb", "color colour shade"),
    ("chord note pitch key scale tune", "chord note"),
    ("element atom symbol", "element atom"),
    ("formula compound molecule substance chemical", "formula compound molecule substance chemical"),
    ("particle pdg quark lepton hadron", "particle"),
    ("planet body star satellite moon", "planet body star object"),
    ("disease diagnosis condition illness icd disorder", "disease diagnosis condition illness disorder"),
    ("version release semver", "version release"),
    ("password passphrase", "password passphrase"),
    ("card hand deck", "card hand"),
    ("fen board opening move chess position", "position board opening move"),
    ("word term phrase", "word term phrase"),
    ("film movie show series episode", "film movie show series episode title"),
    ("book title isbn novel", "book title novel"),
    ("song track album record", "song track album title"),
    ("ingredient food recipe dish meal drink cocktail", "ingredient food recipe dish meal drink"),
    ("expression equation function polynomial", "expression equation function"),
    ("url link website page domain", "url link website page address"),
    ("company stock firm", "company stock firm"),
    ("holiday festival", "holiday festival"),
)


def _table() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for members, askers in _CONCEPTS:
        names = _stems(members.replace("_", " ")) - GENERIC - STOP
        for name in names:
            table[name] = table.get(name, frozenset()) | names | _stems(askers)
    return table


_TABLE = _table()


def concept_words(stems: Iterable[str]) -> frozenset[str]:
    """Return the words that ask for any of the concepts which `stems` name."""
    found = [_TABLE[word] for word in stems if word in _TABLE]
    return frozenset().union(*found) if found else frozenset()


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, less those that say nothing."""
    return frozenset(stem(word) for word in _WORD.findall(text)) - STOP


def name_stems(name: str) -> frozenset[str]:
    """Return the stems of the words in an identifier: `from_currency`, `stationId`."""
    return content_stems(_CAMEL.sub(" ", name).replace("_", " ")) | frozenset({stem(name)} - STOP)
