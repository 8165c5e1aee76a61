"""Decide about a call or a form by rule, from the scenario; check that a decision is one that was asked for.

A person who knows the scenario's gold calls approves a call that one of them holds, corrects the arguments of a call that differs from the only
gold call of its tool it can be meant for, and rejects any other. Of a form such a person fills in the fields that are named like an argument
of a gold call, and declines it where that does not suffice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from talm_sim.common.json_values import same_value
from talm_sim.errors import format_names
from talm_sim.schemas import Schema
from talm_sim.types import Action, Approval, Decision, Form, GoldCall, PersonRequest, Scenario

NOT_ASKED_FOR = "That is not what I asked for."
"""What the person says of a call that no gold call is like."""
_GO_AHEAD = "Go ahead."
_Verdict = Literal["right", "wrong", "other"]
_PREFERRED: Mapping[_Verdict, Sequence[Action]] = {
    "right": ("approve", "edit", "respond", "reject"),
    "wrong": ("edit", "reject", "respond", "approve"),
    "other": ("reject", "respond", "edit", "approve"),
}
"""What a person does with a call, in order: whoever asks may not be able to take the first."""


def decide_by_scenario(request: PersonRequest, scenario: Scenario) -> Decision:
    """Return what a person decides who knows the scenario and nothing else; it is always a decision that the request allows.

    >>> from talm_sim.types import Turn
    >>> gold = GoldCall(name="airport_info", arguments={"iata": "HAN"})
    >>> scenario = Scenario(id="a", group="b", turns=(Turn(messages=(), gold_calls=(gold,)),))
    >>> decide_by_scenario(Approval(name="airport_info", arguments={"iata": "han"}), scenario).text
    'approve'
    >>> decide_by_scenario(Approval(name="airport_info", arguments={"iata": "SGN"}), scenario).text
    'edit: airport_info({"iata": "HAN"})'
    >>> decide_by_scenario(Approval(name="book_flight"), scenario).text
    'reject: That is not what I asked for.'
    """
    return _decide_call(request, scenario) if isinstance(request, Approval) else _fill_in(request, scenario)


def explain_misfit(request: PersonRequest, decision: Decision) -> str:
    """Explain why a decision is none that a request allows; empty where it is one."""
    return _explain_call_misfit(request, decision) if isinstance(request, Approval) else _explain_form_misfit(request, decision)


def _explain_call_misfit(asked: Approval, decision: Decision) -> str:
    if decision.action not in asked.allowed:
        return f"'{decision.action}' is not allowed here; allowed: {format_names([*asked.allowed])}"
    if decision.action == "respond" and not decision.message.strip():
        return "a response needs its text"
    return _explain_edit_misfit(asked, decision) if decision.action == "edit" else ""


def _explain_edit_misfit(asked: Approval, decision: Decision) -> str:
    if decision.arguments is None:
        return "an edited call needs its arguments, a JSON object"
    renamed = decision.name not in ("", asked.name)
    if renamed and asked.same_tool:
        return f"the call must remain one of {asked.name}"
    return "" if renamed or not asked.parameters else Schema(asked.whole or asked.parameters).explain(decision.arguments)


def _explain_form_misfit(form: Form, decision: Decision) -> str:
    if decision.action not in ("accept", "decline", "cancel"):
        return f"'{decision.action}' is not allowed here; allowed: accept, decline, cancel"
    if decision.action != "accept":
        return "" if decision.content is None else "only an accepted form has values"
    content = decision.content or {}
    if unknown := [name for name in content if name not in _properties(form)]:
        return f"the form has no field '{unknown[0]}'"
    return Schema(form.fields).explain(content)


# --- calls ----------------------------------------------------------------------------------------------------------------------------


def _decide_call(asked: Approval, scenario: Scenario) -> Decision:
    gold, verdict = _meant(asked, scenario)
    corrected = {**asked.arguments, **gold.arguments} if gold is not None and verdict == "wrong" else asked.arguments
    wrong = [name for name, value in corrected.items() if name not in asked.arguments or not same_value(value, asked.arguments[name])]
    why = " ".join(f"The {name.replace('_', ' ')} is {_write(corrected[name])}." for name in wrong) or NOT_ASKED_FOR
    decisions: dict[Action, Decision] = {
        "approve": Decision(action="approve"),
        "edit": Decision(action="edit", name=asked.name, arguments=dict(corrected)),
        "reject": Decision(action="reject", message=why),
        "respond": Decision(action="respond", message=_GO_AHEAD if verdict == "right" else why),
    }
    allowed = [decisions[action] for action in _PREFERRED[verdict] if not explain_misfit(asked, decisions[action])]
    return allowed[0] if allowed else decisions[asked.allowed[0]]


def _meant(asked: Approval, scenario: Scenario) -> tuple[GoldCall | None, _Verdict]:
    """Return the gold call that a call is meant for, and whether it is that call; None where there is no such call, or several are as near."""
    others = (call for calls in scenario.alternatives.values() for call in calls)
    known = [call for call in (*scenario.gold_calls, *others) if call.name == asked.name]
    far = [(_differing(call, asked.arguments), call) for call in known]
    if any(not differing for differing, _ in far):
        return None, "right"
    least = min((len(differing) for differing, _ in far), default=0)
    nearest = [call for differing, call in far if len(differing) == least]
    alike = all(same_value(nearest[0].arguments, call.arguments) for call in nearest)
    return (nearest[0], "wrong") if nearest and alike else (None, "other")


def _differing(gold: GoldCall, arguments: Mapping[str, Any]) -> list[str]:
    """Return the gold arguments that a call lacks or gives another value; what it gives beyond them nobody knows to be wrong."""
    return [name for name, value in gold.arguments.items() if name not in arguments or not same_value(value, arguments[name])]


# --- forms ----------------------------------------------------------------------------------------------------------------------------


def _fill_in(form: Form, scenario: Scenario) -> Decision:
    known, properties = _known_values(scenario), _properties(form)
    content = {
        name: value
        for name, schema in properties.items()
        if (key := _key(name)) in known and (value := next(_readings(known[key], schema), None)) is not None
    }
    required = form.fields.get("required", ())
    defaults = {name: properties[name]["default"] for name in required if name not in content and "default" in properties.get(name, {})}
    accepted = Decision(action="accept", content={**content, **defaults})
    return accepted if content and not explain_misfit(form, accepted) else Decision(action="decline")


def _known_values(scenario: Scenario) -> dict[str, Any]:
    """Return the values of the gold calls' arguments by name; a name with two values has none."""
    known: dict[str, Any] = {}
    ambiguous: set[str] = set()
    for call in scenario.gold_calls:
        for name, value in call.arguments.items():
            if not same_value(known.setdefault(_key(name), value), value):
                ambiguous.add(_key(name))
    return {name: value for name, value in known.items() if name not in ambiguous}


def _readings(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a value as a field can contain it: as it is, as the option that says the same, as a text or a number, or as a list."""
    for one in (value, *_matching_options(value, schema), _write(value), *_numbers(value), [value]):
        if Schema(schema).fits(one) is not False:
            yield one


def _matching_options(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    listed = schema.get("enum")
    yield from (one for one in listed if same_value(one, value)) if isinstance(listed, list) else ()
    for options in (schema.get("oneOf"), schema.get("anyOf")):
        for option in options if isinstance(options, list) else ():
            if isinstance(option, dict) and (same_value(option.get("const"), value) or same_value(option.get("title"), value)):
                yield option.get("const")


def _numbers(value: Any) -> Iterator[int | float]:
    for read in (int, float):
        try:
            yield read(value)
        except (TypeError, ValueError, OverflowError):
            continue


def _properties(form: Form) -> dict[str, Any]:
    found = form.fields.get("properties")
    return {name: schema for name, schema in found.items() if isinstance(schema, dict)} if isinstance(found, dict) else {}


def _key(name: str) -> str:
    """Return a name as it is compared: `startDate`, `start_date` and `Start date` are one.

    >>> _key("startDate") == _key("start_date") == _key("Start date")
    True
    """
    return re.sub(r"[\W_]+", "", name).casefold()


def _write(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
