"""A person played by a language model: it is told the scenario's facts and a manner to speak in, and answers an agent's questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from talm_sim.agent.decide import decide_by_scenario
from talm_sim.agent.humans import HumanReply
from talm_sim.agent.person.faults import FaultKind
from talm_sim.agent.person.knowledge import Knowledge
from talm_sim.common.digests import derive_seed, digest
from talm_sim.errors import ProviderError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import Approval, Decision, PersonRequest, Scenario

if TYPE_CHECKING:
    from talm_sim.agent.prompts import Prompts

_MODEL_PERSON = "model"
"""What `--human` calls it, before the colon and the model's name."""
Persona = Literal["none", "terse", "chatty", "confused", "wrong-once", "front-loads", "pushes-back", "claims-done"]
PERSONAS: tuple[Persona, ...] = ("none", "terse", "chatty", "confused", "wrong-once", "front-loads", "pushes-back", "claims-done")
ASKED_FOR: Mapping[str, FaultKind] = {"wrong-once": "contradiction", "front-loads": "leak", "claims-done": "false_claim"}
"""Personas that make a fault on purpose, with its kind."""
ANSWER_TOKENS = 256
"""Most tokens of an answer."""
_TEMPERATURE = 0.7
"""Epochs differ, and the facts are still kept to; where a model takes none, its provider's default counts."""
_PUSHES_BACK = "Why do you want to do that? Tell me first."
"""What a person who pushes back says of the first call that is to be approved."""


def named_model(human: str) -> str:
    """Return the model that plays the person, of a responder's name as `--human` has it; empty where none does.

    >>> named_model("model:openai/gpt-4o"), named_model("simulated")
    ('openai/gpt-4o', '')
    """
    kind, colon, model = human.partition(":")
    return model if kind == _MODEL_PERSON and colon else ""


@dataclass(frozen=True, slots=True)
class PersonModel:
    """The model and settings that the people of a run share.

    Attributes:
        seed: The run's seed, from which each answer's is derived.
        open_request: Enters the setting of one request: (digest of the person's configuration, scenario, epoch, number of the question). A run
            puts the request's recording in place here.
    """

    model: Model
    prompts: Prompts
    persona: Persona
    seed: int
    open_request: Callable[[str, Scenario, int, int], AbstractContextManager[object]]

    @property
    def config_digest(self) -> str:
        """Digest of everything that decides the answers besides the scenario."""
        texts = self.prompts.person(self.persona)
        return digest({"model": self.model.name, "prompts": texts, "temperature": _TEMPERATURE, "seed": self.seed})


class PlayedPerson:
    """Answers the questions of one episode, in one conversation; decides about calls and forms by rule, from the scenario."""

    def __init__(self, shared: PersonModel, knowledge: Knowledge, scenario: Scenario, epoch: int) -> None:
        self._shared, self._scenario, self._epoch = shared, scenario, epoch
        self._said: list[BaseMessage] = [SystemMessage(_system_text(shared, knowledge))]
        self._name = f"{_MODEL_PERSON}:{shared.model.name}"
        self._pushed_back = False

    async def __call__(self, question: str, ask: int) -> HumanReply:
        """Ask the model what the person says."""
        settings = GenerationSettings(
            temperature=_TEMPERATURE,
            max_new_tokens=ANSWER_TOKENS,
            seed=derive_seed(self._shared.seed, self._scenario.id, self._epoch, "person", ask),
        )
        asked = HumanMessage(question)
        with self._shared.open_request(self._shared.config_digest, self._scenario, self._epoch, ask):
            turn = await self._shared.model.generate([*self._said, asked], (), settings)
        if not (answer := (turn.text or split_reasoning(turn.raw_text)[0]).strip()):
            raise ProviderError(f"{self._shared.model.name} gave no answer to question {ask}")
        self._said += [asked, AIMessage(answer)]
        return HumanReply(answer, self._name)

    async def decide(self, request: PersonRequest, ask: int) -> HumanReply:
        """Decide from the scenario; a call that can only be answered in words is a question.

        A person who pushes back rejects the first call, and asks why.
        """
        if isinstance(request, Approval) and request.allowed == ("respond",):
            told = " ".join(str(value) for value in request.arguments.values() if isinstance(value, str))
            reply = await self(told, ask)
            decision = Decision(action="respond", message=reply.answer)
            return replace(reply, answer=decision.text, declined="", decision=decision)
        if self._shared.persona == "pushes-back" and not self._pushed_back and isinstance(request, Approval) and "reject" in request.allowed:
            self._pushed_back = True
            decision = Decision(action="reject", message=_PUSHES_BACK)
        else:
            decision = decide_by_scenario(request, self._scenario)
        return HumanReply(decision.text, self._name, decision=decision)


def _system_text(shared: PersonModel, knowledge: Knowledge) -> str:
    said, persona = shared.prompts.person(shared.persona)
    known = [thing.missing.human_answer or thing.words.replace("\n", ", ") for thing in knowledge.things]
    filled = {
        "{request}": knowledge.request,
        "{known}": "\n".join(f"- {' '.join(one.split())}" for one in dict.fromkeys(known)) or "- nothing more",
        "{persona}": persona,
    }
    # In one go: a request may hold braces.
    return re.sub(r"\{(?:request|known|persona)\}", lambda match: filled[match[0]], said).strip()
