"""Read When2Call's published multiple-choice rows (test set and judge subset) as scenarios.

A multiple-choice row becomes a `Scenario` with a `Choice` and back without a loss. Tools stay the JSON text they were published as,
because prompts contain them unchanged. Rows made elsewhere may add `tool_use`, `language`, `licence` and `url`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.scenarios.item_tools import tool_name
from talm_sim.scenarios.jsonl import json_lines, parse
from talm_sim.types import Behaviour, Choice, Missing, MissingKind, Option, Scenario, Source, Turn

_FILLED = {"type": "string", "pattern": r"\S"}
_TOOL: dict[str, Any] = {"type": ["string", "object"], "description": "A tool's specification: the JSON text of an object, or the object."}
_NEEDED: Mapping[str, Any] = {
    "uuid": _FILLED,
    "question": _FILLED,
    "correct_answer": {"$ref": "#/$defs/Behaviour"},
    "answers": {
        "type": "object",
        "properties": {
            one.value: {"anyOf": [_FILLED, {"type": ["object", "array"], "minProperties": 1, "minItems": 1}]}
            if one is Behaviour.TOOL_CALL
            else _FILLED
            for one in Behaviour
        },
        "required": [one.value for one in Behaviour],
        "additionalProperties": False,
        "description": "What the model would write, of each kind.",
    },
    "tools": {"type": "array", "items": _TOOL},
}
_OPTIONAL: Mapping[str, Any] = {
    "target_tool": {"anyOf": [_TOOL, {"type": "null"}]},
    "orig_tools": {"anyOf": [{"type": "array", "items": _TOOL}, {"type": "null"}]},
}


def with_rows(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a line that is a scenario, or a row as published."""
    text = {"type": ["string", "null"]}
    fields = {key: _NEEDED.get(key, _OPTIONAL.get(key, text)) for key in (*_ROW_KEYS, *_OWN_KEYS)}
    row = {
        "description": "A row in the form of When2Call's published test set.",
        "type": "object",
        "properties": fields,
        "required": [*_NEEDED],
        "additionalProperties": False,
    }
    definitions = scenario["$defs"] | {"Row": row}
    own = {key: value for key, value in scenario.items() if key not in ("$schema", "title", "$defs")}
    head = {"$schema": scenario["$schema"], "title": scenario["title"]}
    return head | {"anyOf": [{"$ref": "#/$defs/Scenario"}, {"$ref": "#/$defs/Row"}], "$defs": definitions | {"Scenario": own}}


TASK = "when2call"
LICENCE = "CC-BY-4.0"
URL = "https://huggingface.co/datasets/nvidia/When2Call"
_ROW_KEYS = (
    "uuid",
    "source",
    "source_id",
    "question",
    "orig_question",
    "correct_answer",
    "answers",
    "target_tool",
    "tools",
    "orig_tools",
    "held_out_param",
)
"""Keys of a published row."""
_OF_ROWS_ALONE = frozenset(_ROW_KEYS) - {"source", "question", "tools"}
_OWN_KEYS = ("tool_use", "language", "licence", "url")
"""Keys that rows made elsewhere may have as well."""


class LineKind(StrEnum):
    """Kinds of lines in a JSONL file; the value is a kind's name in messages."""

    SCENARIO = "a scenario"
    ROW = "a When2Call row"
    SFT = "a training row (SFT)"
    PREFERENCE = "a training row (preference)"
    UNKNOWN = "something else"


def kind_of(line: Any) -> LineKind:
    """Return the kind of a parsed line of a file by its keys, even if one of them is missing."""
    if not isinstance(line, dict):
        return LineKind.UNKNOWN
    keys = line.keys()
    if "turns" in keys or {"id", "group"} <= keys:
        return LineKind.SCENARIO
    if keys & {"chosen_response", "rejected_response"} or {"chosen", "rejected"} <= keys:
        return LineKind.PREFERENCE
    if "messages" in keys:
        return LineKind.SFT
    if keys & _OF_ROWS_ALONE or {"question", "tools"} <= keys:
        return LineKind.ROW
    return LineKind.UNKNOWN


def read_rows(path: Path | Traversable) -> list[Scenario]:
    """Read a file of multiple-choice rows."""
    seen: dict[str, str] = {}
    scenarios: list[Scenario] = []
    for where, line in json_lines(path):
        kind = kind_of(line)
        if kind in {LineKind.SCENARIO, LineKind.SFT, LineKind.PREFERENCE}:
            raise PrerequisiteError(f"{where}: contains {kind.value}, but a When2Call row (uuid, question, answers, tools) is expected.")
        scenario = scenario_of(line, where)
        if scenario.id in seen:
            raise PrerequisiteError(f"{where}: uuid: '{scenario.id}' is also used in {seen[scenario.id]}; ids must be unique.")
        seen[scenario.id] = where
        scenarios.append(scenario)
    return scenarios


def scenario_of(row: Any, where: str = "the row") -> Scenario:
    """Turn a multiple-choice row into a scenario.

    Args:
        row: The parsed row. Tools, and the tool-call answer, may be objects in place of their JSON text, as the released generator writes
            them; they are then written with `json.dumps(..., ensure_ascii=False)`.
        where: File and line, for messages.
    """
    if not isinstance(row, Mapping):
        raise PrerequisiteError(f"{where}: is not a JSON object; write one When2Call row per line.")
    known = (*_ROW_KEYS, *_OWN_KEYS)
    for key in row:
        if key not in known:
            raise PrerequisiteError(f"{where}: {key}: unknown key.{did_you_mean(str(key), known)}")
    gold = _gold(row, where)
    answers = _answers(row, where)
    tools = _tools(row, "tools", where)
    original = None if row.get("orig_tools") is None else _tools(row, "orig_tools", where)
    target = "" if row.get("target_tool") is None else _tool_text(row["target_tool"], "target_tool", where)
    choice = {
        "gold": gold,
        "options": tuple(Option(behaviour=behaviour, text=text) for behaviour, text in answers.items()),
        "tool_use": _text(row, "tool_use", where, default=""),
        "target_tool": target,
        "original_query": _text(row, "orig_question", where, default=""),
        "original_tools": original,
    }
    source = {
        "name": _text(row, "source", where, default=""),
        "base": _text(row, "source_id", where, default=""),
        "licence": _text(row, "licence", where, default=LICENCE),
        "url": _text(row, "url", where, default=URL),
    }
    return Scenario(
        id=_text(row, "uuid", where, filled=True),
        task=TASK,
        group=gold.value,
        turns=(Turn(messages=({"role": "user", "content": _text(row, "question", where, filled=True)},)),),
        shown_tools=tools,
        target=Choice(**choice),
        missing=_missing(gold, _text(row, "held_out_param", where, default=""), tools, original, target),
        language=_text(row, "language", where, default="en"),
        source=Source(**source),
    )


def row_of(scenario: Scenario) -> dict[str, Any]:
    """Turn a scenario of this task into a row as published, keys in the published order."""
    if not isinstance(choice := scenario.target, Choice):
        raise PrerequisiteError(f"scenario '{scenario.id}': has no options to choose from; only scenarios of task {TASK} become rows.")
    if lacking := [behaviour.value for behaviour in Behaviour if choice.text_of(behaviour) is None]:
        raise PrerequisiteError(f"scenario '{scenario.id}': has no {lacking[0]} option; a When2Call row needs all four.")
    if len(scenario.turns) > 1 or [message["role"] for message in scenario.turns[0].messages] != ["user"]:
        raise PrerequisiteError(f"scenario '{scenario.id}': has more than one question; a When2Call row has one.")
    if len(scenario.missing) > 1:
        raise PrerequisiteError(f"scenario '{scenario.id}': lacks {len(scenario.missing)} things; a When2Call row says one.")
    held_out = next((one.name for one in scenario.missing if one.kind is MissingKind.ARGUMENT), "")
    row: dict[str, Any] = {
        "uuid": scenario.id,
        "source": scenario.source.name,
        "source_id": scenario.source.base,
        "question": scenario.query,
        "orig_question": choice.original_query or None,
        "correct_answer": choice.gold.value,
        "answers": {option.behaviour.value: option.text for option in choice.options},
        "target_tool": choice.target_tool or None,
        "tools": list(scenario.shown_tools),
        "orig_tools": None if choice.original_tools is None else list(choice.original_tools),
        "held_out_param": held_out or None,
        "tool_use": choice.tool_use or None,
        "language": None if scenario.language == "en" else scenario.language,
        "licence": None if scenario.source.licence == LICENCE else scenario.source.licence,
        "url": None if scenario.source.url == URL else scenario.source.url,
    }
    return {key: value for key, value in row.items() if value is not None or key == "target_tool"}


def rough_length(scenario: Scenario) -> int:
    """Return the characters that a prompt of this scenario has at least: question and tools, without options. For sorting, not for limits."""
    said = sum(len(message["content"]) for turn in scenario.turns for message in turn.messages)
    return said + sum(map(len, scenario.shown_tools))


def _gold(row: Mapping[str, Any], where: str) -> Behaviour:
    gold = _text(row, "correct_answer", where, filled=True)
    try:
        return Behaviour(gold)
    except ValueError:
        raise PrerequisiteError(f"{where}: correct_answer: unknown behaviour '{gold}'.{did_you_mean(gold, list(Behaviour))}") from None


def _answers(row: Mapping[str, Any], where: str) -> dict[Behaviour, str]:
    if not isinstance(answers := row.get("answers"), dict) or not answers:
        raise PrerequisiteError(f"{where}: answers: missing or no object; write an answer for each of {', '.join(Behaviour)}.")
    if unknown := [key for key in answers if key not in list(Behaviour)]:
        raise PrerequisiteError(f"{where}: answers.{unknown[0]}: unknown behaviour.{did_you_mean(unknown[0], list(Behaviour))}")
    for behaviour in Behaviour:
        if behaviour not in answers:
            raise PrerequisiteError(f"{where}: answers.{behaviour}: missing; write an answer for each of {', '.join(Behaviour)}.")
    texts: dict[Behaviour, str] = {}
    for key, answer in answers.items():
        if key == Behaviour.TOOL_CALL and isinstance(answer, dict | list) and answer:
            texts[Behaviour(key)] = json.dumps(answer, ensure_ascii=False)
        elif isinstance(answer, str) and answer.strip():
            texts[Behaviour(key)] = answer
        else:
            said = "is empty" if not answer or isinstance(answer, str) else "is not text"
            raise PrerequisiteError(f"{where}: answers.{key}: {said}; an option needs words to be scored: write them, or remove the row.")
    return texts


def _tools(row: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    if not isinstance(tools := row.get(key), list):
        raise PrerequisiteError(f"{where}: {key}: is not a list; give a list of JSON texts, one per tool ([] for none).")
    return tuple(_tool_text(tool, f"{key}.{number}", where) for number, tool in enumerate(tools))


def _tool_text(tool: Any, key: str, where: str) -> str:
    if isinstance(tool, dict):
        return json.dumps(tool, ensure_ascii=False)
    if not isinstance(tool, str):
        raise PrerequisiteError(f"{where}: {key}: is not JSON text; write a tool as the text of a JSON object.")
    try:
        spec = parse(tool)
    except ValueError as err:
        raise PrerequisiteError(f"{where}: {key}: is not JSON text ({err}); write a tool as the text of a JSON object.") from None
    if not isinstance(spec, dict):
        raise PrerequisiteError(f"{where}: {key}: is JSON, but no object; write a tool as the text of a JSON object.")
    return tool


def _missing(gold: Behaviour, held_out: str, tools: tuple[str, ...], original: tuple[str, ...] | None, target: str) -> tuple[Missing, ...]:
    """Return what was taken away: a parameter of the question, or the tool that would have fitted it."""
    if held_out:
        return (Missing(kind=MissingKind.ARGUMENT, name=held_out),)
    if gold is not Behaviour.CANNOT_ANSWER:
        return ()
    gone = [tool for tool in original or () if tool not in tools]
    name = tool_name(target) if target else tool_name(gone[0]) if len(gone) == 1 else ""
    return (Missing(kind=MissingKind.TOOL, name=name),) if name else ()


def _text(row: Mapping[str, Any], key: str, where: str, *, filled: bool = False, default: str | None = None) -> str:
    """Return a text of the row; None counts as absent."""
    if (value := row.get(key)) is None:
        if default is None:
            raise PrerequisiteError(f"{where}: {key}: missing; a When2Call row needs it.")
        return default
    if not isinstance(value, str):
        raise PrerequisiteError(f"{where}: {key}: is not text; write it in quotes.")
    if filled and not value.strip():
        raise PrerequisiteError(f"{where}: {key}: is empty; a When2Call row needs it.")
    return value
