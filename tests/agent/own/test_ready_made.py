"""Agents that libraries build ready-made play like those written by hand."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from talm_sim.types import Termination, ToolCall
from tests.agent.own.playing import ANSWER, Script, looking, play


def of_langgraph(tools: Sequence[BaseTool], model: Any) -> Any:
    prebuilt = importlib.import_module("langgraph.prebuilt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and still much used
        return prebuilt.create_react_agent(model, tools)


def of_langchain(tools: Sequence[BaseTool], model: Any) -> Any:
    return importlib.import_module("langchain.agents").create_agent(model, tools)


LANGCHAIN = pytest.mark.skipif(importlib.util.find_spec("langchain") is None, reason="langchain is not installed")


@pytest.mark.parametrize("build", [of_langgraph, pytest.param(of_langchain, marks=LANGCHAIN)])
@pytest.mark.parametrize("asynchronous", [True, False])
async def test_ready_made_agents_play_on_the_loop_and_in_a_thread(build: Any, asynchronous: bool) -> None:
    def act(messages: Any, tools: Sequence[BaseTool], model: Any) -> Any:
        return build(tools, model).invoke({"messages": messages})

    ask = ToolCall(id="a1", name="ask_human", arguments={"question": "What is the code of the airport?"})
    episode = await play(build if asynchronous else act, Script(looking(ask), looking(), ANSWER), human="simulated")
    assert (episode.termination, episode.answer, episode.error) == (Termination.ANSWERED, "12 m", "")
    assert [event.type for event in episode.events] == ["human", "tool"] and len(episode.model_turns) == 3
