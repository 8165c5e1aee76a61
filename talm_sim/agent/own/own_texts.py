"""Clean what an own agent writes so that it can be kept and sent: JSON without halves of characters and without secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, messages_from_dict, messages_to_dict

from talm_sim.common.credentials import Hider
from talm_sim.models.parsing import MOST_NAMED, parse_call, replace_surrogates
from talm_sim.models.wire_messages import AS_WRITTEN, STATE
from talm_sim.types import Approval, Form, ModelTurn, ToolCall, UnparsableCall

RequestT = TypeVar("RequestT", bound=Approval | Form)
_MOST_RAW = 2000
"""Characters that are kept of arguments that are not a JSON object."""


def read_call(name: str, arguments: Any, call_id: str | None, hide: Hider) -> ToolCall | UnparsableCall:
    """Return what an agent calls; arguments that are not a JSON object are its mistake."""
    name = _text(name, hide)
    call_id = _text(call_id, hide) if isinstance(call_id, str) and len(call_id) <= MOST_NAMED else ""
    try:
        call = parse_call(call_id, name, json.dumps(drop_surrogates(arguments), ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as err:
        raw, reason = _text(_safe_repr(arguments), hide), _text(f"{type(err).__name__}: {err}", hide)
        return UnparsableCall(id=call_id, name=name, raw=raw[:_MOST_RAW], reason=reason)
    if isinstance(call, UnparsableCall):
        return call.model_copy(update={"raw": hide.text(call.raw)[:_MOST_RAW]})
    return call.model_copy(update={"arguments": hide.value(call.arguments)})


def clean_request(request: RequestT, hide: Hider) -> RequestT:
    """Return what an agent, or a tool of its, puts to a person, in a form that can be kept."""
    kept = hide.value(drop_surrogates(request.model_dump(mode="json")))
    return cast(RequestT, type(request).model_validate(kept))


def drop_surrogates(value: Any) -> Any:
    """Return a JSON value without halves of surrogate pairs.

    Raises:
        TypeError: It is not a JSON value.
        ValueError: It is not a JSON value.
        RecursionError: It is nested too deeply.
    """
    return json.loads(replace_surrogates(json.dumps(value, allow_nan=False, ensure_ascii=False)))


def clean_messages(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return messages that the agent wrote, in a form that can be sent to a server."""
    written = json.dumps([vars(message) for message in messages], ensure_ascii=False, default=str, skipkeys=True)
    return messages if replace_surrogates(written) == written else messages_from_dict(drop_surrogates(messages_to_dict(messages)))


def with_states(messages: Sequence[BaseMessage], turns: Sequence[ModelTurn]) -> list[BaseMessage]:
    """Return messages with what the model's provider wants back with them: an agent, or its framework, may have copied a turn without it.

    Calls that cannot be read go back as the agent has them.
    """
    by_calls = {tuple(call.id for call in turn.tool_calls) or turn.text: turn.provider_state for turn in turns if turn.provider_state}
    found = []
    for message in messages:
        state = by_calls.get(tuple(str(call["id"]) for call in message.tool_calls) or message.text) if isinstance(message, AIMessage) else None
        more = {AS_WRITTEN: True} if isinstance(message, AIMessage) and message.invalid_tool_calls else {}
        kept = ({STATE: state} if state else {}) | more | message.additional_kwargs
        found.append(message.model_copy(update={"additional_kwargs": kept}) if kept != message.additional_kwargs else message)
    return found


def _text(text: str, hide: Hider) -> str:
    return hide.text(replace_surrogates(text))


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception as err:  # of the agent's own class, or too deep
        return f"({type(value).__name__}; {type(err).__name__})"
