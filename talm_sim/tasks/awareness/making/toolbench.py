"""Read ToolBench's instances in StableToolBench's format (Guo et al., Findings of ACL 2024): a request, APIs retrieved for it, the needed ones.

The source knows which APIs a request needs, but not with which arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import parse
from talm_sim.tasks.awareness.making.loaded import LoadedSource, SourceProblem, complete_scenario
from talm_sim.types import JsonObject, Scenario, Source

_NAME = "stabletoolbench"
_QUERIES = Path("solvable_queries") / "test_instruction"
_REPOSITORY = "https://github.com/THUNLP-MT/StableToolBench"
_TYPES = {"NUMBER": "number", "INTEGER": "integer", "BOOLEAN": "boolean", "OBJECT": "object", "ARRAY": "array", "LIST": "array"}
"""Names of types; ENUM, DATE (YYYY-MM-DD) and the like are strings."""
LONGEST_NAME = 64
"""Longest name of a function in the protocols of model providers."""


def load_toolbench(folder: Path) -> LoadedSource:
    """Read all queries."""
    files = sorted((folder / _QUERIES).glob("*.json")) or sorted(folder.glob("*.json"))
    if not files:
        raise PrerequisiteError(f"{folder / _QUERIES}: contains no queries (*.json); give StableToolBench's folder.")
    scenarios: list[Scenario] = []
    problems: list[SourceProblem] = []
    seen: dict[str, str] = {}
    for path in files:
        for where, one in _read(path):
            if isinstance(one, Scenario) and one.id in seen:
                problems.append(SourceProblem(where, f"query_id: is also used in {seen[one.id]}; ids must be unique."))
            elif isinstance(one, Scenario):
                seen[one.id] = where
                scenarios.append(one)
            else:
                problems.append(one)
    return LoadedSource(tuple(scenarios), tuple(problems))


def _read(path: Path) -> Iterator[tuple[str, Scenario | SourceProblem]]:
    try:
        queries = parse(read_text(path, LARGEST_DATA))
    except (OSError, ValueError) as err:  # UnicodeDecodeError is a ValueError
        yield str(path), SourceProblem(str(path), f"cannot be read as JSON ({err}).")
        return
    if not isinstance(queries, list):
        yield str(path), SourceProblem(str(path), "is not a list of queries.")
        return
    for number, query in enumerate(queries):
        named = query.get("query_id") if isinstance(query, dict) else None
        where = f"{path}, query {number}" if named is None else f"{path}, query_id {named}"
        try:
            yield where, _scenario(query, path)
        except ValueError as err:
            yield where, SourceProblem(where, str(err))


def _scenario(query: Any, path: Path) -> Scenario:
    if not isinstance(query, dict):
        raise ValueError("is not a JSON object; write one object per query.")
    for key in ("query_id", "query", "api_list"):
        if key not in query:
            raise ValueError(f"{key}: missing; a query needs it.")
    apis = _api_list(query["api_list"])
    if not isinstance(query["query"], str) or not query["query"].strip():
        raise ValueError("query: is not text; write what the user asks.")
    names = callable_names(list(apis))
    return complete_scenario(
        f"{_NAME}.{query['query_id']}",
        [{"role": "user", "content": query["query"]}],
        [api_spec(names[key], api) for key, api in apis.items()],
        [names[key] for key in _read_needed(query.get("relevant APIs"), apis)],
        Source(name=_NAME, licence="Apache-2.0", url=f"{_REPOSITORY}/blob/main/{_QUERIES.as_posix()}/{path.name}"),
    )


def _api_list(value: Any) -> dict[tuple[str, str], JsonObject]:
    """Return the APIs by tool and name; one listed twice counts once."""
    if isinstance(value, str):
        try:
            value = parse(value)
        except ValueError as err:
            raise ValueError(f"api_list: is not JSON ({err}); write a list of objects.") from None
    if not isinstance(value, list):
        raise ValueError("api_list: is not a list; write a list of objects.")
    found: dict[tuple[str, str], JsonObject] = {}
    for number, api in enumerate(value):
        if not isinstance(api, dict) or not isinstance(api.get("tool_name"), str) or not isinstance(api.get("api_name"), str):
            raise ValueError(f"api_list.{number}: has no tool_name and api_name; write both as texts.")
        found[api["tool_name"], api["api_name"]] = api
    return found


def _read_needed(value: Any, apis: dict[tuple[str, str], JsonObject]) -> list[tuple[str, str]]:
    needed: list[tuple[str, str]] = []
    for number, pair in enumerate(value if isinstance(value, list) else []):
        if not isinstance(pair, list) or len(pair) != 2 or (str(pair[0]), str(pair[1])) not in apis:
            raise ValueError(f"relevant APIs.{number}: is not a [tool_name, api_name] of api_list; name one that is listed.")
        needed.append((str(pair[0]), str(pair[1])))
    return needed


def callable_names(keys: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each API that a model can call: its tool's and its own, in letters, digits and underscores."""
    names: dict[tuple[str, str], str] = {}
    for key in keys:
        name = re.sub(r"_+", "_", re.sub(r"[^0-9A-Za-z]", "_", "__".join(key))).strip("_")[:LONGEST_NAME] or "api"
        number = 2
        while name in names.values():
            name = f"{name[: LONGEST_NAME - 4].rstrip('_')}_{number}"
            number += 1
        names[key] = name
    return names


def api_spec(name: str, api: JsonObject) -> JsonObject:
    """Describe an API of the source as a scenario shows it, under a name that can be called."""
    required, optional = (_parameters(api.get(f"{kind}_parameters")) for kind in ("required", "optional"))
    schema = {"type": "object", "properties": optional | required, "required": list(required)}
    spec: JsonObject = {"name": name, "category": str(api.get("category_name") or ""), "tool": api["tool_name"], "api": api["api_name"]}
    spec |= {"description": str(api.get("api_description") or "").strip(), "parameters": schema}
    return spec | {"response": api["template_response"]} if api.get("template_response") else spec


def _parameters(value: Any) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict) and one.get("name"):
            schema: JsonObject = {"type": _TYPES.get(str(one.get("type")).upper(), "string")}
            schema |= {key: one[key] for key in ("description", "default") if one.get(key) not in (None, "")}
            found[str(one["name"])] = schema
    return found
