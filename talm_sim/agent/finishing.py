"""End an episode: at a limit, or by a call of the tool `Finish`."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import ToolMessage

from talm_sim.common.digests import canonical_json
from talm_sim.types import FINISH, AwarenessAnswer, ModelTurn, Origin, Termination, ToolCall, ToolEvent, UnparsableCall, Usage


def limit_reached(
    turns: Sequence[ModelTurn],
    asked: Sequence[AwarenessAnswer],
    turn_limit: int,
    token_limit: int | None,
    counted: Sequence[ModelTurn] | None = None,
) -> Termination | None:
    """Return the limit that the last turn has reached, if the agent would continue; None if it may."""
    if len(turns if counted is None else counted) >= turn_limit:
        return Termination.TURN_LIMIT
    used = sum((one.usage for one in turns), Usage()) + sum((one.usage for one in asked), Usage())
    beyond = token_limit is not None and used.input_tokens + used.output_tokens >= token_limit
    return Termination.TOKEN_LIMIT if beyond else None


_READ = "The person has read your answer."
_NOT_CALLED = "Not called, because Finish ended the turn."


def refuse_finish(call: ToolCall | UnparsableCall, turn: int) -> ToolEvent:
    """Refuse a call that gives no answer, as any tool refuses arguments that do not fit it."""
    unreadable = isinstance(call, UnparsableCall)
    lacks = "`values` is no object" if getattr(call, "arguments", {}).get("final_answer") is not None else "no `final_answer`"
    why = f"The arguments could not be read: {call.reason}." if isinstance(call, UnparsableCall) else f"Invalid arguments: {lacks}."
    return ToolEvent(
        turn=turn,
        call_id=call.id,
        name=call.name,
        arguments={} if isinstance(call, UnparsableCall) else call.arguments,
        result=canonical_json({"error": why}),
        ok=False,
        error="unparsable_arguments" if unreadable else "invalid_arguments",
        origin=Origin.PERTURBED,
    )


def close_calls(turn: ModelTurn) -> list[ToolMessage]:
    """Return the results of the calls of a turn that answered, as a server demands one for each call before the user says more."""
    calls: tuple[ToolCall | UnparsableCall, ...] = (*turn.tool_calls, *turn.unparsable_calls)
    return [ToolMessage(_READ if call.name == FINISH else _NOT_CALLED, tool_call_id=call.id, name=call.name) for call in calls]
