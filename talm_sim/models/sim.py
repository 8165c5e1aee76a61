"""The control models, such as `sim/oracle`: scripts in a model's place, whose true scores are known.

The task decides how each plays a scenario: `Task.control` returns its policy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from pydantic import Field

from talm_sim.common.typed_options import OptionsModel, read_options
from talm_sim.errors import PrerequisiteError, ProviderError, did_you_mean
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.control_names import EVERY_CONTROL
from talm_sim.models.request import ModelRequest
from talm_sim.types import ModelTurn, ToolSpec


class SimOptions(OptionsModel):
    """The `-M` options of a control."""

    latency: float = Field(0.0, ge=0, lt=3600)
    """Seconds each generation takes, in imitation of a model's."""


class ControlPolicy:
    """The base class of the policies of controls."""

    latency = 0.0
    """Seconds each generation takes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.control = name.partition("/")[2]

    async def wait(self) -> None:
        """Take the time of a generation."""
        if self.latency:
            await asyncio.sleep(self.latency)

    async def aclose(self) -> None:
        """Do nothing: a control has nothing open."""


class SimModel:
    """A control that has no scenario yet."""

    def __init__(self, control: str, *, latency: float = 0.0) -> None:
        self.name = f"sim/{control}"
        self._latency = latency

    def play(self, policy: Model | None) -> Model:
        """Return the policy for one scenario, as slow as this control was asked to be."""
        if policy is None:
            raise ProviderError(f"{self.name} is a control, and the task brings no policy for this scenario.")
        if isinstance(policy, ControlPolicy):
            policy.latency = self._latency
        return policy

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Refuse: a control plays scenarios and nothing else."""
        raise ProviderError(f"{self.name} is a control: it plays scenarios and cannot judge or chat.")

    async def aclose(self) -> None:
        """Do nothing: a control holds nothing."""


def open_sim(request: ModelRequest) -> Model:
    """Open `sim/<control>`; see `SimOptions` for its `-M` options."""
    if request.model not in EVERY_CONTROL:
        raise PrerequisiteError(f"model '{request.name}': unknown control '{request.model}'.{did_you_mean(request.model, EVERY_CONTROL)}")
    return SimModel(request.model, latency=read_options(request.options, SimOptions, request.name, "-M ").latency)
