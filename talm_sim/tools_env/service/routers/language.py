"""Words and letters of English and other languages, from inflect (MIT), jellyfish (MIT) and anyascii (ISC)."""

from functools import lru_cache
from typing import Annotated

import anyascii
import inflect
import jellyfish
from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

__all__ = ["router"]

router = APIRouter(prefix="/language")

LETTERS = r"^[A-Za-z][A-Za-z' -]*$"


@lru_cache(maxsize=1)
def _english() -> inflect.engine:
    return inflect.engine()


class Plural(BaseModel):
    """An English noun in both numbers."""

    singular: str
    plural: str


class NumberWords(BaseModel):
    """A number written out."""

    number: int
    words: str
    ordinal_words: str
    ordinal: str


class SpellingComparison(BaseModel):
    """How far two spellings lie apart."""

    first: str
    second: str
    edit_distance: int
    edit_distance_with_swaps: int
    jaro_winkler_similarity: float


class PhoneticCodes(BaseModel):
    """A name's codes in three indexing systems."""

    name: str
    soundex: str
    nysiis: str
    match_rating_codex: str


class Romanization(BaseModel):
    """A text in plain Latin letters."""

    text: str
    romanized: str


@router.get(
    "/plural",
    operation_id="get_plural",
    summary="Get the plural of an English noun.",
    openapi_extra={"x-human-replaceable": True},
)
async def get_plural(
    noun: Annotated[str, Query(description="Noun in the singular.", examples=["child"], max_length=60, pattern=LETTERS)],
) -> Plural:
    return Plural(singular=noun, plural=_english().plural_noun(noun))


@router.get(
    "/number-words",
    operation_id="spell_out_number",
    summary="Write a whole number in English words, as a cardinal and as an ordinal.",
    openapi_extra={"x-human-replaceable": True},
)
async def spell_out_number(
    number: Annotated[int, Query(description="Whole number.", examples=[342], ge=0, le=10**15)],
) -> NumberWords:
    engine = _english()
    ordinal = engine.ordinal(number)
    return NumberWords(number=number, words=engine.number_to_words(number), ordinal_words=engine.number_to_words(ordinal), ordinal=ordinal)


@router.get(
    "/spelling-distance",
    operation_id="compare_spelling",
    summary="Measure how many letter edits lie between two words, and their Jaro-Winkler similarity.",
    openapi_extra={"x-human-replaceable": False},
)
async def compare_spelling(
    first: Annotated[str, Query(description="One word.", examples=["kitten"], min_length=1, max_length=100)],
    second: Annotated[str, Query(description="The other word.", examples=["sitting"], min_length=1, max_length=100)],
) -> SpellingComparison:
    return SpellingComparison(
        first=first,
        second=second,
        edit_distance=jellyfish.levenshtein_distance(first, second),
        edit_distance_with_swaps=jellyfish.damerau_levenshtein_distance(first, second),
        jaro_winkler_similarity=round(jellyfish.jaro_winkler_similarity(first, second), 3),
    )


@router.get(
    "/phonetic-codes",
    operation_id="get_phonetic_codes",
    summary="Get the Soundex, NYSIIS and match rating codes of a name.",
    openapi_extra={"x-human-replaceable": False},
)
async def get_phonetic_codes(
    name: Annotated[str, Query(description="A name in Latin letters.", examples=["Robert"], max_length=60, pattern=LETTERS)],
) -> PhoneticCodes:
    letters = "".join(char for char in name if char.isalpha())
    return PhoneticCodes(
        name=name,
        soundex=jellyfish.soundex(letters),
        nysiis=jellyfish.nysiis(letters),
        match_rating_codex=jellyfish.match_rating_codex(letters),
    )


@router.get(
    "/romanization",
    operation_id="romanize_text",
    summary="Write a text of any script in plain Latin letters.",
    openapi_extra={"x-human-replaceable": False},
)
async def romanize_text(
    text: Annotated[str, Query(description="Text in its own script.", examples=["Αθήνα"], min_length=1, max_length=120)],
) -> Romanization:
    romanized = anyascii.anyascii(text).strip()
    if not romanized:
        raise HTTPException(404, f"No Latin letters are known for '{text}'. Give text, not symbols.")
    return Romanization(text=text, romanized=romanized)
