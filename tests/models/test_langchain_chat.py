"""A LangChain chat model of the user's own: a real `BaseChatModel`, made by a factory in a module on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field, SecretStr

from talm_sim.errors import CassetteMissError, ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.langchain_chat import LangChainModel, open_langchain
from talm_sim.models.request import ModelRequest
from talm_sim.types import ToolSpec, Usage

TOOL = ToolSpec(name="airport", description="Look one up.")
HELLO = [HumanMessage("hello")]


class Chat(BaseChatModel):
    """Answers with a fixed message, or raises; keeps what it was bound to."""

    reply: Any = None
    temperature: float = 0.7
    seen: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "fixed"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        self.seen.append(kwargs)
        if isinstance(self.reply, Exception):
            raise self.reply
        return ChatResult(generations=[ChatGeneration(message=self.reply)])


class ToollessChat(Chat):
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        raise NotImplementedError


async def test_a_turn_with_calls_reasoning_and_usage() -> None:
    message = AIMessage(
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Looking."}],
        tool_calls=[tool_call(id="a", name="airport", args={"code": "HAN"}), tool_call(id="b", name="airport", args={"x": float("nan")})],
        invalid_tool_calls=[invalid_tool_call(id="c", name="airport", args="{", error="bad")],
        usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, "input_token_details": {"cache_read": 3}},
    )
    chat = Chat(reply=message, seen=[])
    turn = await LangChainModel(chat).generate(HELLO, (TOOL,), GenerationSettings(temperature=0.2, options={"top_p": 0.5}))
    assert (turn.text, turn.reasoning, turn.stop) == ("Looking.", "hm", "tool_calls")
    assert [call.id for call in turn.tool_calls] == ["a"]
    assert [call.id for call in turn.unparsable_calls] == ["b", "c"]
    assert turn.usage == Usage(input_tokens=5, output_tokens=2, cached_tokens=3)
    assert chat.seen[0]["tools"][0]["function"]["name"] == "airport"
    # `max_tokens` is no field of this chat model, so it is not bound.
    assert {name: value for name, value in chat.seen[0].items() if name != "tools"} == {"temperature": 0.2, "top_p": 0.5}


async def test_a_plain_answer_and_how_it_ended() -> None:
    message = AIMessage("<think>a</think>b", response_metadata={"finish_reason": "length"}, additional_kwargs={"reasoning_content": "own"})
    turn = await LangChainModel(Chat(reply=message)).generate(HELLO, (), GenerationSettings())
    assert (turn.text, turn.reasoning, turn.stop, turn.usage) == ("b", "own", "length", Usage(uncounted=1))


def test_the_name_is_made_from_the_class_unless_given() -> None:
    assert LangChainModel(Chat()).name == "langchain/Chat"
    assert LangChainModel(Chat(), "mine").name == "mine"


def _caused_by(cause: Exception) -> Exception:
    error = RuntimeError("wrapped")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("raised", "expected", "said"),
    [
        (RuntimeError("no luck\nkey sk-secret-1234-5678-90"), ProviderError, "RuntimeError: no luck key REDACTED$"),
        (RuntimeError("prompt is too long"), ContextOverflowError, "too long"),
        (_caused_by(CassetteMissError("not recorded")), CassetteMissError, "not recorded"),
        (NotImplementedError(), PrerequisiteError, "takes no tools"),
    ],
)
async def test_failures_are_told_apart(raised: Exception, expected: type[Exception], said: str) -> None:
    with pytest.raises(expected, match=said):
        await LangChainModel(Chat(reply=raised)).generate(HELLO, (), GenerationSettings())


async def test_a_model_without_tools_says_so() -> None:
    with pytest.raises(PrerequisiteError, match="takes no tools"):
        await LangChainModel(ToollessChat(reply=AIMessage("x"))).generate(HELLO, (TOOL,), GenerationSettings())


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of the user's in the directory the command is called from."""
    (tmp_path / "my_own_models.py").write_text(
        "from langchain_core.language_models import FakeListChatModel\n"
        "handed = []\n"
        "number = 3\n"
        "def make(text='hi'):\n    return FakeListChatModel(responses=[text])\n"
        "def with_client(http_async_client=None):\n    handed.append(http_async_client)\n    return make()\n"
        "def wrong():\n    return 'no chat model'\n"
        "def broken():\n    return len(3)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "my_own_models"
    sys.modules.pop("my_own_models", None)


def request(model: str, **fields: Any) -> ModelRequest:
    return ModelRequest(f"langchain/{model}", model, **fields)


async def test_a_factory_gets_the_options(module: str) -> None:
    model = open_langchain(request(f"{module}:make", options={"text": "hello"}))
    turn = await model.generate(HELLO, (), GenerationSettings())
    assert (model.name, turn.text) == ("langchain/my_own_models:make", "hello")
    await model.aclose()


async def test_a_factory_that_takes_a_client_gets_the_recording_one_and_can_be_replayed(module: str) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200))
    model = open_langchain(request(f"{module}:with_client", transport_factory=lambda: transport, replay=True))
    client = sys.modules[module].handed[0]
    assert isinstance(client, httpx2.AsyncClient)
    await model.aclose()
    assert client.is_closed


@pytest.mark.parametrize(
    ("model", "fields", "said"),
    [
        ("my_own_models", {}, "write langchain/MODULE:FACTORY"),
        ("my_own_models:", {}, "write langchain/MODULE:FACTORY"),
        ("no_such_module_here:make", {}, "no module 'no_such_module_here'"),
        ("my_own_models:made", {}, "has no 'made'"),
        ("my_own_models:number", {}, "is not a function"),
        ("my_own_models:wrong", {}, "returned a str"),
        ("my_own_models:make", {"options": {"colour": "red"}}, "check the -M options"),
        ("my_own_models:make", {"replay": True}, "cannot be replayed"),
    ],
)
def test_what_is_wrong_is_named(module: str, model: str, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said) as failure:
        open_langchain(request(model, **fields))
    assert "\n" not in str(failure.value)


def test_a_fault_of_the_users_code_is_one_line_that_names_its_place(module: str, tmp_path: Path) -> None:
    (tmp_path / "my_broken_models.py").write_text("import math\nmath.no_such_function()\n")
    (tmp_path / "my_uncompiled_models.py").write_text("def make(:\n")
    (tmp_path / "my_leaving_models.py").write_text("raise SystemExit(3)\n")
    for name, told in (
        (f"{module}:broken", r"the factory failed: TypeError: object of type 'int' has no len\(\) \(\S+\.py, line \d+\)\.$"),
        ("my_broken_models:make", r"module 'my_broken_models' cannot be imported: AttributeError: .*no_such_function' \(\S+, line 2\)\.$"),
        ("my_uncompiled_models:make", r"cannot be imported: SyntaxError: .*\(my_uncompiled_models.py, line 1\)\.$"),
        ("my_leaving_models:make", r"cannot be imported: SystemExit: 3 \("),
    ):
        with pytest.raises(PrerequisiteError, match=told) as failure:
            open_langchain(request(name))
        assert "\n" not in str(failure.value)


class KeyedChat(Chat):
    api_key: SecretStr = SecretStr("own-key-of-this-model-1")


async def test_what_it_says_and_fails_with_is_rid_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "of-the-environment-2")
    words = "own-key-of-this-model-1, of-the-environment-2, ghp_" + "b2" * 12
    call = {"id": "c", "name": "f", "args": {"query": words, "token": "z9x8c7v6b5n4m3q2w1"}}
    reply = AIMessage(f"<think>{words}</think>{words}", tool_calls=[call])
    turn = await LangChainModel(KeyedChat(reply=reply)).generate(HELLO, (TOOL,), GenerationSettings())
    hidden = "REDACTED, REDACTED, REDACTED"
    assert (turn.text, turn.reasoning, turn.raw_text) == (hidden, hidden, f"<think>{hidden}</think>{hidden}")
    assert turn.tool_calls[0].arguments == {"query": hidden, "token": "z9x8c7v6b5n4m3q2w1"}
    with pytest.raises(ProviderError, match=f"RuntimeError: {hidden}$"):
        await LangChainModel(KeyedChat(reply=RuntimeError(words))).generate(HELLO, (), GenerationSettings())
