"""The records of a small office that does not exist: contacts, messages, notes, reminders, polls and rooms. Nothing is written."""

import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/human-interact")

Room = Literal["Aldgate", "Beacon", "Cairn"]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PERSON = "Full name of a colleague."
EXAMPLE_PERSON = "Ingrid Solheim"
SINCE = Query(description="The first day that counts.", examples=["2026-11-01"])


def _records(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_data("human_interact", "office.json")[kind]
    return found


def _of(kind: str, key: str, value: str, what: str) -> list[dict[str, Any]]:
    """The records that have a value; a first or last name is enough for a person."""
    wanted = fold(value)
    records = _records(kind)
    fitting = [one for one in records if fold(one[key]) == wanted] or [one for one in records if wanted in fold(one[key]).split()]
    if not fitting:
        known = sorted({one[key] for one in records})
        raise not_found(what, value, known, f"There are {', '.join(known)}.")
    return fitting


class Contact(BaseModel):
    """A colleague, and how to reach them."""

    name: str
    role: str
    team: str
    extension: str
    phone: str
    email: str
    desk: str


class Message(BaseModel):
    """A message to the whole office."""

    sender: str
    sent_on: datetime.date
    sent_at: str
    subject: str
    text: str


class Note(BaseModel):
    """A note in the office's notebook."""

    title: str
    author: str
    updated: datetime.date
    text: str


class Reminder(BaseModel):
    """Something that a colleague wants to be reminded of."""

    person: str
    due: datetime.date
    weekday: str
    time: str
    text: str


class Votes(BaseModel):
    """An answer of a poll."""

    option: str
    votes: int


class Poll(BaseModel):
    """How the office voted."""

    topic: str
    closed: datetime.date
    winner: str
    results: list[Votes]


class Booking(BaseModel):
    """Who has a meeting room on a day."""

    room: str
    date: datetime.date
    weekday: str
    start: str
    end: str
    booked_by: str
    purpose: str


@router.get(
    "/contacts/{name}",
    operation_id="find_colleague",
    summary="Find a colleague's role, extension, telephone number, e-mail address and desk.",
    openapi_extra=person_can("Anyone in the office knows, or asks at the next desk."),
)
async def find_colleague(name: Annotated[str, Path(description=PERSON, examples=[EXAMPLE_PERSON], min_length=2, max_length=40)]) -> Contact:
    return Contact(**_of("contacts", "name", name, "colleague")[0])


@router.get(
    "/messages",
    operation_id="read_latest_message",
    summary="Read the latest message that a colleague sent to the office.",
    openapi_extra=person_cannot("What was written is in the office's mail alone.", record=True),
)
async def read_latest_message(
    sender: Annotated[str, Query(description=PERSON, examples=[EXAMPLE_PERSON], min_length=2, max_length=40)],
) -> Message:
    last = max(_of("messages", "sender", sender, "message from"), key=lambda one: str(one["sent"]))
    day, _, time = last["sent"].partition("T")
    return Message(sender=last["sender"], sent_on=day, sent_at=time, subject=last["subject"], text=last["text"])


@router.get(
    "/notes/{title}",
    operation_id="read_note",
    summary="Read a note of the office's notebook by its title.",
    openapi_extra=person_cannot("What was noted is in the notebook alone.", record=True),
)
async def read_note(
    title: Annotated[str, Path(description="Title of the note, or a word of it.", examples=["Plotter ink"], min_length=2, max_length=40)],
) -> Note:
    return Note(**_of("notes", "title", title, "note")[0])


@router.get(
    "/reminders",
    operation_id="get_next_reminder",
    summary="Get a colleague's next reminder from a day on: its day, time and what it is about.",
    openapi_extra=person_cannot("Reminders are in the colleague's calendar alone.", record=True),
)
async def get_next_reminder(
    person: Annotated[str, Query(description=PERSON, examples=[EXAMPLE_PERSON], min_length=2, max_length=40)],
    from_day: Annotated[datetime.date, SINCE],
) -> Reminder:
    theirs = [one for one in _of("reminders", "person", person, "reminders of") if one["due"] >= from_day.isoformat()]
    if not theirs:
        raise not_found(f"reminder of {person} from", from_day.isoformat(), hint="There is none that late.")
    first = min(theirs, key=lambda one: str(one["due"]))
    day = datetime.date.fromisoformat(first["due"])
    return Reminder(**{**first, "due": day}, weekday=WEEKDAYS[day.weekday()])


@router.get(
    "/polls/{topic}",
    operation_id="get_poll_results",
    summary="Get how the office voted on something.",
    openapi_extra=person_can("Colleagues remember how they voted, or count hands again."),
)
async def get_poll_results(
    topic: Annotated[str, Path(description="What the poll was about.", examples=["Logo"], min_length=2, max_length=40)],
) -> Poll:
    poll = _of("polls", "topic", topic, "poll")[0]
    votes: dict[str, int] = poll["votes"]
    results = [Votes(option=option, votes=number) for option, number in sorted(votes.items(), key=lambda item: -item[1])]
    return Poll(topic=poll["topic"], closed=poll["closed"], winner=results[0].option, results=results)


@router.get(
    "/rooms/{room}",
    operation_id="get_room_booking",
    summary="Get who has booked a meeting room on a day, from when to when, and for what.",
    openapi_extra=person_can("The sheet hangs at the door of the room."),
)
async def get_room_booking(
    room: Annotated[Room, Path(description="Name of the meeting room.", examples=["Aldgate"])],
    date: Annotated[datetime.date, Query(description="Day of the booking.", examples=["2026-11-16"])],
) -> Booking:
    for one in _records("bookings"):
        if one["room"] == room and one["date"] == date.isoformat():
            return Booking(
                room=room,
                date=date,
                weekday=WEEKDAYS[date.weekday()],
                start=one["start"],
                end=one["end"],
                booked_by=one["by"],
                purpose=one["purpose"],
            )
    days = [str(one["date"]) for one in _records("bookings") if one["room"] == room]
    raise not_found(f"booking of {room} on", date.isoformat(), (), f"It is booked on {', '.join(days)}.")
