"""Play task `refusal` as each control: the oracle knows the calls that are right, the others do what they always do.

The eager one calls the first tool where no call is right, and `a_function` where none is shown. AST is 1 over ground truths that some call
passes; seven published ones let none pass, or only what nobody would write. Calls are written in Python's list syntax where they are asked for
so. The study's H-I and H-S over live_irrelevance with live_relevance are .02 of the eager one and .98 of the cautious one and the asker, as in
the latter's few rows any call is right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any

from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.formats import FORMATS, CallToWrite
from talm_sim.models.parsing import split_reasoning
from talm_sim.models.sim import ControlPolicy
from talm_sim.reasoning import Decision
from talm_sim.scenarios.item_tools import parameters_of, required_of, spec_of
from talm_sim.tasks.reasoning import NONE, with_thought
from talm_sim.tasks.refusal.shown_tools import functions
from talm_sim.types import AcceptedCall, Calls, ModelTurn, Scenario, ToolSpec

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_SAYS = {"asker": "Could you tell me more about what you need?"}
_DECLINES = "I cannot do that with what I have."
_NO_TOOL = "a_function"
_LEFT_OUT = ""
"""Marks, among an argument's accepted values, that it may be left out."""


class CallPolicy(ControlPolicy):
    """One control at one scenario; it writes its calls as a model does that has no native ones.

    Args:
        pythonic: Whether calls were asked for as a list in Python's syntax; else they stand in `<tool_call>` tags, as do those of Java and
            JavaScript functions, whose values are texts of source code.
    """

    def __init__(self, name: str, scenario: Scenario, target: Calls, *, pythonic: bool = False, reasoning: str = NONE) -> None:
        super().__init__(name)
        form = FORMATS["pythonic" if pythonic and target.syntax == "python" else "hermes"]
        calls = _calls(self.control, scenario, target)
        text = form.write(calls) if calls else _SAYS.get(self.control, _DECLINES)
        decision = Decision.CALL if calls else Decision.CLARIFY if self.control in _SAYS else Decision.DEFER
        self._text = with_thought(reasoning, decision, text, summary=scenario.query, tools=[call.name for call in calls])

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Answer, in words or by calls."""
        await self.wait()
        text, thought = split_reasoning(self._text)
        return ModelTurn(raw_text=self._text, text=text, reasoning=thought)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Find each token of what the control writes where no tool fits .9 likely, and any other .1; the first text is a call's opening."""
        await self.wait()
        likely = [place == 0 if self.control == "eager" else place > 0 for place in range(len(options))]
        sizes = [len(text.split()) for text in options]
        return [Continuation(size * log(0.9 if one else 0.1), size) for one, size in zip(likely, sizes, strict=True)]


def _calls(control: str, scenario: Scenario, target: Calls) -> list[CallToWrite]:
    """Return what a control calls; nothing if it writes words."""
    if control in {"cautious", "asker"} or (control == "oracle" and target.expected == "none"):
        return []
    return right_calls(scenario, target) or [CallToWrite(_first_tool(scenario), {})]


def right_calls(scenario: Scenario, target: Calls) -> list[CallToWrite]:
    """Return the right calls of a scenario, each with an accepted value of every argument; none if no particular calls are right."""
    return [_right_call(one, scenario, target.syntax) for one in target.accepted]


def _right_call(accepted: AcceptedCall, scenario: Scenario, syntax: str) -> CallToWrite:
    """Return a call with an accepted value of each argument that may not be left out."""
    spec = next((one for tool in scenario.shown_tools if (one := spec_of(tool)).get("name") == accepted.name), {})
    schemas, required = parameters_of(spec), required_of(spec)
    arguments = {}
    for name, values in accepted.arguments.items():
        if values and (_LEFT_OUT not in values or name in required):
            value = _pick_accepted(values)
            arguments[name] = value if syntax == "python" else source_of(value, schemas.get(name, {}), syntax)
    return CallToWrite(accepted.name, arguments)


def _pick_accepted(values: Sequence[Any]) -> Any:
    """Return one of some accepted values; an object's keys have accepted values themselves."""
    return _pick_plain(next((one for one in values if one != _LEFT_OUT), values[0]))


def _pick_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_pick_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    given = {key: one if isinstance(one, list) and one else [one] for key, one in value.items()}
    return {key: _pick_accepted(one) for key, one in given.items() if _LEFT_OUT not in one}


def _first_tool(scenario: Scenario) -> str:
    found = functions(scenario.shown_tools)
    return str(found[0]["name"]) if found else _NO_TOOL


def source_of(value: Any, schema: Mapping[str, Any], syntax: str) -> str:
    """Write a value in the syntax of its function; a text is source code already.

    >>> source_of([1, 2], {"type": "Array", "items": {"type": "integer"}}, "java"), source_of({"a": ["b"]}, {}, "javascript")
    ('new integer[]{1, 2}', '{a: ["b"]}')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        return _java(value, schema) if syntax == "java" else _javascript(value)
    return f"{value}{_suffix(schema) if syntax == 'java' and not isinstance(value, str) else ''}"


def _java(value: Any, schema: Mapping[str, Any]) -> str:
    inner = schema.get("items")
    item = inner if isinstance(inner, Mapping) else {}
    if isinstance(value, list):
        array, kind = schema.get("type") == "Array", item.get("type", "Object")
        # Of the items of an array BFCL keeps the quotes, so that only bare texts are right there.
        items = ", ".join(one if array and isinstance(one, str) else _item(one, item, "java") for one in value)
        return f"new {kind}[]{{{items}}}" if array else f"new ArrayList<{kind}>(Arrays.asList({items}))"
    puts = " ".join(f"put({json.dumps(key)}, {_item(one, {}, 'java')});" for key, one in value.items())
    return f"new HashMap<String, Object>() {{{{ {puts} }}}}"


def _javascript(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_item(one, {}, 'javascript') for one in value)}]"
    pairs = (f"{key}: {_item(one, {}, 'javascript')}" for key, one in value.items())
    return f"{{{', '.join(pairs)}}}"


def _item(value: Any, schema: Mapping[str, Any], syntax: str) -> str:
    if not isinstance(value, str):
        return source_of(value, schema, syntax)
    if schema.get("type") == "any":
        return value
    return f"'{value}'" if schema.get("type") == "char" else json.dumps(value, ensure_ascii=False)


def _suffix(schema: Mapping[str, Any]) -> str:
    return {"long": "L", "float": "f"}.get(str(schema.get("type")), "")
