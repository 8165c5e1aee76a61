"""Count what sets of scenarios hold, as in Table 1 of the study on incomplete conditions; measure their likeness to published queries.

The study does not define its words and lengths. Of the definitions tried over the data it was made from, those below come nearest to Table 1.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import Any

from talm_sim.scenarios.item_tools import parameters_of, required_of, spec_of
from talm_sim.types import JsonObject, Scenario

_WORD = re.compile(r"\w+|[^\w\s]")
_SAID = re.compile(r"[\w']+")
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
"""Names of types as API-Bank writes them."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """One column of Table 1.

    Attributes:
        source: Name of the source; empty if scenarios name none.
        group: Group of the scenarios.
        instances: How many scenarios.
        turns: Things said or done in a conversation, on average: each of the user and of the assistant, and each call with its result.
        apis: APIs shown, or offered by name, on average.
        utterance_words: Words of a turn, on average over all turns: runs of letters and digits, and each punctuation mark by itself. A call
            with its result is written as the study writes it, `[Name(key='value')]->result`.
        api_length: Characters of an API's JSON, written as its source writes it, on average over all shown; None where none is. An API of a
            tool has ToolBench's keys (without `method`), any other API-Bank's.
    """

    source: str
    group: str
    instances: int
    turns: float
    apis: float
    utterance_words: float
    api_length: float | None


@dataclass(frozen=True, slots=True)
class Likeness:
    """How far queries are from published ones: 0 for equal distributions, 1 for those that share nothing."""

    first_words: float
    lengths: float


def likeness_of(queries: Iterable[str], published: Mapping[str, Mapping[str, int]]) -> Likeness:
    """Compare queries with published ones.

    Args:
        queries: At least one. Words are runs of letters, digits and apostrophes.
        published: How many published queries have each first word (`first_words`) and each number of words (`lengths`).
    """
    words = [_SAID.findall(query.lower()) for query in queries]
    firsts, lengths = Counter(said[0] for said in words if said), Counter(map(len, words))
    there, long = Counter(published["first_words"]), Counter({int(length): count for length, count in published["lengths"].items()})
    variation = sum(abs(firsts[word] / firsts.total() - there[word] / there.total()) for word in firsts | there) / 2
    steps = [lengths[length] / lengths.total() - long[length] / long.total() for length in range(max(lengths | long) + 1)]
    return Likeness(variation, max(map(abs, accumulate(steps))))


def statistics_of(scenarios: Iterable[Scenario]) -> list[Statistics]:
    """Count what scenarios contain, by source and group, in the order in which these occur."""
    sets: dict[tuple[str, str], list[Scenario]] = {}
    for scenario in scenarios:
        sets.setdefault((scenario.source.name, scenario.group), []).append(scenario)
    return [_row(source, group, members) for (source, group), members in sets.items()]


def _row(source: str, group: str, scenarios: list[Scenario]) -> Statistics:
    said = [list(_turns(scenario)) for scenario in scenarios]
    words = [len(_WORD.findall(text)) for turns in said for text in turns]
    shown = [_length(text) for scenario in scenarios for text in scenario.shown_tools]
    return Statistics(
        source=source,
        group=group,
        instances=len(scenarios),
        turns=fmean(map(len, said)),
        apis=fmean(len(scenario.shown_tools or scenario.tools) for scenario in scenarios),
        utterance_words=fmean(words) if words else 0.0,
        api_length=fmean(shown) if shown else None,
    )


def _turns(scenario: Scenario) -> Iterator[str]:
    calls: dict[Any, Mapping[str, Any]] = {}
    for message in (message for turn in scenario.turns for message in turn.messages):
        calls |= {call["id"]: call for call in message.get("tool_calls", ())}
        call = calls.get(message.get("tool_call_id")) if message["role"] == "tool" else None
        if call:
            arguments = ", ".join(f"{name}={value!r}" for name, value in call.get("arguments", {}).items())
            yield f"[{call['name']}({arguments})]->{message['content']}"
        elif message["content"].strip() or message["role"] != "assistant":  # an assistant's message that only calls is told by its result
            yield message["content"]


def _length(tool: str) -> int:
    """Count the characters of an API as its source writes it; as it is shown, if it is not in a form that can be told."""
    try:
        spec = spec_of(tool)
    except ValueError:
        return len(tool)
    parameters = parameters_of(spec)
    if not isinstance(spec.get("name"), str) or not all(isinstance(one, dict) for one in parameters.values()):
        return len(tool)
    written = _like_toolbench(spec, parameters) if "tool" in spec and "api" in spec else _like_apibank(spec, parameters)
    return len(json.dumps(written, ensure_ascii=False))


def _like_toolbench(spec: JsonObject, parameters: Mapping[str, JsonObject]) -> JsonObject:
    required = required_of(spec)

    def listed(*, needed: bool) -> list[JsonObject]:
        return [
            {
                "name": name,
                "type": str(about.get("type", "")).upper(),
                "description": about.get("description", ""),
                "default": about.get("default", ""),
            }
            for name, about in parameters.items()
            if (name in required) == needed
        ]

    return {
        "category_name": spec.get("category", ""),
        "tool_name": spec["tool"],
        "api_name": spec["api"],
        "api_description": spec.get("description", ""),
        "required_parameters": listed(needed=True),
        "optional_parameters": listed(needed=False),
    } | ({"template_response": spec["response"]} if "response" in spec else {})


def _like_apibank(spec: JsonObject, parameters: Mapping[str, JsonObject]) -> JsonObject:
    taken = {
        name: {"type": _TYPES.get(str(about.get("type")), str(about.get("type", ""))), "description": about.get("description", "")}
        for name, about in parameters.items()
    }
    given = spec.get("response") or {}
    return {"name": spec["name"], "description": spec.get("description", ""), "input_parameters": taken, "output_parameters": given}
