"""Let a model think before an answer, in tasks that ask it once: freely, in a form, or in a form whose decisions are drawn.

What a form contains is thought: it goes to `ModelTurn.reasoning`, and `ModelTurn.written` is what follows it.
"""

from __future__ import annotations

from talm_sim.tasks.reasoning.measures import decision_matrix, reasoning_figure, reasoning_measures, reasoning_notes, reasoning_values
from talm_sim.tasks.reasoning.options import NONE, WORDED, ReasoningOptions
from talm_sim.tasks.reasoning.think_first import (
    ask_for_thought,
    instruct,
    instruct_all,
    keyed,
    read_thought,
    reasoning_label,
    thought_text,
    with_thought,
)

__all__ = [
    "NONE",
    "WORDED",
    "ReasoningOptions",
    "ask_for_thought",
    "decision_matrix",
    "instruct",
    "instruct_all",
    "keyed",
    "read_thought",
    "reasoning_figure",
    "reasoning_label",
    "reasoning_measures",
    "reasoning_notes",
    "reasoning_values",
    "thought_text",
    "with_thought",
]
