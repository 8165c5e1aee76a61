"""What a run is made of: recordings, tools, model, template. Opened and checked before the run exists."""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talm_sim.agent.shown_tools import tool_specs
from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Model, ScenarioModel, TextModel
from talm_sim.models.registry import chats_only, in_process, open_model
from talm_sim.recordings import CassetteLibrary, RecordingTransport
from talm_sim.tools_env.client import ToolClient
from talm_sim.tools_env.clock import RealClock, VirtualClock
from talm_sim.tools_env.environment import Environment
from talm_sim.types import Choice, Scenario, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.templates import Template

__all__ = ["Parts", "open_parts"]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is made of.

    Attributes:
        config: Resolved; the template is the one that was picked.
        library: The recordings.
        model: Opened.
        environment: The tools; None for tasks that execute none.
        template: How requests are written, for tasks that write them as text; None where a chat model gets messages.
    """

    config: RunConfig
    library: CassetteLibrary
    model: Model
    environment: Environment | None = None
    template: Template | None = None

    @property
    def in_flight(self) -> int:
        """Episodes to have under way; of single steps at least enough for two of the batches a local model works in."""
        return max(self.config.max_episodes, 2 * getattr(self.model, "batch_size", 0) if self.environment is None else 0)

    def check(self, scenarios: Sequence[Scenario]) -> None:
        """See that the tools of every scenario are there, and that it can be written for the model.

        Raises:
            PrerequisiteError: A scenario names a tool or perturbation that is not there, or the template fails on it.
        """
        if self.environment is None:
            with _interruptible():
                self._check_written(scenarios)
            return
        if not self.environment.specs and any(scenario.tools for scenario in scenarios):
            where = self.config.cassettes or "the shipped recordings"
            raise PrerequisiteError(f"{where}: no tools are recorded there; choose another --cassettes, or add --tools live.")
        for scenario in scenarios:
            self.environment.open(scenario)

    def _check_written(self, scenarios: Sequence[Scenario]) -> None:
        for scenario in scenarios:
            if not isinstance(scenario.target, Choice):
                continue
            try:
                if self.template is None:
                    tool_specs(scenario.shown_tools)
                    continue
                self.template.prompt(scenario.query, scenario.shown_tools)
                for option in scenario.target.options if _scores(self.config) else ():
                    self.template.option(option)
            except PrerequisiteError as err:
                raise PrerequisiteError(f"scenario {scenario.id}: {err}") from None

    def tools_of(self, scenarios: Sequence[Scenario]) -> list[ToolSpec]:
        """The environment's tools that `scenarios` name, missing ones included."""
        if self.environment is None:
            return []
        named = {name for scenario in scenarios for name in (*scenario.tools, *(call.tool for call in scenario.gold_calls))}
        named |= {scenario.missing.name for scenario in scenarios if scenario.missing}
        return [spec for name, spec in sorted(self.environment.specs.items()) if name in named]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end work that never yields, such as a user's template that loops; an event loop's own handler waits for its next turn."""
    if threading.current_thread() is not threading.main_thread() or not callable(before := signal.getsignal(signal.SIGINT)):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@asynccontextmanager
async def open_parts(config: RunConfig, library: CassetteLibrary) -> AsyncIterator[Parts]:
    """Open tools and model for a resolved `config`; the tool service runs as long as the block.

    Raises:
        PrerequisiteError: Something the run needs is missing: a key, a recording, a package, a port.
    """
    if _scores(config) and chats_only(config.model):
        raise _no_logprobs(config)  # said before the provider asks for a key
    async with AsyncExitStack() as stack:
        environment = await _environment(config, library, stack) if config.task == "talm" else None
        model = open_model(
            config.model,
            transport_factory=None if in_process(config.model) else RecordingTransport,
            max_retries=config.max_retries,
            max_connections=config.max_connections,
            timeout=config.timeout,
            options=config.model_options,
            constrained=config.constrained,
            replay=config.models is Traffic.REPLAY,
        )
        stack.push_async_callback(model.aclose)
        template = _template(config, model) if config.task == "when2call" else None
        if template is not None and config.template == "auto":
            config = config.model_copy(update={"template": template.name})
        yield Parts(config, library, model, environment, template)


async def _environment(config: RunConfig, library: CassetteLibrary, stack: AsyncExitStack) -> Environment:
    specs, base_url = await _tools(config, library, stack)
    client = ToolClient(base_url, connections=config.max_episodes)
    stack.callback(client.close)
    clock = VirtualClock() if config.tools is Traffic.REPLAY else RealClock()
    return Environment(specs, client, perturb=config.perturb, seed=config.seed, clock=clock)


async def _tools(config: RunConfig, library: CassetteLibrary, stack: AsyncExitStack) -> tuple[Mapping[str, ToolSpec], str | None]:
    """ToolSpecs and, unless every call is replayed, the address of the running service."""
    if config.tools is Traffic.REPLAY:
        return library.tool_specs(), None
    from talm_sim.tools_env.service.process import ToolService  # not at the top: a replay imports no tool service

    service = await stack.enter_async_context(ToolService())
    specs = service.specs()
    if config.tools is Traffic.RECORD:
        library.save_tool_specs(specs)
    return specs, service.base_url


def _template(config: RunConfig, model: Model) -> Template | None:
    """The template of a run of single steps; None where a chat model is to be given messages and native tools."""
    from talm_sim.agent.templates import load_template

    if isinstance(model, TextModel):
        return load_template(config.template, model)
    if isinstance(model, ScenarioModel):
        return load_template("default" if config.template == "auto" else config.template, None)
    if _scores(config):
        raise _no_logprobs(config)
    return None if config.template == "auto" else load_template(config.template, None)


def _scores(config: RunConfig) -> bool:
    return config.task == "when2call" and config.mode == "logprob"


def _no_logprobs(config: RunConfig) -> PrerequisiteError:
    return PrerequisiteError(
        f"model '{config.model}': gives no log-probabilities of given answers; use a local one (talm-sim models get smollm2-135m, then "
        "--model hf/smollm2-135m), or add --mode judge."
    )
