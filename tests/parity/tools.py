"""Tools of every kind, as their users wrote them: this file, as the agents', imports nothing of talm-sim."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
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


VALUES: dict[str, Any] = {
    "text": '"Daily",\n\tbut not on Mondays \\ holidays.',
    "bare": "shipped",
    "empty": "",
    "digits": "007",
    "number": 15.0,
    "flag": True,
    "nothing": None,
    "numbers": [3, 1, 2],
    "words": ["west", "east"],
    "record": {"name": "Prado", "euros": 15, "address": {"street": "Paseo", "city": "Madrid"}, "closed": None},
    "accents": {"fr": "Musée du Prado", "ja": "プラド美術館", "sign": "€ 🎨"},
    "long": [{"order": n, "state": "lost" if n == 999 else "shipped"} for n in range(180, 1000)],  # 32,000 characters
    "ticket": Ticket(museum="Prado", euros=15),
    "tickets": [Ticket(museum="Prado", euros=15)],
    "day": date(1819, 11, 19),
    "exact": Decimal("15.10"),
    "blocks": [{"type": "text", "text": "Las Meninas"}, {"type": "text", "text": "1656"}],
}
"""What a tool may return, by the name of the tool that does."""


def _returning(name: str, value: Any) -> Callable[..., Any]:
    def returns(museum: str) -> Any:
        return value

    returns.__name__, returns.__doc__ = name, f"The {name} of a museum."
    return returns


RESULTS = [_returning(name, value) for name, value in VALUES.items()]


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


class Shop:
    """A class: each episode has its own."""

    def __init__(self) -> None:
        self.sold = 0

    def sell(self, museum: str) -> str:
        """Sell a ticket."""
        self.sold += 1
        return f"ticket {self.sold}"


@tool("get-forecast")
def get_forecast(city: str) -> str:
    """Weather in a city."""
    return f"31 degrees in {city}"


@tool
async def weather(city: str, days: int = 2) -> dict[str, Any]:
    """Weather of some days.

    Args:
        city: Where.
        days: How many.
    """
    return {"then": days, "city": city}


@tool(return_direct=True)
def direct(city: str) -> str:
    """Weather in a city, for the user as it is."""
    return f"31 degrees in {city}"


@tool(response_format="content_and_artifact")
def drawn(city: str) -> tuple[str, dict[str, Any]]:
    """A map of a city."""
    return f"a map of {city}", {"zoom": 3, "at": [40.4, -3.7]}


# Tools that fail by themselves.

calls: list[str] = []
"""Calls of `flaky` in this play."""


class UnavailableError(Exception):
    status_code = 503


def flaky(city: str) -> str:
    """Weather from a station that answers every second time."""
    calls.append(city)
    if len(calls) % 2:
        raise UnavailableError("the station is down, try again")
    return f"31 degrees in {city}"


def failing(city: str) -> str:
    """Weather from a station that is closed."""
    raise KeyError(f"no station in {city}")


def _handled(city: str) -> str:
    raise ToolException(f"no {city} here, ask for another")


def late(city: str) -> str:
    """Weather from a station that is slow by itself."""
    raise TimeoutError("the station is slow")


def several(city: str) -> str:
    """Weather from stations that all fail."""
    raise ExceptionGroup("stations", [ValueError("north"), OSError("south")])


def _numbered(number: int) -> str:
    return f"station {number}"


numbered = StructuredTool.from_function(
    _numbered, name="numbered", description="A station.", handle_validation_error="Give a number.", tags=["safe"], metadata={"team": "blue"}
)
handled = StructuredTool.from_function(
    _handled, name="handled", description="Weather, with its own words for a failure.", handle_tool_error=True
)


# Tools that a graph hands more than the model writes.


@tool
def remember(city: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Keep a city in mind."""
    return Command(update={"place": city, "messages": [ToolMessage(f"kept {city}", tool_call_id=tool_call_id)]})


@tool
def distance(city: str, place: Annotated[str, InjectedState("place")]) -> str:
    """Distance to the place in mind."""
    return f"{place} to {city}"


@tool
def known(city: str, runtime: ToolRuntime[Any, Any]) -> str:
    """Weather, by what the graph knows."""
    return f"{city} {sorted(runtime.state)} {bool(runtime.tool_call_id)}"


def native(objects: Sequence[Any]) -> list[BaseTool]:
    """Tools as an agent of LangChain has them."""
    bound = [one().sell if isinstance(one, type) else one for one in objects]
    return [one if isinstance(one, BaseTool) else tool(one) for one in bound]


def written(value: Any) -> str:
    """What a loop without a framework tells its model."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=lambda one: getattr(one, "__dict__", str(one)))
