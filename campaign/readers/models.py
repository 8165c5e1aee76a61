"""What reads the outputs of models and of agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

import httpx2

from campaign.readers.base import ASKED, ASKS, CALLS, DECIDES, FORMS, JAVA, TOOLS, Reader, also_in, hider
from talm_sim.agent.asking import asking_sentences
from talm_sim.agent.deciding import decide_by_scenario, explain_misfit
from talm_sim.agent.humans import question_digest
from talm_sim.agent.own.contracts import read_interrupt
from talm_sim.agent.own.failures import failure_of
from talm_sim.agent.sentences import read_sentences
from talm_sim.agent.shown_tools import tool_specs
from talm_sim.agent.templates import chat, values
from talm_sim.models.channels import split_channels
from talm_sim.models.constrained import read_action, read_label
from talm_sim.models.failures import provider_failure
from talm_sim.models.formats import literals, python_calls, read_calls
from talm_sim.models.formats.table import format_of_template
from talm_sim.models.parsing import parse_call, read_object, replace_surrogates, split_reasoning
from talm_sim.models.retries import retry_after
from talm_sim.models.server_client import _in_utf8
from talm_sim.models.yes_no import read_yes_no
from talm_sim.reasoning import find_form, read_form
from talm_sim.tasks.agent_controls import gives_missing, is_refusal, value_in_reply
from talm_sim.types import Form, GoldCall, Scenario, Turn

__all__ = ["READERS"]


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
    asyncio.run(failure_of(error, hider().text, frozenset()))


def _interrupt(text: str) -> None:
    value = json.loads(text)
    asked = read_interrupt(value, value)
    decide = [decide_by_scenario(one, _BOOKING) for one in asked.items if not isinstance(one, str)]
    assert all(not explain_misfit(one, made) for one, made in zip(asked.items, decide, strict=False) if not isinstance(one, str))


def _form(text: str) -> None:
    form = Form(message="m", fields={"type": "object", "properties": {"city": json.loads(text)}})
    assert not explain_misfit(form, decide_by_scenario(form, _BOOKING))


_BOOKING: Final = Scenario(
    id="s", group="perfect", turns=(Turn(messages=(), gold_calls=(GoldCall(tool="f", arguments={"city": "Oslo", "n": 3}),)),)
)
_HITL: Final = {
    "action_requests": [{"name": "f", "args": {"TEXT": "TEXT"}, "description": "TEXT"}],
    "review_configs": [{"action_name": "f", "allowed_decisions": ["approve", "TEXT"]}],
}

READERS: Final = (
    Reader("read_calls", "models.formats.readers", lambda text: read_calls(text, TOOLS), (*CALLS, *JAVA)),
    Reader("read_calls, no tools", "models.formats.reader", lambda text: read_calls(text, ()), CALLS),
    Reader("read_whole", "models.formats.literals", also_in(["TEXT"], literals.read_whole), ("[", "{", "'", '{"a": ')),
    Reader("read_expression", "models.formats.literals", lambda text: literals.read_expression(text, 0), ("[", "f(", "'", "new ")),
    Reader("read_list", "models.formats.python_calls", lambda text: python_calls.read_list(text, 0), ("[f(", "[f(a=")),
    Reader("split_reasoning", "models.parsing", split_reasoning, ("<think>", "<|channel|>analysis<|message|>")),
    Reader("read_form", "reasoning.reading", read_form, FORMS),
    Reader("find_form", "reasoning.reading", find_form, FORMS),
    Reader("split_channels", "models.channels", split_channels, ("<|channel|>final<|message|>", "<|START_THINKING|>")),
    Reader("parsing.clean", "models.parsing", replace_surrogates, ("<think>", "```")),
    Reader("read_object", "models.parsing", also_in({"TEXT": "TEXT"}, read_object), ("{", "```json\n{")),
    Reader("parse_call", "models.parsing", lambda text: parse_call("1", "f", text), ("{", '{"a": ')),
    Reader("read_action", "models.constrained", lambda text: read_action(text, 0), ('{"action": "answer", "text": "', '{"action": "')),
    Reader("read_label", "models.constrained", read_label, ('{"answer": "',)),
    Reader("read_yes_no", "models.yes_no", read_yes_no, DECIDES),
    Reader("read_sentences", "agent.sentences", read_sentences, ASKS),
    Reader("asking_sentences", "agent.asking", asking_sentences, ASKS),
    Reader("question_digest", "agent.humans", question_digest),
    Reader(
        "tool_specs",
        "agent.shown_tools",
        also_in({"name": "f", "description": "TEXT", "parameters": {"TEXT": "TEXT"}}, lambda text: tool_specs([text])),
        ('{"name": "',),
    ),
    Reader(
        "templates.read_call",
        "agent.templates.values",
        also_in({"name": "f", "arguments": {"TEXT": "TEXT"}}, values.read_call),
        ('{"name": "f", "arguments": {',),
    ),
    Reader(
        "chat templates",
        "agent.templates.chat",
        lambda text: (chat.pick(text), chat.shows_tools(text), format_of_template(text)),
        ("{% ", "{{ "),
    ),
    Reader("read_interrupt", "agent.own.contracts", also_in(_HITL, _interrupt), ('{"action_requests": [{"name": "f", "args": {',)),
    Reader("decide_by_scenario", "agent.deciding", also_in({"type": "string", "TEXT": ["TEXT"]}, _form), ('{"enum": ["',)),
    Reader("own agents' errors", "agent.own.failures", _own_error),
    Reader(
        "declines, holds",
        "tasks.agent_controls",
        lambda text: (is_refusal(text), gives_missing(text, ASKED)),
        ("I don't ", "It is ", "not ", "do not ", "know "),
    ),
    Reader("said_value", "tasks.agent_controls", _values_said, ("It is ", '"', "#ff", "is ", "and ", "12 May ", "“")),
    Reader(
        "provider_failure",
        "models.failures",
        _provider_failure,
        ('{"error": {"message": "', "<html", "maximum context length ", "context ", "tokens "),
    ),
    Reader("charset", "models.server_client", lambda text: _in_utf8(b"\xff", text), ("text/plain; charset=", "; charset", ";", " ")),
    Reader("retry_after", "models.retries", lambda text: retry_after({"retry-after": text}, 0.0), ("1", "Mon, ")),
)
