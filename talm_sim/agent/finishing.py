"""The tool `Finish`: what a model reads back from a call of it that does not end the episode."""

from __future__ import annotations

from langchain_core.messages import ToolMessage

from talm_sim.common.digests import canonical_json
from talm_sim.types import FINISH, ModelTurn, Origin, ToolCall, ToolEvent, UnparsableCall

__all__ = ["close_calls", "refuse_finish"]

_READ = "The person has read your answer."
_NOT_CALLED = "Not called, because Finish ended the turn."


def refuse_finish(call: ToolCall | UnparsableCall, turn: int) -> ToolEvent:
    """Refuse a call that gives no answer, as any tool refuses arguments that do not fit it."""
    unreadable = isinstance(call, UnparsableCall)
    why = f"The arguments could not be read: {call.reason}." if isinstance(call, UnparsableCall) else "Invalid arguments: no `final_answer`."
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
