"""The human in the loop: questions, answers, and the responders that answer without a person at the keyboard."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from talm_sim.agent.decide import decide_by_scenario
from talm_sim.common.digests import digest
from talm_sim.errors import CassetteMissError
from talm_sim.language.about_missing import describe_missing, question_is_about, replaceable_tools
from talm_sim.models.parsing import replace_surrogates
from talm_sim.types import Approval, Decision, Declined, Event, Form, ModelTurn, PersonRequest, Scenario, ToolEvent, ToolSpec

if TYPE_CHECKING:
    from talm_sim.recordings import RecordedAnswer

DONT_KNOW = "Sorry, I don't know."
"""What the agent reads where the person does not know."""
NOT_ALLOWED = "I do not allow this."
"""Why a person who allows nothing rejects a call."""
WONT_SAY = "I would rather not answer that."
"""What the agent reads where the person will not say."""


@dataclass(frozen=True, slots=True)
class HumanReply:
    """An answer to one question, or a decision about a call or a form.

    Attributes:
        answer: The words the agent reads.
        responder: Who answered: the responder's name, `answer`, or `recorded (WHO)` for an answer that WHO gave when it was recorded.
        declined: Why there is no answer, as of `HumanEvent`: `idk` if the person does not know, `skip` if they would not say.
        asked_at: Unix time the question was put, in seconds.
        answered_at: Unix time of the answer, in seconds.
        appropriate: Whether the person marked the question as appropriate; None where they did not mark it.
        decision: What was decided, where a call was to be approved or a form to be filled in; None for a question.
        name: What the person calls themselves; empty where they gave no name.
    """

    answer: str
    responder: str
    declined: Declined = ""
    asked_at: float = 0.0
    answered_at: float = 0.0
    appropriate: bool | None = None
    decision: Decision | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "answer", replace_surrogates(self.answer))  # half a character fits in no stored episode


class Responder(Protocol):
    """Answers an agent's questions immediately. One that also decides about calls and forms is a `DecidingResponder`."""

    async def __call__(self, question: str, ask: int) -> HumanReply:
        """Answer a question, the `ask`-th thing (from 1) that the episode puts to the person."""
        ...


@runtime_checkable
class DecidingResponder(Responder, Protocol):
    """Answers an agent's questions, and decides about calls to approve and about forms."""

    async def decide(self, request: PersonRequest, ask: int) -> HumanReply:
        """Return a reply with a `decision`, which is one that the request allows; `ask` counts as it does for questions."""
        ...


@runtime_checkable
class FollowingResponder(Responder, Protocol):
    """Answers an agent's questions by where in the conversation they are put."""

    def follow(self, turns: Sequence[ModelTurn], events: Sequence[Event]) -> None:
        """Be told what the agent has written and what happened, before it is answered: the last of `turns` asks."""
        ...


class SimulatedResponder:
    """Gives the scenario's own answer for each blocker that a question is about, and only for those; knows nothing else.

    Args:
        scenario: What the agent is asked.
        specs: The tools, by name.
        stands_in: Tools whose work it also does, of those that a person can replace: the run hides them. It does the work of others once they
            have failed in the episode, and not before.
    """

    def __init__(self, scenario: Scenario, specs: Mapping[str, ToolSpec], *, stands_in: Collection[str] = ()) -> None:
        self._scenario = scenario
        self._known = [(missing, describe_missing(scenario, missing, specs)) for missing in scenario.missing]
        self._replaces = [(tool, specs[tool.name].description) for tool in replaceable_tools(scenario, specs)]
        self._stands_in = {*stands_in}

    def follow(self, turns: Sequence[ModelTurn], events: Sequence[Event]) -> None:
        """Note which tools have failed; see `FollowingResponder`."""
        self._stands_in |= {event.name for event in events if isinstance(event, ToolEvent) and event.broken}

    async def __call__(self, question: str, ask: int) -> HumanReply:
        """Answer from the scenario, or say "I don't know"."""
        known = [*self._known, *((tool, said) for tool, said in self._replaces if tool.name in self._stands_in)]
        about = [missing for missing, description in known if question_is_about(question, missing, description)]
        said = dict.fromkeys(one.human_answer for one in about if one.human_answer is not None)
        return HumanReply(" ".join(said), "simulated") if said else HumanReply(DONT_KNOW, "simulated", "idk")

    async def decide(self, request: PersonRequest, ask: int) -> HumanReply:
        """Decide from the scenario; what can only be answered in words is a question."""
        decision = decide_by_scenario(request, self._scenario)
        if isinstance(request, Approval) and request.allowed == ("respond",):
            told = " ".join(str(value) for value in request.arguments.values() if isinstance(value, str))
            decision = Decision(action="respond", message=(await self(told, ask)).answer)
        return HumanReply(decision.text, "simulated", decision=decision)


class RefusingResponder(SimulatedResponder):
    """Answers as the simulated person does, and allows nothing: it rejects every call and declines every form."""

    async def decide(self, request: PersonRequest, ask: int) -> HumanReply:
        """Reject a call, or decline a form; what cannot be refused is decided as the simulated person does."""
        if not isinstance(request, Approval):
            return _decided(Decision(action="decline"))
        for action in ("reject", "respond"):
            if action in request.allowed:
                return _decided(Decision(action=action, message=NOT_ALLOWED))
        return await super().decide(request, ask)


def _decided(decision: Decision) -> HumanReply:
    return HumanReply(decision.text, "refusing", decision=decision)


class RecordedResponder:
    """Repeats the answers that lie beside a recording. A question that was not asked then is a miss, never answered by guess."""

    def __init__(self, scenario_id: str, answers: Sequence[RecordedAnswer]) -> None:
        self._scenario_id = scenario_id
        self._forms = [answer for answer in answers if answer.is_form]
        self._answers = {answer.ask: answer for answer in answers if not answer.is_form}

    async def __call__(self, question: str, ask: int) -> HumanReply:
        """Return the recorded answer.

        Raises:
            CassetteMissError: No answer was recorded for this ask, or the question was another.
        """
        if (recorded := self._answers.get(ask)) is None:
            raise CassetteMissError(f"{self._scenario_id}: no human answer was recorded for question {ask}; try --human simulated.")
        if recorded.question_digest != question_digest(question):
            raise CassetteMissError(f"{self._scenario_id}: question {ask} is not the recorded one ('{recorded.question[:80]}').")
        return _as_recorded(recorded)

    async def decide(self, request: PersonRequest, ask: int) -> HumanReply:
        """Return the recorded decision; of a form the next one that was recorded for it.

        Raises:
            CassetteMissError: No decision was recorded, or the request was another.
        """
        if isinstance(request, Form):
            same = (one for one in self._forms if one.question_digest == question_digest(request.text))
            if (recorded := next(same, None)) is None:
                raise CassetteMissError(f"{self._scenario_id}: no decision was recorded for the form '{request.text[:80]}'.")
            self._forms.remove(recorded)
            return _as_recorded(recorded)
        reply = await self(request.text, ask)
        if reply.decision is None:
            raise CassetteMissError(f"{self._scenario_id}: no decision was recorded for request {ask} ('{request.text[:80]}').")
        return reply


def _as_recorded(recorded: RecordedAnswer) -> HumanReply:
    return HumanReply(
        recorded.answer,
        recorded.responder if recorded.responder.startswith("recorded") else f"recorded ({recorded.responder})",
        recorded.declined,
        appropriate=recorded.appropriate,
        decision=recorded.decision,
        name=recorded.name,
    )


def question_digest(question: str) -> str:
    """Return the digest of a question, without regard to its white space."""
    return digest(" ".join(question.split()))
