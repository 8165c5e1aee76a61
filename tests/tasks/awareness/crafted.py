"""Instances of task `awareness` made up for tests: originals with both manipulations of each, episodes of them, and rows of the study."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talm_sim.types import (
    Episode,
    GoldCall,
    Missing,
    MissingKind,
    ModelTurn,
    Scenario,
    Source,
    Termination,
    TokenLogprob,
    ToolCall,
    Turn,
    YesNo,
)
from tests.tasks.views import View, job


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
    call = GoldCall(name="book_hotel", arguments={"city": city, "night": "2025-05-01"})
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


def turn(text: str, p_yes: float | None = None, *, calls: bool = False) -> ModelTurn:
    """A turn that says something, found so likely a Yes."""
    first = (
        ()
        if p_yes is None
        else tuple(TokenLogprob(token=word, logprob=math.log(chance)) for word, chance in (("Yes", p_yes), ("No", 1 - p_yes)) if chance > 0)
    )
    made = (ToolCall(id="c", name="book_hotel", arguments={}),) if calls else ()
    return ModelTurn(raw_text=text, text=text, first_tokens=first, tool_calls=made)


def answered(scenario: Scenario, *turns: ModelTurn, **more: Any) -> Episode:
    """An episode with these turns."""
    values: dict[str, Any] = {"termination": Termination.ANSWERED, "model": "test/model", "answer": turns[-1].text if turns else ""} | more
    return Episode(id=scenario.id, scenario_id=scenario.id, group=scenario.group, model_turns=turns, **values)


def random_view(seed: int, families: int = 40, sources: Sequence[str] = ("one", "two"), **options: Any) -> View:
    """A run with random answers, some of them unreadable, and random probabilities, some of them equal."""
    draw = random.Random(seed)
    scenarios = [one for number in range(families) for one in family(number, draw.choice(list(sources)))]
    episodes = []
    for scenario in scenarios:
        lean = 0.25 if scenario.group == "complete" else -0.1
        chance = min(max(round(draw.random() + lean, draw.choice([1, 6])), 0.0), 1.0)
        text = "Yes." if draw.random() < chance else draw.choice(["No.", "No, it lacks a city.", "Who knows?"])
        episodes.append(answered(scenario, turn(text, chance)))
    return View(job("awareness", **options), episodes, scenarios)


def _api(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"{name} of somebody", "input_parameters": {"who": {"type": "str"}}, "output_parameters": {}}


def _tool(name: str) -> dict[str, Any]:
    required = [{"name": "who", "type": "STRING", "description": "", "default": ""}]
    api = {"category_name": "Tools", "tool_name": "Desk", "api_name": name, "api_description": f"{name} of somebody", "method": "GET"}
    return {**api, "required_parameters": required, "optional_parameters": []}


def three_rows(number: int, dataset: str) -> list[dict[str, Any]]:
    """An original, and what each manipulation made of it."""
    bank = dataset == "api-bank"
    needed, other, instead = (_api(name) if bank else _tool(name) for name in ("Salary", "Address", "Birthday"))
    row = {
        "original_sample_id": number,
        "source_file_id": {"dataset": dataset},
        "conversation": f"User: What does Ann{number} earn?",
        "api_list": f"{json.dumps(needed)}\n{json.dumps(other)}",
        "answer": f"Salary(who='Ann{number}')" if bank else "[['Desk', 'Salary']]",
        "corruption_type": "API",
        "corruption_api_list": json.dumps(instead),
        "is_corrupted": False,
    }
    replaced = {**row, "is_corrupted": True}
    removed = {**replaced, "corruption_type": "Utterance", "corruption_api_list": None, "conversation": "User: What does she earn?"}
    return [row, replaced, removed]


def nine_rows() -> list[dict[str, Any]]:
    """Nine lines: two originals of API-Bank, one of ToolBench."""
    return [row for number, dataset in ((1, "api-bank"), (2, "api-bank"), (1, "toolbench")) for row in three_rows(number, dataset)]


def write_rows(path: Path, rows: list[Any]) -> Path:
    """Write rows, a line each; a text as it is."""
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path
