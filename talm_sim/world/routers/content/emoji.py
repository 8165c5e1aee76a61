"""Emoji and their names, from an extract of emoji 2.16.0 (BSD; data from Unicode, Unicode-3.0)."""

from functools import lru_cache
from typing import Annotated, Literal, TypedDict

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/emoji")

NAME = Path(description="English name of the emoji, or the emoji itself.", examples=["red heart"], min_length=1, max_length=80)
LANGUAGES = {
    "German": "de",
    "Spanish": "es",
    "French": "fr",
    "Indonesian": "id",
    "Italian": "it",
    "Japanese": "ja",
    "Korean": "ko",
    "Portuguese": "pt",
    "Russian": "ru",
    "Turkish": "tr",
    "Chinese": "zh",
}
Language = Literal["German", "Spanish", "French", "Indonesian", "Italian", "Japanese", "Korean", "Portuguese", "Russian", "Turkish", "Chinese"]
YEARS = {0.6: 2010, 0.7: 2014, 1: 2015, 2: 2015, 3: 2016, 4: 2016, 5: 2017, 11: 2018, 12: 2019, 12.1: 2019, 13: 2020, 13.1: 2020} | {
    14: 2021,
    15: 2022,
    15.1: 2023,
    16: 2024,
    17: 2025,
    18: 2026,
}
"""The year in which each version of the emoji list was published."""
VARIATION = "\ufe0f"


class Entry(TypedDict):
    """An emoji of the list."""

    emoji: str
    version: float
    names: dict[str, str]


@lru_cache(maxsize=1)
def _entries() -> dict[str, Entry]:
    """Emoji by folded English name, and by themselves."""
    known: list[Entry] = read_data("content", "emoji.json.gz")
    return {fold(one["names"]["en"]): one for one in known} | {one["emoji"].replace(VARIATION, ""): one for one in known}


def _entry(name: str) -> Entry:
    found = _entries().get(fold(name.strip(": ").replace("_", " "))) or _entries().get(name.strip().replace(VARIATION, ""))
    if found is None:
        wanted = fold(name)
        names = sorted({one["names"]["en"] for one in _entries().values()})
        near = [one for one in names if wanted in fold(one).split()][:6]
        raise not_found("emoji", name, names, f"Emoji with that word: {', '.join(near)}." if near else "")
    return found


class Emoji(BaseModel):
    """An emoji."""

    name: str
    emoji: str
    code_points: list[str]
    emoji_version: float
    year: int


class EmojiName(BaseModel):
    """What an emoji is called in another language."""

    english_name: str
    emoji: str
    language: str
    name: str


@router.get(
    "/{name}",
    operation_id="find_emoji",
    summary="Find an emoji with its code points, and the version and year in which it came.",
    openapi_extra=person_can("A person looks it up on the published list of emoji."),
)
async def find_emoji(name: Annotated[str, NAME]) -> Emoji:
    found = _entry(name)
    return Emoji(
        name=found["names"]["en"],
        emoji=found["emoji"],
        code_points=[f"U+{ord(char):04X}" for char in found["emoji"]],
        emoji_version=found["version"],
        year=YEARS[found["version"]],
    )


@router.get(
    "/{name}/translation",
    operation_id="get_emoji_translation",
    summary="Get the short name of an emoji in another language.",
    openapi_extra=person_can("A person who speaks the language reads it on a keyboard set to that language."),
)
async def get_emoji_translation(
    name: Annotated[str, NAME], language: Annotated[Language, Query(description="Language of the name.", examples=["Korean"])]
) -> EmojiName:
    found = _entry(name)
    return EmojiName(english_name=found["names"]["en"], emoji=found["emoji"], language=language, name=found["names"][LANGUAGES[language]])
