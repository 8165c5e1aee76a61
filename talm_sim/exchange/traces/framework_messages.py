"""Read messages as frameworks write them: LangChain's, chat completions, Anthropic's blocks, the parts of OpenTelemetry's conventions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.trace import SCENARIO, Said, Trace, Written
from talm_sim.models.answers import usage_of
from talm_sim.types import Usage

_Role = Literal["system", "user", "assistant", "tool"]
_ROLES: Final[Mapping[str, _Role]] = {
    **dict.fromkeys(("system", "developer", "SystemMessage"), "system"),
    **dict.fromkeys(("user", "human", "HumanMessage", "HumanMessageChunk"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "AIMessage", "AIMessageChunk"), "assistant"),
    **dict.fromkeys(("tool", "function", "ToolMessage", "ToolMessageChunk", "FunctionMessage"), "tool"),
}
"""How frameworks name the speakers."""
_DEEPEST: Final = 8
"""Objects around messages that are looked into."""
_AROUND: Final = ("messages", "outputs", "output", "values", "generations", "choices", "message", "kwargs", "inputs", "input")
"""Keys under which frameworks put messages."""
_FORMS: Final = "write LangChain messages (messages_to_dict, dumpd) or objects with `role` and `content`"


def read_trace(value: Any, where: str) -> Trace:
    """Read a trace: a list of messages, or an object with `messages` and perhaps `metadata`, as the state of a graph."""
    found = find_messages(value)
    if found is None:
        raise PrerequisiteError(f"{where}: holds neither spans (`resourceSpans`) nor messages; {_FORMS}.")
    said: list[Said] = []
    model = ""
    for number, message in enumerate(found, 1):
        said += read_message(message, f"{where}, message {number}")
        model = model or _model_of(message)
    state = value if isinstance(value, dict) else {}
    interrupts = state.get("__interrupt__")
    asks = tuple(_question(one) for one in interrupts) if isinstance(interrupts, list) else ()
    return Trace(where, said, named_scenario(state), model, asks=asks)


def named_scenario(value: Any, depth: int = 0) -> str:
    """Return the scenario's id among an object's keys or in its `metadata`; empty if none is named."""
    if not isinstance(value, dict) or depth > 2:
        return ""
    if isinstance(named := value.get(SCENARIO), str):
        return named
    inner = (value.get(key) for key in ("metadata", "config", "attributes", "configurable"))
    return next((named for one in inner if (named := named_scenario(one, depth + 1))), "")


def find_messages(value: Any, depth: int = 0) -> list[Any] | None:
    """Return the list of messages in a value: itself, or within the objects that frameworks put around it; None if there is none."""
    if depth > _DEEPEST or not isinstance(value, list | dict):
        return None
    if isinstance(value, list):
        if value and all(isinstance(one, list) for one in value):
            return find_messages(value[0], depth + 1)
        inner = [one["message"] if isinstance(one, dict) and isinstance(one.get("message"), dict) else one for one in value]
        return inner if any(map(is_message, inner)) else None
    if is_message(value):
        return [value]
    found = (find_messages(value.get(key), depth + 1) for key in _AROUND)
    return next((one for one in found if one is not None), None)


def is_message(value: Any) -> bool:
    """Return whether a value has the form of a message, whoever speaks."""
    if not isinstance(value, dict):
        return False
    fields, role = _fields(value)
    return role in _ROLES and bool({"content", "parts", "tool_calls", "function_call", "contents"} & fields.keys())


def read_message(value: Any, where: str) -> list[Said]:
    """Read a message; one with the results of several calls gives several."""
    if not isinstance(value, dict):
        raise PrerequisiteError(f"{where}: is not a JSON object; {_FORMS}.")
    fields, named = _fields(value)
    role = None if named is None else _ROLES.get(named)
    if role is None:
        said = "has no `role` or `type`" if named is None else f"is of '{named[:40]}', which is no role that is known"
        raise PrerequisiteError(f"{where}: {said}; {_FORMS}.")
    content = fields.get("parts", fields.get("content"))
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    results = [one for block in blocks if (one := _result_in(block)) is not None]
    if results:
        others = [block for block in blocks if _result_in(block) is None]
        return results + ([Said(role, _joined(others))] if role == "user" and _joined(others) else [])
    if role == "tool":
        text = as_text(content) if not isinstance(content, list) else _joined(blocks) or as_text(content)
        failed = fields.get("status") == "error" or fields.get("is_error") is True
        answers, name = (one if isinstance(one := fields.get(key), str) else "" for key in ("tool_call_id", "name"))
        return [Said("tool", text, answers=answers, name=name, error=failure_in(text) if failed else "")]
    if role != "assistant":
        return [Said(role, _joined(blocks))]
    about = fields.get("response_metadata")
    about = about if isinstance(about, dict) else {}
    stop = fields.get("finish_reason") or about.get("finish_reason") or about.get("stop_reason")
    return [
        Said(
            "assistant",
            _joined(blocks),
            reasoning=_reasoning(fields, blocks),
            calls=tuple(_calls(fields, blocks)),
            stop=stop if isinstance(stop, str) else "",
            usage=_usage(fields, about),
        )
    ]


def as_text(value: Any) -> str:
    """Return a value as text: a text as it is, nothing as an empty one, another as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def failure_in(text: str) -> str:
    """Return why a call failed, by what LangGraph's tool node says to the model."""
    if " is not a valid tool, try one of [" in text:
        return "unknown_tool"
    return "invalid_arguments" if text.startswith("Error invoking tool ") else "tool_error"


def _fields(value: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """Return what a message contains, and how it names its speaker."""
    kind = value.get("type")
    inner = value.get("data")
    if isinstance(kind, str) and isinstance(inner, dict) and "content" in inner:  # messages_to_dict
        return inner, str(inner["role"]) if kind == "chat" and "role" in inner else kind
    kwargs, names = value.get("kwargs"), value.get("id")
    if kind == "constructor" and isinstance(kwargs, dict) and isinstance(names, list) and names:  # dumpd
        return kwargs, str(names[-1])
    role = value.get("role", kind)
    return value, role if isinstance(role, str) else None


def _joined(blocks: Iterable[Any]) -> str:
    return "".join(text for block in blocks if (text := _block_text(block)))


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict) or block.get("type") not in ("text", "output_text", "input_text", None):
        return ""
    return next((text for key in ("text", "content") if isinstance(text := block.get(key), str)), "")


def _result_in(block: Any) -> Said | None:
    if not isinstance(block, dict) or block.get("type") not in ("tool_call_response", "tool_result"):
        return None
    found = next((block[key] for key in ("response", "result", "content") if key in block), None)  # the second is a mistake that is made
    text = _joined(found) or as_text(found) if isinstance(found, list) else as_text(found)
    answers = block.get("id", block.get("tool_use_id"))
    failed = block.get("is_error") is True
    return Said("tool", text, answers=answers if isinstance(answers, str) else "", error=failure_in(text) if failed else "")


def _calls(fields: Mapping[str, Any], blocks: Sequence[Any]) -> Iterable[Written]:
    listed = [one for key in ("tool_calls", "invalid_tool_calls") if isinstance(fields.get(key), list) for one in fields[key]]
    if not listed and isinstance(fields.get("additional_kwargs"), dict) and isinstance(fields["additional_kwargs"].get("tool_calls"), list):
        listed = fields["additional_kwargs"]["tool_calls"]
    if not listed and isinstance(fields.get("function_call"), dict):
        listed = [fields["function_call"]]
    if not listed:
        listed = [block for block in blocks if isinstance(block, dict) and block.get("type") in ("tool_call", "tool_use")]
    for call in listed:
        inner = call.get("function") if isinstance(call, dict) else None
        told = {**call, **inner} if isinstance(inner, dict) else call if isinstance(call, dict) else {}
        arguments = next((told[key] for key in ("arguments", "args", "input") if key in told), None)
        yield told.get("id"), told.get("name"), arguments


def _reasoning(fields: Mapping[str, Any], blocks: Sequence[Any]) -> str:
    more = fields.get("additional_kwargs")
    own = next((one.get("reasoning_content") for one in (fields, more) if isinstance(one, dict) and one.get("reasoning_content")), None)
    if isinstance(own, str):
        return own
    kept = [block for block in blocks if isinstance(block, dict) and block.get("type") in ("reasoning", "thinking")]
    texts = [text for block in kept for key in ("content", "thinking", "reasoning", "text") if isinstance(text := block.get(key), str)]
    return "\n\n".join(texts)


def _usage(fields: Mapping[str, Any], about: Mapping[str, Any]) -> Usage | None:
    counted = fields.get("usage_metadata")
    if isinstance(counted, dict):
        details = counted.get("input_token_details")
        cached = details.get("cache_read") if isinstance(details, dict) else None
        return usage_of(counted.get("input_tokens"), counted.get("output_tokens"), cached)
    counted = about.get("token_usage") or about.get("usage") or fields.get("usage")
    if not isinstance(counted, dict):
        return None
    asked, said = (next((counted[key] for key in keys if key in counted), None) for keys in (_ASKED, _SAID))
    return usage_of(asked, said)


_ASKED = ("input_tokens", "prompt_tokens")
_SAID = ("output_tokens", "completion_tokens")


def _model_of(message: Any) -> str:
    about = _fields(message)[0].get("response_metadata") if isinstance(message, dict) else None
    found = next((about[key] for key in ("model_name", "model", "model_id") if key in about), "") if isinstance(about, dict) else ""
    return found if isinstance(found, str) else ""


def _question(interrupt: Any) -> str:
    value = interrupt.get("value", interrupt.get("repr", interrupt)) if isinstance(interrupt, dict) else interrupt
    return as_text(value.get("question", value) if isinstance(value, dict) else value)
