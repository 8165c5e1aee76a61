"""The names and values of spans: messages, names and counts in the words of OpenTelemetry's conventions, and our own attributes.

The conventions are in development and their Python constants are deprecated ahead of a move, so the strings are written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from talm_sim.exchange.exports.exchanged_messages import Message
from talm_sim.exchange.exports.times import Span
from talm_sim.types import Episode, HumanEvent, ModelTurn, PerturbationLog, Termination, ToolCall, ToolEvent, ToolSpec, Usage

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
        Termination.BLOCKED,
        Termination.CANCELLED,
    }
)
EVALUATION = "gen_ai.evaluation.result"
"""Name of the event of one verdict."""
COMMENT = "talm_sim.comment"
"""Name of the event of a reader's comment."""


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


class Operation(StrEnum):
    """The operation that a span is about; its name begins with it."""

    AGENT = "invoke_agent"
    CHAT = "chat"
    TOOL = "execute_tool"


class Key(StrEnum):
    """Names of attributes."""

    OPERATION = "gen_ai.operation.name"
    PROVIDER = "gen_ai.provider.name"
    AGENT_NAME = "gen_ai.agent.name"
    AGENT_VERSION = "gen_ai.agent.version"
    CONVERSATION = "gen_ai.conversation.id"
    REQUEST_MODEL = "gen_ai.request.model"
    TEMPERATURE = "gen_ai.request.temperature"
    TOP_P = "gen_ai.request.top_p"
    MAX_TOKENS = "gen_ai.request.max_tokens"
    SEED = "gen_ai.request.seed"
    FINISH_REASONS = "gen_ai.response.finish_reasons"
    INPUT_TOKENS = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
    CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
    ERROR_TYPE = "error.type"

    INPUT_MESSAGES = "gen_ai.input.messages"
    OUTPUT_MESSAGES = "gen_ai.output.messages"
    SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
    TOOL_DEFINITIONS = "gen_ai.tool.definitions"

    TOOL_NAME = "gen_ai.tool.name"
    TOOL_TYPE = "gen_ai.tool.type"
    TOOL_DESCRIPTION = "gen_ai.tool.description"
    CALL_ID = "gen_ai.tool.call.id"
    CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
    CALL_RESULT = "gen_ai.tool.call.result"

    EVALUATION_NAME = "gen_ai.evaluation.name"
    EVALUATION_VALUE = "gen_ai.evaluation.score.value"
    EVALUATION_LABEL = "gen_ai.evaluation.score.label"
    EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"

    SERVICE = "service.name"
    RUN = "talm_sim.run.id"
    TASK_NAME = "talm_sim.task"
    CONTROL = "talm_sim.control"
    IMPORTED = "talm_sim.imported"
    SCENARIO = "talm_sim.scenario.id"
    GROUP = "talm_sim.scenario.group"
    EPOCH = "talm_sim.epoch"
    ATTEMPT = "talm_sim.attempt"
    TERMINATION = "talm_sim.termination"
    NOT_SCORED = "talm_sim.not_scored"
    ESTIMATED = "talm_sim.time.estimated"
    REPLAYED = "talm_sim.replayed"
    AWARENESS_KIND = "talm_sim.awareness.kind"
    AWARENESS_VALUE = "talm_sim.awareness.value"
    PERTURBATION = "talm_sim.perturbation.name"
    ARMED = "talm_sim.perturbation.armed"
    FIRED = "talm_sim.perturbation.fired"
    SEEN = "talm_sim.perturbation.seen"
    PERSON = "talm_sim.human.name"
    REQUEST = "talm_sim.human.request"
    DECISION = "talm_sim.human.decision"
    RESPONDER = "talm_sim.human.responder"
    OUTCOME = "talm_sim.human.outcome"
    WAITED = "talm_sim.human.waited_ms"
    COMMENT_NAME = "talm_sim.comment.name"
    COMMENT_TEXT = "talm_sim.comment.text"
