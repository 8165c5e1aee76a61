"""Describe API-Bank's APIs: of three places, the best one that has an API is used.

1. `apis/*.py`, the benchmark's own code, if the folder is a whole checkout: the descriptions that its evaluation shows. It is read, never run.
2. Results of its tool search inside the dialogues: most of the same texts.
3. `data/all_apis.csv`, an early draft: half of its parameters have other names than the calls in the dialogues. There an API's parameters
are those its calls give, described if the draft has the name.
"""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_DATA, LARGEST_SETTINGS, open_plain, read_text
from talm_sim.scenarios.item_tools import json_schema
from talm_sim.tasks.awareness.making.loaded import SourceProblem
from talm_sim.types import JsonObject

TOOL_SEARCH = "ToolSearcher"
"""API-Bank's tool-retrieval module, which is not a tool of a scenario (section 3.1)."""
_CATALOGUE = Path("data") / "all_apis.csv"
_FIELDS = ("description", "input_parameters", "output_parameters")
_NAME_COLUMN = "类名"


def read_apis(folder: Path, rows: Iterable[Mapping[str, Any]]) -> tuple[dict[str, JsonObject], list[SourceProblem]]:
    """Read what is known of each API."""
    draft, problems = _from_catalogue(folder / _CATALOGUE)
    searched: dict[str, JsonObject] = {}
    given: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.get("api_name") == TOOL_SEARCH:
            searched |= _from_search(row)
        elif isinstance(row.get("param_dict"), dict):
            given.setdefault(str(row.get("api_name")), {}).update(row["param_dict"])
    code = _from_code(folder / "apis")
    specs: dict[str, JsonObject] = {}
    for name in dict.fromkeys((*draft, *searched, *code)):
        found = code.get(name) or searched.get(name) or _as_called(draft[name], given.get(name))
        specs[name] = to_api_object(name, found)
    return specs, problems


def to_api_object(name: str, found: Mapping[str, Any]) -> JsonObject:
    """Describe an API as a scenario shows it, from API-Bank's description."""
    return {
        "name": name,
        "description": str(found.get("description") or ""),
        "parameters": _schema(found.get("input_parameters")),
        "response": found.get("output_parameters") or {},
    }


def _schema(parameters: Any) -> JsonObject:
    named = {name: about for name, about in parameters.items() if name} if isinstance(parameters, dict) else {}
    # Every parameter is required: API-Bank marks none as optional, and its code takes all of them.
    return {"type": "object", "properties": {name: json_schema(about) for name, about in named.items()}, "required": list(named)}


def _as_called(draft: JsonObject, given: Mapping[str, Any] | None) -> JsonObject:
    """Return a drafted API with the parameters that calls in the dialogues give."""
    if given is None:
        return draft
    known = draft.get("input_parameters")
    about = known if isinstance(known, dict) else {}
    return draft | {"input_parameters": {name: about.get(name) or {"type": type(value).__name__} for name, value in given.items()}}


def _from_search(row: Mapping[str, Any]) -> dict[str, JsonObject]:
    result = row.get("result")
    output = result.get("output") if isinstance(result, dict) else None
    found = output if isinstance(output, list) else [output]
    return {str(api["name"]): api for api in found if isinstance(api, dict) and api.get("name")}


def _from_code(folder: Path) -> dict[str, JsonObject]:
    """Return literals assigned in classes that describe an API."""
    found: dict[str, JsonObject] = {}
    for path in sorted(folder.glob("*.py")):
        try:
            tree = ast.parse(read_text(path, LARGEST_SETTINGS))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the other two places have the API, or its instances are counted as unusable
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                fields = _read_assignments(node.body)
                if "description" in fields and "input_parameters" in fields:
                    found[node.name] = fields
    return found


def _from_catalogue(path: Path) -> tuple[dict[str, JsonObject], list[SourceProblem]]:
    found: dict[str, JsonObject] = {}
    problems: list[SourceProblem] = []
    try:
        with io.TextIOWrapper(open_plain(path, LARGEST_DATA), encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                name, about = row.get(_NAME_COLUMN) or "", row.get("api_info") or ""
                try:
                    fields = _read_assignments(ast.parse(about).body)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    fields = {}
                if name and not fields:
                    problems.append(
                        SourceProblem(f"{path}, '{name}'", "api_info: describes nothing; its calls name its parameters, but not what it does.")
                    )
                if name:
                    found[name] = fields
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        problems.append(SourceProblem(str(path), f"cannot be read ({err}); APIs that no dialogue searched for have no description."))
    return found, problems


def _read_assignments(body: Iterable[ast.stmt]) -> JsonObject:
    """Return names of `_FIELDS` with the literals assigned to them."""
    fields: JsonObject = {}
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in _FIELDS:
            try:
                fields[node.targets[0].id] = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue
    return fields
