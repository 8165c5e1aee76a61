"""Read the blocks of messages by one table: what each is called, in whichever framework, and what it is. A new form is a word in it.

Words are compared without case, `-` and `_`: `tool-call`, `tool_call` and `toolCall` are one. A block is called by its `type`, or, as with
Bedrock and Gemini, by the key that holds it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.trace import Said
from talm_sim.foreign.error_text import escape_control

What = Literal["call", "result", "thought", "text", "system", "media", "step", "nothing"]
_TABLE: Final[Mapping[What, str]] = {
    "call": "tooluse toolcall servertooluse servertoolcall mcptooluse mcpcall functioncall invalidtoolcall customtoolcall customtooluse custom"
    " toolinvocation dynamictool builtintoolcall nativetoolcall toolrequest executablecode codeinterpretercall websearchcall filesearchcall"
    " imagegenerationcall localshellcall shellcall applypatchcall computercall toolsearchcall arguments args",
    "result": "toolresult mcptoolresult servertoolresult toolcallresult toolcallresponse toolresponse servertoolcallresponse toolreturn"
    " functionresponse functionresult functioncalloutput customtoolcalloutput builtintoolreturn nativetoolreturn toolerror retryprompt"
    " codeexecutionresult localshellcalloutput shellcalloutput applypatchcalloutput computercalloutput toolsearchoutput callid iserror",
    "thought": "thinking reasoning redactedthinking redactedreasoning reasoningcontent thought",
    "text": "text outputtext inputtext refusal textplain userprompt guardcontent citationscontent content",
    "system": "systemprompt",
    "media": "image imageurl inputimage imagefile imagedata inlinedata filedata file fileid inputfile document documenturl audio audiourl"
    " inputaudio video videourl videodata blob uri media binary resource resourcelink searchresult containerupload data"
    " uploadedfile toolreference",
    "step": "stepstart",
    "nothing": "cachepoint cachecontrol thoughtsignature signature itemreference mcplisttools mcpapprovalrequest mcpapprovalresponse"
    " compaction partmetadata videometadata inputjsondelta fallback source sourceurl sourcedocument toolapprovalrequest toolapprovalresponse",
}
_WHAT: Final = {word: (what, rank) for rank, (what, words) in enumerate(_TABLE.items()) for word in words.split()}
_FIELDS: Final = {"arguments", "args", "callid", "iserror"}
_OWN: Final = _FIELDS | {"thought", "text", "content", "reasoning", "thinking"}
"""Keys that are a field of a block without a type, and hold no block."""
_CALL_ID: Final = ("call_id", "callId", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
_NAME: Final = ("name", "tool_name", "toolName")
_ARGUMENTS: Final = ("arguments", "args", "input", "parameters")
_RESULT: Final = ("output", "outputs", "result", "results", "content", "response", "errorText", "error", "toolResult")
_WORDS: Final = ("text", "content", "thinking", "reasoning", "refusal", "reasoningText", "reasoning_text", "summary")
_VALUE_TYPES: Final = {"text", "json", "content", "error-text", "error-json", "execution-denied"}
_FAILED: Final = {"error", "failed", "retried", "denied", "interrupted", "output-error", "output-denied", "OUTCOME_FAILED"}
_SERVED: Final = {"mcp_call", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"}
"""Calls on a model's own server, which nobody else answers."""
_SHOWN: Final = ("image", "audio", "video", "file", "inline", "blob", "binary", "media", "document", "input")
_WRITE: Final = "write it as `text`, `tool_call` or `tool_result`, or leave it out"


def first_of(told: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first of some fields that has a value; None if none has."""
    return next((told[name] for name in names if told.get(name) is not None), None)


def text_of(told: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of some fields, if it is a text; else an empty one."""
    return found if isinstance(found := first_of(told, names), str) else ""


def as_text(value: Any) -> str:
    """Return a value as text: a text as it is, nothing as an empty one, another as JSON."""
    return value or "" if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def failure_in(text: str) -> str:
    """Return why a call failed, by what LangGraph's tool node says to the model."""
    if " is not a valid tool, try one of [" in text:
        return "unknown_tool"
    return "invalid_arguments" if text.startswith("Error invoking tool ") else "tool_error"


def words_in(value: Any) -> str:
    """Return the words of a block or a list of them, wherever its form puts them."""
    if isinstance(value, list):
        return "".join(map(words_in, value))
    if isinstance(value, dict):
        return next((words for name in _WORDS if (words := words_in(value.get(name)))), "")
    return value if isinstance(value, str) else ""


def what_is(block: Mapping[str, Any]) -> tuple[What | None, str, Mapping[str, Any]]:
    """Return what a block is, what it is called, and its fields; None for one that the table does not have."""
    wrapped = block.get("message_content", block.get("value") if block.get("type") == "non_standard" else None)
    block = wrapped if isinstance(wrapped, dict) else block
    if named := text_of(block, ("type", "part_kind")):
        word = _plain(named)
        inner = next((value for key, value in block.items() if _plain(key) == word and isinstance(value, dict)), {})
        return _named(word, named), named, {**block, **inner}
    keys = [key for key, value in block.items() if value is not None and value is not False and _plain(key) in _WHAT]
    if not keys:
        return None, next(iter(block), ""), block
    key = min(keys, key=lambda one: _WHAT[_plain(one)][1])
    inner = block[key]
    return _WHAT[_plain(key)][0], key, inner if isinstance(inner, dict) and _plain(key) not in _OWN else block


def _plain(word: str) -> str:
    return word.replace("-", "").replace("_", "").lower()


def _named(word: str, named: str) -> What | None:
    if word in _WHAT and word not in _FIELDS:
        return _WHAT[word][0]
    if word.endswith("toolresult"):  # of Anthropic's own tools
        return "result"
    return "call" if named.startswith("tool-") else "nothing" if named.startswith("data-") else None  # of Vercel's UIMessage


def read_call(told: Mapping[str, Any], named: str = "") -> tuple[tuple[Any, Any, Any], Said | None]:
    """Return a call as it was written, and its result if it stands in the same block."""
    inner: Any = next((told[key] for key in ("tool_call", "function", "custom", "toolCall") if isinstance(told.get(key), dict)), {})
    inner = next((inner[key] for key in ("value", "function") if isinstance(inner.get(key), dict)), {}) | inner
    told = {**told, **inner}
    name, arguments = first_of(told, _NAME), first_of(told, _ARGUMENTS)
    if name is None and named:
        name = named.removeprefix("tool-") if named.startswith("tool-") else named.removesuffix("_call")
        bare = {key: value for key, value in told.items() if key not in {"type", "status", "outputs", *_CALL_ID}}
        arguments = bare if arguments is None else arguments
    if _plain(named or str(told.get("type"))).startswith("custom") and isinstance(arguments, str):
        arguments = {"input": arguments}
    done = first_of(told, ("output", "outputs", "result", "results", "errorText")) is not None or named in _SERVED
    return (first_of(told, _CALL_ID), name, arguments), read_result(told) if done else None


def read_result(told: Mapping[str, Any], named: str = "") -> Said:
    """Return a result: an envelope's value, text blocks as their text, anything else as JSON."""
    origin = told["origin"] if isinstance(told.get("origin"), dict) else {}
    found = first_of(told, _RESULT)
    inner = found if isinstance(found, dict) and named == "toolResponse" and "status" in found else {}
    found = inner.get("value", inner.get("content", inner.get("error", found)))
    failed = any(one.get(key) is True for one in (told, inner) for key in ("is_error", "isError", "error"))
    failed |= any(one.get(key) in _FAILED for one in (told, inner) for key in ("status", "state", "outcome") if isinstance(one.get(key), str))
    failed |= named == "retry-prompt" or (told.get("error") is not None and told["error"] is found)
    if isinstance(found, dict):
        kind = str(found.get("type"))
        failed |= kind.endswith("_tool_result_error") or kind in {"error-text", "error-json", "execution-denied"}
        failed |= _plain(named) == "functionresponse" and list(found) == ["error"]
        if kind in _VALUE_TYPES and found.keys() <= {"type", "value", "reason", "providerOptions"}:
            found = found.get("value", found.get("reason"))
    text = result_text(found)
    answers = text_of(told, _CALL_ID) or text_of(origin, _CALL_ID)
    name = text_of(told, _NAME) or text_of(origin, _NAME)
    return Said("tool", text, answers=answers, name=name, error=failure_in(text) if failed else "")


def result_text(found: Any) -> str:
    """Return the text of a result; of a list that holds other things than texts and media, the JSON."""
    shown = [_shown(one) for one in found] if isinstance(found, list) and any(isinstance(one, dict) for one in found) else [None]
    return as_text(found) if None in shown else "".join(filter(None, shown))


def _shown(one: Any) -> str | None:
    """Return what stands for a block of a result in its text; None if only its JSON would say all."""
    if not isinstance(one, dict):
        return one if isinstance(one, str) else None
    what, named, told = what_is(one)
    if not text_of(one, ("type",)) and sum(value is not None for value in one.values()) > 1:
        return None
    if named == "json":  # Bedrock
        return as_text(one["json"])
    if (document := _document_text(named, told)) is not None:
        return document
    is_media = what == "media" and _plain(named).startswith(_SHOWN)
    return words_in(one) if what == "text" else f"[{named}]" if is_media else None


def _document_text(named: str, told: Mapping[str, Any]) -> str | None:
    """Return the text of a document that is given as text: by Cohere as its data, by Anthropic and Bedrock as its source."""
    if _plain(named) != "document":
        return None
    if not isinstance(source := told.get("source"), dict):
        return as_text(told["data"]) if isinstance(told.get("data"), str | dict) and not told.get("mime_type") else None
    if source.get("type") == "text":
        return as_text(source.get("data"))
    return words_in(source) or None


def read_blocks(blocks: list[Any], role: str, where: str) -> Iterator[tuple[What, Any]]:
    """Yield what each block of a message says, in order."""
    for number, block in enumerate(blocks, 1):
        what, named, told = what_is(block) if isinstance(block, dict) else (None, "", {})
        if named == "retry-prompt" and not told.get("tool_name"):
            what = "text"
        if not isinstance(block, dict):
            yield "text", as_text(block)
        elif what is None:
            kind = f"of the unknown kind '{escape_control(named[:40])}'" if named else "without a `type`"
            raise PrerequisiteError(f"{where}, block {number}: is {kind}; {_WRITE}.")
        elif what == "call":
            call, result = read_call(told, named)
            yield what, call
            if result:
                yield "result", result
        elif what == "media" and (document := _document_text(named, told)) is not None:
            yield "text", document
        elif what == "media":
            yield "text", "" if role in {"user", "system"} else f"[{named}]"
        else:
            yield what, read_result(told, named) if what == "result" else words_in(told)
