"""Ideas for a day: what to draw, to write, to do, and how to breathe. Lists of our own."""

from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.draws import draw
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

Day = Annotated[date, Path(description="The day, as YYYY-MM-DD.", examples=["2030-01-01"])]
MEDIA = ("pencil", "ink", "watercolour", "charcoal", "coloured pencil", "gouache", "felt pen", "pastel", "collage")
Genre = Literal["adventure", "comedy", "fantasy", "mystery", "romance", "science fiction"]
Place = Literal["indoors", "outdoors"]
Exercise = Literal["box breathing", "4-7-8 breathing", "triangle breathing", "coherent breathing", "equal breathing", "7-11 breathing"]
EXERCISES = {
    "box breathing": (4, 4, 4, 4),
    "4-7-8 breathing": (4, 7, 8, 0),
    "triangle breathing": (4, 4, 4, 0),
    "coherent breathing": (5, 0, 5, 0),
    "equal breathing": (4, 0, 4, 0),
    "7-11 breathing": (7, 0, 11, 0),
}
"""Seconds of breathing in, holding, breathing out, and holding again."""


class DrawingPrompt(BaseModel):
    """What to draw on a day."""

    day: str
    subject: str
    medium: str


class StorySeed(BaseModel):
    """What a story is made of."""

    day: str
    genre: str
    character: str
    setting: str
    object: str
    complication: str


class Activity(BaseModel):
    """Something to do together."""

    day: str
    activity: str
    place: str
    minutes: int
    needs: str


class Breathing(BaseModel):
    """A breathing exercise, second by second."""

    exercise: str
    inhale_seconds: int
    hold_seconds: int
    exhale_seconds: int
    hold_after_seconds: int
    cycle_seconds: int
    rounds: int


@lru_cache(maxsize=1)
def _seeds() -> dict[str, Any]:
    found: dict[str, Any] = read_data("inspiration", "story_seeds.json")
    return found


@router.get(
    "/drawing/{day}",
    operation_id="get_drawing_prompt",
    summary="Get what to draw on a day of the drawing calendar, and with what.",
    openapi_extra=person_cannot("Each day's subject is an entry of the drawing calendar.", record=True),
)
async def get_drawing_prompt(day: Day) -> DrawingPrompt:
    subject = read_data("inspiration", "drawing_words.json")[day.month - 1][day.day - 1]
    return DrawingPrompt(day=day.isoformat(), subject=subject, medium=draw(MEDIA, "medium", day.isoformat()))


@router.get(
    "/stories/{genre}/{day}",
    operation_id="get_story_seed",
    summary="Get a day's character, setting, object and complication for a story of a genre.",
    openapi_extra=person_cannot("The four are drawn from the decks of the story calendar.", record=True),
)
async def get_story_seed(genre: Annotated[Genre, Path(description="Genre of the story.", examples=["adventure"])], day: Day) -> StorySeed:
    decks, key = _seeds()["genres"][genre], (genre, day.isoformat())
    return StorySeed(
        day=day.isoformat(),
        genre=genre,
        character=draw(decks["characters"], "character", *key),
        setting=draw(decks["settings"], "setting", *key),
        object=draw(decks["objects"], "object", *key),
        complication=draw(_seeds()["complications"], "complication", *key),
    )


@router.get(
    "/activities/{day}",
    operation_id="suggest_activity",
    summary="Get the activity that the collection suggests for a day, by the size of the group, the place and the time there is.",
    openapi_extra=person_cannot("The suggestion of a day is drawn from a collection of activities.", record=True),
)
async def suggest_activity(
    day: Day,
    people: Annotated[int, Query(description="How many people take part.", examples=[2], ge=1, le=12)],
    place: Annotated[Place | None, Query(description="Where; either, if it is left out.", examples=["outdoors"])] = None,
    minutes: Annotated[int, Query(description="How much time there is at most.", examples=[90], ge=20, le=600)] = 90,
) -> Activity:
    fitting = [
        row
        for row in read_data("inspiration", "activities.csv")
        if int(row["fewest"]) <= people <= int(row["most"]) and int(row["minutes"]) <= minutes and place in (None, row["place"])
    ]
    if not fitting:
        raise HTTPException(404, f"There is no activity for {people} in {minutes} minutes; allow more time.")
    row = draw(fitting, "activity", day.isoformat())
    return Activity(day=day.isoformat(), activity=row["name"], place=row["place"], minutes=int(row["minutes"]), needs=row["needs"])


@router.get(
    "/breathing/{exercise}",
    operation_id="plan_breathing",
    summary="Get the seconds of each phase of a breathing exercise, and how many full rounds fit into a time.",
    openapi_extra=person_can("A person who does yoga knows the exercise, and divides the time by its length."),
)
async def plan_breathing(
    exercise: Annotated[Exercise, Path(description="Name of the exercise.", examples=["box breathing"])],
    minutes: Annotated[int, Query(description="Length of the session in minutes.", examples=[1], ge=1, le=120)],
) -> Breathing:
    inhale, hold, exhale, after = EXERCISES[exercise]
    cycle = inhale + hold + exhale + after
    return Breathing(
        exercise=exercise,
        inhale_seconds=inhale,
        hold_seconds=hold,
        exhale_seconds=exhale,
        hold_after_seconds=after,
        cycle_seconds=cycle,
        rounds=minutes * 60 // cycle,
    )
