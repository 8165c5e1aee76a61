"""Instances of task `awareness` made up for tests: originals, and both manipulations of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talm_sim.types import GoldCall, Missing, MissingKind, Scenario, Source, Turn, YesNo

__all__ = ["family", "tool", "write"]


def tool(name: str, about: str, *required: str) -> str:
    """A tool's specification as JSON text."""
    properties = {one: {"type": "string", "description": f"The {one}"} for one in required}
    return json.dumps({"name": name, "description": about, "parameters": {"type": "object", "properties": properties, "required": [*required]}})


def family(number: int, source: str = "crafted") -> list[Scenario]:
    """An original, what becomes of it without its tool, and without what the user said."""
    base, city = f"trip-{number:02}", f"Town{number}"
    before = (
        {"role": "user", "content": "I want to see the sights."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "list_sights", "arguments": {"near": "here"}}]},
        {"role": "tool", "content": '["a tower", "a bridge"]', "tool_call_id": "c1"},
        {"role": "assistant", "content": "There are a tower and a bridge. What else?"},
    )
    call = GoldCall(tool="book_hotel", arguments={"city": city, "night": "2025-05-01"})
    shown = (tool("list_sights", "Sights of a place", "near"), tool("book_hotel", "Books a hotel room", "city", "night"))
    other = (shown[0], tool("hotel_reviews", "What guests say of a hotel", "hotel"))

    def made(group: str, said: str, tools: Sequence[str], target: YesNo, missing: Missing | None = None) -> Scenario:
        return Scenario(
            id=base if group == "complete" else f"{base}.{group}",
            task="awareness",
            group=group,
            turns=(
                Turn(messages=before),
                Turn(messages=({"role": "user", "content": said},), gold_calls=(call,) if group == "complete" else ()),
            ),
            shown_tools=tuple(tools),
            target=target,
            missing=missing,
            source=Source(name=source, base="" if group == "complete" else base),
        )

    said = f"Book me a room in {city} for 2025-05-01."
    relevant = ("book_hotel",)
    return [
        made("complete", said, shown, YesNo(gold="yes", relevant=relevant)),
        made(
            "replaced",
            said,
            other,
            YesNo(gold="no", relevant=relevant, swapped={"book_hotel": "hotel_reviews"}, made_by="rules"),
            Missing(kind=MissingKind.TOOL, name="book_hotel"),
        ),
        made(
            "removed",
            "Book me a room for 2025-05-01.",
            shown,
            YesNo(gold="no", relevant=relevant, made_by="rules"),
            Missing(kind=MissingKind.ARGUMENT, name="city", value=city, removed_text=f"in {city}"),
        ),
    ]


def write(path: Path, scenarios: Sequence[Scenario], **change: Any) -> Path:
    """Write scenarios as a file of them."""
    path.write_text("".join(one.model_copy(update=change).model_dump_json() + "\n" for one in scenarios), encoding="utf-8")
    return path
