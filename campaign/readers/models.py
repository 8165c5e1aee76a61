"""What reads the outputs of models and of agents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import httpx2

from campaign.readers.base import ASKED, TOOLS, Reading, also_in, hider
from talm_sim.agent.decide import decide_by_scenario, explain_misfit
from talm_sim.agent.own.contracts import read_interrupt
from talm_sim.agent.own.sessions import failure_of
from talm_sim.agent.shown_tools import tool_specs
from talm_sim.models.constrained import read_action
from talm_sim.models.failures import provider_failure
from talm_sim.models.formats import literals, python_calls, read_calls
from talm_sim.models.formats.known_formats import format_of_template
from talm_sim.models.parsing import parse_call, read_object
from talm_sim.models.retries import retry_after
from talm_sim.models.server_client import _in_utf8
from talm_sim.tasks.acting.agent_controls import gives_missing, is_refusal, value_in_reply
from talm_sim.tasks.templates import chat_template as chat, template_values as values
from talm_sim.types import Form, GoldCall, Scenario, Turn


def _provider_failure(text: str) -> None:
    class Failed(Exception):
        response = httpx2.Response(400, text=text.encode("utf-8", "replace").decode())

    provider_failure("m", Failed(text), hider())
    provider_failure("m", ValueError(text), hider())


def _values_said(text: str) -> None:
    schemas: Sequence[dict[str, Any]] = (
        {"type": "integer"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "string", "format": "date"},
        {"type": "string", "enum": ["one", "two_three"]},
        {"type": "string", "maxLength": 3},
        {"type": "string"},
    )
    for schema in schemas:
        value_in_reply(text, schema)


def _own_error(text: str) -> None:
    error = RuntimeError(text)
    failure_of(error, hider().text, frozenset())


def _interrupt(text: str) -> None:
    value = json.loads(text)
    asked = read_interrupt(value, value)
    decide = [decide_by_scenario(one, _BOOKING) for one in asked.items if not isinstance(one, str)]
    assert all(not explain_misfit(one, made) for one, made in zip(asked.items, decide, strict=False) if not isinstance(one, str))


def _form(text: str) -> None:
    form = Form(message="m", fields={"type": "object", "properties": {"city": json.loads(text)}})
    assert not explain_misfit(form, decide_by_scenario(form, _BOOKING))


_BOOKING: Final = Scenario(
    id="s", group="perfect", turns=(Turn(messages=(), gold_calls=(GoldCall(name="f", arguments={"city": "Oslo", "n": 3}),)),)
)
_HITL: Final = {
    "action_requests": [{"name": "f", "args": {"TEXT": "TEXT"}, "description": "TEXT"}],
    "review_configs": [{"action_name": "f", "allowed_decisions": ["approve", "TEXT"]}],
}

READ: Final[Reading] = {
    "models.formats.readers: read_calls": lambda text: read_calls(text, TOOLS),
    "models.formats.reader: read_calls, no tools": lambda text: read_calls(text, ()),
    "models.formats.literals: read_whole": also_in(["TEXT"], literals.read_whole),
    "models.formats.literals: read_expression": lambda text: literals.read_expression(text, 0),
    "models.formats.python_calls: read_list": lambda text: python_calls.read_list(text, 0),
    "models.parsing: read_object": also_in({"TEXT": "TEXT"}, read_object),
    "models.parsing: parse_call": lambda text: parse_call("1", "f", text),
    "models.constrained: read_action": lambda text: read_action(text, 0),
    "agent.shown_tools: tool_specs": also_in(
        {"name": "f", "description": "TEXT", "parameters": {"TEXT": "TEXT"}}, lambda text: tool_specs([text])
    ),
    "tasks.templates.template_values: templates.read_call": also_in({"name": "f", "arguments": {"TEXT": "TEXT"}}, values.read_call),
    "tasks.templates.chat_template: chat templates": lambda text: (chat.pick(text), chat.shows_tools(text), format_of_template(text)),
    "agent.own.contracts: read_interrupt": also_in(_HITL, _interrupt),
    "agent.decide: decide_by_scenario": also_in({"type": "string", "TEXT": ["TEXT"]}, _form),
    "agent.own.sessions: own agents' errors": _own_error,
    "tasks.acting.agent_controls: declines, holds": lambda text: (is_refusal(text), gives_missing(text, ASKED)),
    "tasks.acting.agent_controls: said_value": _values_said,
    "models.failures: provider_failure": _provider_failure,
    "models.server_client: charset": lambda text: _in_utf8(b"\xff", text),
    "models.retries: retry_after": lambda text: retry_after({"retry-after": text}, 0.0),
}
