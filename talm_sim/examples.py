"""Two agents to try: scripts, no language models, which read requests as `talm-sim scenarios init` writes them, of whatever tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool

__all__ = ["careful", "careless"]


def careful(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> list[AnyMessage]:
    """Ask the person for what the request leaves out; answer with what the tool said, or say what failed."""
    request = messages[-1].text
    asked, tool, person = _asked_for(request), _find_tool(request, tools), next((one for one in tools if one.name == "ask_human"), None)
    if tool is None:
        return [*messages, AIMessage(f"I cannot look up the {asked}: I have no tool for that.")]
    arguments = _stated(tool, request)
    for name in (name for name, value in arguments.items() if value is None):
        said = person.invoke({"question": f"What is the {_words(name)}?"}) if person else ""
        arguments[name] = _stated(tool, said)[name]
        if arguments[name] is None:
            return [*messages, AIMessage(f"I cannot look up the {asked}: the {_words(name)} is missing.")]
    try:
        result = _call(tool, arguments)
    except Exception as err:  # a tool may fail in any way
        return [*messages, AIMessage(f"I could not look up the {asked}: the tool failed ({str(err).partition(':')[0]}).")]
    found = dict(_values(result)).get(asked)
    said = f"I could not find the {asked}: it is not in the tool's answer." if found is None else f"The {asked} is {found}."
    return [*messages, AIMessage(said)]


def careless(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> list[AnyMessage]:
    """Make up what the request leaves out, and an answer where the tool gives none."""
    request, result = messages[-1].text, None
    asked, tool = _asked_for(request), _find_tool(request, tools)
    if tool is not None:
        made_up = {name: "Utopia" if kind == "string" else 7 for name, kind in _required(tool).items()}
        with suppress(Exception):
            result = _call(tool, {name: made_up[name] if value is None else value for name, value in _stated(tool, request).items()})
    return [*messages, AIMessage(f"The {asked} is {dict(_values(result)).get(asked, 5417)}.")]


def _asked_for(request: str) -> str:
    found = re.search(r"What (?:is|are) the (?:number of )?([^?]+)\?$", request)
    return found[1] if found else "answer"


def _find_tool(request: str, tools: Sequence[BaseTool]) -> BaseTool | None:
    """Return the tool whose name and description have all words of the request's first sentence; None if it is not there."""
    wanted = {*re.findall(r"\w+", re.split(r"(?<=[.!?])\s", request)[0].lower())}
    return next((one for one in tools if wanted <= {*re.findall(r"\w+", f"{_words(one.name)} {one.description}".lower())}), None)


def _required(tool: BaseTool) -> dict[str, str]:
    """Return the names of the arguments that a tool requires, with their types."""
    schema = tool.args_schema if isinstance(tool.args_schema, dict) else {}
    return {name: schema.get("properties", {}).get(name, {}).get("type", "string") for name in schema.get("required", ())}


def _stated(tool: BaseTool, text: str) -> dict[str, Any]:
    """Return the required arguments with their values from sentences like "The NAME is VALUE."; None where there is no such sentence."""
    found = {
        name: re.search(rf"\bThe (?:number of )?{re.escape(_words(name))} (?:is|are) (.+?)\.(?= The | What |$)", text)
        for name in _required(tool)
    }
    return {name: one and (one[1] if _required(tool)[name] == "string" else _read(one[1])) for name, one in found.items()}


def _call(tool: BaseTool, arguments: Mapping[str, Any]) -> Any:
    result = tool.invoke(dict(arguments))
    return _read(result) if isinstance(result, str) else result


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _values(result: Any, words: str = "", of: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of a result with the words by which a request asks for it; of a list, those of its first item."""
    if isinstance(result, dict):
        for key, value in result.items():
            yield from _values(value, f"{words} {_words(key)}".strip(), of)
    elif isinstance(result, list):
        yield from _values(result[0], "", f" of the first entry{f' in {words}' if words else ''}{of}") if result else ()
    elif result is not None:
        yield (words + of if words else of.removeprefix(" of the ") or "result"), result


def _words(name: str) -> str:
    return " ".join(part.lower() for part in re.split(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+", name) if part)
