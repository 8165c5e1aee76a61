"""The base class of perturbations of the model: they damage answers above the recording and after our own retries, so the agent meets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from talm_sim.tools_env.perturbations.base import Family, Perturbation
from talm_sim.tools_env.perturbations.options import ModelOptions, PerturbationOptions, PerturbationSpec, ToolListOptions
from talm_sim.types import ModelTurn, PerturbationLog, ToolSpec

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


class ModelRequestError(Exception):
    """The request to the model fails, as a perturbation wants it: an agent's own code may catch it, else it ends the episode.

    Args:
        message: What a client of the model would say. The agent may read it.
        status: HTTP status; None where no answer came.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.fault = ""
        """The perturbation, as it was written."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One generation of the agent's model, as a perturbation sees it.

    Attributes:
        messages: The whole conversation so far, oldest first.
        tools: The tools that the model may call.
        number: 1-based number of this generation in the episode; those that failed count, awareness questions do not.
        prompt: Digest of the conversation without ids of calls.
        repeated: How often the model had been asked with this conversation before.
        previous: What the agent last got from the model; None at first.
    """

    messages: Sequence[BaseMessage]
    tools: Sequence[ToolSpec]
    number: int
    prompt: str
    repeated: int
    previous: ModelTurn | None


class ModelPerturbation(Perturbation):
    """One perturbation of the model's answers in one episode; a subclass has a name, a summary and at least one of `instead` and `spoil`.

    It is transient. Whether it fires is drawn for each generation: from the run's seed, the scenario, the epoch, its kind, its place among
    the perturbations of this kind, the conversation, and how often the model was asked with this conversation before.
    """

    family: ClassVar[Family] = "model"
    Options: ClassVar[type[ToolListOptions]] = ModelOptions

    def __init__(self, spec: PerturbationSpec, *, seed: int, episode: str, place: int = 0) -> None:
        super().__init__(spec, seed=seed, episode=episode, place=place)
        self.error: str | None = None
        """The error that it last injected."""

    def hits(self, call: ModelCall) -> bool:
        """Decide whether it fires on a generation: by its options and, below p = 1, by chance."""
        assert isinstance(self.options, PerturbationOptions)
        return self.options.allow(call.number) and self.draws("model", call.prompt, call.repeated)

    def can_hit(self, call: ModelCall) -> bool:
        """Return whether a generation has what it damages; one that has not counts as not applicable, and no chance is drawn for it."""
        return True

    async def instead(self, call: ModelCall) -> ModelTurn | None:
        """Answer in the model's place, which is not asked then; or return None to let it answer.

        Raises:
            ModelRequestError: The request fails.
        """
        return None

    async def spoil(self, call: ModelCall, turn: ModelTurn) -> ModelTurn | None:
        """Damage what the model answered; return None where it does not have what is damaged, which counts as not applicable."""
        return turn

    @property
    def replaces(self) -> bool:
        """Whether it may answer in the model's place."""
        return type(self).instead is not ModelPerturbation.instead

    def log(self, place: int = 0) -> PerturbationLog:
        """Report what it did in generations that failed; what it did in others is in their turns."""
        return super().log(place).model_copy(update={"injected": self.error})

    @classmethod
    def example(cls) -> list[tuple[str, str]]:
        """Return what the agent gets from it, as headings and texts."""
        return []
