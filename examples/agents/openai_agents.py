"""An agent of the OpenAI Agents SDK (pip install openai-agents).

It needs OPENAI_API_KEY; OPENAI_BASE_URL names another server that speaks the same protocol.

talm-sim run --agent openai_agents:act --split underspecified --limit 5 --human simulated
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, default_tool_error_function, set_tracing_disabled
from langchain_core.messages import AnyMessage, convert_to_openai_messages
from langchain_core.tools import BaseTool
from openai import AsyncOpenAI

set_tracing_disabled(True)  # else it sends each episode to OpenAI's dashboard, wherever the model is
model = OpenAIChatCompletionsModel("gpt-4o-mini", AsyncOpenAI())


async def act(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """Play one episode, and return the answer."""
    agent = Agent(name="agent", model=model, tools=[as_function_tool(tool) for tool in tools])
    result = await Runner.run(agent, [item for message in messages for item in as_items(message)], max_turns=50)
    return str(result.final_output)


def as_function_tool(tool: BaseTool) -> FunctionTool:
    """Return the tool as the SDK takes it."""

    async def call(context: Any, arguments: str) -> str:
        try:
            result = await tool.ainvoke(json.loads(arguments))
        except Exception as err:
            return str(default_tool_error_function(context, err))
        return result if isinstance(result, str) else json.dumps(result)

    return FunctionTool(tool.name, tool.description, tool.args_schema, call, strict_json_schema=False)


def as_items(message: AnyMessage) -> Iterator[Any]:
    """Yield a message of the conversation so far as the SDK takes it: its text, its tool calls, or a tool's result."""
    said: Any = convert_to_openai_messages(message)
    if said["role"] == "tool":
        yield {"type": "function_call_output", "call_id": said["tool_call_id"], "output": said["content"]}
        return
    if said["content"]:
        yield {"role": said["role"], "content": said["content"]}
    for call in said.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}
