"""What the tests of ways out share: the built-in tools without their service, faults of their own, and an agent loop around a control."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from talm_sim.agent.humans import SimulatedResponder
from talm_sim.models.base import ASK_HUMAN, GenerationSettings
from talm_sim.recordings import HttpResponse
from talm_sim.tasks.acting.standing_in import hidden_tools
from talm_sim.tasks.registry import find_task, known_scenarios
from talm_sim.tasks.talm.groups import QUICK
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.perturbations import PERTURBATIONS, Call, Outcome, Perturbation, ToolListOptions
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Scenario, ToolEvent, ToolSpec
from tests.in_process import direct_caller

ASK = ToolSpec(name=ASK_HUMAN, parameters={"type": "object", "properties": {"question": {"type": "string"}}})


class DirectSource:
    """The built-in tools, asked in this process."""

    name = ""
    not_taken = ()

    def __init__(self) -> None:
        direct = direct_caller()
        self._direct, described = direct, tools_from_openapi(direct.document)
        self.specs, self.routes, self.responses = described.specs, described.routes, described.responses
        self.calls: list[str] = []

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        self.calls.append(tool)
        status, text = await self._direct.ask(tool, arguments)
        return HttpResponse(status, "", (("content-type", "application/json"),), text.encode())

    async def aclose(self) -> None:
        pass


def built_in() -> Tools:
    return Tools([DirectSource()])


def packaged(group: str) -> list[Scenario]:
    return [one for one in known_scenarios(find_task("talm"), group, None) if one.base in QUICK]


def _changed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _changed(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_changed(one) for one in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + 1
    return f"Wrong{len(value)}" if isinstance(value, str) else value


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {f"new_{name}": _renamed(one) for name, one in value.items()}
    return [_renamed(one) for one in value] if isinstance(value, list) else value


class Shifted(Perturbation):
    """Every value is another one."""

    name, silent = "t-shifted", True
    family = "silent"

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        return Outcome(200, json.dumps(_changed(outcome.value)).encode())


class LastingShift(Shifted):
    """Every value is another one, whenever it is asked for."""

    name, permanent = "t-lasting-shift", True


class OtherRecord(Perturbation):
    """The answer to another scenario's call."""

    name, silent, family = "t-other-record", True, "silent"

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        other = next((one for one in call.others if one != call.arguments), None)
        return None if other is None else await call.send(other)


class NullFields(Perturbation):
    """Every field is null."""

    name, family, permanent = "t-null", "drift", True

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        return Outcome(200, json.dumps(dict.fromkeys(outcome.value)).encode())


class RenamedFields(Perturbation):
    """Every field has another name."""

    name, family, permanent = "t-renamed-fields", "drift", True

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        return Outcome(200, json.dumps(_renamed(outcome.value)).encode())


class RenamedArgument(Perturbation):
    """The first argument has another name, which only the error says."""

    name, family, permanent = "t-renamed-argument", "drift", True

    def translate(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        return tool, {name.removeprefix("the_"): value for name, value in arguments.items()}

    async def before(self, call: Call) -> Outcome | None:
        old = next(iter(call.arguments))
        if call.written is not None and f"the_{old}" in call.written:
            return None
        return Outcome(422, json.dumps({"detail": f"'{old}' is not a field; did you mean 'the_{old}'"}).encode())


class RenamedTool(Perturbation):
    """The tool has another name."""

    name, family, permanent = "t-renamed-tool", "tools", True
    Options = ToolListOptions

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        return [one.model_copy(update={"name": f"v2_{one.name}"}) if self.applies(one.name) else one for one in tools]

    def translate(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        return tool.removeprefix("v2_"), arguments


class Slow(Perturbation):
    """The tool takes its time."""

    name = "t-slow"

    async def before(self, call: Call) -> Outcome | None:
        await call.clock.sleep(1000)
        return None


class Fitting(Perturbation):
    """No tool has what it damages."""

    name = "t-not-there"

    def lacks(self, tool: ToolSpec, response: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
        return "no such thing"


FAULTS = (Shifted, LastingShift, OtherRecord, NullFields, RenamedFields, RenamedArgument, RenamedTool, Slow, Fitting)


def register_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("_registered", "_modules", "_packages"):
        monkeypatch.setattr(PERTURBATIONS, store, dict(getattr(PERTURBATIONS, store)))
    for kind in FAULTS:
        PERTURBATIONS.register(kind.name, kind)


async def play(
    control: str, scenario: Scenario, tools: Tools, perturb: tuple[str, ...], *, human: bool = False, turns: int = 50
) -> tuple[str, list[ToolEvent]]:
    """Play an episode with a control, and return its answer and its calls; it is not asked about what it knows."""
    environment = Environment(tools, perturb=perturb, clock=VirtualClock)
    episode = environment.open(scenario)
    person = SimulatedResponder(scenario, tools.specs, stands_in=hidden_tools([*tools.specs.values()], perturb))
    offered = [*episode.tools, *([ASK] if human else [])]
    messages: list[BaseMessage] = [HumanMessage(scenario.query)]
    events: list[ToolEvent] = []
    for number in range(turns):
        # A new policy each turn: it must keep nothing, or an episode that paused could not continue.
        policy = find_task("talm").control(f"sim/{control}", scenario)
        assert policy is not None
        turn = await policy.generate(messages, offered, GenerationSettings())
        if not turn.tool_calls:
            return turn.text, events
        messages.append(AIMessage(turn.text, tool_calls=[{"id": c.id, "name": c.name, "args": c.arguments} for c in turn.tool_calls]))
        for call in turn.tool_calls:
            if call.name == ASK_HUMAN:
                person.follow((), events)
                text = (await person(call.arguments["question"], 1)).answer
            else:
                events.append(await episode.call(call, number))
                text = events[-1].result
            messages.append(ToolMessage(text, tool_call_id=call.id, name=call.name))
    raise AssertionError("the control never answered")
