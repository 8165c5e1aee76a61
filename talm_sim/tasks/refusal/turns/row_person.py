"""The person of the rows that lack a value: who can be asked, when an answer ends a turn, and what the row itself answers.

The tool that asks is offered in every turn of these rows: in the one turn that lacks something, it would give away that something is missing.
An answer in that turn ends it, whoever gave it, and the row's next message follows, unless it was the answer. In any other turn an answer is
one more result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talm_sim.agent.humans import DONT_KNOW, HumanReply, Responder
from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.dialogue import request_text
from talm_sim.tasks.acting.acting_task import check_person
from talm_sim.tasks.acting.person_model import open_responder, prompts_of
from talm_sim.tasks.base import Job
from talm_sim.tasks.options import PersonOptions
from talm_sim.tasks.refusal.bfcl import MULTI_TURN
from talm_sim.tasks.refusal.bfcl.turn_rows import LACKS_VALUE, answered_turn
from talm_sim.tasks.refusal.tool_wording import RefusalOptions
from talm_sim.types import Episode, Event, ModelTurn, Scenario, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.ask_limits import AskLimits
    from talm_sim.agent.prompts import Prompts
    from talm_sim.tasks.shared import Shared
    from talm_sim.tools_env.environment import Environment

ALONE = frozenset(MULTI_TURN) - {LACKS_VALUE}
"""The multi-turn rows in which nobody can be asked."""
_WHO = "recorded (BFCL)"
INTERACTION = "interaction"
"""The value of a row that says whether the person was asked anything."""


class RowPerson:
    """Answers in the turn that lacks something; knows nothing in another one, so that no question brings a value before its time.

    Args:
        responder: Answers in that turn; None for the row's next message, said once.
        who: Who answers, in words that the event keeps.
    """

    def __init__(self, scenario: Scenario, responder: Responder | None = None, who: str = _WHO) -> None:
        self._scenario = scenario
        self._responder, self._who = responder, who
        self._turn: int | None = None
        self._has_said = False

    def follow(self, turns: Sequence[ModelTurn], events: Sequence[Event]) -> None:
        """Note in which of the user's turns the next question is put; see `FollowingResponder`."""
        self._turn = turns[-1].user_turn

    async def __call__(self, question: str, ask: int) -> HumanReply:
        """Answer in the turn that lacks something, or say "I don't know"."""
        if (ends := answered_turn(self._scenario)) is None or self._turn != ends or self._has_said:
            return HumanReply(DONT_KNOW, self._who, "idk")
        if self._responder is not None:
            return await self._responder(question, ask)
        self._has_said = True
        return HumanReply(request_text(self._scenario.turns[ends + 1].messages), self._who)


def settle_human(job: Job[RefusalOptions]) -> str:
    """Return who answers: nobody unless the user says who."""
    human = "none" if job.options.human == "auto" else job.options.human
    if human != "none" and LACKS_VALUE not in job.options.subset.split(","):
        raise PrerequisiteError(f"--human {human}: a person answers only in BFCL's rows of {LACKS_VALUE}; add that --subset, or leave it out.")
    check_person(job.options, human)
    return human


def asking_key(key: Mapping[str, Any], human: str) -> Mapping[str, Any]:
    """Return the key of a recording with what the person adds to it: whether there is one. Who it is shows in the conversation itself."""
    asked = {"human": True} if human != "none" else {}
    return {name: value for name, value in key.items() if name not in PersonOptions.model_fields} | asked


def _row_person(scenario: Scenario, epoch: int) -> Responder:
    return RowPerson(scenario)


@dataclass(frozen=True, slots=True)
class Person:
    """The parts that a run needs for its person.

    Attributes:
        tool: The tool that asks; None where nobody can be asked.
        waits: Whether a question waits for its answer.
        responder: Makes what answers at once; None if nothing does.
    """

    prompts: Prompts
    tool: ToolSpec | None = None
    waits: bool = False
    responder: Callable[[Scenario, int], Responder] | None = None
    limits: AskLimits | None = None
    wording: Mapping[str, str] = field(default_factory=dict)


async def open_person(job: Job[RefusalOptions], shared: Shared, environment: Environment) -> Person:
    """Open whoever answers; what a `recorded` person says is in the recording if the model is replayed, and otherwise in the row."""
    from talm_sim.agent.ask_limits import limits_of
    from talm_sim.agent.responders import responder_kind

    prompts, options = prompts_of(job), job.options
    if options.human == "none":
        return Person(prompts)
    responder: Callable[[Scenario, int], Responder] | None = None
    waits = responder_kind(options.human).waits
    if options.human == "recorded" and job.config.models is not Traffic.REPLAY:
        responder = _row_person
    elif not waits:
        opened = await open_responder(job, shared, environment, prompts)
        played = options.human == "simulated" or ":" in options.human
        responder = (lambda scenario, epoch: RowPerson(scenario, opened(scenario, epoch), options.human)) if played else opened
    told = {name: text for name, text in prompts.texts().items() if name.startswith("prompt ask_human")}
    told |= prompts.person_texts(options.persona if ":" in options.human else "")
    return Person(prompts, prompts.human_tool(), waits, responder, limits_of(options.human, options.ask_limit, options.ask_limit_run), told)


def interaction_values(episode: Episode) -> dict[str, bool]:
    """Return whether the person was asked; nothing where nobody could be."""
    return {} if episode.human == "none" else {INTERACTION: bool(episode.human_events)}
