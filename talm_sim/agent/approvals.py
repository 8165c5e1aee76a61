"""Settle calls that wait for a person's approval: which call runs, and the text that the agent reads of the decision."""

from __future__ import annotations

from talm_sim.types import Approval, Decision, HumanEvent, ToolCall

REJECTED = "The person rejected this call, so it was not executed."
"""What the agent reads of a call that was rejected; the person's reason follows."""
_ANSWERED = "The person answered in place of this call, which was not executed:"
_UNANSWERED = "Nobody answered whether this call may be executed, so it was not."


def settle_approval(event: HumanEvent) -> HumanEvent:
    """Return a person's decision about a call with the words that the agent reads of it; a call that nobody decided about is rejected."""
    decision = event.decision or Decision(action="reject", message=event.answer)
    if event.declined:
        said = _UNANSWERED
    elif decision.action == "reject":
        said = f"{REJECTED} The reason given: {decision.message}" if decision.message.strip() else REJECTED
    elif decision.action == "respond":
        said = f"{_ANSWERED} {decision.message}"
    else:
        said = decision.text
    return event.model_copy(update={"decision": decision, "answer": said})


def approved_call(event: HumanEvent) -> ToolCall | None:
    """Return the call that a person lets run, as it was made or as the person changed it; None if none runs."""
    request, decision = event.request, event.decision
    if not isinstance(request, Approval) or decision is None or decision.action not in ("approve", "edit"):
        return None
    if decision.action == "approve":
        return ToolCall(id=event.call_id, name=request.name, arguments=request.arguments)
    arguments = request.arguments if decision.arguments is None else decision.arguments
    return ToolCall(id=event.call_id, name=decision.name or request.name, arguments=arguments)
