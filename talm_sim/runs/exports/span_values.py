"""The values of spans: messages, names and counts in the words of OpenTelemetry's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talm_sim.runs.exports.conversation import Message
from talm_sim.runs.exports.span_names import Key
from talm_sim.runs.exports.times import Span
from talm_sim.types import Episode, HumanEvent, ModelTurn, PerturbationLog, Termination, ToolCall, ToolEvent, ToolSpec, Usage

__all__ = [
    "FAILED",
    "FINISH",
    "definition_of",
    "error_type_of",
    "estimated",
    "finish_of",
    "message_of",
    "model_of",
    "perturbations_of",
    "printable",
    "provider_of",
    "question_of",
    "usage_of",
]

_LONGEST_NAME = 128
"""Characters of a name or an id that a model may have made up."""
_PROVIDERS = {"hf": "huggingface", "sim": "talm_sim", "agent": "unknown"}
"""First part of a model's name to the convention's word for the provider, if they differ."""
FINISH = {"stop": "stop", "length": "length", "tool_calls": "tool_call", "refusal": "content_filter"}
_OUTCOMES = {"": "answered", "idk": "unknown", "skip": "declined", "timeout": "unanswered", "limit": "not asked"}
FAILED = frozenset(
    {
        Termination.AGENT_ERROR,
        Termination.TOOL_ERROR,
        Termination.INFRASTRUCTURE_ERROR,
        Termination.REPLAY_MISS,
        Termination.CONTEXT_OVERFLOW,
        Termination.CANCELLED,
    }
)


def definition_of(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as a model is told of it."""
    return {"type": "function", "name": spec.name, "description": spec.description, "parameters": spec.parameters}


def message_of(message: Message) -> dict[str, Any]:
    """Return a message in the convention's form."""
    if message.role == "tool":
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": message.answers, "response": message.text}]}
    parts: list[dict[str, Any]] = []
    if message.reasoning:
        parts.append({"type": "reasoning", "content": message.reasoning})
    if message.text or not message.calls:
        parts.append({"type": "text", "content": message.text})
    for call in message.calls:
        arguments = call.arguments if isinstance(call, ToolCall) else call.raw
        parts.append({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
    return {"role": message.role, "parts": parts}


def finish_of(episode: Episode) -> str:
    """Return why the agent's output ended."""
    if episode.termination in FAILED:
        return "error"
    last: ModelTurn | None = episode.model_turns[-1] if episode.model_turns else None
    return "length" if episode.termination is Termination.TOKEN_LIMIT else FINISH[last.stop] if last is not None else "stop"


def usage_of(usage: Usage) -> dict[str, int]:
    """Return token counts; what a server did not count, and a control's turn, has none."""
    if usage.uncounted or usage == Usage():
        return {}
    found: dict[str, int] = {Key.INPUT_TOKENS: usage.input_tokens, Key.OUTPUT_TOKENS: usage.output_tokens}
    return found | ({Key.CACHED_TOKENS: usage.cached_tokens} if usage.cached_tokens else {})


def perturbations_of(logs: Sequence[PerturbationLog]) -> dict[str, Any]:
    """Return what perturbations did, as lists side by side."""
    if not logs:
        return {}
    found: dict[str, Any] = {Key.PERTURBATION: [log.name for log in logs], Key.ARMED: [log.armed for log in logs]}
    return found | {Key.FIRED: [log.fired for log in logs], Key.SEEN: [log.seen for log in logs]}


def question_of(event: HumanEvent, span: Span) -> dict[str, Any]:
    """Return who answered or decided, how, and after how long; a recorded answer was not waited for."""
    waited = (span.end - span.begin) * 1000 if span.measured else None
    outcome = _OUTCOMES[event.declined] if event.decision is None or event.declined else event.decision.action
    return {Key.RESPONDER: event.responder, Key.OUTCOME: outcome, Key.WAITED: waited}


def error_type_of(event: ToolEvent) -> str:
    """Return why a call failed: the HTTP status, or our word where there is none."""
    if event.status is not None and event.status >= 400:
        return str(event.status)
    return event.error or "failed"


def estimated(span: Span) -> dict[str, bool]:
    """Return the mark of times that were not measured."""
    return {} if span.measured else {Key.ESTIMATED: True}


def provider_of(model: str) -> str:
    """Return the provider's name.

    >>> [provider_of(name) for name in ("openai/gpt-4o", "openai-api/groq/x", "hf/a/b", "sim/oracle")]
    ['openai', 'groq', 'huggingface', 'talm_sim']
    """
    first, _, rest = model.partition("/")
    return rest.partition("/")[0] if first == "openai-api" else _PROVIDERS.get(first, first)


def model_of(model: str) -> str:
    """Return the name that the provider knows the model by; a control keeps its whole name.

    >>> [model_of(name) for name in ("openai/gpt-4o", "openai-api/groq/x", "hf/a/b", "sim/oracle")]
    ['gpt-4o', 'x', 'a/b', 'sim/oracle']
    """
    first, _, rest = model.partition("/")
    if first in {"sim", "agent"} or not rest:
        return model
    return rest.partition("/")[2] if first == "openai-api" else rest


def printable(text: str) -> str:
    """Return a name that a model may have written, without what cannot be printed."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text[:_LONGEST_NAME])
