"""Hide credentials, found by name, in a model's tool calls: in `function.arguments`, which is JSON in a string, and in `input`.

A value that a call takes from the conversation is kept: the recording contains it in plain words anyway, and a replay is measured by it.
Request and response are cleaned alike: what is hidden when the model says it is hidden whenever it is repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from talm_sim.common.credentials import REDACTED

__all__ = ["hide_named_in_answer", "in_request", "is_call"]

IsSecret = Callable[[str, str], bool]


def is_call(value: dict[str, Any]) -> bool:
    """Return whether this part of a body is a tool call, in either protocol."""
    return ("name" in value and isinstance(value.get("arguments"), str)) or _is_tool_use(value)


def in_request(body: Any, is_secret: IsSecret) -> Any:
    """Return a request's body in which tool calls have lost every value under a credential's name that was not said before."""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list):
        return body
    given: list[str] = []
    cleaned = []
    for message in messages:
        given.extend(_texts(message))
        cleaned.append(_hide_arguments(message, given, is_secret))
    return {**body, "messages": cleaned}


def hide_named_in_answer(answer: bytes, asked: bytes, is_secret: IsSecret) -> bytes:
    """Do the same for the answer to a request; an answer without such values is unchanged, byte for byte.

    Args:
        answer: Body of the response.
        asked: Body of the request.
        is_secret: Whether a value is a credential by the name it goes under.
    """
    if b'"arguments"' not in answer and b'"tool_use"' not in answer:
        return answer
    try:
        value = json.loads(answer)
        cleaned = _hide_arguments(value, [*_texts(json.loads(asked)), *_texts(value)], is_secret)
    except (ValueError, RecursionError):
        return answer
    return answer if cleaned == value else json.dumps(cleaned).encode()


def _is_tool_use(value: dict[str, Any]) -> bool:
    return value.get("type") == "tool_use" and isinstance(value.get("input"), dict)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a body that are in plain words: all but those within tool calls."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict) and not is_call(value):
        for item in value.values():
            yield from _texts(item)


def _hide_arguments(value: Any, given: list[str], is_secret: IsSecret) -> Any:
    if isinstance(value, list):
        return [_hide_arguments(item, given, is_secret) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_tool_use(value):
        return {**value, "input": _drop_arguments(value["input"], given, is_secret)}
    if is_call(value):
        return {**value, "arguments": _arguments(value["arguments"], given, is_secret)}
    return {key: _hide_arguments(item, given, is_secret) for key, item in value.items()}


def _arguments(text: str, given: list[str], is_secret: IsSecret) -> str:
    try:
        cleaned = _drop_arguments(json.loads(text), given, is_secret)
    except (ValueError, RecursionError):
        return text
    # Written anew even if it was already hidden: a replayed call is spelt like the recorded one.
    return json.dumps(cleaned, sort_keys=True) if _has_redacted(cleaned) else text


def _drop_arguments(value: Any, given: list[str], is_secret: IsSecret) -> Any:
    if isinstance(value, list):
        return [_drop_arguments(item, given, is_secret) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: REDACTED
        if isinstance(item, str) and item and is_secret(key, item) and not any(item in text for text in given)
        else _drop_arguments(item, given, is_secret)
        for key, item in value.items()
    }


def _has_redacted(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_redacted, value.values() if isinstance(value, dict) else value))
    return bool(value == REDACTED)
