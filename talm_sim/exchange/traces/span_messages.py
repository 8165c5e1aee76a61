"""Read the messages in a span: from attributes, flat or as JSON, or from events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from talm_sim.exchange.traces.attributes import ARGUMENTS, CALL_ID, ERROR_TYPE, RESULT, TOOL_NAME, first, json_in, unflatten
from talm_sim.exchange.traces.blocks import as_text, failure_in
from talm_sim.exchange.traces.framework_messages import find_messages, is_message, read_message
from talm_sim.exchange.traces.trace import Said

Event = tuple[str, Mapping[str, Any]]
"""An event of a span: its name and attributes."""
_NESTED: Final = (
    *(("gen_ai.input.messages", "gen_ai.output.messages"), ("gen_ai.prompt", "gen_ai.completion")),
    *(("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"), ("langfuse.observation.input", "langfuse.observation.output")),
)
"""Names whose values are lists of messages, as JSON or as OTLP's own lists; on a span, or on an event of it."""
_FLAT: Final = (("llm.input_messages", "llm.output_messages"), ("gen_ai.prompt", "gen_ai.completion"), ("llm.prompts", "llm.completions"))
"""Beginnings of names that spread messages over many attributes."""
_VALUES: Final = (("input.value", "output.value"), ("traceloop.entity.input", "traceloop.entity.output"))
"""Names of a framework's whole input and output, which may contain messages."""
_EVENTS: Final = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CHOICE: Final = "gen_ai.choice"
_AROUND_ARGUMENTS: Final = {"inputs", "kwargs", "args", "input_str", "tags", "metadata"}


def messages_in(attributes: Mapping[str, Any], events: Sequence[Event], where: str, *, values: bool = True) -> tuple[list[Said], list[Said]]:
    """Return what a model was told and what it said, by the first convention that the span follows."""
    for asked, said in _pairs(attributes, events, values=values):
        if asked or said:
            return _read(asked, f"{where}, input"), _read(said, f"{where}, output")
    return [], []


def _pairs(attributes: Mapping[str, Any], events: Sequence[Event], *, values: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    everywhere = [attributes, *(more for _, more in events)]
    for names in _NESTED:
        asked, said = (next((more[name] for more in everywhere if more.get(name) is not None), None) for name in names)
        yield _nested(asked, "user"), _nested(said, "assistant")
    for names in _FLAT:
        asked_flat, said_flat = (unflatten(attributes, name) for name in names)
        yield [_plain(one, "user") for one in asked_flat], [_plain(one, "assistant") for one in said_flat]
    yield _from_events(events)
    yield _of_ai_sdk(attributes)
    for names in _VALUES if values else ():
        asked, said = (json_in(attributes.get(name)) for name in names)
        yield find_messages(asked) or [], find_messages(said) or []


def _of_ai_sdk(attributes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the messages in a span of Vercel's AI SDK."""
    told = json_in(attributes.get("ai.prompt.messages", attributes.get("ai.prompt")))
    prompt = told.get("prompt") if isinstance(told, dict) else None
    asked = _nested(prompt if told is not None and isinstance(prompt, str | list) else told, "user")
    text, calls, reasoning = (attributes.get(f"ai.response.{name}") for name in ("text", "toolCalls", "reasoning"))
    said = {"role": "assistant", "content": attributes.get("ai.response.object") if text is None else text, "tool_calls": json_in(calls)}
    said |= {"reasoning": reasoning, "finish_reason": attributes.get("ai.response.finishReason")}
    return asked, [said] if said["content"] is not None or said["tool_calls"] else []


def _nested(value: Any, role: str) -> list[Any]:
    """Return the messages in an attribute; a plain text is one message."""
    if isinstance(value := json_in(value), str) and value.strip():
        return [{"role": role, "content": value}]
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return find_messages(value) or value  # what is no message is refused by its place
    return find_messages(value) or []


def _plain(message: Any, role: str) -> Any:
    """Return a message that was put together from flat names, in the form of chat completions."""
    if not isinstance(message, dict):
        return message
    told: dict[str, Any] = {"role": role, **(message["message"] if isinstance(message.get("message"), dict) else message)}
    return told | {"content": _blocks(told.get("content", told.pop("contents", None)))}


def _blocks(content: Any) -> Any:
    """Return a content's blocks if it is a text that lists them, as OpenLLMetry writes it, else the content."""
    found = json_in(content)
    is_listed = isinstance(found, list) and found and all(isinstance(one, dict) and isinstance(one.get("type"), str) for one in found)
    return found if is_listed else content


def _from_events(events: Sequence[Event]) -> tuple[list[Any], list[Any]]:
    """Return the messages of which each is an event, with its body as attributes or as JSON in one of them."""
    asked: list[Any] = []
    said: list[Any] = []
    for name, attributes in events:
        if name != _CHOICE and name not in _EVENTS:
            continue
        body = json_in(attributes.get("gen_ai.event.content"))
        told: Any = dict(body) if isinstance(body, dict) else {key: json_in(value) for key, value in attributes.items()}
        if isinstance(message := json_in(told.get("message")), dict):
            told = {**message, "finish_reason": told.get("finish_reason")}
        elif message is not None:
            told = {"content": message, "finish_reason": told.get("finish_reason")}
        told["role"] = _EVENTS.get(name, "assistant")
        if "id" in told and told["role"] == "tool":
            told.setdefault("tool_call_id", told["id"])
        if "content" not in told and isinstance(body, str):
            told["content"] = body
        (said if name == _CHOICE else asked).append(told)
    return asked, said


def _read(messages: Sequence[Any], where: str) -> list[Said]:
    return [one for number, message in enumerate(messages, 1) for one in read_message(message, f"{where} message {number}")]


def result_in(attributes: Mapping[str, Any], name: str, failure: str | None, elapsed_ms: float) -> Said:
    """Return what a span of a tool call says."""
    tool, call_id = first(attributes, TOOL_NAME), first(attributes, CALL_ID)
    found = json_in(first(attributes, RESULT))
    inner = found.get("output") if isinstance(found, dict) and set(found) <= {"output", "kwargs"} else None
    whole = inner if isinstance(inner, dict) else found
    said = Said("tool", as_text(first(attributes, RESULT)))
    if is_message(whole) and len(read := read_message(whole, name)) == 1 and read[0].role == "tool":
        said = read[0]
    if isinstance(kind := attributes.get(ERROR_TYPE), str) and kind:
        said.error = f"http_{kind}" if len(kind) == 3 and kind.isdecimal() else kind[:100]
    elif failure is not None:
        said.error = failure_in(said.text or failure)
    said.text = said.text or (failure or "")
    said.name = tool if isinstance(tool, str) else said.name or name.removeprefix("execute_tool ").strip()
    said.answers = call_id if isinstance(call_id, str) else said.answers
    said.arguments = _arguments(json_in(first(attributes, ARGUMENTS)))
    said.elapsed_ms = elapsed_ms
    return said


def _arguments(value: Any) -> Any:
    """Return the arguments of a call without what frameworks put around them."""
    around = isinstance(value, dict) and value.keys() <= _AROUND_ARGUMENTS
    return next((value[key] for key in ("inputs", "kwargs") if isinstance(value.get(key), dict)), value) if around else value
