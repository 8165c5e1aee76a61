"""The names of OpenTelemetry's conventions for generative AI, and of our own attributes beside them: the one table of them.

The conventions are in development and their Python constants are deprecated ahead of a move, so the strings are written here.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["COMMENT", "EVALUATION", "Key", "Operation"]

EVALUATION = "gen_ai.evaluation.result"
"""Name of the event of one verdict."""
COMMENT = "talm_sim.comment"
"""Name of the event of a reader's comment."""


class Operation(StrEnum):
    """What a span is about; its name begins with it."""

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
