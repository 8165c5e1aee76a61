"""The base class of perturbations: one deliberate damage, which is armed and fires or not, and says so; what several leave of the tools."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

from talm_sim.common.digests import digest
from talm_sim.common.json_values import read_json
from talm_sim.common.typed_options import read_options
from talm_sim.recordings import PLAIN_HEADER, HttpResponse
from talm_sim.tools_env.clock import Clock
from talm_sim.tools_env.perturbations.options import PerturbationOptions, PerturbationSpec, ToolListOptions
from talm_sim.tools_env.routes import fault_of
from talm_sim.types import JsonObject, PerturbationLog, ToolSpec

Family = Literal["endpoint", "silent", "drift", "tools", "model"]
"""What is damaged: the `endpoint` fails and says so; it answers with wrong data (`silent`); its interface changed (`drift`); the list of tools
that the model sees; or the answers of the model itself."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a tool, real or damaged.

    Attributes:
        status: HTTP status; None where no answer came.
        body: The answer's bytes.
        error: Reason code where no answer came, or none that could be read: `timeout`, `connection_reset`, `answer_too_large`,
            `not_executable`; `function_error` if the body is an error whose message is shown as it is.
        retry_after: Seconds the answer asks the caller to wait.
        made: The tool's own answer, of which this is the undamaged reading; None of a fault's.
    """

    status: int | None
    body: bytes = b""
    error: str = ""
    retry_after: float | None = None
    made: HttpResponse | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, response: HttpResponse) -> Self:
        """Return what a tool answered; a success without a body, such as a 204, says its status."""
        body = response.body
        if 200 <= response.status < 300 and not body.strip():
            body = json.dumps({"status": response.status}).encode()
        return cls(response.status, body, fault_of(response), made=response)

    @property
    def is_plain(self) -> bool:
        """Whether the result is the text of the body, though that is JSON."""
        return self.made is not None and bool(self.made.header(PLAIN_HEADER))

    @property
    def value(self) -> Any:
        """The JSON value of a successful answer; None where there is none."""
        if self.error or self.status is None or not 200 <= self.status < 300:
            return None
        return read_json(self.body)


class ReadAnswer(NamedTuple):
    """An answer that the agent got earlier in the episode."""

    tool: str
    value: Any
    """Its JSON value, as the tool gave it."""
    arguments: Mapping[str, Any] = MappingProxyType({})
    """What the tool was called with."""


async def _send_nothing(arguments: Mapping[str, Any]) -> Outcome:
    raise RuntimeError("this call has no tool behind it")


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
        of_tool: 1-based number of this call among those of its tool in the episode.
        repeated: How often the tool had been called with these arguments before.
        written: The arguments as the agent wrote them, where `translate` changed them.
        response: JSON Schema of the tool's answers; empty where it is not known.
        others: Arguments with which the gold calls of other scenarios call the tool, in a fixed order.
        earlier: The answers of other tools that the agent got before.
        send: Makes the call with other arguments, which must fit the tool's schema, and returns the answer. It is recorded like any call.
    """

    spec: ToolSpec
    arguments: Mapping[str, Any]
    number: int
    pool: Mapping[str, ToolSpec]
    clock: Clock
    episode: str
    of_tool: int = 1
    repeated: int = 0
    written: Mapping[str, Any] | None = None
    response: JsonObject = field(default_factory=dict)
    others: Sequence[Mapping[str, Any]] = ()
    earlier: Sequence[ReadAnswer] = ()
    send: Callable[[Mapping[str, Any]], Awaitable[Outcome]] = _send_nothing


class Perturbation(ABC):
    """One perturbation in one episode; a subclass has a name, a summary and at least one of the hooks `narrow`, `before` and `after`.

    All arms of a comparison meet the same faults. Whether a permanent one fires depends on the run's seed, the scenario, the epoch, its kind,
    its place among the perturbations of this kind and the tool; on nothing else. A transient one is drawn for each call: also from the
    arguments, and how often the tool was called with them before. It fires where the drawn number is below `p`, so the faults of a lower `p`
    are among those of a higher one.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    """What it does, in a line: an imperative."""
    family: ClassVar[Family] = "endpoint"
    silent: ClassVar[bool] = False
    """Whether nothing in what the agent reads says that something is wrong."""
    permanent: ClassVar[bool] = False
    """Whether the same call fails again: one draw decides for all calls of a tool."""
    origin: ClassVar[str] = ""
    """Where the injected value comes from, in a few words; empty where nothing is injected but an error."""

    Options: ClassVar[type[ToolListOptions]] = PerturbationOptions
    """Its options; a nested class of this name adds its own."""
    options: ToolListOptions

    def __init__(self, spec: PerturbationSpec, *, seed: int, episode: str, place: int = 0) -> None:
        self.spec = spec
        self.options = read_options(spec.options, self.Options, spec.name, f"--perturb {spec}: ")
        self.armed = 0
        self.fired = 0
        self.seen = 0
        self.not_applicable = 0
        self._drawn_from = (seed if self.options.seed is None else self.options.seed, episode, self.name, place)

    def applies(self, tool: str) -> bool:
        """Count a tool, for `narrow`, and decide whether this perturbation fires on it."""
        if self.options.tool and self.options.tool != tool:
            return False
        self.armed += 1
        fires = self.draws(tool)
        self.fired += fires
        self.seen += fires
        return fires

    def strikes(self, call: Call) -> bool:
        """Decide whether this perturbation fires on a call that concerns it: by its options and, below p = 1, by chance."""
        assert isinstance(self.options, PerturbationOptions)
        if not self.options.allow(call.of_tool):
            return False
        return self.draws(call.spec.name) if self.permanent else self.draws(call.spec.name, digest(call.arguments, 16), call.repeated)

    def draws(self, *of: Any) -> bool:
        """Draw whether it fires: the same for the same things, whatever happened before.

        Args:
            of: What is drawn for: a tool, and for a transient fault what distinguishes the call.
        """
        return share_of(*self._drawn_from, *of) < self.options.p

    def lacks(self, tool: ToolSpec, response: JsonObject, others: Sequence[Mapping[str, Any]]) -> str:
        """Say what a tool lacks that this perturbation damages; empty where it has it, or where only an answer can tell.

        Args:
            tool: The tool.
            response: JSON Schema of its answers; empty where it is not known.
            others: Arguments with which gold calls of other scenarios call it.

        Returns: In a few words what it has not, for example `no argument with a default`.
        """
        return ""

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Return the tools in sight, called once, when the episode opens.

        Args:
            tools: Those in sight so far.
            pool: Every tool of the environment, by name, without those that were taken away before; one that is returned can be called. Where
                a stored run is read it may have nothing but names, or nothing.
        """
        return tools

    def translate(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return the tool and the arguments that a written call means, where `narrow` or `before` gave them other names."""
        return tool, arguments

    def concerns(self, call: Call) -> bool:
        """Return whether it acts on a call of its tool. Other calls are not counted as armed, and no chance is drawn for them."""
        return True

    async def before(self, call: Call) -> Outcome | None:
        """Answer in the tool's place, or return None to let the call through; unless it waited, that does not count as fired."""
        return None

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Damage the answer; return None where it does not have what is damaged, which counts as not applicable.

        What is returned depends on the arguments alone: it may be called twice, to find out what the model saw.
        """
        return outcome

    def let_through(self) -> bool:
        """Return whether `after` may still damage the answer, after `before` has returned None."""
        return type(self).after is not Perturbation.after

    @property
    def answers(self) -> bool:
        """Whether it may answer in the tool's place."""
        return type(self).before is not Perturbation.before

    @property
    def watches_calls(self) -> bool:
        """Whether it looks at single calls."""
        return self.answers or type(self).after is not Perturbation.after

    def log(self, place: int = 0) -> PerturbationLog:
        """Report what it did so far."""
        return PerturbationLog(
            name=str(self.spec), place=place, armed=self.armed, fired=self.fired, seen=self.seen, not_applicable=self.not_applicable
        )


def share_of(*parts: Any) -> float:
    """Return a number in [0, 1) that depends on the parts alone, and is spread evenly over different ones.

    >>> share_of(0, "s@1") == share_of(0, "s@1"), 0 <= share_of(1, "s@1") < 1
    (True, True)
    """
    return int(digest(list(parts), 13), 16) / 16**13


def is_drawn(spec: PerturbationSpec) -> bool:
    """Return whether chance or a count over the calls of each tool decides where a perturbation fires, as in version 2 of the schedule."""
    try:
        chance = float(spec.options.get("p", 1)) < 1
    except ValueError:
        chance = True
    return chance or ("times" in spec.options and "tool" not in spec.options)


def narrow_tools(perturbations: Sequence[Perturbation], tools: Sequence[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """Return the tools in sight, under the names that the model sees; call it once for an episode's perturbations.

    Args:
        perturbations: All of the episode, in order.
        tools: Those that the scenario offers.
        pool: Every tool of the environment, by name. Where only names are known, it has specifications without anything else, or is empty.
    """
    left, known = list(tools), dict(pool)
    # Names are changed last, so that other perturbations find each tool under its own, and no new name is that of a hidden tool.
    renaming = [one for one in perturbations if type(one).translate is not Perturbation.translate]
    for perturbation in (one for one in perturbations if one not in renaming):
        before = {tool.name for tool in left}
        left = perturbation.narrow(left, known)
        for gone in before - {tool.name for tool in left}:
            known.pop(gone, None)  # what one takes away, no other brings back
    for perturbation in renaming:
        left = perturbation.narrow(left, pool)
    return left


def real_name(perturbations: Sequence[Perturbation], shown: str) -> str:
    """Return the name of the tool that the model sees as `shown`, after `narrow_tools`."""
    for perturbation in reversed(perturbations):
        shown, _ = perturbation.translate(shown, {})
    return shown


def has_names_only(pool: Mapping[str, ToolSpec]) -> bool:
    """Return whether nothing but the names of tools is known, as where a stored run is read."""
    return all(spec == ToolSpec(name=spec.name) for spec in pool.values())
