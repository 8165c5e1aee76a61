"""What differs between two plays of one agent, by what it is: each difference has a short name, so that a table can list it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

Play = Mapping[str, Any]
"""`answer`, `notes`, `requests`; or `end`, how it failed."""
RUN_SETS = {"temperature": "temperature", "max_completion_tokens": r"\d\s+tokens", "seed": r"\bseed"}
"""Fields of a request that the run sets for a model that it hands over, to the line below its table that says so."""
_MOST = 300


def differences(alone: Play, through: Play, column: str) -> dict[str, str]:
    """What differs, each with what it was alone and through talm-sim."""
    if alone.get("end") or through.get("end"):
        raised = str(alone.get("end", "nothing")).partition(":")[0]  # the error's kind
        return {} if f": {raised}: " in through.get("end", "") else {"end": _both(alone.get("end"), through.get("end"))}
    found: dict[str, str] = {}
    for name, one, other in [*_requests(alone, through, column), *_ends(alone, through)]:
        if one != other:
            found.setdefault(name, _both(one, other))
    return found


def _both(one: Any, other: Any) -> str:
    first, second = (json.dumps(value, ensure_ascii=False, sort_keys=False) for value in (one, other))
    start = next((place for place, pair in enumerate(zip_longest(first, second)) if pair[0] != pair[1]), 0)
    start = max(start - _MOST // 3, 0)
    return f"alone {first[start : start + _MOST]}\n  through {second[start : start + _MOST]}"


def _ends(alone: Play, through: Play) -> Iterator[tuple[str, Any, Any]]:
    yield "answer", _value(alone["answer"]), _value(through["answer"])
    notes = [_grouped(play["notes"]) for play in (alone, through)]
    for key in notes[0] | notes[1]:
        yield key, notes[0].get(key), notes[1].get(key)


def _value(answer: str) -> Any:
    try:
        return json.loads(answer)
    except ValueError:
        return answer


def _grouped(notes: Sequence[tuple[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for key, value in notes:
        found.setdefault(key, []).append(value)
    return found


def _requests(alone: Play, through: Play, column: str) -> Iterator[tuple[str, Any, Any]]:
    yield "requests", len(alone["requests"]), len(through["requests"])
    for one, other in zip(alone["requests"], through["requests"], strict=False):
        first, second = dict(one), dict(other)
        yield from _messages(first.pop("messages"), second.pop("messages"))
        tools = [{tool["function"]["name"]: tool for tool in body.pop("tools", None) or ()} for body in (first, second)]
        yield "order of tools", [name for name in tools[0] if name in tools[1]], [name for name in tools[1] if name in tools[0]]
        for name in tools[0] | tools[1]:
            yield from _tool(name, tools[0].get(name), tools[1].get(name))
        for field in first | second:
            if column == "own" or field not in RUN_SETS:
                yield field, first.get(field), second.get(field)


def _tool(name: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if one is None or other is None:
        yield f"tool {name}", one, other
        return
    first, second = dict(one["function"]), dict(other["function"])
    for part in ("description", "parameters"):
        yield f"{part} {name}", first.pop(part, None), second.pop(part, None)
    yield f"tool {name}", one | {"function": first}, other | {"function": second}


def _messages(one: Sequence[Any], other: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
    names = {call["id"]: call["function"]["name"] for message in [*one, *other] for call in message.get("tool_calls") or ()}
    yield "roles", [message["role"] for message in one], [message["role"] for message in other]
    for first, second in zip(one, other, strict=False):
        role = first["role"]
        yield f"result {names.get(first.get('tool_call_id'))}" if role == "tool" else f"message {role}", first, second


def covers(listed: str, name: str) -> bool:
    """Whether a line of a table is about a difference: `result *` is about all results, `result text, bare` about two."""
    kind, _, names = listed.partition(" ")
    return listed == name or (name.startswith(f"{kind} ") and (names == "*" or name.removeprefix(f"{kind} ") in names.split(", ")))
