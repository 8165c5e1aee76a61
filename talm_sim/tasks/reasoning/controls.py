"""How controls think: by rule, about what they then do."""

from __future__ import annotations

from collections.abc import Sequence

from talm_sim.reasoning import Decision, Value, write_form
from talm_sim.tasks.reasoning.options import FREE, NONE, RANDOM

__all__ = ["with_thought"]

_WHY = {
    Decision.CALL: "a shown tool is called",
    Decision.DEFER: "nothing shown is used",
    Decision.CLARIFY: "something is asked first",
    Decision.ANSWER: "words are enough",
}
_BLOCKERS = {Decision.DEFER: ("tool_unavailable",), Decision.CLARIFY: ("missing_argument",)}


def with_thought(kind: str, decision: Decision, answer: str, *, summary: str, tools: Sequence[str] = ()) -> str:
    """Return what a control writes: its thought, of the kind that was asked for, and its answer.

    Args:
        kind: `none`, `free`, `form`, or `random`, of which it writes the rest that was not begun for it.
        decision: What the answer does.
        answer: The answer.
        summary: The request.
        tools: The tools that it calls.
    """
    why = f"{_WHY[decision]}, as this control always plays"
    if kind == NONE:
        return answer
    if kind == FREE:
        return f"<think>The request: {' '.join(summary.split())[:80]}. Decision: {decision}, because {why}.</think>\n\n{answer}"
    if kind == RANDOM:
        return f" {why}\n\n{answer}"
    called = decision is Decision.CALL
    fields: dict[str, Value] = {
        "task_summary": " ".join(summary.split())[:80],
        "task_type": "lookup",
        "ambiguity_level": "high" if decision is Decision.CLARIFY else "low",
        "relevant_tools_sorted": tuple(tools),
        "tool_needed": "false" if decision is Decision.ANSWER else "true",
        "tool_sufficiency": "yes" if called else "no",
        "blockers": _BLOCKERS.get(decision, ()),
        "decision": decision.value,
        "hallucination_risk": "low" if called else "high",
        "why": why,
    }
    return f"{write_form(fields)}\n\n{answer}"
