"""Read, check and write the thought that precedes a known right action.

A thought is kept only if it decides on the action that is right, names tools that are shown, and does not say that anybody told it so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from talm_sim.models.formats import CallToWrite
from talm_sim.models.parsing import replace_surrogates, split_reasoning
from talm_sim.reasoning import Decision, Value, draw_form, find_form, write_form
from talm_sim.reasoning.fields import value_of
from talm_sim.scenarios.tool_texts import tool_name
from talm_sim.tasks.refusal.controls import right_calls
from talm_sim.tasks.training.outputs import in_tags
from talm_sim.types import Calls, Scenario

__all__ = ["Thought", "action_words", "drawn_form", "read_form_thought", "read_free_thought", "right_decision", "rule_form"]

_DECISION = re.compile(r"^[^\w\n]*decision\b[^\w\n]{0,9}?[:=](.*)$", re.IGNORECASE | re.MULTILINE)
_TOLD = re.compile(r"\b(?:right|correct|expected|given|known) (?:action|answer|decision|call)\b|\b(?:was|am|been) told\b", re.IGNORECASE)
_TAG = re.compile(r"</?(?:think|thinking|thought|reasoning)>|\[/?THINK\]", re.IGNORECASE)
_SUMMARY = 80
"""Characters of a summary that is written by rule."""
_WHY_DRAWN = "this follows from the request and the tools"
"""Of a drawn form, whose other fields give no reason."""


@dataclass(frozen=True, slots=True)
class Thought:
    """A thought, or why it is not used.

    Attributes:
        text: The text that precedes the answer, with its marks; empty if it is rejected.
        decision: What it decides; empty if that cannot be read.
        fault: Why it is rejected; empty if it is not.
    """

    text: str = ""
    decision: str = ""
    fault: str = ""


def right_decision(target: Calls) -> Decision:
    """Return the decision that leads to what is right: a call, or a refusal."""
    return Decision.CALL if target.expected == "calls" else Decision.DEFER


def action_words(scenario: Scenario, target: Calls) -> str:
    """Say to a teacher what is right."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in right_calls(scenario, target)]
    if right_decision(target) is Decision.CALL:
        return f"call {json.dumps(calls, ensure_ascii=False)} (decision: call)"
    return "decline in words and call nothing, because no tool can do this (decision: defer)"


def read_form_thought(text: str, scenario: Scenario, target: Calls) -> Thought:
    """Read the form that a teacher wrote, and check it."""
    said, thought = split_reasoning(text)
    form = find_form(said if said.strip() else thought)
    if not form.fields:
        return Thought(fault="no form can be read in it")
    decision = str(form.decision or "")
    if form.missing:
        return Thought(decision=decision, fault=f"its form lacks {', '.join(form.missing)}")
    fault = _contradiction(decision, target) or _fault_in_fields(form.fields, scenario, target) or _fault_in_words(form.text)
    return Thought(decision=decision, fault=fault) if fault else Thought(_before_answer(form.fields), decision)


def read_free_thought(text: str, target: Calls) -> Thought:
    """Read the thought that a teacher wrote freely, whose last line is its decision, and check it."""
    said = _TAG.sub("", replace_surrogates(text)).strip()
    found = [*_DECISION.finditer(said)]
    value = value_of("decision", found[-1][1]) if found else None
    if value is None or value not in [*Decision]:
        return Thought(fault="it ends without a line that says its decision")
    thought = said[: found[-1].start()].strip()
    fault = _contradiction(str(value), target) or ("it contains no thought" if not thought else _fault_in_words(thought))
    return Thought(decision=str(value), fault=fault) if fault else Thought(in_tags(thought), str(value))


def rule_form(scenario: Scenario, target: Calls) -> Thought:
    """Write the form that leads to what is right, by rule."""
    calls = right_calls(scenario, target)
    fits = right_decision(target) is Decision.CALL
    fields: dict[str, Value] = {
        "task_summary": _summary(scenario.query),
        "task_type": "multi_intent" if len(calls) > 1 else "lookup",
        "ambiguity_level": "low",
        "relevant_tools_sorted": tuple(dict.fromkeys(call.name for call in calls)),
        "tool_needed": "true",
        "tool_sufficiency": "yes" if fits else "no",
        "blockers": () if fits else ("tool_unavailable",),
        "decision": right_decision(target).value,
        "hallucination_risk": "low" if fits else "high",
        "why": _why(calls, fits=fits),
    }
    return Thought(_before_answer(fields), right_decision(target).value)


def drawn_form(scenario: Scenario, random: Random) -> Thought:
    """Write a form whose decision fields are drawn, whatever is right."""
    fields = draw_form(random, scenario.query, _shown_names(scenario))
    return Thought(_before_answer({**fields, "why": _WHY_DRAWN}), str(fields["decision"]))


def _before_answer(fields: Mapping[str, Value]) -> str:
    return f"{write_form(fields)}\n\n"


def _summary(query: str) -> str:
    """Return the first words of a request."""
    said = " ".join(query.split())
    return said if len(said) <= _SUMMARY else said[:_SUMMARY].rpartition(" ")[0] or said[:_SUMMARY]


def _why(calls: Sequence[CallToWrite], *, fits: bool) -> str:
    names = " and ".join(dict.fromkeys(call.name for call in calls))
    return f"{names} can do what is asked, and all that is needed was said" if fits else "no given tool can do what is asked"


def _contradiction(decision: str, target: Calls) -> str:
    right = right_decision(target)
    if not decision:
        return "its decision cannot be read"
    return "" if decision == right else f"it decides on {decision}, and {right} is right"


def _fault_in_fields(fields: Mapping[str, Value], scenario: Scenario, target: Calls) -> str:
    """Say which field contradicts the tools, or the right action."""
    listed = fields["relevant_tools_sorted"]
    named = {item.split("(")[0].strip() for item in (listed if isinstance(listed, tuple) else (listed,))}
    shown = set(_shown_names(scenario))
    if unknown := sorted(named - shown):
        return f"it names a tool that is not shown: {unknown[0][:80]}"
    needed = [call.name for call in right_calls(scenario, target) if call.name not in named]
    if needed:
        return f"it does not name {needed[0]} as relevant, which is called"
    if right_decision(target) is Decision.CALL and fields["tool_needed"] == "false":
        return "it says that no tool is needed, and a call is right"
    return ""


def _fault_in_words(text: str) -> str:
    found = _TOLD.search(text)
    return f"it speaks of what it was told ('{found[0]}')" if found else ""


def _shown_names(scenario: Scenario) -> list[str]:
    return [tool_name(tool) for tool in scenario.shown_tools]
