"""Agents of the user's own, played in a small world: one tool that answers from memory, and a model that plays prepared turns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from talm_sim.agent.episode import Agent, run_episode
from talm_sim.agent.graph import TalmRules, talm_graph
from talm_sim.agent.humans import SimulatedResponder
from talm_sim.agent.own.agent_rules import AgentRules
from talm_sim.agent.own.agents import _read
from talm_sim.agent.own.sessions import OwnModel, Sessions
from talm_sim.agent.prompts import load_prompts
from talm_sim.errors import CassetteMissError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.recordings import HttpResponse, Player
from talm_sim.tasks.talm.groups import GROUPS
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

PROMPTS = load_prompts()
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
            gold_calls=(GoldCall(name="airport_info", arguments={"code": "HAN"}),),
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
    """Plays prepared turns and awareness answers, and keeps what it was shown; an exception among the turns is raised."""

    name = "test/script"

    def __init__(self, *turns: ModelTurn | Exception, awareness: str | Sequence[str] = "Yes.") -> None:
        self.turns = list(turns)
        self.awareness = [*(repeat(awareness, 9) if isinstance(awareness, str) else awareness)]
        self.seen: list[list[BaseMessage]] = []
        self.specs: list[Sequence[ToolSpec]] = []
        self.offered: list[tuple[str, ...]] = []
        self.seeds: list[int | None] = []
        self.asked: list[str] = []
        """The awareness questions, each with the number of turns before it."""

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        self.seeds.append(settings.seed)
        if settings.choices:
            self.asked.append(f"{len(self.seen)} {messages[-1].text}")
            text = self.awareness.pop(0)
            return ModelTurn(raw_text=text, text=text, usage=Usage(input_tokens=10, output_tokens=1))
        self.seen.append(list(messages))
        self.specs.append(tools)
        self.offered.append(tuple(tool.name for tool in tools))
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn

    async def aclose(self) -> None:
        """Nothing to close."""


def talm_agent(
    model: Model, *, human: str = "none", saver: Any = None, perturb: tuple[str, ...] = (), rules: Mapping[str, Any] | None = None, **more: Any
) -> Agent:
    """The built-in agent as task `talm` makes it."""
    asked = {name: group.asked for name, group in GROUPS.items()}
    return Agent(
        model=model,
        graph=talm_graph(TalmRules(PROMPTS, asked, **(rules or {})), saver),
        environment=Environment(Client(), perturb=perturb),
        human=human,
        human_tool=None if human == "none" else PROMPTS.human_tool(),
        saver=saver,
        **more,
    )


def agent_of(thing: Any, model: Model | None = None, *, human: str = "none", perturb: tuple[str, ...] = (), **limits: Any) -> Agent:
    simulated = human == "simulated"
    return Agent(
        model=model or OwnModel("agent/t:thing"),
        graph=Sessions(_read("t:thing", thing), AgentRules(**{"turns": 5, "tokens": None, "seconds": 600.0, **limits})),
        environment=Environment(Client(), perturb=perturb),
        human=human,
        human_tool=None if human == "none" else PROMPTS.human_tool(),
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
