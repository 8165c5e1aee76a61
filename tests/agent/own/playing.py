"""Agents of the user's own, played in a small world: one tool that answers from memory, and a model that plays prepared turns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from talm_sim.agent.episode import Agent, run_episode
from talm_sim.agent.humans import SimulatedResponder
from talm_sim.agent.own.agents import _read
from talm_sim.agent.own.session import AgentLimits
from talm_sim.agent.own.sessions import OwnModel, Sessions
from talm_sim.agent.prompts import load_prompts
from talm_sim.errors import CassetteMissError
from talm_sim.models.base import Model
from talm_sim.recordings import HttpResponse, Player
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.routes import build_request
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import (
    Episode,
    GoldCall,
    Missing,
    MissingKind,
    ModelTurn,
    Origin,
    Route,
    Scenario,
    ToolCall,
    ToolSpec,
    Turn,
    Usage,
)

SPEC = ToolSpec(
    name="airport_info",
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "description": "Code of the airport."}},
        "required": ["code"],
        "additionalProperties": False,
    },
)
SCENARIO = Scenario(
    id="s",
    group="underspecified",
    turns=(
        Turn(
            messages=({"role": "user", "content": "How high is the airport?"},),
            gold_calls=(GoldCall(tool="airport_info", arguments={"code": "HAN"}),),
        ),
    ),
    tools=("airport_info",),
    missing=Missing(kind=MissingKind.ARGUMENT, name="code", value="HAN", removed_text="HAN", human_answer="It is HAN."),
)
LOOK = ToolCall(id="c1", name="airport_info", arguments={"code": "HAN"})


class Client(Tools):
    """Answers every call from memory, but for a code nobody recorded."""

    def __init__(self) -> None:
        super().__init__(recorded={SPEC.name: (SPEC, Route(path="/t/{code}"))})

    async def call(
        self, tool: str, arguments: Mapping[str, object], episode: str = "", player: Player | None = None
    ) -> tuple[HttpResponse, Origin]:
        request = build_request(self.routes[tool], arguments)
        if request.url.endswith("/XXX"):
            raise CassetteMissError("not recorded")
        return HttpResponse(200, "OK", (), json.dumps({"path": request.url}).encode()), Origin.RECORDED


class Script:
    """A model that plays prepared turns."""

    name = "test/script"

    def __init__(self, *turns: ModelTurn) -> None:
        self.turns = list(turns)
        self.offered: list[Sequence[ToolSpec]] = []

    async def generate(self, messages: Any, tools: Sequence[ToolSpec], settings: Any) -> ModelTurn:
        self.offered.append(tuple(tools))
        return self.turns.pop(0)

    async def aclose(self) -> None:
        """Nothing to close."""


def agent_of(thing: Any, model: Model | None = None, *, human: str = "none", perturb: tuple[str, ...] = (), **limits: Any) -> Agent:
    simulated = human == "simulated"
    return Agent(
        model=model or OwnModel("agent/t:thing"),
        graph=Sessions(_read("t:thing", thing), AgentLimits(**{"turns": 5, "tokens": None, "seconds": 600.0, **limits})),
        environment=Environment(Client(), perturb=perturb),
        human=human,
        human_tool=None if human == "none" else load_prompts().human_tool(),
        responder=(lambda scenario, epoch: SimulatedResponder(scenario, {"airport_info": SPEC})) if simulated else None,
    )


async def play(thing: Any, model: Model | None = None, **options: Any) -> Episode:
    result = await run_episode(agent_of(thing, model, **options), SCENARIO)
    assert isinstance(result, Episode)
    return result


def react(tools: Sequence[BaseTool], model: Any) -> Any:
    bound = model.bind_tools(tools)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile()


def looking(*calls: ToolCall) -> ModelTurn:
    return ModelTurn(tool_calls=calls or (LOOK,), stop="tool_calls", usage=Usage(input_tokens=100, output_tokens=10))


ANSWER = ModelTurn(raw_text="12 m", text="12 m", usage=Usage(input_tokens=5, output_tokens=5))
