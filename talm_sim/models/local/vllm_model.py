"""`vllm/<dir, name or hub id>`: vLLM on this machine. Scores and continues prompts in this process, and acts through a server of its own.

The two halves start when first asked and know nothing of each other: a scoring run starts no server, an agent run loads no engine.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import BaseMessage

from talm_sim.errors import ProviderError
from talm_sim.models.base import Continuation, GenerationSettings, Model
from talm_sim.models.chat import Completion
from talm_sim.models.constrained import ANSWER_CHARS, ConstrainedModel
from talm_sim.models.local.batching import Worker
from talm_sim.models.local.folders import find_model, models_folder
from talm_sim.models.local.vllm_engine import Ask, Ready, VllmEngine
from talm_sim.models.local.vllm_options import (
    VllmOptions,
    check_devices,
    is_cpu_build,
    read_options,
    require_vllm,
    server_arguments,
    server_environment,
)
from talm_sim.models.local.vllm_server import VllmServer
from talm_sim.models.local.vllm_tokenizer import Tokenizer
from talm_sim.models.openai_chat import OpenAIChat
from talm_sim.models.openai_servers import LOGICAL_BASE, open_chat
from talm_sim.models.request import REPLAY_KEY, ModelRequest
from talm_sim.types import JsonObject, ModelTurn, ToolSpec

__all__ = ["ServedChat", "VllmModel", "log_folder", "open_vllm", "tool_template"]

UNBOUNDED = sys.maxsize
"""vLLM bounds its own batches."""
HERMES_TOOLS = Path(__file__).with_name("hermes_tools.jinja")


class ServedChat:
    """A chat model behind a server that its first request starts.

    Args:
        request: What the model was opened with.
        served_name: The server's name of the model.
        fields: Further fields of every request.
        server: The server, not started; None on replay, which needs none.
        key: What requests bear.
    """

    def __init__(self, request: ModelRequest, served_name: str, fields: dict[str, Any], server: VllmServer | None, key: str) -> None:
        self.name = request.name
        self._request, self._served_name, self._fields, self._server, self._key = request, served_name, fields, server, key
        self._opening: asyncio.Task[OpenAIChat] | None = None

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn with the server's tool calls; see `Model.generate`."""
        chat = await self._chat()
        try:
            return await chat.generate(messages, tools, settings)
        except ProviderError as err:
            raise await self._explained(err) from err

    async def complete(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Completion:
        """Answer once; see `SchemaChat.complete`."""
        chat = await self._chat()
        try:
            return await chat.complete(messages, settings, fields)
        except ProviderError as err:
            raise await self._explained(err) from err

    async def aclose(self) -> None:
        """Stop the server, also one that is still starting."""
        if self._server is not None:
            await asyncio.to_thread(self._server.stop)
        if self._opening is not None:
            (chat,) = await asyncio.gather(self._opening, return_exceptions=True)
            if isinstance(chat, OpenAIChat):
                await chat.aclose()

    async def _chat(self) -> OpenAIChat:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        # An episode that is cancelled must not take the server away from the others.
        return await asyncio.shield(self._opening)

    async def _open(self) -> OpenAIChat:
        if self._server is not None:
            await asyncio.to_thread(self._server.start)
        url = self._server.url if self._server is not None else LOGICAL_BASE
        return open_chat(self._request, self._served_name, url, self._key, self._fields)

    async def _explained(self, err: ProviderError) -> ProviderError:
        """The failure itself, or what ended the server where that is why."""
        why = await asyncio.to_thread(self._server.why_it_ended) if self._server is not None else None
        return err if why is None else ProviderError(why)


class VllmModel:
    """A model that vLLM runs on this machine; both a `Model` and a `TextModel`.

    Args:
        name: The model's `provider/name`.
        engine: Scores and continues prompts.
        actor: Acts, in the tool format asked for.
        tokenizer: Loads the model's tokenizer.
        batch_size: Most questions the engine is handed together.
    """

    def __init__(self, name: str, engine: VllmEngine, actor: Model, tokenizer: Tokenizer, *, batch_size: int) -> None:
        self.name, self.batch_size = name, batch_size
        self._engine, self._actor, self._tokenizer = engine, actor, tokenizer
        self._worker: Worker[Ask, Ready, list[Continuation] | ModelTurn] = Worker(
            engine.prepare, engine.answer, batch_size=batch_size, budget=UNBOUNDED, name=name
        )

    @property
    def chat_template(self) -> str:
        """The Jinja source of the tokenizer's own chat template; empty where it has none."""
        return self._tokenizer.template

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is; see `TextModel.score`."""
        return cast("list[Continuation]", await self._worker.ask(Ask(prompt, tuple(options))))

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue a prompt; see `TextModel.complete`."""
        return cast("ModelTurn", await self._worker.ask(Ask(prompt, settings=settings)))

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation; see `TextModel.render_chat`."""
        return self._tokenizer.render(messages, tools)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        return await self._actor.generate(messages, tools, settings)

    async def aclose(self) -> None:
        """Stop the server and free the engine."""
        await self._actor.aclose()
        await self._worker.aclose()
        await asyncio.to_thread(self._engine.close)


def open_vllm(request: ModelRequest) -> Model:
    """Open `vllm/<dir, name or hub id>`.

    Raises:
        PrerequisiteError: vLLM, the model, its tokenizer or a GPU is missing, or an option is wrong.
    """
    options = read_options(request.options)
    if not request.replay:
        require_vllm(request.name)
    cpu = options.device == "cpu" if request.replay else is_cpu_build()
    if not request.replay:
        check_devices(request.name, options, cpu_build=cpu, count_gpus=_count_gpus)
    # A replay asks only for the server's name of the model, and neither files nor vLLM.
    model = request.model if request.replay else find_model(request.name, request.model)
    served_name = options.served_name or Path(model).resolve().name
    tokenizer = Tokenizer(request.name, model, options.revision)
    key = REPLAY_KEY if request.replay else secrets.token_hex(16)
    server = None if request.replay else _server(request, options, model, served_name, tokenizer, key, cpu=cpu)
    chat = ServedChat(request, served_name, options.request, server, key)
    actor = ConstrainedModel(chat, answer_chars=options.answer_chars or ANSWER_CHARS) if request.constrained else chat
    engine = VllmEngine(request.name, model, options, tokenizer, cpu=cpu, log=log_folder() / f"engine-{os.getpid()}.log")
    return VllmModel(request.name, engine, actor, tokenizer, batch_size=options.batch_size)


def _server(
    request: ModelRequest, options: VllmOptions, model: str, served_name: str, tokenizer: Tokenizer, key: str, *, cpu: bool
) -> VllmServer:
    def arguments(port: int) -> list[str]:
        template = options.chat_template or tool_template(tokenizer.template, options.tool_parser)
        return server_arguments(options, model, cpu=cpu, port=port, served_name=served_name, chat_template=template)

    environment = server_environment(options, key, os.environ, cpu=cpu, is_directory=Path(model).is_dir())
    log = log_folder() / f"server-{re.sub(r'[^A-Za-z0-9._-]', '_', served_name)}-{os.getpid()}-{secrets.token_hex(3)}.log"
    return VllmServer(request.name, arguments, environment, key, log, timeout=options.start_timeout)


def tool_template(own: str, tool_parser: str) -> Path | None:
    """A chat template that shows the tools, for ChatML models whose own does not; None where their own is used.

    Args:
        own: The tokenizer's chat template.
        tool_parser: How the server reads tool calls; the template is for `hermes`.
    """
    shows_tools = "tools" in own
    return None if shows_tools or "<|im_start|>" not in own or tool_parser != "hermes" else HERMES_TOOLS


def log_folder() -> Path:
    """Where vLLM's logs go, beside the folder of fetched models."""
    return models_folder().parent / "vllm"


def _count_gpus() -> int:
    import torch

    return int(torch.cuda.device_count())
