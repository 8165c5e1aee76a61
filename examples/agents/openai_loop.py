"""An agent that is a loop around the OpenAI SDK.

It needs OPENAI_API_KEY; OPENAI_BASE_URL names another server that speaks the same protocol.

talm-sim run --agent openai_loop:act --split underspecified --limit 5 --human simulated
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, convert_to_openai_messages
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import AsyncOpenAI

client = AsyncOpenAI()


async def act(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> list[Any]:
    """Play one episode; the conversation that is returned ends with the answer."""
    by_name = {tool.name: tool for tool in tools}
    offered: Any = [convert_to_openai_tool(tool) for tool in tools]
    talk: Any = convert_to_openai_messages(messages)
    while True:
        answer = await client.chat.completions.create(model="gpt-4o-mini", messages=talk, tools=offered)
        said = answer.choices[0].message
        talk.append({"content": "", **said.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)})
        if not said.tool_calls:
            return [*talk]
        for call in said.tool_calls:
            talk.append({"role": "tool", "tool_call_id": call.id, "content": await result_of(call, by_name)})


async def result_of(call: Any, tools: Mapping[str, BaseTool]) -> str:
    """Call a tool as the model asked, and tell the model if it fails, made the tool up or wrote no JSON."""
    try:
        result = await tools[call.function.name].ainvoke(json.loads(call.function.arguments))
    except Exception as err:
        return f"This call failed: {err!r}"
    return result if isinstance(result, str) else json.dumps(result)
