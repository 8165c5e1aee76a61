"""Convert LangChain messages to the two wire formats.

Both are deterministic: equal conversations give equal bytes, or a replay would miss.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, is_data_content_block
from langchain_core.messages.block_translators.openai import convert_to_openai_data_block

from talm_sim.errors import PrerequisiteError
from talm_sim.types import ToolSpec

_Wire = dict[str, Any]
STATE = "talm_sim_provider_state"
"""Key of a message's `additional_kwargs` with its turn's `ModelTurn.provider_state`."""
AS_WRITTEN = "talm_sim_as_written"
"""Key of the same for a message of an own agent: the arguments of its broken calls go back as they are."""
THOUGHT_BLOCKS = frozenset({"thinking", "redacted_thinking"})
THOUGHT_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "extra_content", "thinking_blocks")
"""Fields of an assistant message with thought that servers take back: DeepSeek's and vLLM's text, OpenRouter's blocks, Gemini's signatures."""
_APART = frozenset({*THOUGHT_BLOCKS, "tool_use", "tool_call", "reasoning", "reasoning_content", "function_call"})
_UNPARSABLE_KEY = "unparsable_arguments"
"""Key for the arguments of a call that was not JSON: servers load the arguments of earlier calls, so it is sent back as an object that
quotes it.
"""


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, whether its content is a string or a list of blocks."""
    if isinstance(content := message.content, str):
        return content
    return "".join(block if isinstance(block, str) else str(block.get("text", "")) for block in content)


def model_turns_in(messages: Sequence[BaseMessage]) -> int:
    """Return how many turns the model has had in this conversation."""
    return sum(isinstance(message, AIMessage) for message in messages)


def split_system(messages: Sequence[BaseMessage]) -> tuple[str, Sequence[BaseMessage]]:
    """Return the system messages at the beginning of a conversation as one text, and the rest: later ones must stay in place."""
    first = next((place for place, message in enumerate(messages) if not isinstance(message, SystemMessage)), len(messages))
    return "\n\n".join(text for message in messages[:first] if (text := text_of(message))), messages[first:]


def merge_neighbours(messages: Sequence[Mapping[str, Any]]) -> list[_Wire]:
    """Merge neighbouring messages of the user and the system into one: many chat templates want turns to alternate."""
    found: list[_Wire] = []
    for message in messages:
        before = found[-1] if found else {}
        if message["role"] in {"system", "user"} and message["role"] == before.get("role"):
            found[-1] = {**before, "content": f"{before['content']}\n\n{message['content']}"}
        else:
            found.append(dict(message))
    return found


def openai_messages(messages: Sequence[BaseMessage], model: str = "") -> list[_Wire]:
    """Return the messages of the chat-completions protocol, with the thought that `model` itself has sent and wants back."""
    return [_openai_message(message, model) for message in messages]


def openai_tools(tools: Sequence[ToolSpec], strict: Mapping[str, bool] | None = None) -> list[_Wire]:
    """Return function specifications, with `strict` of those of which an agent says it: servers may not know it."""
    said = strict or {}
    described: list[_Wire] = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
    return [{"type": "function", "function": one | ({"strict": said[one["name"]]} if one["name"] in said else {})} for one in described]


def _openai_message(message: BaseMessage, model: str) -> _Wire:
    if isinstance(message, AIMessage):
        as_written = {call["id"]: call["args"] for call in message.invalid_tool_calls if model and AS_WRITTEN in message.additional_kwargs}
        calls = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": as_written.get(call_id) or _as_json(arguments)}}
            for call_id, name, arguments in _calls_of(message)
        ]
        text, content = text_of(message), _content_of(message)
        said: _Wire = {"role": "assistant", "content": content, **_name_of(message)}
        if calls:
            said = {**said, "content": content or None, "tool_calls": calls}
        state = state_of(message, model)
        return _as_it_came(said, text, state) if state else said
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": _content_of(message)}
    return {"role": _role(message), "content": _content_of(message), **_name_of(message)}


def _name_of(message: BaseMessage) -> _Wire:
    return {"name": message.name} if message.name else {}


def _content_of(message: BaseMessage) -> str | list[Any]:
    """Return the content as an agent wrote it, a text or blocks; blocks of calls and of thought have fields of their own."""
    if isinstance(message.content, str):
        return message.content
    return [_block(one, message) for one in message.content if not (isinstance(one, dict) and one.get("type") in _APART)]


def _block(block: Any, message: BaseMessage) -> Any:
    """Return a block of content as LangChain's model of OpenAI sends it: the blocks of LangChain and of Anthropic have another form there."""
    if not isinstance(block, dict):
        return block
    source = block.get("source")
    if block.get("type") == "image" and isinstance(source, dict):
        url = {"base64": f"data:{source.get('media_type')};base64,{source.get('data')}", "url": source.get("url")}.get(str(source.get("type")))
        return {"type": "image_url", "image_url": {"url": url}} if url else block
    if is_data_content_block(block):
        try:
            return convert_to_openai_data_block(block)
        except (KeyError, ValueError) as err:
            raise PrerequisiteError(f"your agent sends its model a block '{block['type']}' that has no form there: {err}") from None
    return {"type": "text", "text": block["text"]} if isinstance(message, ToolMessage) and block.get("type") == "text" else block


def holds_more_than_text(messages: Iterable[BaseMessage]) -> bool:
    """Return whether messages hold something that is no text, such as an image."""
    blocks = (one for message in messages if isinstance(message.content, list) for one in message.content if isinstance(one, dict))
    return any(one.get("type", "text") not in (*_APART, "text") for one in blocks)


def state_of(message: AIMessage, model: str) -> _Wire | None:
    """Return what `model` wants back with its message; None where there is nothing, or where it is another model's."""
    state = message.additional_kwargs.get(STATE)
    return state if isinstance(state, dict) and state.get("model") == model else None


def _as_it_came(said: _Wire, text: str, state: _Wire) -> _Wire:
    """Return a message with its thought, and with its text and calls byte for byte as the server sent them, where nobody has changed them."""
    came: _Wire = state["message"]
    if text == state["text"] and "content" in came:
        said["content"] = came["content"]
    calls = came.get("tool_calls")
    as_sent = {call.get("id"): call for call in calls if isinstance(call, dict)} if isinstance(calls, list) else {}
    if "tool_calls" in said:
        said["tool_calls"] = [as_sent.get(call["id"], call) for call in said["tool_calls"]]
    return said | {field: came[field] for field in THOUGHT_FIELDS if field in came}


def anthropic_messages(messages: Sequence[BaseMessage], model: str = "") -> tuple[str, list[_Wire]]:
    """Return the system text and the messages of the Anthropic protocol.

    The protocol has one system text, before all else: what the system says later is in its place in the user's turn. Neighbours of one
    role are merged, as the protocol wants turns to alternate; so all results of one turn's calls are in one user turn. Empty texts are left
    out: the protocol refuses them. Blocks of a message with thought that `model` has signed are sent as they came.
    """
    system, rest = split_system(messages)
    turns: list[_Wire] = []
    for message in rest:
        role, blocks = _anthropic_blocks(message, model)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": role, "content": blocks})
    return system, turns


def anthropic_tools(tools: Sequence[ToolSpec]) -> list[_Wire]:
    """Return the tool specifications of the Anthropic protocol."""
    return [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools]


def _anthropic_blocks(message: BaseMessage, model: str) -> tuple[str, list[_Wire]]:
    text = text_of(message)
    if isinstance(message, ToolMessage):
        result: _Wire = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": text}
        return "user", [result | {"is_error": True} if message.status == "error" else result]
    blocks: list[_Wire] = [{"type": "text", "text": text}] if text.strip() else []
    if isinstance(message, AIMessage):
        blocks += [{"type": "tool_use", "id": call_id, "name": name, "input": arguments} for call_id, name, arguments in _calls_of(message)]
        if state := state_of(message, model):
            calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
            same = text == state["text"] and calls == {block.get("id") for block in state["blocks"] if block.get("type") == "tool_use"}
            thought = [block for block in state["blocks"] if block.get("type") in THOUGHT_BLOCKS]
            blocks = list(state["blocks"]) if same else [*thought, *blocks]
    return "assistant" if isinstance(message, AIMessage) else "user", blocks


def _as_json(arguments: _Wire) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _calls_of(message: AIMessage) -> list[tuple[str, str, _Wire]]:
    calls = [(str(call["id"]), call["name"], call["args"]) for call in message.tool_calls]
    broken = [(str(call["id"]), call["name"] or "unknown", {_UNPARSABLE_KEY: call["args"] or ""}) for call in message.invalid_tool_calls]
    return calls + broken


def _role(message: BaseMessage) -> str:
    if isinstance(message, SystemMessage):
        return str(message.additional_kwargs.get("__openai_role__", "system"))  # where LangChain keeps a developer's message
    return "user" if isinstance(message, HumanMessage) else str(getattr(message, "role", message.type))
