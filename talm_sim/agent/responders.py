"""The responders by name: built in, registered by the decorator `responder`, or offered by an installed package.

A responder of your own is one function of a `ResponderContext`; one that waits for a person is a `ResponderKind` without one. `none` is not a
responder but the absence of one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from talm_sim.agent.humans import RecordedResponder, RefusingResponder, Responder, SimulatedResponder
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.plugins import Registry
from talm_sim.types import Scenario, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.person.model_person import PersonModel
    from talm_sim.recordings import RecordedAnswer


@dataclass(frozen=True, slots=True)
class ResponderContext:
    """The facts that a responder may use about the episode whose questions it answers.

    Attributes:
        scenario: What the agent is asked, and what is missing from it.
        epoch: Counts from 1.
        specs: Every tool of the environment, by name, hidden ones included.
        recorded: Reads the answers beside the model's recording; none if nothing is recorded.
        hidden: Tools that the run hides from the agent, so that a person may have to do their work.
        person: The model that plays the person; None where none does.
    """

    scenario: Scenario
    epoch: int
    specs: Mapping[str, ToolSpec]
    recorded: Callable[[], Sequence[RecordedAnswer]]
    hidden: Collection[str] = ()
    person: PersonModel | None = None


Factory = Callable[[ResponderContext], Responder]
_F = TypeVar("_F", bound="Factory | None")


@dataclass(frozen=True, slots=True)
class ResponderKind:
    """A way to answer an agent's questions.

    Attributes:
        name: What `--human` calls it.
        about: What it is, in a line.
        open: Makes the responder of one episode; None if a person answers later.
    """

    name: str
    about: str
    open: Factory | None

    @property
    def waits(self) -> bool:
        """Whether a question waits for a person in the run's queue: its episode pauses, and may outlive the process."""
        return self.open is None


def _simulated(context: ResponderContext) -> Responder:
    return SimulatedResponder(context.scenario, context.specs, stands_in=context.hidden)


def _refusing(context: ResponderContext) -> Responder:
    return RefusingResponder(context.scenario, context.specs, stands_in=context.hidden)


def _recorded_responder(context: ResponderContext) -> Responder:
    return RecordedResponder(context.scenario.id, context.recorded())


def _played(context: ResponderContext) -> Responder:
    from talm_sim.agent.person.knowledge import knowledge_of  # not at the top: a help page needs no facts
    from talm_sim.agent.person.model_person import PlayedPerson

    if context.person is None:
        raise PrerequisiteError("--human model: is opened by tasks whose agent acts; choose another.")
    return PlayedPerson(context.person, knowledge_of(context.scenario, context.specs), context.scenario, context.epoch)


RESPONDERS: Registry[ResponderKind] = Registry(
    "responder",
    {
        "terminal": ResponderKind("terminal", "A person, now at the terminal or later with `talm-sim answer`.", None),
        "recorded": ResponderKind("recorded", "The answers stored with the recording.", _recorded_responder),
        "simulated": ResponderKind("simulated", "The scenario's own answer, if the question is about what is missing or damaged.", _simulated),
        "refusing": ResponderKind("refusing", "The same, but every call that waits for approval is rejected.", _refusing),
        "model": ResponderKind("model", "A language model that plays the person: model:PROVIDER/NAME.", _played),
    },
)
"""Entry points of group `talm_sim.responders` name a factory, or a module's decorated one."""


def register_responder(name: str, *, about: str = "") -> Callable[[_F], _F]:
    """Register a factory of responders; None instead of one says that a person answers later, elsewhere.

    Args:
        name: What `--human` calls it.
        about: What it is, in a line; by default the first line of the factory's docstring.

    >>> @register_responder("parrot", about="Says what it was asked.")
    ... def parrot(context: ResponderContext) -> Responder:
    ...     async def answer(question: str, ask: int) -> HumanReply:
    ...         return HumanReply(question, "parrot")
    ...
    ...     return answer
    """

    def register(factory: _F) -> _F:
        RESPONDERS.register(name, _kind(name, factory, about), getattr(factory, "__module__", ""))
        return factory

    return register


def responder_kind(name: str) -> ResponderKind:
    """Return the responder called `name`; one that a model plays is named with the model, `model:PROVIDER/NAME`.

    Raises:
        PrerequisiteError: There is none, or what offers it cannot be imported, or the model is not named as `PROVIDER/NAME`.
    """
    kind, _, model = name.partition(":")
    if kind == "model":
        if not all(model.partition("/")):
            raise PrerequisiteError("write model:PROVIDER/NAME, for example model:openai/gpt-4o.")
        name = kind
    found: ResponderKind | Factory = RESPONDERS.get(name)
    # An entry point may name a bare factory under a name of its own.
    return found if isinstance(found, ResponderKind) else _kind(name, found, "")


def _kind(name: str, factory: Factory | None, about: str) -> ResponderKind:
    said = (factory.__doc__ or "") if factory else ""
    return ResponderKind(name, about or said.strip().partition("\n")[0], factory)
