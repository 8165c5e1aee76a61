"""Arguments to try a tool with: whoever gave them, they fit; and who gave them is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.schemas import Schema
from talm_sim.tools_env.trial_arguments import example_arguments, read_arguments
from talm_sim.types import ToolSpec


def tool(description: str = "", **properties: dict[str, Any]) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return ToolSpec(name="t", description=description, parameters=parameters)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "const": "x", "default": "y"}, "x"),
        ({"type": "string", "default": "y", "examples": ["z"]}, "y"),
        ({"type": "string", "examples": ["z"], "enum": ["w", "z"]}, "z"),
        ({"type": "integer", "enum": [4, 5]}, 4),
        ({"anyOf": [{"type": "integer", "examples": [3]}, {"type": "string"}]}, 3),
        ({"type": "string", "description": "Time zone (e.g., 'America/New_York', 'Europe/London')."}, "America/New_York"),
        ({"type": "string", "description": 'A city, for example "Linz".'}, "Linz"),
        ({"type": "integer", "description": "A year, such as `1998`."}, 1998),
        ({"type": "string", "description": "Airport, e.g. HAN."}, "HAN"),
        ({"type": "string", "description": "The day, YYYY-MM-DD"}, "2025-01-15"),
        ({"type": "string", "description": "The time in 24-hour format (HH:MM)"}, "12:00"),
        ({"type": "string", "examples": [7, "seven"], "enum": ["seven"]}, "seven"),
    ],
)
def test_what_the_description_gives_is_taken_and_is_not_made_up(schema: dict[str, Any], value: Any) -> None:
    found = example_arguments(tool(a=schema))
    assert (found.arguments, found.made_up) == ({"a": value}, ())


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "string", "minLength": 12},
        {"type": "string", "maxLength": 2},
        {"type": "string", "format": "date"},
        {"type": "string", "pattern": "^[A-Z]{3}$"},
        {"type": "string", "pattern": r"^\d{5}$"},
        {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
        {"type": "integer", "minimum": 10},
        {"type": "integer", "exclusiveMinimum": 10, "multipleOf": 7},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "integer", "maximum": -5},
        {"type": "number", "minimum": -90, "maximum": 90},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "number"}, "minItems": 3, "uniqueItems": True},
        {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
        {"type": "object", "properties": {"x": {"type": "integer", "minimum": 2}}, "required": ["x"]},
        {"type": ["string", "null"]},
        {},
    ],
)
def test_what_is_made_up_fits_and_is_told(schema: dict[str, Any]) -> None:
    found = example_arguments(tool(a=schema))
    assert Schema(schema).fits(found.arguments["a"]), found
    assert found.made_up == ("a",)


def test_an_example_of_the_tools_own_description_is_for_the_one_argument_it_fits() -> None:
    found = example_arguments(tool("Convert euros to a currency, such as 'USD'.", amount={"type": "number"}, currency={"type": "string"}))
    assert (found.arguments, found.made_up) == ({"amount": 1, "currency": "USD"}, ("amount",))
    found = example_arguments(tool("Call like 'x'.", a={"type": "string"}, b={"type": "string"}))
    assert found.arguments["a"] == "x" and found.made_up == ("a", "b")


def test_the_users_arguments_go_before_all_others() -> None:
    found = example_arguments(tool(a={"type": "string", "default": "d"}, b={"type": "string"}), {"a": "mine"})
    assert found.arguments == {"a": "mine", "b": "example"} and found.made_up == ("b",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", r"is not JSON \(.*\); write \{\"TOOL\": \{\"ARGUMENT\": VALUE\}\}\.$"),
        ("[]", "is not a JSON object; write"),
        ('{"t": {"a": "\\ud800"}}', "contains half a surrogate pair"),
        ('{"u": {}}', "there is no tool 'u'"),
        ('{"t": 3}', "t: is not a JSON object; write"),
        ('{"t": {"aa": "x"}}', "t has no argument 'aa'. Did you mean 'a'?"),
        ('{"t": {"a": 3}}', "t: 3 is not of type 'string'; correct it."),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PrerequisiteError) as caught:
        read_arguments(file, {"t": tool(a={"type": "string"})})
    assert str(caught.value).startswith(f"--arguments {file}: ") and "\n" not in str(caught.value)
    assert said in str(caught.value) or "is not JSON" in said
