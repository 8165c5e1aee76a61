"""What a perturbation is: one deliberate damage, which is armed and fires or not, and says so."""

from __future__ import annotations

import random
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from talm_sim.digests import digest
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.tools_env.clock import Clock
from talm_sim.types import PerturbationLog, ToolSpec

__all__ = ["Outcome", "Perturbation", "PerturbationSpec", "known_perturbations", "open_perturbations", "parse_perturbation", "register"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back from a tool, real or damaged.

    Attributes:
        status: HTTP status; None where no answer came.
        body: The answer's bytes.
        error: Reason code where no answer came: `timeout` or `connection_reset`.
        retry_after: Seconds the answer asks the caller to wait.
    """

    status: int | None
    body: bytes = b""
    error: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class PerturbationSpec:
    """A perturbation as written: a name and its options."""

    name: str
    options: Mapping[str, str]

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name


class Perturbation(ABC):
    """One perturbation in one episode.

    Options every perturbation takes: `tool` (only calls of this tool), `p` (chance to fire on a call, default 1) and `times` (fire at most
    so often in an episode). Whether it fires on the n-th call depends on seed, episode and n alone, so a replay repeats it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    """Own options: name to default, as text."""

    def __init__(self, spec: PerturbationSpec, *, seed: int, episode: str) -> None:
        known = {"tool": "", "p": "1", "times": "", **self.options}
        for key in spec.options:
            if key not in known:
                raise PrerequisiteError(f"--perturb {spec}: unknown option '{key}'.{did_you_mean(key, known)}")
        values = {**known, **spec.options}
        self.spec = spec
        self.tool = values["tool"]
        self.chance = _number(spec, "p", values["p"])
        self.times = _number(spec, "times", values["times"]) if values["times"] else None
        self.values = {key: _number(spec, key, values[key]) for key in self.options}
        self.armed = 0
        self.fired = 0
        self._seed = f"{seed}/{episode}/{spec}"

    def applies(self, tool: str) -> bool:
        """Count one call of `tool` and decide whether this perturbation fires on it."""
        if self.tool and self.tool != tool:
            return False
        self.armed += 1
        if self.times is not None and self.fired >= self.times:
            return False
        if self.chance < 1 and random.Random(digest(f"{self._seed}/{self.armed}", 16)).random() >= self.chance:
            return False
        self.fired += 1
        return True

    def narrow(self, tools: list[ToolSpec]) -> list[ToolSpec]:
        """Return the tools left in sight; called once, when the episode opens."""
        return tools

    async def before(self, clock: Clock) -> Outcome | None:
        """Answer in the tool's place, or None to let the call through."""
        return None

    async def after(self, outcome: Outcome) -> Outcome:
        """Damage what came back."""
        return outcome

    @property
    def answers(self) -> bool:
        """Whether it may answer in the tool's place."""
        return type(self).before is not Perturbation.before

    @property
    def watches_calls(self) -> bool:
        """Whether single calls are its business."""
        return self.answers or type(self).after is not Perturbation.after

    def log(self) -> PerturbationLog:
        """What it did so far."""
        return PerturbationLog(name=str(self.spec), armed=self.armed, fired=self.fired)


_REGISTRY: dict[str, type[Perturbation]] = {}


def register(kind: type[Perturbation]) -> type[Perturbation]:
    """Make a perturbation known under its name."""
    _REGISTRY[kind.name] = kind
    return kind


def known_perturbations() -> dict[str, type[Perturbation]]:
    """All perturbations by name."""
    return dict(sorted(_REGISTRY.items()))


def parse_perturbation(text: str) -> PerturbationSpec:
    """Read `NAME[:key=value,...]`.

    Raises:
        PrerequisiteError: The name is unknown or an option is not `key=value`.
    """
    name, _, rest = text.partition(":")
    if name not in _REGISTRY:
        raise PrerequisiteError(f"--perturb {text}: unknown perturbation '{name}'.{did_you_mean(name, sorted(_REGISTRY))}")
    options: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise PrerequisiteError(f"--perturb {text}: '{part}' is no option; write key=value.")
        options[key] = value
    return PerturbationSpec(name, options)


def open_perturbations(texts: tuple[str, ...], *, seed: int, episode: str) -> list[Perturbation]:
    """Make the perturbations of one episode, in the order given.

    Raises:
        PrerequisiteError: A name or an option is wrong.
    """
    specs = [parse_perturbation(text) for text in texts]
    return [_REGISTRY[spec.name](spec, seed=seed, episode=episode) for spec in specs]


def _number(spec: PerturbationSpec, key: str, text: Any) -> float:
    check: Callable[[float], bool] = (lambda x: 0 <= x <= 1) if key == "p" else (lambda x: x >= 0)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not check(value):
        wanted = "a chance between 0 and 1" if key == "p" else "a number, 0 or more"
        raise PrerequisiteError(f"--perturb {spec}: {key}={text} is not {wanted}.")
    return value
