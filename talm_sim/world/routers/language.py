"""Words, names and letters of English and other languages.

Sources: inflect (MIT), jellyfish (MIT), anyascii (ISC), WordNet 3.1 (WordNet licence), the US census of 1990 (public domain), ISO 639-3.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

if TYPE_CHECKING:
    import inflect

router = APIRouter(prefix="/language")

LETTERS = r"^[A-Za-z][A-Za-z' -]*$"
PartOfSpeech = Literal["noun", "verb", "adjective", "adverb"]
PARTS: dict[str, PartOfSpeech] = {"n": "noun", "v": "verb", "a": "adjective", "r": "adverb"}


@lru_cache(maxsize=1)
def _english() -> inflect.engine:
    import inflect

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


class Sense(BaseModel):
    """One meaning of a word."""

    definition: str
    synonyms: list[str]


class DictionaryEntry(BaseModel):
    """A word as one part of speech; `several` lists the parts where none was given."""

    word: str
    part_of_speech: PartOfSpeech | None = None
    sense_count: int | None = None
    senses: list[Sense] = []
    several: list[PartOfSpeech] = []


class SurnameStatistics(BaseModel):
    """How common a surname was in the United States census of 1990."""

    surname: str
    rank: int
    percent: float
    bearers_per_100000: int


class NameUse(BaseModel):
    """How common a given name was among women or men."""

    sex: Literal["female", "male"]
    rank: int
    percent: float


class GivenNameStatistics(BaseModel):
    """How common a given name was in the United States census of 1990."""

    name: str
    uses: list[NameUse]


class LanguageCodes(BaseModel):
    """A language in the ISO 639 standard."""

    name: str
    code: str
    two_letter_code: str | None
    kind: str


@lru_cache(maxsize=1)
def _surnames() -> dict[str, dict[str, str]]:
    return {fold(row["name"]): row for row in read_data("language", "surnames.csv.gz")}


@lru_cache(maxsize=1)
def _given_names() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for row in read_data("language", "given_names.csv.gz"):
        found.setdefault(fold(row["name"]), []).append(row)
    return found


@lru_cache(maxsize=1)
def _languages() -> dict[str, dict[str, str]]:
    """Languages by name, by its first part, and by code."""
    found: dict[str, dict[str, str]] = {}
    rows = read_data("language", "languages.csv")
    for row in rows:
        found[fold(row["name"])] = row
    for row in rows:
        plain = row["name"].partition(" (")[0]
        for key in (plain, plain.removeprefix("Modern "), row["code"], row["two_letters"]):
            if key:
                found.setdefault(fold(key), row)
    return found


@router.get(
    "/plural",
    operation_id="get_plural",
    summary="Get the plural of an English noun.",
    openapi_extra=person_can("A dictionary or a good speaker of English gives it."),
)
async def get_plural(
    noun: Annotated[str, Query(description="Noun in the singular.", examples=["child"], max_length=60, pattern=LETTERS)],
) -> Plural:
    return Plural(singular=noun, plural=_english().plural_noun(noun))


@router.get(
    "/number-words",
    operation_id="spell_out_number",
    summary="Write a whole number in English words, as a cardinal and as an ordinal.",
    openapi_extra=person_can("Anybody who writes English can spell a number out."),
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
    openapi_extra=person_cannot("Counting the fewest edits by hand is slow and goes wrong."),
)
async def compare_spelling(
    first: Annotated[str, Query(description="One word.", examples=["kitten"], min_length=1, max_length=100)],
    second: Annotated[str, Query(description="The other word.", examples=["sitting"], min_length=1, max_length=100)],
) -> SpellingComparison:
    import jellyfish

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
    openapi_extra=person_cannot("The rules of the three codes are known to few."),
)
async def get_phonetic_codes(
    name: Annotated[str, Query(description="A name in Latin letters.", examples=["Robert"], max_length=60, pattern=LETTERS)],
) -> PhoneticCodes:
    import jellyfish

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
    openapi_extra=person_cannot("Few people read every script."),
)
async def romanize_text(
    text: Annotated[str, Query(description="Text in its own script.", examples=["Αθήνα"], min_length=1, max_length=120)],
) -> Romanization:
    import anyascii

    romanized = anyascii.anyascii(text).strip()
    if not romanized:
        raise HTTPException(404, f"No Latin letters are known for '{text}'. Give text, not symbols.")
    return Romanization(text=text, romanized=romanized)


@router.get(
    "/words/{word}",
    operation_id="define_word",
    summary="Look an English word up in the dictionary WordNet: its meanings, how many there are, and synonyms of each.",
    response_model_exclude_none=True,
    openapi_extra=person_can("A dictionary on the shelf gives it."),
)
async def define_word(
    word: Annotated[str, Path(description="One English word, in its basic form.", examples=["zigzag"], min_length=2, max_length=30)],
    part_of_speech: Annotated[PartOfSpeech | None, Query(description="As what the word is meant, where it can be several.")] = None,
) -> DictionaryEntry:
    words: dict[str, dict[str, list[Any]]] = read_data("language", "words.json.gz")
    found = words.get(fold(word))
    if found is None:
        raise not_found("word", word, words, hint="The dictionary has 4,000 common words in their basic forms.")
    parts = {PARTS[letter]: entry for letter, entry in found.items()}
    if part_of_speech is None and len(parts) > 1:
        return DictionaryEntry(word=fold(word), several=list(parts))
    part = next(iter(parts)) if part_of_speech is None else part_of_speech
    if part not in parts:
        raise HTTPException(404, f"'{word}' is no {part}. It is known as: {', '.join(parts)}.")
    count, senses = parts[part]
    listed = [Sense(definition=definition, synonyms=synonyms) for definition, synonyms in senses]
    return DictionaryEntry(word=fold(word), part_of_speech=part, sense_count=count, senses=listed)


@router.get(
    "/surnames/{surname}",
    operation_id="get_surname_statistics",
    summary="Get the rank of a surname in the United States census of 1990, and the share of people who bore it.",
    openapi_extra=person_cannot("Ranks and shares are rows of a table of the census.", record=True),
)
async def get_surname_statistics(
    surname: Annotated[str, Path(description="Surname, without accents.", examples=["Smith"], min_length=2, max_length=20)],
) -> SurnameStatistics:
    row = _surnames().get(fold(surname))
    if row is None:
        raise not_found(
            "common surname", surname, (known["name"] for known in _surnames().values()), hint="The 12,000 most frequent ones are known."
        )
    percent = float(row["percent"])
    return SurnameStatistics(surname=row["name"], rank=int(row["rank"]), percent=percent, bearers_per_100000=round(percent * 1000))


@router.get(
    "/given-names/{name}",
    operation_id="get_given_name_statistics",
    summary="Get the ranks of a given name among women and among men in the United States census of 1990, and the shares who bore it.",
    openapi_extra=person_cannot("Ranks and shares are rows of a table of the census.", record=True),
)
async def get_given_name_statistics(
    name: Annotated[str, Path(description="Given name, without accents.", examples=["Mary"], min_length=2, max_length=20)],
) -> GivenNameStatistics:
    rows = _given_names().get(fold(name))
    if rows is None:
        raise not_found(
            "common given name",
            name,
            (known[0]["name"] for known in _given_names().values()),
            hint="The names of nine in ten people are known.",
        )
    uses = [NameUse(sex="female" if row["sex"] == "female" else "male", rank=int(row["rank"]), percent=float(row["percent"])) for row in rows]
    return GivenNameStatistics(name=rows[0]["name"], uses=uses)


@router.get(
    "/languages/{language}",
    operation_id="get_language_codes",
    summary="Get the ISO 639 codes of a language, of three and of two letters, and whether it is living, extinct or ancient.",
    openapi_extra=person_can("The code list is on the web and in library handbooks."),
)
async def get_language_codes(
    language: Annotated[
        str, Path(description="English name of the language, or one of its codes.", examples=["Swahili"], min_length=2, max_length=60)
    ],
) -> LanguageCodes:
    row = _languages().get(fold(language))
    if row is None:
        raise not_found("language", language, [known["name"] for known in _languages().values()], hint="Give its English name.")
    return LanguageCodes(name=row["name"], code=row["code"], two_letter_code=row["two_letters"] or None, kind=row["kind"])
