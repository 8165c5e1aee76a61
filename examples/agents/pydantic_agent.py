"""An agent of Pydantic AI (pip install 'pydantic-ai-slim[openai]').

It needs OPENAI_API_KEY; OPENAI_BASE_URL names another server that speaks the same protocol.

talm-sim run --agent pydantic_agent:act --split underspecified --limit 5 --human simulated
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel

model = OpenAIChatModel("gpt-4o-mini")


async def act(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> str:
    """Play one episode, and return the answer."""
    agent = Agent(model, tools=[as_tool(tool) for tool in tools])
    result = await agent.run(message_history=[as_model_message(message) for message in messages])
    return str(result.output)


def as_tool(tool: BaseTool) -> Tool:
    """Return the tool as Pydantic AI takes it."""

    async def call(**arguments: Any) -> Any:
        try:
            return await tool.ainvoke(arguments)
        except Exception as err:
            return f"This call failed: {err!r}"

    return Tool.from_schema(call, tool.name, tool.description, tool.args_schema)


def as_model_message(message: AnyMessage) -> ModelRequest | ModelResponse:
    """Return a message of the conversation so far as Pydantic AI takes it."""
    if isinstance(message, AIMessage):
        calls = [ToolCallPart(call["name"], call["args"], str(call["id"])) for call in message.tool_calls]
        return ModelResponse([*([TextPart(message.text)] if message.text else []), *calls])
    if isinstance(message, ToolMessage):
        return ModelRequest([ToolReturnPart(str(message.name), message.text, message.tool_call_id)])
    return ModelRequest([SystemPromptPart(message.text) if isinstance(message, SystemMessage) else UserPromptPart(message.text)])
