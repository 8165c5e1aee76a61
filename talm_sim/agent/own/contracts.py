"""Forms in which other graphs ask a person about a call, in one table: each reads an interrupt's value, and answers in kind.

| asks with | answered by |
|---|---|
| LangChain's `HITLRequest`: `action_requests`, `review_configs` | `{"decisions": [...]}`, one per action request |
| LangChain's `ToolApprovalRequest`: `type` is `tool_approval` | one decision |
| Agent Inbox's `HumanInterrupt`, one or a list: `action_request`, `config` | a list of responses, one per interrupt |

Anything else is a question, and is answered by the text of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from talm_sim.common.json_values import read_json
from talm_sim.schemas import Schema
from talm_sim.types import Action, Approval, Decision, HumanEvent

_Read = Callable[[Any], Sequence[Approval | None]]
_Write = Callable[[Sequence[Decision], Sequence[Approval]], Any]
_ACTIONS: tuple[Action, ...] = ("approve", "edit", "reject", "respond")
_INBOX: Mapping[Action, tuple[str, str]] = {
    "approve": ("allow_accept", "accept"),
    "edit": ("allow_edit", "edit"),
    "reject": ("allow_ignore", "ignore"),
    "respond": ("allow_respond", "response"),
}
"""A decision, to what allows it in Agent Inbox's form, and what it is called there."""


@dataclass(frozen=True, slots=True)
class AskedOfPerson:
    """A question to a person in an interrupt, and the form of its answer.

    Attributes:
        items: A question, or the calls to approve, in order.
        write: Makes the value that the graph continues with of the answers, in the same order.
    """

    items: Sequence[str | Approval]
    write: Callable[[Sequence[HumanEvent]], Any]


def read_interrupt(value: Any, schema: Any = None, *, repeatable: Callable[[str], bool] = lambda name: False) -> AskedOfPerson:
    """Read what an interrupt of an agent's own graph asks; `repeatable` tells of a tool, by its name, whether its calls may be made twice.

    >>> asked = read_interrupt({"action_requests": [{"name": "send", "args": {"to": "Ann"}}],
    ...                         "review_configs": [{"action_name": "send", "allowed_decisions": ["approve", "reject"]}]})
    >>> asked.items[0].text, asked.items[0].allowed
    ('Allow send(to="Ann")?', ('approve', 'reject'))
    """
    schema = schema if isinstance(schema, dict) else None
    plain = _as_json(value)
    for read, write in _CONTRACTS:
        calls = [None if one is None else _within(one, schema) for one in read(plain)]
        asked = [one.model_copy(update={"repeatable": repeatable(one.name)}) for one in calls if one is not None and one.allowed]
        if asked and len(asked) == len(calls):
            return AskedOfPerson(asked, partial(_write_decisions, write, asked))
    return AskedOfPerson([_question_in(value)], lambda replies: _fitting(replies[0].answer, schema))


def _write_decisions(write: _Write, asked: Sequence[Approval], replies: Sequence[HumanEvent]) -> Any:
    return write([reply.decision for reply in replies if reply.decision is not None], asked)


def _as_json(value: Any) -> Any:
    """Return a value as JSON has it; None where it has it not, or it is nested too deeply for a call."""
    try:
        return read_json(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return None


def _question_in(value: Any) -> str:
    """Return what an interrupt asks that is of no known form: its text, the text of its `question`, or all of it."""
    asked = value.get("question", value) if isinstance(value, dict) else value
    return asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False, default=str)


def _fitting(answer: str, schema: Mapping[str, Any] | None) -> Any:
    """Return an answer as an interrupt takes it: as the text it is or, if that is no answer there, as the JSON value it may be."""
    if schema is None or Schema(schema).fits(answer) is not False:
        return answer
    value = read_json(answer)
    return value if Schema(schema).fits(value) else answer


# --- LangChain --------------------------------------------------------------------------------------------------------------------------


def _read_batched(value: Any) -> list[Approval | None]:
    if not isinstance(value, dict) or not isinstance(requests := value.get("action_requests"), list):
        return []
    configs = value.get("review_configs")
    listed = [one for one in configs if isinstance(one, dict)] if isinstance(configs, list) else []
    allowed = {one.get("action_name"): one.get("allowed_decisions") for one in listed if isinstance(one.get("action_name"), str)}
    return [_approval(one, allowed.get(one.get("name"), [])) if isinstance(one, dict) else None for one in requests]


def _write_batched(decisions: Sequence[Decision], asked: Sequence[Approval]) -> Any:
    return {"decisions": [_langchain_decision(*pair) for pair in zip(decisions, asked, strict=True)]}


def _read_per_call(value: Any) -> list[Approval | None]:
    return [_approval(value, _ACTIONS)] if isinstance(value, dict) and value.get("type") == "tool_approval" else []


def _write_per_call(decisions: Sequence[Decision], asked: Sequence[Approval]) -> Any:
    return _langchain_decision(decisions[0], asked[0])


def _approval(request: Mapping[str, Any], allowed: Any) -> Approval | None:
    """Return a call to approve; None where it is none."""
    name, args, description = request.get("name"), request.get("args"), request.get("description")
    if not isinstance(name, str) or not isinstance(args, dict):
        return None
    known = tuple(action for action in _ACTIONS if isinstance(allowed, list | tuple) and action in allowed)
    return Approval(name=name, arguments=args, allowed=known, description=description if isinstance(description, str) else "")


def _langchain_decision(decision: Decision, asked: Approval) -> dict[str, Any]:
    if decision.action == "edit":
        return {"type": "edit", "edited_action": {"name": decision.name or asked.name, "args": decision.arguments or {}}}
    says = decision.action == "respond" or (decision.action == "reject" and decision.message)
    return {"type": decision.action, "message": decision.message} if says else {"type": decision.action}


# --- Agent Inbox ------------------------------------------------------------------------------------------------------------------------


def _read_inbox(value: Any) -> list[Approval | None]:
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) and isinstance(one.get("action_request"), dict) for one in listed):
        return []
    return [_inbox_approval(one) for one in listed]


def _inbox_approval(interrupt: Mapping[str, Any]) -> Approval | None:
    request, config = interrupt["action_request"], interrupt.get("config")
    allowed = [action for action, (flag, _) in _INBOX.items() if isinstance(config, dict) and config.get(flag) is True]
    return _approval({**request, "name": request.get("action"), "description": interrupt.get("description")}, allowed)


def _write_inbox(decisions: Sequence[Decision], asked: Sequence[Approval]) -> Any:
    return [_inbox_response(*pair) for pair in zip(decisions, asked, strict=True)]


def _inbox_response(decision: Decision, asked: Approval) -> dict[str, Any]:
    edited = {"action": decision.name or asked.name, "args": decision.arguments or {}}
    args = {"approve": {"action": asked.name, "args": asked.arguments}, "edit": edited, "respond": decision.message}
    return {"type": _INBOX[decision.action][1], "args": args.get(decision.action)}


_CONTRACTS: Sequence[tuple[_Read, _Write]] = ((_read_batched, _write_batched), (_read_per_call, _write_per_call), (_read_inbox, _write_inbox))


# --- the interrupt's own schema ---------------------------------------------------------------------------------------------------------


def _within(asked: Approval, schema: Mapping[str, Any] | None) -> Approval:
    """Return a call to approve with what the interrupt's schema says of each decision; a schema of several decisions says nothing of one."""
    branches = {kind: branch for branch in _branches(schema) if (kind := _kind_of(branch, schema)) is not None}
    if schema is None or not branches:
        return asked
    update: dict[str, Any] = {"allowed": tuple(action for action in asked.allowed if action in branches)}
    edited = _part(branches.get("edit"), schema, "properties", "edited_action")
    arguments, name = _part(edited, schema, "properties", "args"), _part(edited, schema, "properties", "name")
    if arguments:
        update["parameters"] = {**arguments, "$defs": schema["$defs"]} if "$defs" in schema else arguments
    return asked.model_copy(update={**update, "same_tool": name.get("const") == asked.name})


def _branches(schema: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of single decisions: those that a schema chooses between, or it alone."""
    if schema is None:
        return
    listed = next((schema[key] for key in ("oneOf", "anyOf") if isinstance(schema.get(key), list)), [schema])
    yield from (_resolve(one, schema) for one in listed)


def _kind_of(branch: Mapping[str, Any], schema: Mapping[str, Any] | None) -> str | None:
    kind = _part(branch, schema, "properties", "type")
    listed = kind.get("enum")
    found = kind.get("const", listed[0] if isinstance(listed, list) and len(listed) == 1 else None)
    return found if found in _ACTIONS else None


def _part(schema: Any, whole: Mapping[str, Any] | None, *path: str) -> Mapping[str, Any]:
    for key in path:
        schema = schema.get(key) if isinstance(schema, dict) else None
    return _resolve(schema, whole)


def _resolve(part: Any, whole: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a schema, or the one among the definitions that it refers to; empty where it is none."""
    at = part.get("$ref") if isinstance(part, dict) else None
    if isinstance(at, str) and whole is not None:
        definitions = whole.get("$defs")
        part = definitions.get(at.removeprefix("#/$defs/")) if isinstance(definitions, dict) else None
    return part if isinstance(part, dict) else {}
