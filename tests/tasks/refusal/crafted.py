"""Rows and answers of task `refusal`, made up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from talm_sim.types import AcceptedCall, Calls, Episode, ModelTurn, Scenario, Source, Termination, Turn, Verdict


def tool(name: str, **types: str) -> str:
    """A function as BFCL writes it, all of its parameters required."""
    properties = {one: {"type": kind, "description": f"The {one}"} for one, kind in types.items()}
    return json.dumps({"name": name, "description": "Tells.", "parameters": {"type": "dict", "properties": properties, "required": [*types]}})


CLOCK = tool("world.clock", city="string")


def calls(**arguments: Any) -> Calls:
    """The clock's call that is right, with one accepted value an argument."""
    accepted = AcceptedCall(name="world.clock", arguments={name: (value,) for name, value in arguments.items()})
    return Calls(expected="calls", accepted=(accepted,))


def case(
    name: str,
    group: str = "irrelevance",
    target: Calls | None = None,
    said: Sequence[tuple[str, str]] = (("user", "What time is it in Hue?"),),
    tools: Sequence[str] = (CLOCK,),
    language: str = "en",
) -> Scenario:
    """A row; without a target none of its functions serves."""
    return Scenario(
        id=name,
        task="refusal",
        group=group,
        turns=(Turn(messages=tuple({"role": role, "content": text} for role, text in said)),),
        shown_tools=tuple(tools),
        target=target or Calls(expected="none"),
        language=language,
        source=Source(name="BFCL v4"),
    )


def answered(
    scenario: Scenario, text: str = "Hm.", stop: Literal["stop", "length"] = "stop", end: Termination = Termination.ANSWERED
) -> Episode:
    """An episode that ends with what was written."""
    turns = (ModelTurn(raw_text=text, text=text, stop=stop),) if end is Termination.ANSWERED else ()
    return Episode(id=scenario.id, scenario_id=scenario.id, group=scenario.group, model="test/model", termination=end, model_turns=turns)


def said(scenario: Scenario, judge: str, value: bool | None, label: str = "", why: str = "") -> Verdict:
    """A judge's word on an episode."""
    return Verdict(episode_id=scenario.id, judge=judge, value=value, label=label, explanation=why)
