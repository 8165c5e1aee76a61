"""Play agents by themselves: `python -m tests.parity.alone` reads a case a line, with the servers' addresses, and writes what came of it.

Nothing of talm-sim is imported here; each answer says so.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from tests.parity import agents, served, tools as shelf
from tests.parity.cases import CASES, Case


async def play(case: Case, places: Mapping[str, str]) -> dict[str, Any]:
    agents.NOTES.clear()
    shelf.calls.clear()
    async with AsyncExitStack() as stack:
        tools = [tool for one in case.tools if isinstance(one, str) for tool in await served.tools_of(one, places, stack)]
        tools = [tool for tool in tools if tool.name in case.served]
        tools += shelf.native([one for one in case.tools if not isinstance(one, str)])
        thing = agents.find(case.agent, case.column, case.tools)
        handed = {"tools": tools, "model": agents.own_model()}
        if not isinstance(thing, CompiledStateGraph) and "messages" not in inspect.signature(thing).parameters:
            thing = thing(**{name: handed[name] for name in inspect.signature(thing).parameters})
        said: list[BaseMessage] = []
        answer = ""
        graph = isinstance(thing, CompiledStateGraph)
        thing = thing.copy({"checkpointer": InMemorySaver()}) if graph else thing
        for turn in case.turns:
            said += convert_to_messages(turn)
            if graph:
                answer = _answer_in(await _run(thing, convert_to_messages(turn), case))
                continue
            found = thing(messages=list(said), tools=tools)
            answer = await found if inspect.isawaitable(found) else found
    return {"answer": answer, "notes": agents.NOTES, "imported": [name for name in sys.modules if name.partition(".")[0] == "talm_sim"]}


async def _run(graph: Any, messages: Sequence[BaseMessage], case: Case) -> Any:
    config = {"configurable": {"thread_id": "alone"}}
    step: Any = {"messages": messages}
    while True:
        result = await graph.ainvoke(step, config, **case.alone)
        state = await graph.aget_state(config)
        if not state.next:
            return result
        step = Command(resume=case.reply) if result.get("__interrupt__") else None


def _answer_in(state: Any) -> str:
    """What the user of the agent takes for its answer."""
    if state.get("structured_response") is not None:
        return str(state["structured_response"].model_dump_json())
    last = state["messages"][-1]
    assert isinstance(last, AIMessage | ToolMessage)
    return last.text


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever an agent prints is talk
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            asked = json.loads(line)
            os.environ |= {"OPENAI_BASE_URL": asked["model"], "OPENAI_API_KEY": "sk-none"}
            try:
                found = runner.run(play(CASES[asked["case"]], asked))
            except Exception as err:
                found = {"end": f"{type(err).__name__}: {err}"}
            out.write(json.dumps(found | {"case": asked["case"]}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
