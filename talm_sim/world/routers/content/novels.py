"""The words of Jane Austen's novels, counted in the texts of janeaustenr 1.0.0.9000 (MIT; texts in the public domain)."""

from functools import lru_cache
from typing import Annotated, Literal, TypedDict

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/austen")

Novel = Literal["Sense and Sensibility", "Pride and Prejudice", "Mansfield Park", "Emma", "Northanger Abbey", "Persuasion"]
NOVEL = Path(description="Name of the novel.", examples=["Emma"])


class Counts(TypedDict):
    """What was counted in a novel."""

    chapters: list[int]
    words: dict[str, int]


@lru_cache(maxsize=1)
def _novels() -> dict[str, Counts]:
    found: dict[str, Counts] = read_data("content", "austen.json.gz")
    return found


class ChapterLength(BaseModel):
    """How long a chapter is."""

    novel: str
    chapter: int
    chapter_count: int
    words: int
    share_of_novel_percent: float


class WordCount(BaseModel):
    """How often a word occurs in a novel."""

    novel: str
    word: str
    occurrences: int
    per_10000_words: float
    novel_words: int


@router.get(
    "/{novel}/chapters/{chapter}",
    operation_id="get_novel_chapter_length",
    summary="Count the words of a chapter in one of Jane Austen's novels.",
    openapi_extra=person_cannot("Counting thousands of words takes hours.", record=True),
)
async def get_novel_chapter_length(
    novel: Annotated[Novel, NOVEL],
    chapter: Annotated[int, Path(description="Number of the chapter, counted through all volumes.", examples=[1], ge=1, le=100)],
) -> ChapterLength:
    lengths = _novels()[novel]["chapters"]
    if chapter > len(lengths):
        raise HTTPException(404, f"'{novel}' has only {len(lengths)} chapters.")
    words = lengths[chapter - 1]
    share = round(100 * words / sum(lengths), 2)
    return ChapterLength(novel=novel, chapter=chapter, chapter_count=len(lengths), words=words, share_of_novel_percent=share)


@router.get(
    "/{novel}/words",
    operation_id="count_novel_word",
    summary="Count how often a word occurs in one of Jane Austen's novels.",
    openapi_extra=person_cannot("Counting a word takes a reading of the whole novel.", record=True),
)
async def count_novel_word(
    novel: Annotated[Novel, NOVEL],
    word: Annotated[str, Query(description="The word, in the form that is counted.", examples=["love"], min_length=1, max_length=40)],
) -> WordCount:
    counts = _novels()[novel]
    total, found = sum(counts["chapters"]), counts["words"].get(word.strip().casefold().replace("’", "'"), 0)
    return WordCount(novel=novel, word=word, occurrences=found, per_10000_words=round(10000 * found / total, 2), novel_words=total)
