"""Read rows of the two collections behind When2Call, BFCL v2 Live (Simple, Multiple) and APIGen's xLAM-60k, as source questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.item_tools import json_schema
from talm_sim.scenarios.jsonl import json_lines, parse
from talm_sim.scenarios.making.outcome import DroppedSource
from talm_sim.tasks.when2call.making.sources import SourceQuestion, tool_spec
from talm_sim.types import GoldCall, JsonObject

_BFCL, _XLAM = ("question", "function"), ("query", "answers", "tools")
_ANSWERS = "possible_answer"
"""BFCL's folder of right calls, beside its files of questions."""
_Source = SourceQuestion | DroppedSource


def is_other_row(line: Any) -> bool:
    """Tell whether a parsed line is a row of one of the collections, or the beginning of a list of such rows."""
    first = line[0] if isinstance(line, list) and line else line
    return isinstance(first, dict) and any(all(key in first for key in keys) for keys in (_BFCL, _XLAM))


def read_other_rows(file: Path) -> tuple[list[SourceQuestion], list[DroppedSource]]:
    """Read a file of such rows: JSON Lines, or one JSON list.

    A BFCL row finds its right call in `ground_truth`, or in the file of the same name in the folder `possible_answer` beside it. A row with
    more than one call or several turns gives no source question, nor does one whose call is of a tool that it does not show.
    """
    found: list[SourceQuestion] = []
    dropped: list[DroppedSource] = []
    answers = _bfcl_answers(file)
    for where, line in _lines(file):
        if not is_other_row(line):
            raise PrerequisiteError(f"{where}: is not a row of BFCL (id, question, function) or xLAM-60k (query, answers, tools).")
        one = _from_bfcl(line, answers, where) if "function" in line else _from_xlam(line, where)
        (found if isinstance(one, SourceQuestion) else dropped).append(one)  # type: ignore[arg-type]
    return found, dropped


def _lines(file: Path) -> Iterator[tuple[str, Any]]:
    text = read_text(file, LARGEST_DATA, "utf-8-sig")
    if not text.lstrip().startswith("["):
        yield from json_lines(file)
        return
    try:
        rows = parse(text)
    except ValueError as err:
        raise PrerequisiteError(f"{file}: not JSON ({err}); give the collection's own file.") from None
    yield from ((f"{file}: row {number}", row) for number, row in enumerate(rows))


def _bfcl_answers(file: Path) -> dict[str, Any]:
    beside = file.parent / _ANSWERS / file.name
    if not beside.is_file():
        return {}
    return {str(line["id"]): line.get("ground_truth") for _, line in json_lines(beside) if isinstance(line, dict) and "id" in line}


def _from_bfcl(row: Mapping[str, Any], answers: Mapping[str, Any], where: str) -> _Source:
    if not (name := str(row.get("id", ""))):
        raise PrerequisiteError(f"{where}: id: missing; a BFCL row needs it.")
    if (right := row.get("ground_truth", answers.get(name))) is None:
        raise PrerequisiteError(f"{where}: has no right call; put BFCL's folder {_ANSWERS} beside the file.")
    turns = row["question"]
    messages = turns[0] if isinstance(turns, list) and len(turns) == 1 and isinstance(turns[0], list) else turns
    said = [one for one in messages if isinstance(one, dict) and one.get("role") == "user"] if isinstance(messages, list) else []
    if not isinstance(messages, list) or len(said) != 1 or len(messages) != 1:
        return DroppedSource(name, "it is not a single message of the user")
    if not isinstance(right, list) or len(right) != 1 or not isinstance(right[0], dict) or len(right[0]) != 1:
        return DroppedSource(name, "it does not have one right call")
    ((tool, accepted),) = right[0].items()
    if not isinstance(accepted, dict):
        return DroppedSource(name, "its right call names no arguments")
    call = {key: _first(values) for key, values in accepted.items() if not _may_be_absent(values)}
    tools = row["function"] if isinstance(row["function"], list) else [row["function"]]
    specs = [tool | {"parameters": json_schema(tool.get("parameters"))} for tool in tools if isinstance(tool, dict)]
    return _source(name, str(said[0].get("content", "")), (tool, call), specs, ("BFCL v2 Live", "Apache-2.0"))


def _may_be_absent(values: Any) -> bool:
    """Return whether an argument may be left out: BFCL then lists "" among its values."""
    return isinstance(values, list) and (not values or values[0] == "")


def _first(values: Any) -> Any:
    """Return the first of the accepted values, at every depth."""
    value = values[0] if isinstance(values, list) and values else values
    if isinstance(value, dict):
        return {key: _first(inner) for key, inner in value.items() if not _may_be_absent(inner)}
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [{key: _first(inner) for key, inner in one.items() if not _may_be_absent(inner)} for one in value]
    return value


def _from_xlam(row: Mapping[str, Any], where: str) -> _Source:
    name = f"xlam-{row.get('id', where.rsplit(':', 1)[-1].strip().replace(' ', '-'))}"
    calls, tools = (_parsed(row[key], f"{where}: {key}") for key in ("answers", "tools"))
    if len(calls) != 1:
        return DroppedSource(name, f"it has {len(calls)} right calls; one is taken")
    specs = []
    for tool in tools:
        entries = tool.get("parameters")
        parameters = {key: entry for key, entry in entries.items() if isinstance(entry, dict)} if isinstance(entries, dict) else {}
        required = [key for key, entry in parameters.items() if "optional" not in str(entry.get("type", "")) and "default" not in entry]
        properties = {key: json_schema(entry) for key, entry in parameters.items()}
        specs.append(tool | {"parameters": {"type": "object", "properties": properties, "required": required}})
    call = (calls[0].get("name"), calls[0].get("arguments"))
    return _source(name, str(row["query"]), call, specs, ("APIGen xLAM-60k", "CC-BY-4.0"))


def _parsed(value: Any, where: str) -> list[JsonObject]:
    """Return a list of objects, which the collection writes as JSON text."""
    try:
        found = parse(value) if isinstance(value, str) else value
    except ValueError as err:
        raise PrerequisiteError(f"{where}: not JSON ({err}); write the list as JSON text.") from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise PrerequisiteError(f"{where}: is not a list of objects; write it as the collection does.")
    return found


def _source(name: str, question: str, call: tuple[Any, Any], tools: list[JsonObject], origin: tuple[str, str]) -> _Source:
    tool, arguments = call
    try:
        gold = GoldCall(name=tool, arguments=arguments)
        specs = [tool_spec(document) for document in tools]
    except (ValueError, LookupError, TypeError):
        return DroppedSource(name, "its right call or a tool it shows cannot be read")
    if (spec := next((one for one in specs if one.name == gold.name), None)) is None:
        return DroppedSource(name, f"it does not show the tool '{gold.name}' that it calls")
    others = tuple(one for one in specs if one.name != gold.name)
    return SourceQuestion(name, question, gold, spec, others, licence=origin[1], origin=origin[0])
