"""Quotations from works whose authors died before 1950, traditional proverbs, and riddles: lists of our own."""

from datetime import date
from functools import lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.draws import draw
from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

Topic = Literal["character", "courage", "freedom", "friendship", "happiness", "hope", "love", "nature", "reading", "time", "wisdom", "work"]
Language = Literal[
    "Dutch", "French", "German", "Italian", "Japanese", "Latin", "Polish", "Portuguese", "Russian", "Spanish", "Swedish", "Turkish"
]
FEWEST_LETTERS = 3


@lru_cache(maxsize=1)
def _quotes() -> list[dict[str, str]]:
    found: list[dict[str, str]] = read_data("inspiration", "quotes.csv")
    return found


@lru_cache(maxsize=1)
def _proverbs() -> list[dict[str, str]]:
    found: list[dict[str, str]] = read_data("inspiration", "proverbs.csv")
    return found


def _plain(text: str) -> str:
    """Return the words of a text, with a space on each side."""
    return f" {' '.join(''.join(char if char.isalnum() else ' ' for char in fold(text.replace(chr(39), ''))).split())} "


class Quote(BaseModel):
    """A quotation with its source."""

    quote: str
    author: str
    work: str
    year: int


class TopicQuote(Quote):
    """A quotation of the collection, by its number under a topic."""

    topic: str
    number: int


class Proverb(BaseModel):
    """A proverb, and what it says."""

    language: str
    proverb: str
    literal_meaning: str
    english_counterpart: str


class NumberedProverb(Proverb):
    """A proverb of the collection, by its number within its language."""

    number: int


class Riddle(BaseModel):
    """A riddle with its answer."""

    number: int
    riddle: str
    answer: str


def _quote(row: dict[str, str]) -> Quote:
    return Quote(quote=row["quote"], author=row["author"], work=row["work"], year=int(row["year"]))


@router.get(
    "/quotes/day/{day}",
    operation_id="get_quote_of_the_day",
    summary="Get the quotation of a day, with its author, work and year.",
    openapi_extra=person_cannot("Which quotation belongs to a day is an entry of the collection's calendar.", record=True),
)
async def get_quote_of_the_day(
    day: Annotated[date, Path(description="The day, as YYYY-MM-DD.", examples=["2030-01-01"])],
) -> Quote:
    return _quote(draw(_quotes(), "quote", day.isoformat()))


@router.get(
    "/quotes/find",
    operation_id="find_quote",
    summary="Find a well-known quotation by some of its words, with its author, the work it is from and the year.",
    openapi_extra=person_can("A well-read person knows it, or looks it up in a book of quotations."),
)
async def find_quote(
    words: Annotated[str, Query(description="Some consecutive words of it.", examples=["a truth universally"], min_length=3, max_length=120)],
    author: Annotated[
        str | None, Query(description="Its author, to tell similar ones apart.", examples=["Jane Austen"], min_length=3, max_length=60)
    ] = None,
) -> Quote:
    wanted = _plain(words)
    if len(wanted.strip()) < FEWEST_LETTERS:
        raise HTTPException(422, "words: give some words of the quotation.")
    found = [row for row in _quotes() if wanted in _plain(row["quote"])]
    fitting = [row for row in found if author is None or _plain(author) in _plain(row["author"])]
    if len(fitting) > 1:
        candidates = [f"{row['author']} ({row['work']})" for row in fitting[:8]]
        if len({row["author"] for row in fitting}) > 1:
            raise several_fit("quotations", words, candidates, "author")
        raise HTTPException(422, f"Several quotations have the words '{words}': {'; '.join(candidates)}. Give more of its words.")
    if not fitting:
        hint = f"Those words are known of {', '.join(row['author'] for row in found[:5])}." if found else "Give other or fewer words of it."
        raise not_found("quotation", words, hint=hint)
    return _quote(fitting[0])


@router.get(
    "/quotes/topics/{topic}/{number}",
    operation_id="get_topic_quote",
    summary="Get a quotation of the collection by its topic and number, with its author and its work.",
    openapi_extra=person_cannot("Its place is known to who has the collection.", record=True),
)
async def get_topic_quote(
    topic: Annotated[Topic, Path(description="Topic of the quotation.", examples=["wisdom"])],
    number: Annotated[int, Path(description="Number under that topic.", examples=[1], ge=1, le=100)],
) -> TopicQuote:
    found = [row for row in _quotes() if row["topic"] == topic]
    if number > len(found):
        raise HTTPException(404, f"There are only {len(found)} quotations about {topic}.")
    return TopicQuote(topic=topic, number=number, **_quote(found[number - 1]).model_dump())


@router.get(
    "/proverbs/{language}/{number}",
    operation_id="get_proverb",
    summary="Get a proverb of the collection by its language and number, with its literal meaning and its English counterpart.",
    openapi_extra=person_cannot("Its place is known to who has the collection.", record=True),
)
async def get_proverb(
    language: Annotated[Language, Path(description="Language of the proverb.", examples=["German"])],
    number: Annotated[int, Path(description="Number within that language.", examples=[1], ge=1, le=100)],
) -> NumberedProverb:
    found = [row for row in _proverbs() if row["language"] == language]
    if number > len(found):
        raise HTTPException(404, f"There are only {len(found)} proverbs in {language}.")
    return NumberedProverb(number=number, **_proverb(found[number - 1]).model_dump())


def _proverb(row: dict[str, str]) -> Proverb:
    return Proverb(language=row["language"], proverb=row["proverb"], literal_meaning=row["literal"], english_counterpart=row["english"])


@router.get(
    "/proverbs/find",
    operation_id="find_proverb",
    summary="Find a foreign proverb about a thing, with its literal meaning and its English counterpart.",
    openapi_extra=person_can("A person who speaks the language knows its proverbs."),
)
async def find_proverb(
    about: Annotated[str, Query(description="An English word of its literal meaning.", examples=["frog"], min_length=3, max_length=30)],
    language: Annotated[
        Language | None, Query(description="Language of the proverb, to tell several about one thing apart.", examples=["Japanese"])
    ] = None,
) -> Proverb:
    wanted = _plain(about)
    found = [row for row in _proverbs() if wanted in _plain(row["literal"])] if wanted.strip() else []
    fitting = [row for row in found if language in (None, row["language"])]
    if len(fitting) > 1:
        if len({row["language"] for row in fitting}) > 1:
            raise several_fit("proverbs", about, (f"{row['language']} ({row['literal']})" for row in fitting[:8]), "language")
        candidates = "; ".join(row["literal"] for row in fitting)
        raise HTTPException(422, f"Several {fitting[0]['language']} proverbs speak of '{about}': {candidates}. Give a rarer word.")
    if not fitting:
        languages = sorted({row["language"] for row in found})
        raise not_found("proverb about", about, hint=f"There is one in {' and in '.join(languages)}." if languages else "Give another word.")
    return _proverb(fitting[0])


@router.get(
    "/riddles/{number}",
    operation_id="get_riddle",
    summary="Get a riddle of the collection by its number, with its answer.",
    openapi_extra=person_cannot("Its place is known to who has the collection.", record=True),
)
async def get_riddle(number: Annotated[int, Path(description="Number of the riddle.", examples=[1], ge=1, le=60)]) -> Riddle:
    row = read_data("inspiration", "riddles.csv")[number - 1]
    return Riddle(number=number, riddle=row["riddle"], answer=row["answer"])
