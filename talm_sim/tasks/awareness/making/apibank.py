"""Read API-Bank's dialogues (Li et al., EMNLP 2023): each API call of a dialogue is an instance.

- The conversation is what was said before the call, with the requests and results of earlier calls. Calls of the tool search are left out
  (section 3.1), and what the assistant says last: the study's own conversations end before it, and Table 1's 6.18 turns are only met so.
  It then ends with the user, or with a result (for one in eight: a token, with which the next call is made at once).
- The API list holds all APIs that the dialogue calls, as API-Bank's evaluation shows them (2.10 an instance; Table 1 has 2.13), in the
  catalogue's order, so that their place says nothing.
- The gold API is the one called, its arguments and result the call's.
- A call with a name, password, token, number or measured value of somebody that nothing before it says is left out: no model could make it,
  so it is no complete instance (11 of 463). Nor is any call of three dialogues that ask for what none of their APIs does (5; the study kept
  450, and does not say which).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import parse
from talm_sim.tasks.awareness.making.apibank_apis import TOOL_SEARCH, read_apis
from talm_sim.tasks.awareness.making.loaded import LoadedSource, SourceProblem, complete_scenario
from talm_sim.tasks.awareness.making.value_spellings import gives_value_away
from talm_sim.types import GoldCall, JsonObject, Scenario, Source

_DIALOGUES = Path("lv1-lv2-samples")
_SPEAKERS = {"User": "user", "AI": "assistant"}
_NAME = "apibank"
_SOURCE = Source(name=_NAME, licence="Apache-2.0", url="https://github.com/AlibabaResearch/DAMO-ConvAI/tree/main/api-bank")
_PERSONAL = frozenset(
    {"username", "password", "token", "email", "user_id", "account", "appointment_id", "device_id", "patient_name", "health_data"}
)
"""Parameters whose values nobody could guess or work out."""
_READING = re.compile(r"""['"]value['"]:\s*['"]([^'"]+)""")
"""A measured value of `health_data`; its names (blood pressure) are said even if the value is not."""
_UNSERVED = dict.fromkeys(
    ("DeleteReminder-level-3-1", "QueryReminder-level-3-1", "QueryReminder-level-3-2"),
    "the user asks to set a reminder, and no API of the dialogue sets one",
)
"""Dialogues whose calls do not do what is asked, by name."""
_Rows = list[tuple[int, JsonObject]]
"""Lines of a dialogue, each with its number."""


def load_apibank(folder: Path) -> LoadedSource:
    """Read API-Bank's dialogues of levels 1 and 2."""
    if not (files := sorted((folder / _DIALOGUES).glob("*/*.jsonl"))):
        raise PrerequisiteError(f"{folder / _DIALOGUES}: contains no dialogues (*/*.jsonl); give the folder `api-bank` of API-Bank.")
    dialogues: dict[Path, _Rows] = {}
    problems: list[SourceProblem] = []
    for path in files:
        if isinstance(rows := _read(path), SourceProblem):
            problems.append(rows)
        else:
            dialogues[path] = rows
    specs, faults = read_apis(folder, (row for rows in dialogues.values() for _, row in rows))
    problems += faults
    scenarios: list[Scenario] = []
    for path, rows in dialogues.items():
        for one in _instances(path, rows, specs):
            (scenarios if isinstance(one, Scenario) else problems).append(one)  # type: ignore[arg-type]
    return LoadedSource(tuple(scenarios), tuple(problems))


def _read(path: Path) -> _Rows | SourceProblem:
    """Read a dialogue's lines, or say what is wrong with it: one broken line breaks what follows it."""
    try:
        lines = read_text(path, LARGEST_DATA).split("\n")
    except (OSError, UnicodeDecodeError) as err:
        return SourceProblem(str(path), f"cannot be read ({err}).")
    rows: _Rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse(line)
        except ValueError as err:
            return SourceProblem(f"{path}:{number}", f"not JSON ({err}); its dialogue is left out.")
        if fault := _fault_of(row):
            return SourceProblem(f"{path}:{number}", f"{fault}; its dialogue is left out.")
        rows.append((number, row))
    return rows


def _fault_of(row: Any) -> str:
    if not isinstance(row, dict):
        return "is not a JSON object"
    if row.get("role") in _SPEAKERS:
        return "" if isinstance(row.get("text"), str) else "text: is not text"
    if row.get("role") != "API":
        return "role: is neither User, AI nor API"
    if not isinstance(row.get("api_name"), str) or not row["api_name"]:
        return "api_name: names no API"
    return "" if isinstance(row.get("param_dict"), dict) else "param_dict: is not a JSON object of arguments"


def _instances(path: Path, rows: _Rows, specs: Mapping[str, JsonObject]) -> Iterator[Scenario | SourceProblem]:
    kept = [(line, row) for line, row in rows if row.get("api_name") != TOOL_SEARCH]
    called = {row["api_name"] for _, row in kept if row["role"] == "API"}
    shown = [spec for name, spec in specs.items() if name in called]
    unknown = sorted(called - specs.keys())
    number = 0
    for index, (line, row) in enumerate(kept):
        if row["role"] != "API":
            continue
        number += 1
        if unknown:
            yield SourceProblem(
                f"{path}:{line}", f"nothing describes API '{unknown[0]}', which the dialogue calls; add it to data/all_apis.csv."
            )
            continue
        call = GoldCall(name=row["api_name"], arguments=row["param_dict"], result=_success(row.get("result")))
        messages = _messages([one for _, one in kept[:index]])
        if path.stem in _UNSERVED:
            yield SourceProblem(f"{path}:{line}", f"{_UNSERVED[path.stem]}; the instance is not complete.")
            continue
        unsaid = [name for name in _PERSONAL & call.arguments.keys() if not _is_said(messages, call.arguments[name])]
        if unsaid:
            yield SourceProblem(f"{path}:{line}", f"'{min(unsaid)}' of the call is said nowhere before it; the instance is not complete.")
            continue
        try:
            yield complete_scenario(f"{_NAME}.{path.stem}.{number}", messages, shown, [call.name], _SOURCE, [call])
        except ValueError as err:
            yield SourceProblem(f"{path}:{line}", str(err))


def _is_said(messages: Sequence[JsonObject], value: Any) -> bool:
    texts = [*(message["content"] for message in messages), *(str(call) for one in messages for call in one.get("tool_calls", ()))]
    values = _READING.findall(str(value)) or [value]
    return all(any(gives_value_away(text, one) for text in texts) for one in values)


def _messages(rows: Sequence[JsonObject]) -> list[dict[str, Any]]:
    """Return a dialogue as chat messages, without what the assistant says last."""
    end = len(rows)
    while end and rows[end - 1]["role"] == "AI":
        end -= 1
    messages: list[dict[str, Any]] = []
    for number, row in enumerate(rows[:end]):
        if row["role"] in _SPEAKERS:
            messages.append({"role": _SPEAKERS[row["role"]], "content": row["text"]})
            continue
        call = {"id": f"call_{number}", "name": row["api_name"], "arguments": row["param_dict"]}
        before = messages[-1] if messages else {}
        if before.get("role") == "assistant" and "tool_calls" not in before:
            before["tool_calls"] = [call]
        else:
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "content": _result(row.get("result")), "tool_call_id": call["id"]})
    return messages


def _success(result: Any) -> str | None:
    """Return the result of a call; None if it failed, or nothing is told."""
    return None if not isinstance(result, dict) or result.get("exception") or result.get("output") is None else _result(result)


def _result(result: Any) -> str:
    """Return the result of a call: its output, or its exception."""
    if isinstance(result, dict):
        result = {"exception": result["exception"]} if result.get("exception") else result.get("output")
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
