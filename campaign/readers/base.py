"""What several readers are given."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from talm_sim.common.credentials import Hider
from talm_sim.errors import PrerequisiteError
from talm_sim.types import Missing, MissingKind, ToolSpec

Reading = dict[str, Callable[[str], object]]


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
