"""What a perturbation is: one deliberate damage, which is armed and fires or not, and says so."""

from __future__ import annotations

import json
import random
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from talm_sim.common.digests import digest
from talm_sim.common.typed_options import read_options
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.clock import Clock
from talm_sim.tools_env.perturbations.options import PerturbationOptions, PerturbationSpec
from talm_sim.tools_env.routes import fault_of
from talm_sim.types import PerturbationLog, ToolSpec

__all__ = ["Call", "Outcome", "Perturbation"]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call, as a perturbation sees it.

    Attributes:
        spec: The tool.
        arguments: Its arguments, which fit the tool's schema.
        number: 1-based number of this call in the episode; calls of unknown tools are not counted.
        pool: Every tool of the environment, by name, including those the episode does not offer.
        clock: Waits, or pretends to if tools are replayed.
        episode: `<scenario>@<epoch>`.
    """

    spec: ToolSpec
    arguments: Mapping[str, Any]
    number: int
    pool: Mapping[str, ToolSpec]
    clock: Clock
    episode: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back from a tool, real or damaged.

    Attributes:
        status: HTTP status; None where no answer came.
        body: The answer's bytes.
        error: Reason code where no answer came, or none that could be read: `timeout`, `connection_reset`, `answer_too_large`.
        retry_after: Seconds the answer asks the caller to wait.
    """

    status: int | None
    body: bytes = b""
    error: str = ""
    retry_after: float | None = None

    @classmethod
    def of(cls, response: HttpResponse) -> Self:
        """Return what a tool answered; a success without a body, such as a 204, says its status."""
        body = response.body
        if 200 <= response.status < 300 and not body.strip():
            body = json.dumps({"status": response.status}).encode()
        return cls(response.status, body, fault_of(response))


class Perturbation(ABC):
    """One perturbation in one episode; a subclass has a name, a summary and at least one of the hooks `narrow`, `before` and `after`.

    Whether it fires on the n-th call it watches depends on seed, episode, the way it is written and n alone, so a replay repeats it.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    """What it does, in a line: an imperative."""

    Options: ClassVar[type[PerturbationOptions]] = PerturbationOptions
    """Its options; a nested class of this name adds its own."""
    options: PerturbationOptions

    def __init__(self, spec: PerturbationSpec, *, seed: int, episode: str) -> None:
        self.spec = spec
        self.options = read_options(spec.options, self.Options, spec.name, f"--perturb {spec}: ")
        self.armed = 0
        self.fired = 0
        self.seen = 0
        self._seed = f"{seed}/{episode}/{spec}"

    def applies(self, tool: str) -> bool:
        """Count one call of `tool` and decide whether this perturbation fires on it."""
        if self.options.tool and self.options.tool != tool:
            return False
        self.armed += 1
        if self.options.times is not None and self.fired >= self.options.times:
            return False
        if self.options.p < 1 and random.Random(digest(f"{self._seed}/{self.armed}", 16)).random() >= self.options.p:
            return False
        self.fired += 1
        return True

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Return the tools in sight, called once, when the episode opens.

        Args:
            tools: Those in sight so far.
            pool: Every tool of the environment, by name; one that is returned can be called.
        """
        return tools

    def concerns(self, call: Call) -> bool:
        """Whether a call of its tool concerns it. Other calls are not counted as armed, and no chance is drawn for them."""
        return True

    async def before(self, call: Call) -> Outcome | None:
        """Answer in the tool's place, or return None to let the call through; unless it waited, that does not count as fired."""
        return None

    async def after(self, call: Call, outcome: Outcome) -> Outcome:
        """Damage the answer. What is returned depends on the arguments alone: it may be called twice, to find out what the model saw."""
        return outcome

    def let_through(self) -> bool:
        """Take back that it fired, after `before` has returned None; return whether `after` may still damage the answer."""
        damages = type(self).after is not Perturbation.after
        self.fired -= not damages
        return damages

    @property
    def answers(self) -> bool:
        """Whether it may answer in the tool's place."""
        return type(self).before is not Perturbation.before

    @property
    def watches_calls(self) -> bool:
        """Whether it looks at single calls."""
        return self.answers or type(self).after is not Perturbation.after

    def log(self) -> PerturbationLog:
        """Report what it did so far."""
        return PerturbationLog(name=str(self.spec), armed=self.armed, fired=self.fired, seen=self.seen)
