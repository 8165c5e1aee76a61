"""Check all calls of an answer against the right ones.

Parallel calls may be in any order: each right call, in the order of the ground truth, takes the first remaining call that is right for
it. As in BFCL none is given back, so if two right calls accept the same call, the order may decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from talm_sim.tasks.refusal.call_checks.one_call import RIGHT, CallFault, CheckResult, check_call, format_value
from talm_sim.types import AcceptedCall, Calls, JsonObject, ToolCall


def check_calls(found: Sequence[ToolCall], target: Calls, tools: Sequence[JsonObject]) -> CheckResult:
    """Check the calls of an answer.

    Returns:
        The outcome, the first fault, and the same in words.

    >>> tool = {"name": "clock", "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]}}
    >>> right = Calls(expected="calls", accepted=(AcceptedCall(name="clock", arguments={"city": ("Ha Noi",)}),))
    >>> check_calls([ToolCall(id="1", name="clock", arguments={"city": "Hanoi"})], right, [tool]).outcome
    True
    >>> check_calls([ToolCall(id="1", name="clock", arguments={})], right, [tool])
    CheckResult(outcome=False, error=<CallFault.MISSING: 'missing'>, words="required argument 'city' is missing")
    """
    if target.expected == "none":
        return RIGHT if not found else CheckResult(False, CallFault.COUNT, f"{_format_names(found)} called, where no function fits")
    if target.expected == "any":
        return RIGHT if found else CheckResult(False, CallFault.COUNT, "no call, where one is due")
    if len(found) != len(target.accepted):
        return CheckResult(False, CallFault.COUNT, f"{len(found)} calls ({_format_names(found)}) in place of {len(target.accepted)}")
    left = list(found)
    for right in target.accepted:
        checked = _match_call(left, right, find_tool(right.name, tools), target.syntax)
        if not checked.outcome:
            return checked
    return RIGHT


def _match_call(left: list[ToolCall], right: AcceptedCall, tool: JsonObject, syntax: str) -> CheckResult:
    """Take the first remaining call that is right; otherwise say what is wrong with the first one of that function."""
    closest = None
    for number, call in enumerate(left):
        if call.name == right.name:
            checked = check_call(call, right, tool, syntax)
            if checked.outcome:
                del left[number]
                return checked
            closest = closest or checked
    return closest or CheckResult(False, CallFault.FUNCTION, f"{_format_names(left)} called, {format_value(right.name)} is right")


def find_tool(name: str, tools: Sequence[JsonObject]) -> JsonObject:
    """Return the specification of a function by its name; empty if it is not shown."""
    for tool in tools:
        if isinstance(function := tool.get("function", tool), dict) and function.get("name") == name:
            return function
    return {}


def _format_names(calls: Sequence[ToolCall]) -> str:
    return ", ".join(format_value(call.name) for call in calls[:8]) + (", …" if len(calls) > 8 else "") if calls else "nothing"
