"""Read a row of BFCL, or of a translation of it, as a scenario."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from talm_sim.common.typed_options import fault_of
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.scenarios.item_tools import parameters_of, required_of
from talm_sim.scenarios.jsonl import parse
from talm_sim.tasks.refusal.bfcl.subsets import KNOWN_FAULTS, Subset
from talm_sim.types import AcceptedCall, Calls, Scenario, Source, Turn

TASK = "refusal"
_ROW_KEYS = frozenset({"subset", "test_category", "ground_truth"})
_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class FileRow:
    """A line of a file."""

    where: str
    text: str
    row: Mapping[str, Any]

    def fault(self, said: str) -> PrerequisiteError:
        """Return an error that names the line."""
        return PrerequisiteError(f"{self.where}: {said}")


def is_row(line: Any) -> bool:
    """Return by its keys whether a parsed line is a row of BFCL, even if one of them is missing."""
    if not isinstance(line, dict) or "turns" in line or {"id", "group"} <= line.keys():
        return False
    lists = {key for key in ("question", "function") if isinstance(line.get(key), list)}
    return len(line.keys() & _ROW_KEYS | lists) > 1


def read_line(where: str, text: str) -> FileRow:
    """Read a line with a row."""
    try:
        row = parse(text)
    except ValueError as err:
        raise PrerequisiteError(f"{where}: not JSON ({err}); write one row per line.") from None
    if not isinstance(row, dict):
        raise PrerequisiteError(f"{where}: is not a JSON object; write one row per line.")
    if not isinstance(row.get("id"), str) or not row["id"].strip():
        raise PrerequisiteError(f"{where}: id: missing or not text; every row needs its own.")
    return FileRow(where, text, row)


def scenario_of(line: FileRow, answer: FileRow | None, subset: Subset, name: str, language: str, source: Source) -> tuple[Scenario, str]:
    """Turn a row into a scenario.

    Returns:
        The scenario, and what is known to be faulty about its ground truth; empty if nothing is.
    """
    if not (functions := _functions(line)) and subset.expected != "none":
        raise line.fault(f"function: is empty, and a row of {subset.name} needs a function to call; add it, or remove the row.")
    accepted: tuple[AcceptedCall, ...] = ()
    known = ""
    if subset.expected == "none" and line.row.get("ground_truth"):
        raise line.fault(f"ground_truth: lists calls, but rows of {subset.name} accept none; write [], or correct the row's subset.")
    if subset.expected == "calls":
        if answer is None:
            raise line.fault(f"id: '{line.row['id']}' has no ground truth, and a row of {subset.name} needs one; add it, or remove the row.")
        accepted, known = _accepted_calls(answer, functions, line.row["id"].removesuffix(f"_{language}"))
        if (len(accepted) > 1) != subset.parallel:
            has, right = ("1 call", "two or more") if subset.parallel else (f"{len(accepted)} calls", "one")
            raise answer.fault(f"ground_truth: has {has}, and a row of {subset.name} has {right}; correct it, or the row's subset.")
    try:
        turn = Turn(messages=_messages(line))
    except ValidationError as err:
        raise line.fault(f"question: {fault_of(err.errors()[0]).rstrip('.')}; write messages of `role` and `content`.") from None
    scenario = Scenario(
        id=name,
        task=TASK,
        group=subset.name,
        turns=(turn,),
        shown_tools=tuple(text for text, _ in functions),
        target=Calls(expected=subset.expected, accepted=accepted, syntax=subset.syntax, cannot_answer=_refusal(line)),
        language=language,
        source=source,
    )
    return scenario, known


def _refusal(line: FileRow) -> str:
    if not isinstance(text := line.row.get("cannot_answer", ""), str):
        raise line.fault("cannot_answer: is not a text; write how a refusal would be worded, or leave it out.")
    return text.strip()


def _messages(line: FileRow) -> tuple[dict[str, Any], ...]:
    question = line.row.get("question")
    if not isinstance(question, list) or not question or not all(isinstance(turn, list) for turn in question):
        raise line.fault('question: is not a list of turns, each a list of messages; write [[{"role": "user", "content": ...}]].')
    if len(question) > 1:
        raise line.fault(f"question: has {len(question)} turns, and only single-turn rows are read; remove the row.")
    if not any(isinstance(message, dict) and message.get("role") == "user" for message in question[0]):
        raise line.fault("question: contains no user message; write one.")
    if isinstance(last := question[0][-1], dict) and last.get("role") == "assistant":
        raise line.fault("question: ends with the assistant; end it with the user, or with a tool's result.")
    return tuple(question[0])


def _functions(line: FileRow) -> list[tuple[str, dict[str, Any]]]:
    """Return the functions shown, each as its text in the line and as a parsed object."""
    if not isinstance(line.row.get("function"), list):
        raise line.fault("function: missing or no list; write the list of functions shown ([] where none is).")
    found: list[tuple[str, dict[str, Any]]] = []
    for number, text in enumerate(_texts_of_list(line.text, "function")):
        spec = line.row["function"][number]
        if not isinstance(spec, dict) or not isinstance(spec.get("name"), str) or not spec["name"]:
            raise line.fault(f"function.{number}: is not an object with a `name`; write a function as BFCL does.")
        if any(spec["name"] == other["name"] for _, other in found):
            raise line.fault(f"function.{number}: '{spec['name']}' is listed twice; show every function once.")
        found.append((text, spec))
    return found


def _accepted_calls(line: FileRow, functions: list[tuple[str, dict[str, Any]]], published: str) -> tuple[tuple[AcceptedCall, ...], str]:
    """Return the calls of a ground truth, and what is known to be faulty about it."""
    truth = line.row.get("ground_truth")
    if not isinstance(truth, list) or not truth or not all(isinstance(call, dict) and len(call) == 1 for call in truth):
        raise line.fault("ground_truth: is not a list of calls; write [{NAME: {PARAMETER: [VALUE, ...]}}].")
    known = ""
    specs = {spec["name"]: spec for _, spec in functions}
    calls: list[AcceptedCall] = []
    for number, call in enumerate(truth):
        ((name, arguments),) = call.items()
        here = f"ground_truth.{number}.{name}"
        fault = ""
        if name not in specs:
            fault = f"{here}: is not one of the functions shown.{did_you_mean(name, specs)}"
            name = name if len(specs) > 1 else next(iter(specs))
        if not isinstance(arguments, dict) or not all(isinstance(values, list) for values in arguments.values()):
            raise line.fault(f"{here}: is not an object of lists of values; write {{PARAMETER: [VALUE, ...]}}.")
        parameters = parameters_of(specs.get(name, {}))
        if (strange := [parameter for parameter in arguments if parameter not in parameters]) and not fault:
            fault = f"{here}.{strange[0]}: is not a parameter of that function.{did_you_mean(strange[0], parameters)}"
        if (empty := [parameter for parameter, values in arguments.items() if not values]) and not fault:
            fault = f"{here}.{empty[0]}: has no accepted value."
        lacking = [parameter for parameter in required_of(specs.get(name, {})) if parameter not in arguments]
        if lacking and not fault:
            fault = f"{here}: leaves out {lacking[0]}, which that function requires."
        if fault and published not in KNOWN_FAULTS:
            raise line.fault(f"{fault} Correct the ground truth, or remove the row.")
        known = known or (KNOWN_FAULTS[published] if fault else "")
        calls.append(AcceptedCall(name=name, arguments={parameter: tuple(values) for parameter, values in arguments.items()}))
    return tuple(calls), known


def _texts_of_list(text: str, key: str) -> list[str]:
    """Return the raw JSON text of each element of a list of an object; `text` is known to be well formed."""
    start = {name: start for name, start, _ in _parts(text, _skip_space(text, 0))}[key]
    return [text[first:end] for _, first, end in _parts(text, start)]


def _parts(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Return the parts of the object or list that begins at `at`: each with its key (empty in a list), start and end."""
    close = "}" if text[at] == "{" else "]"
    at = _skip_space(text, at + 1)
    while text[at] != close:
        name = ""
        if close == "}":
            name, at = _decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        start = at
        _, at = _decode(text, start)
        yield name, start, at
        at = _skip_space(text, at)
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
