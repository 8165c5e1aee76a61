from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from talm_sim.errors import PrerequisiteError
from talm_sim.models import registry
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.registry import list_providers, open_model, provider
from talm_sim.models.request import ModelRequest
from talm_sim.types import ModelTurn, ToolSpec
from tests.models.loopback import chat_answer, loopback


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("opnai/gpt-4o", "unknown provider 'opnai'. Did you mean 'openai'?"),
        ("sim/orakel", "unknown control 'orakel'. Did you mean 'oracle'?"),
        ("gpt-4o", "unknown provider 'gpt-4o'."),
        ("openai", "write openai/MODEL"),
        ("openai/", "write openai/MODEL"),
    ],
)
def test_an_unknown_name_gets_a_hint(name: str, said: str) -> None:
    with pytest.raises(PrerequisiteError) as failure:
        open_model(name)
    assert said in str(failure.value)


@pytest.mark.parametrize("name", ["sim/oracle", "anthropic/m"])
def test_the_constrained_format_needs_a_decoder_that_takes_a_schema(name: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"works with openai, openai-api, hf.* only"):
        open_model(name, constrained=True, replay=True)


async def test_a_model_opened_by_name_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(chat_answer("hello")) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", f"{server.url}/v1")
        model = open_model("openai-api/local/m", options={"top_p": "0.5"}, max_connections=1, timeout=5)
        turn = await model.generate([HumanMessage("hi")], (), GenerationSettings())
        await model.aclose()
    assert (model.name, turn.text) == ("openai-api/local/m", "hello")
    assert server.seen[0].body["top_p"] == 0.5


class _Echo:
    def __init__(self, request: ModelRequest) -> None:
        self.name = request.name

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        return ModelTurn(text=str(messages[-1].content))

    async def aclose(self) -> None:
        """Hold nothing."""


async def test_a_function_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))

    @provider("echo", about="Repeats.", needs=("ECHO_KEY",))
    def open_echo(request: ModelRequest) -> Model:
        return _Echo(request)

    model = open_model("echo/x")
    assert (await model.generate([HumanMessage("hi")], (), GenerationSettings())).text == "hi"
    (status,) = [one for one in list_providers({}) if one.name == "echo"]
    assert (status.form, status.missing, status.ready) == ("echo/MODEL", ("ECHO_KEY",), False)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed distribution that offers two providers, one of them broken."""
    (tmp_path / "echo_plugin.py").write_text("def open_it(request):\n    raise LookupError(request.model)\n")
    info = tmp_path / "echo_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[talm_sim.models]\nplugged = echo_plugin:open_it\nbroken = echo_plugin:not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._plugins.cache_clear()
    yield
    registry._plugins.cache_clear()
    sys.modules.pop("echo_plugin", None)


@pytest.mark.usefixtures("plugin")
def test_entry_points_are_found_and_loaded_when_opened() -> None:
    assert {"plugged", "broken"} <= {one.name for one in list_providers({})}
    assert "echo_plugin" not in sys.modules
    with pytest.raises(LookupError, match="model-x"):
        open_model("plugged/model-x")
    with pytest.raises(PrerequisiteError, match="'broken' cannot be loaded"):
        open_model("broken/x")


def test_the_list_says_what_is_needed_and_never_a_value() -> None:
    secret = "sk-do-not-show"
    environ = {"OPENAI_API_KEY": secret, "VLLM_BASE_URL": f"http://user:{secret}@h/v1", "OPENAI_BASE_URL": "http://x", "EMPTY_BASE_URL": ""}
    found = {one.name: one for one in list_providers(environ)}
    assert {"openai", "openai-api", "anthropic", "langchain", "hf", "sim"} <= set(found)
    assert {name: one.ready for name, one in found.items() if not one.not_installed and name not in {"hf", "vllm"}} == {
        "openai": True,
        "openai-api": True,
        "anthropic": False,
        "langchain": True,
        "sim": True,
    }
    assert found["openai-api"].found == ("vllm",)
    assert found["anthropic"].missing == ("ANTHROPIC_API_KEY",)
    assert secret not in repr(found)
    bare = {one.name: one for one in list_providers({})}
    assert bare["openai-api"].missing == ("<SERVICE>_BASE_URL",)


def test_listing_imports_no_provider() -> None:
    code = (
        "import sys; from talm_sim.models.registry import list_providers; list_providers(); "
        "heavy = {'openai', 'anthropic', 'httpx2', 'langchain_core'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
