"""A chat model behind a real HTTP/1.1 server with keep-alive, in the protocol of OpenAI or of Anthropic, that acts by a policy.

It answers what it was not written for, too, so that a whole run can be played against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from http.server import ThreadingHTTPServer
from typing import Any, Literal

from tests.models.loopback import QuietHandler, running

Policy = Literal["guesses", "asks"]
"""`guesses`: sees nothing missing, and calls each tool with what it makes up. `asks`: asks a person first, with `ask_human` or in words."""
Call = tuple[str, dict[str, Any]]


class StandIn(ThreadingHTTPServer):
    """The server; `requests` are the bodies it was sent, and without `usage` it says nothing of tokens."""

    def __init__(self, policy: Policy, *, usage: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.policy = policy
        self.usage = usage
        self.requests: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def act(self, messages: Sequence[tuple[str, str]], tools: Mapping[str, Mapping[str, Any]]) -> str | list[Call]:
        """A text, or calls.

        Args:
            messages: Who said what; an assistant's calls and their results are `call` and `result`.
            tools: Parameters by name.
        """
        if not tools:
            return "Yes" if self.policy == "guesses" else "I don't know"
        said = [text for who, text in messages if who == "result"]
        asked = sum(who == "user" for who, _ in messages) > 1 or any("ask_human" in text for who, text in messages if who == "call")
        if self.policy == "asks" and not asked:
            return [("ask_human", {"question": "What is missing?"})] if "ask_human" in tools else "Could you tell me what is missing?"
        if len(said) - int("ask_human" in str(messages) and asked) < 1:
            told = " ".join(text for _, text in messages)
            return [(name, made_up(schema, told)) for name, schema in tools.items() if name not in ("ask_human", "Finish")]
        answer = f"It is {said[-1][:300]}"
        return [("Finish", {"final_answer": answer})] if "Finish" in tools else answer


def made_up(schema: Mapping[str, Any], told: str) -> dict[str, Any]:
    """Arguments that a tool takes; dates and numbers are those that were said last, where any were."""
    properties = schema.get("properties", {})
    return {name: _value(properties.get(name, {}), told) for name in schema.get("required", ())}


def _value(schema: Mapping[str, Any], told: str) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "string")
    numbers = re.findall(r"\d+", told)
    if kind in {"integer", "number"}:
        return int(numbers[-1]) if numbers else 7
    if kind == "array":
        return [_value(schema.get("items", {}), told)]
    if kind in {"boolean", "object"}:
        return True if kind == "boolean" else {}
    dates = re.findall(r"\d{4}-\d\d-\d\d", told)
    return dates[-1] if dates else "2019-05-17"


class _Handler(QuietHandler):
    server: StandIn

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        number = len(self.server.requests)
        anthropic = self.path.endswith("/messages")
        messages, tools = (_of_anthropic if anthropic else _of_openai)(body)
        answer = (_to_anthropic if anthropic else _to_openai)(self.server.act(messages, tools), number)
        if not self.server.usage:
            del answer["usage"]
        self.send_whole(json.dumps(answer).encode())


def _of_openai(body: Mapping[str, Any]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    said: list[tuple[str, str]] = []
    for message in body["messages"]:
        who = {"tool": "result"}.get(message["role"], message["role"])
        if message.get("content"):
            said.append((who, str(message["content"])))
        said += [("call", call["function"]["name"]) for call in message.get("tool_calls") or ()]
    return said, {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools") or ()}


def _of_anthropic(body: Mapping[str, Any]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    said: list[tuple[str, str]] = []
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
        for block in blocks:
            if block["type"] == "tool_use":
                said.append(("call", block["name"]))
            else:
                result = block["type"] == "tool_result"
                said.append(("result" if result else message["role"], str(block["content"] if result else block["text"])))
    return said, {tool["name"]: tool["input_schema"] for tool in body.get("tools") or ()}


def _to_openai(done: str | list[Call], number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": done if isinstance(done, str) else None}
    if not isinstance(done, str):
        message["tool_calls"] = [
            {"id": f"call-{number}-{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(done)
        ]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop" if isinstance(done, str) else "tool_calls"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }


def _to_anthropic(done: str | list[Call], number: int) -> dict[str, Any]:
    blocks: list[dict[str, Any]]
    if isinstance(done, str):
        blocks = [{"type": "text", "text": done}]
    else:
        blocks = [{"type": "tool_use", "id": f"toolu-{number}-{place}", "name": name, "input": made} for place, (name, made) in enumerate(done)]
    return {
        "id": f"msg-{number}",
        "type": "message",
        "role": "assistant",
        "model": "stand-in",
        "content": blocks,
        "stop_reason": "end_turn" if isinstance(done, str) else "tool_use",
        "usage": {"input_tokens": 11, "output_tokens": 3},
    }


def serving(policy: Policy, *, usage: bool = True) -> AbstractContextManager[StandIn]:
    """A stand-in that is served until the end."""
    return running(StandIn(policy, usage=usage))
