"""Read messages as frameworks write them, whatever they put around them: `_ROLES` names the speakers, `blocks` what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, cast

from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.blocks import as_text, failure_in, first_of, read_blocks, read_call, result_text, text_of, what_is
from talm_sim.exchange.traces.trace import SCENARIO, Said, Trace, Written
from talm_sim.foreign.error_text import escape_control
from talm_sim.models.answers import usage_of
from talm_sim.types import Usage

_Role = Literal["system", "user", "assistant", "tool"]
_ROLES: Final[Mapping[str, _Role | Literal["source", "nobody"]]] = {
    **dict.fromkeys(("system", "developer", "SystemMessage"), "system"),
    **dict.fromkeys(("user", "human", "HumanMessage", "HumanMessageChunk", "UserMessage", "request"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "AIMessage", "AIMessageChunk", "AssistantMessage", "response", "gemini"), "assistant"),
    **dict.fromkeys(("tool", "function", "ToolMessage", "ToolMessageChunk", "FunctionMessage", "toolResult"), "tool"),
    **dict.fromkeys(("ToolCallExecutionEvent", "FunctionExecutionResultMessage"), "tool"),
    # AutoGen's: `source` says who speaks.
    **dict.fromkeys(("TextMessage", "MultiModalMessage", "StructuredMessage", "StopMessage", "HandoffMessage", "ThoughtEvent"), "source"),
    **dict.fromkeys(("ToolCallRequestEvent", "ToolCallSummaryMessage", "CodeGenerationEvent"), "source"),
    **dict.fromkeys(("UserInputRequestedEvent", "ModelClientStreamingChunkEvent", "MemoryQueryEvent", "SelectSpeakerEvent"), "nobody"),
    **dict.fromkeys(("CodeExecutionEvent", "SelectorEvent", "nobody"), "nobody"),
}
"""How frameworks name the speakers."""
_DEEPEST: Final = 8
"""Objects around messages that are looked into."""
_AROUND: Final = (
    "messages",
    "contents",
    "events",
    "items",
    "outputs",
    "output",
    "values",
    "generations",
    "choices",
    "candidates",
    "message",
    "kwargs",
)
"""Keys under which frameworks put messages."""
_PAIRS: Final = (("inputs", "outputs"), ("input", "output"), ("messages", "choices"), ("contents", "candidates"), ("request", "response"))
"""Keys of what an agent was told and of what came of it."""
_SAYS: Final = {"content", "parts", "tool_calls", "function_call", "contents", "toolInvocations", "toolCalls"}
_LISTED: Final = ("tool_calls", "invalid_tool_calls", "toolInvocations", "toolCalls")
"""Fields of a message that list its calls."""
_ASKED = ("input_tokens", "prompt_tokens", "prompt_token_count", "promptTokenCount", "inputTokens")
_SAID = ("output_tokens", "completion_tokens", "candidates_token_count", "candidatesTokenCount", "outputTokens")
_THOUGHTS: Final = ("reasoning_content", "thought", "reasoning")
_ITEM: Final = "item"
_FORMS: Final = "write LangChain messages (messages_to_dict, dumpd) or objects with `role` and `content`"


def read_trace(value: Any, where: str) -> Trace:
    """Read a trace: a list of messages, or an object with `messages` and perhaps `metadata`, as the state of a graph."""
    if (found := find_messages(value)) is None:
        raise PrerequisiteError(f"{where}: holds neither spans (`resourceSpans`) nor messages; {_FORMS}.")
    return trace_of([(message, f"{where}, message {number}") for number, message in enumerate(found, 1)], where, value)


def trace_of(messages: Iterable[tuple[Any, str]], where: str, state: Any = None) -> Trace:
    """Return the trace of some messages, each with its place."""
    said: list[Said] = []
    model = named = error = ""
    for message, place in messages:
        for one in read_message(message, place):
            if said and said[-1].role == one.role == "assistant" and _is_one_turn(said[-1], one):
                said[-1] = _join(said[-1], one)
            else:
                said.append(one)
        model = model or _model_of(message)
        named = named or named_scenario(message)
        error = text_of(message, ("errorMessage", "error_message"))
    state = state if isinstance(state, dict) else {}
    interrupts = state.get("__interrupt__")
    asks = tuple(_question(one) for one in interrupts) if isinstance(interrupts, list) else ()
    final = next((call for one in reversed(said) for call in one.calls if str(call[1]).startswith("final_result")), None)
    last = said[-1] if said else None
    answer = as_text(final[2]) if final and last and last.role == "tool" and last.text == "Final result processed." else None
    return Trace(where, said, named_scenario(state) or named, model, answer=answer, asks=asks, error=error)


def _is_one_turn(before: Said, one: Said) -> bool:
    """Return whether two messages are parts of one: items of a response, lines of a session with one id, or a thought and what follows."""
    return _ITEM in (before.part, one.part) or before.part == one.part != "" or bool(before.reasoning and not (before.text or before.calls))


def _join(before: Said, one: Said) -> Said:
    thoughts = "\n\n".join(filter(None, (before.reasoning, one.reasoning)))
    counted = one.usage if one.usage is not None else before.usage
    return Said(
        "assistant", before.text + one.text, thoughts, before.calls + one.calls, one.stop or before.stop, counted, part=one.part or before.part
    )


def named_scenario(value: Any, depth: int = 0) -> str:
    """Return the scenario's id among an object's keys or in its `metadata`; empty if none is named."""
    if not isinstance(value, dict) or depth > 2:
        return ""
    if isinstance(named := value.get(SCENARIO), str):
        return named
    inner = (value.get(key) for key in ("metadata", "config", "attributes", "configurable", "state", "custom_metadata"))
    return next((named for one in inner if (named := named_scenario(one, depth + 1))), "")


def find_messages(value: Any, depth: int = 0) -> list[Any] | None:
    """Return the list of messages in a value: itself, or within the objects that frameworks put around it; None if there is none."""
    if depth > _DEEPEST or not isinstance(value, list | dict):
        return None
    if isinstance(value, list):
        if value and all(isinstance(one, list) for one in value):
            return find_messages(value[0], depth + 1)
        return value if any(map(is_message, value)) else None
    if is_message(value):
        return [value]
    for pair in _PAIRS:
        asked, said = (find_messages(value.get(key), depth + 1) or [] for key in pair)
        if asked and said and not any(is_message(one) and _ROLES[str(_fields(one)[1])] == "user" for one in said):
            return asked + said  # what came of it does not repeat what was told
    found = (find_messages(value.get(key), depth + 1) for key in (*_AROUND, "response", "inputs", "input", "request"))
    return next((one for one in found if one is not None), None)


def is_message(value: Any) -> bool:
    """Return whether a value has the form of a message, or of an item of one, whoever speaks."""
    if not isinstance(value, dict):
        return False
    fields, role = _fields(value)
    return role in _ROLES and bool(_SAYS & fields.keys())


def read_message(value: Any, where: str) -> list[Said]:
    """Read a message; one with the results of several calls gives several, and so does one with all that a model did on its server."""
    if not isinstance(value, dict):
        raise PrerequisiteError(f"{where}: is not a JSON object; {_FORMS}.")
    fields, named = _fields(value)
    role = None if named is None else _ROLES.get(named)
    if role is None:
        said = "has no `role` or `type`" if named is None else f"is of '{escape_control(named[:40])}', which is no role that is known"
        raise PrerequisiteError(f"{where}: {said}; {_FORMS}.")
    if role == "nobody" or fields.get("partial") is True:
        return []
    if role == "source":
        role = "user" if fields.get("source") == "user" else "assistant"
        if named == "HandoffMessage" and "user" not in (fields.get("source"), fields.get("target")):
            return []
    content = fields.get("parts", fields.get("content"))
    if named == "StructuredMessage" or (role == "tool" and isinstance(content, dict) and what_is(content)[0] is None):
        content = as_text(content)
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    if role == "tool" and not any(isinstance(one, dict) and what_is(one)[0] == "result" for one in blocks):
        return [_result(fields, content, blocks, where)]
    if role == "assistant":
        return _turns(fields, list(_pieces(fields, blocks, named, where)))
    found = list(read_blocks(blocks, role, where))
    systems = [Said("system", text) for what, text in found if what == "system"]
    words = "".join(text for what, text in found if what == "text")
    others = [Said(cast(_Role, role), words)] if role != "tool" and (words or len(found) == 0 or not (systems or _results(found))) else []
    return systems + _results(found) + others


def _results(found: Iterable[tuple[str, Any]]) -> list[Said]:
    return [one for what, one in found if what == "result"]


def _result(fields: Mapping[str, Any], content: Any, blocks: list[Any], where: str) -> Said:
    """Return the result that a message of a tool is."""
    if any(isinstance(one, dict) and isinstance(one.get("type"), str) for one in blocks):
        list(read_blocks(blocks, "tool", where))  # refuses what it does not know
    text = result_text(content)
    failed = fields.get("status") == "error" or fields.get("is_error") is True or fields.get("isError") is True
    answers, name = text_of(fields, ("tool_call_id", "toolCallId", "call_id")), text_of(fields, ("name", "toolName"))
    return Said("tool", text, answers=answers, name=name, error=failure_in(text) if failed else "")


def _pieces(fields: Mapping[str, Any], blocks: list[Any], named: str | None, where: str) -> Iterable[tuple[str, Any]]:
    """Yield what an assistant's message says, and the calls that it lists beside its content."""
    more = fields.get("additional_kwargs")
    listed = [one for key in _LISTED if isinstance(fields.get(key), list) for one in fields[key] if named != "ToolCallSummaryMessage"]
    if not listed and isinstance(more, dict) and isinstance(more.get("tool_calls"), list):
        listed = more["tool_calls"]
    if not listed and isinstance(fields.get("function_call"), dict):
        listed = [fields["function_call"]]
    if named == "ThoughtEvent":
        yield "thought", as_text(fields.get("content"))
        return
    own = next(
        (one for of in (fields, more) if isinstance(of, dict) and (one := first_of(of, ("reasoning_content", "thought", "reasoning")))), ""
    )
    yield from [("thought", own)] if own else []
    calls = [read_call(one if isinstance(one, dict) else {}) for one in listed]
    ids = {str(call[0]) for call, _ in calls} | {"None"}
    for what, said in read_blocks(blocks, "assistant", where):
        if what == "call" and listed and str(said[0]) in ids:
            continue  # the content repeats the calls that are listed
        if what != "thought" or said != own:
            yield what, said
    for call, result in calls:
        yield "call", call
        yield from [("result", result)] if result else []


def _turns(fields: Mapping[str, Any], pieces: Sequence[tuple[str, Any]]) -> list[Said]:
    """Return the turns in an assistant's message: results of calls on the model's own server begin another one."""
    about = next((one for key in ("response_metadata", "meta", "_meta") if isinstance(one := fields.get(key), dict)), {})
    stop = fields.get("finish_reason") or fields.get("stop_reason") or about.get("finish_reason") or about.get("stop_reason")
    part = _ITEM if fields.get("role") is None and what_is(fields)[0] in {"call", "thought"} else text_of(fields, ("id",))
    found: list[Said] = []
    results: list[Said] = []
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Written] = []

    kept: dict[str, list[Any]] = {"text": texts, "thought": thoughts, "call": calls, "result": results}

    def end() -> None:
        usage = Usage() if found else _usage(fields, about)
        found.append(Said("assistant", "".join(texts), "\n\n".join(filter(None, thoughts)), tuple(calls), "", usage, part=part))
        found.extend(results)
        for one in kept.values():
            one.clear()

    for what, said in pieces:
        if results and what in {"text", "thought", "step"} and said != "":
            end()
        if what in kept:
            kept[what].append(said)
    if texts or thoughts or calls or results or not found:
        end()
    next(one for one in reversed(found) if one.role == "assistant").stop = stop if isinstance(stop, str) else ""
    return found


def _fields(value: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """Return what a message contains, and how it names its speaker; each case is what one framework puts around it."""
    fields: Mapping[str, Any] = value
    role: Any = value.get("role", value.get("type"))
    match value:
        case {"type": str(kind), "data": {"content": _} as inner}:  # messages_to_dict
            fields, role = inner, inner["role"] if kind == "chat" and "role" in inner else kind
        case {"type": "constructor", "kwargs": {} as inner, "id": [*_, name]}:  # dumpd
            fields, role = inner, str(name)
        case {"content": {"parts": [*_]} as inner}:  # an event of ADK
            fields, role = {**value, **inner}, inner.get("role") or ("user" if value.get("author") == "user" else "model")
        case {"author": _, "actions": _} | {"author": _, "errorMessage": _} | {"author": _, "error_message": _}:
            role = "nobody"  # another one, without words
        case {"_role": role, "_content": content}:  # Haystack before 2.9
            fields = {"content": content, "meta": value.get("_meta")}
        case {"role": _}:
            pass
        case {"parts": [*_], "kind": str(kind)}:  # Pydantic AI
            role = kind
        case {"message": {} as inner} | {"payload": {} as inner} if is_message(inner):  # a line of a session
            fields, role = _fields(inner)
        case {"type": str(kind)} if kind not in _ROLES:
            what = what_is(value)[0]
            role = kind.partition("[")[0]  # AutoGen's StructuredMessage[...]
            if what in {"call", "result", "thought"}:  # an item of OpenAI's Responses
                fields, role = {**value, "content": [value]}, "tool" if what == "result" else "assistant"
            elif what == "nothing":
                fields, role = {**value, "content": []}, "nobody"
    return fields, role if isinstance(role, str) else None


def _usage(fields: Mapping[str, Any], about: Mapping[str, Any]) -> Usage | None:
    places = ((fields, ("usage_metadata", "usageMetadata", "models_usage")), (about, ("token_usage", "usage")), (fields, ("usage",)))
    counted = next((one for of, names in places if isinstance(one := first_of(of, names), dict) and one), None)
    if counted is None:
        return None
    details = counted.get("input_token_details")
    cached = details.get("cache_read") if isinstance(details, dict) else counted.get("cache_read_tokens")
    return usage_of(first_of(counted, _ASKED), first_of(counted, _SAID), cached)


def _model_of(message: Any) -> str:
    if not isinstance(message, dict):
        return ""
    fields = _fields(message)[0]
    abouts = [one for key in ("response_metadata", "meta", "_meta") if isinstance(one := fields.get(key), dict)]
    return next((name for one in (*abouts, fields) if (name := text_of(one, ("model_name", "model", "model_id", "model_version")))), "")


def _question(interrupt: Any) -> str:
    value = interrupt.get("value", interrupt.get("repr", interrupt)) if isinstance(interrupt, dict) else interrupt
    return as_text(value.get("question", value) if isinstance(value, dict) else value)
