"""Tools of every kind, as their users wrote them: this file, as the agents', imports nothing of talm-sim."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from pydantic import BaseModel, Field


class Ticket(BaseModel):
    museum: str
    euros: float


# What a tool may return, a tool each.


def text(museum: str) -> str:
    """Opening hours, as the museum writes them."""
    return f'{museum}: "daily",\n\tbut not on Mondays \\ holidays.'


def bare(museum: str) -> str:
    """Whether the order is on its way."""
    return "shipped"


def empty(museum: str) -> str:
    """Remarks on a museum."""
    return ""


def digits(museum: str) -> str:
    """The museum's number, as a text."""
    return "007"


def number(museum: str) -> float:
    """Price of a ticket, in euros."""
    return 15.0


def flag(museum: str) -> bool:
    """Whether a museum is open."""
    return True


def nothing(museum: str) -> None:
    """Close a museum's file."""


def numbers(museum: str) -> list[int]:
    """The museum's rooms."""
    return [3, 1, 2]


def words(museum: str) -> list[str]:
    """The museum's wings."""
    return ["west", "east"]


def record(museum: str) -> dict[str, Any]:
    """The museum's entry."""
    return {"name": museum, "euros": 15, "address": {"street": "Paseo", "city": "Madrid"}, "closed": None}


def accents(museum: str) -> dict[str, str]:
    """The museum's name in other languages."""
    return {"fr": "Musée du Prado", "ja": "プラド美術館", "sign": "€ 🎨"}


def long(museum: str) -> list[dict[str, Any]]:
    """All orders of a museum: 32,000 characters of JSON."""
    return [{"order": n, "state": "lost" if n == 999 else "shipped"} for n in range(999 - 820, 1000)]


async def awaited(museum: str) -> dict[str, Any]:
    """The museum's entry, from afar."""
    return {"zeal": 1, "art": 2}


def ticket(museum: str) -> Ticket:
    """A ticket, as a pydantic object."""
    return Ticket(museum=museum, euros=15)


def tickets(museum: str) -> list[Ticket]:
    """Tickets, as pydantic objects."""
    return [Ticket(museum=museum, euros=15)]


def opened(museum: str) -> date:
    """The day on which a museum opened."""
    return date(1819, 11, 19)


def exact(museum: str) -> Decimal:
    """Price of a ticket, exactly."""
    return Decimal("15.10")


def blocks(museum: str) -> list[dict[str, str]]:
    """A picture's caption, as content blocks."""
    return [{"type": "text", "text": "Las Meninas"}, {"type": "text", "text": "1656"}]


RESULTS = [
    text,
    bare,
    empty,
    digits,
    number,
    flag,
    nothing,
    numbers,
    words,
    record,
    accents,
    long,
    awaited,
    ticket,
    tickets,
    opened,
    exact,
    blocks,
]


# What a tool may take.


def search(museum: str, limit: int | None = None, order: Literal["name", "price"] = "name") -> str:
    """Search a museum's shop."""
    return f"{museum} {limit} {order}"


def buy(ticket: Ticket, days: list[date], note: Annotated[str, Field(description="For the till.", max_length=40)] = "") -> str:
    """Buy a ticket."""
    return f"{ticket.museum} {ticket.euros:g} {[day.isoformat() for day in days]} {note!r}"


class Node(BaseModel):
    name: str
    parts: list[Node] = []


def tree(root: Node) -> str:
    """Count the parts of a collection."""
    return str(len(root.parts))


TAKES = [search, buy, tree]


@tool("get-forecast")
def get_forecast(city: str) -> str:
    """Weather in a city.

    Two lines of it.
    """
    return f"31 degrees in {city}"


@tool
async def as_langchain(city: str, days: int = 2) -> dict[str, Any]:
    """Weather of some days.

    Args:
        city: Where.
        days: How many.
    """
    return {"then": days, "city": city}


class Shop:
    """A class: each episode has its own."""

    def __init__(self) -> None:
        self.sold = 0

    def sell(self, museum: str) -> str:
        """Sell a ticket."""
        self.sold += 1
        return f"ticket {self.sold}"


@tool(return_direct=True)
def direct(city: str) -> str:
    """Weather in a city, for the user as it is."""
    return f"31 degrees in {city}"


@tool(response_format="content_and_artifact")
def drawn(city: str) -> tuple[str, dict[str, Any]]:
    """A map of a city."""
    return f"a map of {city}", {"zoom": 3, "at": [40.4, -3.7]}


# Tools that fail by themselves.

_calls: list[str] = []


class UnavailableError(Exception):
    status_code = 503


def flaky(city: str) -> str:
    """Weather from a station that answers every second time."""
    _calls.append(city)
    if len(_calls) % 2:
        raise UnavailableError("the station is down, try again")
    return f"31 degrees in {city}"


def failing(city: str) -> str:
    """Weather from a station that is closed."""
    raise KeyError(f"no station in {city}")


def _handled(city: str) -> str:
    raise ToolException(f"no {city} here, ask for another")


handled = StructuredTool.from_function(
    _handled, name="handled", description="Weather, with its own words for a failure.", handle_tool_error=True
)


# Tools that a graph hands more than the model writes.


@tool
def remember(city: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Keep a city in mind."""
    return Command(update={"place": city, "messages": [ToolMessage(f"kept {city}", tool_call_id=tool_call_id)]})


@tool
def injected(city: str, place: Annotated[str, InjectedState("place")]) -> str:
    """Distance to the place in mind."""
    return f"{place} to {city}"


@tool
def at_runtime(city: str, runtime: ToolRuntime[Any, Any]) -> str:
    """Weather, by what the graph knows."""
    return f"{city} {sorted(runtime.state)} {bool(runtime.tool_call_id)}"


def reset() -> None:
    """Let no play see another."""
    _calls.clear()


def native(objects: Any) -> list[BaseTool]:
    """Tools as an agent of LangChain has them."""
    found: list[BaseTool] = []
    for one in objects:
        if isinstance(one, type):
            found.append(tool(one().sell))
        else:
            found.append(one if isinstance(one, BaseTool) else tool(one))
    return found


def written(value: Any) -> str:
    """What a loop without a framework tells its model."""
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=lambda one: getattr(one, "__dict__", str(one)))
