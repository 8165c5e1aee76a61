"""Read the study's own files, as its dataset card and viewer show them (huggingface.co/datasets/ddehun/ICT, which names no licence).

A source `study:PLACE` is one of the files, a folder of them, or `hub:OWNER/DATASET:FILE`.

A JSON line an instance: `original_sample_id`, which an original and what was made of it share; `conversation`, lines of "User: ...",
"AI: ..." and "API-Request: [Name(argument='...')]->result"; `api_list` and `corruption_api_list`, an API a line, as JSON or as Python
writes a dictionary; `answer`, the call that serves the original; `corruption_type`, "API" for a replaced API, "Utterance" for removed
words; and `is_corrupted`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.hub import local_file
from talm_sim.scenarios.jsonl import parse
from talm_sim.tasks.awareness.making.apibank_apis import to_api_object
from talm_sim.tasks.awareness.making.loaded import LoadedSource, SourceProblem, complete_scenario, fault_in
from talm_sim.tasks.awareness.making.toolbench import api_spec, callable_names
from talm_sim.types import GoldCall, JsonObject, Missing, MissingKind, Scenario, Source, YesNo
from talm_sim.types.base import canonical_form

STUDY_URL = "https://huggingface.co/datasets/ddehun/ICT"
_GROUPS = {"api": "replaced", "utterance": "removed"}
_SPEAKER = re.compile(r"^(User|AI|API-Request)\s*:\s?", re.MULTILINE)
_REQUEST = re.compile(r"\[?\s*(?P<call>\w+\(.*?\))\s*\]?\s*->\s*(?P<result>.*)", re.DOTALL)


def study_place(file: Path | None) -> Path | None:
    """Return the place of the study's files that `study:PLACE` names; None for any other file."""
    kind, colon, place = str(file or "").partition(":")
    return Path(place) if colon and kind == "study" else None


def is_row(line: Any) -> bool:
    """Return whether a line of a file is an instance in the study's form."""
    return isinstance(line, dict) and {"original_sample_id", "conversation", "api_list", "is_corrupted"} <= line.keys()


def load_study(path: Path) -> LoadedSource:
    """Read the study's files: originals as complete scenarios, each with what was made of it.

    An original that is in several files, or several times in one, is one scenario where all say the same. Where files have different
    originals of one id, a digest of the file's original is added to the id of it and of what the file has of it.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [local_file(path)]
    if not files:
        raise PrerequisiteError(f"{path}: contains no *.jsonl; give one of the study's files, or their folder.")
    rows = [(file, where, _read_row(line)) for file in files for where, line in _lines(file)]
    originals: dict[str, dict[Path, Scenario]] = {}
    for file, _, one in rows:
        if isinstance(one, Scenario) and one.group == "complete":
            originals.setdefault(one.id, {}).setdefault(file, one)
    scenarios: dict[str, Scenario] = {}
    problems: list[SourceProblem] = []
    for file, where, row in rows:
        try:
            if isinstance(row, ValueError):
                raise row
            one = _told_apart(row, file, originals.get(row.base, {}))
            known = scenarios.setdefault(one.id, one)
            if known is not one and (known != one or one.group != "complete"):
                raise ValueError(f"'{one.id}' is used twice; ids must be unique.")
        except ValueError as err:
            problems.append(SourceProblem(where, str(err)))
    return LoadedSource(tuple(scenarios.values()), tuple(problems))


def _read_row(line: str) -> Scenario | ValueError:
    try:
        return _scenario(parse(line))
    except ValueError as err:
        return err


def _told_apart(one: Scenario, file: Path, originals: Mapping[Path, Scenario]) -> Scenario:
    """Add a digest of the file's original to the id, if the originals of this id differ among the files."""
    found = list(originals.values())
    if all(other == found[0] for other in found[1:]):
        return one
    if file not in originals:
        raise ValueError(f"'{one.base}' has different originals in other files, and none in this one; add its original to this file.")
    base = f"{one.base}.{digest(canonical_form(originals[file]), 8)}"
    if one.group == "complete":
        return one.model_copy(update={"id": base})
    return one.model_copy(update={"id": f"{base}.{one.group}", "source": one.source.model_copy(update={"base": base})})


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = read_text(file, LARGEST_DATA).split("\n")
    except (OSError, UnicodeDecodeError) as err:
        raise PrerequisiteError(f"{file}: cannot be read ({err}); give one of the study's JSONL files.") from None
    yield from ((f"{file}:{number}", line) for number, line in enumerate(lines, 1) if line.strip())


def _scenario(row: Any) -> Scenario:
    if not isinstance(row, dict):
        raise ValueError("is not a JSON object; write one instance per line.")
    for key in ("original_sample_id", "conversation", "api_list", "answer", "is_corrupted"):
        if row.get(key) is None:
            raise ValueError(f"{key}: missing; an instance needs it.")
    dataset, changed = _source_name(row), bool(row["is_corrupted"])
    base = ".".join(filter(None, ("study", dataset, str(row["original_sample_id"]))))  # each data set counts its originals from the start
    group = _group_of(row) if changed else "complete"
    shown, call = _tools(str(row["api_list"]), "api_list"), _call(str(row["answer"]))
    # A changed list may lack what the answer calls.
    relevant = _named_apis(str(row["answer"]), shown) or ([call.name] if call else [])
    if not relevant:
        raise ValueError("answer: names no API of api_list; name the one that serves the request.")
    if group == "replaced":
        substitutes = _tools(str(row.get("corruption_api_list") or ""), "corruption_api_list")
        shown = {name: tool for name, tool in shown.items() if name not in relevant} | substitutes
    source = Source(name=dataset, url=STUDY_URL, base=base if changed else "")
    said = _messages(str(row["conversation"]))
    scenario = complete_scenario(base, said, list(shown.values()), list(shown)[:1], source, [call] if call else [])
    kind = MissingKind.TOOL if group == "replaced" else MissingKind.UTTERANCE
    found = scenario.model_copy(
        update={
            "id": f"{base}.{group}" if changed else base,
            "group": group,
            "target": YesNo(gold="no" if changed else "yes", relevant=tuple(relevant), made_by="the study" if changed else ""),
            "missing": (Missing(kind=kind, name=", ".join(relevant)),) if changed else (),
        }
    )
    if fault := fault_in(found):
        raise ValueError(fault)
    return found


def _group_of(row: Mapping[str, Any]) -> str:
    """Return the group of a manipulated row. Whatever the type is called, no other APIs means that words were removed."""
    kind = row.get("corruption_type")
    if (group := _GROUPS.get(str(kind).strip().casefold())) is None and not row.get("corruption_api_list"):
        return "removed"
    if group is None:
        raise ValueError(f'corruption_type: is {json.dumps(kind)[:60]}; write "API" (replaced) or "Utterance" (removed).')
    return group


def _source_name(row: Mapping[str, Any]) -> str:
    origin = row.get("source_file_id")
    dataset = str(origin.get("dataset", "")) if isinstance(origin, dict) else ""
    return {"api-bank": "apibank", "toolbench": "toolbench"}.get(dataset.casefold(), dataset)


def _tools(text: str, key: str) -> dict[str, JsonObject]:
    """Return the APIs of a list, by the name they are shown under."""
    apis: list[JsonObject] = []
    for number, line in enumerate(filter(str.strip, text.split("\n")), 1):
        try:
            found = parse(line)
        except ValueError:
            try:
                found = ast.literal_eval(line.strip())
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                raise ValueError(f"{key}: line {number} is neither JSON nor a dictionary; write an API a line.") from None
        apis += found if isinstance(found, list) else [found]
    if not all(isinstance(api, dict) and isinstance(api.get("name", api.get("api_name")), str) for api in apis):
        raise ValueError(f"{key}: an API has no name; give each a `name`, or `tool_name` and `api_name`.")
    keys = [(str(api.get("tool_name", "")), str(api["api_name"])) for api in apis if "api_name" in api]
    names = callable_names(list(dict.fromkeys(keys)))
    shown: dict[str, JsonObject] = {}
    for api in apis:
        if "api_name" in api:
            name = names[str(api.get("tool_name", "")), str(api["api_name"])]
            shown[name] = api_spec(name, {"tool_name": ""} | api)
        else:
            shown[api["name"]] = to_api_object(api["name"], api)
    return shown


def _named_apis(answer: str, tools: Mapping[str, JsonObject]) -> list[str]:
    return [name for name, tool in tools.items() if re.search(rf"(?<!\w){re.escape(str(tool.get('api', name)))}(?!\w)", answer)]


def _call(text: str) -> GoldCall | None:
    """Read a call in Python's syntax with literal arguments; None if the text is not one. Nothing of it is run."""
    try:
        node = ast.parse(text.strip().strip("[]"), mode="eval").body
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            arguments = {one.arg: ast.literal_eval(one.value) for one in node.keywords if one.arg}
            return GoldCall(name=node.func.id, arguments=arguments)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return None


def _messages(conversation: str) -> list[dict[str, Any]]:
    parts = _SPEAKER.split(conversation)
    said = [("User", parts[0])] if parts[0].strip() else []
    said += list(zip(parts[1::2], parts[2::2], strict=True))
    messages: list[dict[str, Any]] = []
    for number, (speaker, text) in enumerate(said):
        request = _REQUEST.fullmatch(text.strip()) if speaker == "API-Request" else None
        call = _call(request["call"]) if request else None
        if request and call:
            made = {"id": f"call_{number}", "name": call.name, "arguments": call.arguments}
            messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
            messages.append({"role": "tool", "content": request["result"], "tool_call_id": made["id"]})
        else:
            messages.append({"role": "user" if speaker == "User" else "assistant", "content": text.strip()})
    return messages
