"""What a reader is, and what several of them are given."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from talm_sim.common.credentials import Hider
from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.types import Missing, MissingKind, ToolSpec

__all__ = ["ASKED", "ASKS", "CALLS", "DECIDES", "FORMS", "JAVA", "SPEC", "TOOLS", "Reader", "all_of", "also_in", "hider"]


@dataclass(frozen=True, slots=True)
class Reader:
    """One function that reads a foreign text.

    Attributes:
        name: What it is called.
        module: Where it is in the package; pieces of texts are drawn from the patterns there and near there.
        read: Reads a text.
        texts: Beginnings behind which it does its work, and pieces that are written many times.
        refusals: How it may refuse a text.
    """

    name: str
    module: str
    read: Callable[[str], object]
    texts: tuple[str, ...] = ()
    refusals: tuple[type[Exception], ...] = (ValueError, RecursionError, PrerequisiteError, ToolError, OSError)


CALLS: Final = (
    '{"name": "f", "arguments": {"city": "',
    '[f(city="',
    "<tool_call>",
    "[",
    '[{"name": "f", "arguments": {',
    "```json\n",
    "<function=f><parameter=city>",
    "f(",
)


FORMS: Final = (
    "task_summary: a\ndecision: call\n",
    "task_summary: ",
    "blockers: [",
    "why: because\n",
    '{"task_summary": "',
    '{"why": [',
    "```\n",
    "<form>\n",
    "| task_type | ",
    "  - a\n",
    "{\n",
    "\n",
)


JAVA: Final = (
    ")Map.of(",
    "Arrays.asList(",
    "your Action: 1,1) Map.of(,",
    "new ArrayList<>(Arrays.asList(",
    'put("a", 1)',
    "add(1)",
    "new int[]{",
)


TOOLS: Final = (
    {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"a": {}}}},
)


ASKED: Final = Missing(kind=MissingKind.ARGUMENT, name="to_currency", value="francs", removed_text="in francs", human_answer="In francs.")


SPEC: Final = ToolSpec(
    name="convert_money",
    category="finance",
    description="Convert money between currencies.",
    parameters={"type": "object", "properties": {"amount": {"type": "number"}, "to_currency": {"type": "string"}}, "required": ["amount"]},
)


def also_in(form: Any, function: Callable[[str], object]) -> Callable[[str], object]:
    """Read a text as it is, and as the one text of a document that is whole."""

    def fill(part: Any, text: str) -> Any:
        if isinstance(part, dict):
            return {fill(key, text): fill(value, text) for key, value in part.items()}
        return [fill(one, text) for one in part] if isinstance(part, list) else text if part == "TEXT" else part

    def read(text: str) -> None:
        with contextlib.suppress(ValueError, RecursionError, PrerequisiteError):
            function(text)
        function(json.dumps(fill(form, text)))

    return read


@cache
def hider() -> Hider:
    return Hider(("sk-abcdefghijklmnop", "s3cret/with+signs=", "aaaaaaaaaaaaaaaa"))


def all_of(module: Any, names_of: Iterable[str]) -> Callable[[str], object]:
    functions = [getattr(module, name) for name in names_of]

    def read(text: str) -> None:
        for function in functions:
            function(text)

    return read


DECIDES: Final = ("Answer: ", "Thought: no.\nDecision: ", "<think>", "**Answer:** ")


ASKS: Final = ("Please tell me ", "What is the ", "- ", "> ", "1. ")
