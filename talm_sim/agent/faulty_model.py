"""The agent's model with injected faults in its answers: above its recording, after its retries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from talm_sim.common.digests import digest
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.tools_env.perturbations import ModelCall, ModelPerturbation, ModelRequestError, Perturbation
from talm_sim.types import ModelTurn, PerturbationLog, ToolSpec

Logs = dict[int, PerturbationLog]


class ModelFaults:
    """The perturbations of the model in one episode, with what they must know of its earlier generations."""

    def __init__(self, perturbations: Sequence[Perturbation], state: Mapping[str, Any] | None = None) -> None:
        self._watching = {place: one for place, one in enumerate(perturbations) if isinstance(one, ModelPerturbation)}
        kept = state or {}
        self._number: int = kept.get("number", 0)
        self._sent: Counter[str] = Counter(kept.get("sent"))
        previous = kept.get("previous")
        self._previous = None if previous is None else ModelTurn.model_validate(previous)
        for place, error in kept.get("errors", {}).items():
            if int(place) in self._watching:
                self._watching[int(place)].error = error

    def state(self) -> dict[str, Any]:
        """Return what must be kept, as JSON, while the episode waits for a person."""
        if not self._watching:
            return {}
        previous = {} if self._previous is None else {"previous": self._previous.model_dump(mode="json")}
        errors = {str(place): one.error for place, one in self._watching.items() if one.error is not None}
        return {"number": self._number, "sent": dict(self._sent), "errors": errors, **previous}

    def recall(self, turns: Sequence[ModelTurn]) -> None:
        """Count the generations of a process that ended before it could keep `state`; only the turns show what happened."""
        if len(turns) > self._number:
            self._number, self._previous = len(turns), turns[-1]

    async def generate(
        self, model: Model, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings
    ) -> ModelTurn:
        """Let the model generate one turn, unless a fault answers in its place or damages what it says."""
        if not self._watching:
            return await model.generate(messages, tools, settings)
        call, logs = self._number_call(messages, tools), Logs()
        turn = await self._answer_instead(call, logs)
        if turn is None:
            turn = await self._spoil(call, await model.generate(messages, tools, settings), logs)
        self._previous = turn
        return turn.model_copy(update={"perturbations": tuple(logs[place] for place in sorted(logs))})

    def _number_call(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec]) -> ModelCall:
        self._number += 1
        # ids of calls may be new each time
        prompt = digest([[message.type, message.text, *_calls_of(message)] for message in messages], 16)
        self._sent[prompt] += 1
        return ModelCall(messages, tools, self._number, prompt, self._sent[prompt] - 1, self._previous)

    async def _answer_instead(self, call: ModelCall, logs: Logs) -> ModelTurn | None:
        """Let those that may answer in the model's place do so; the first that does is the last that takes effect."""
        for place, one in self._watching.items():
            if not (one.replaces and self._fires(place, call, logs)):
                continue
            try:
                turn = await one.instead(call)
            except ModelRequestError as err:
                err.fault, one.error = str(one.spec), str(err)
                self._note(logs, place, seen=1)
                self._count(logs)
                raise
            if turn is not None:
                self._note(logs, place, injected=_text_of(turn), seen=1)
                return turn
            if type(one).spoil is ModelPerturbation.spoil:
                self._note(logs, place, fired=0)
        for place, one in self._watching.items():
            if not one.replaces:
                self._fires(place, call, logs)
        return None

    def _fires(self, place: int, call: ModelCall, logs: Logs) -> bool:
        """Arm a perturbation if it can hit the generation, and return whether it fires."""
        one = self._watching[place]
        can = one.can_hit(call)
        counts = {"armed": 1, "fired": int(one.hits(call))} if can else {"not_applicable": 1}
        logs[place] = PerturbationLog(name=str(one.spec), place=place, **counts)
        return bool(logs[place].fired)

    def _note(self, logs: Logs, place: int, **changes: object) -> None:
        logs[place] = logs[place].model_copy(update=changes)

    def _count(self, logs: Logs) -> None:
        """Add what is known of a failed generation to what the perturbations report themselves, as there is no turn to keep it."""
        for place, log in logs.items():
            one = self._watching[place]
            one.armed, one.fired, one.seen = one.armed + log.armed, one.fired + log.fired, one.seen + log.seen
            one.not_applicable += log.not_applicable

    async def _spoil(self, call: ModelCall, turn: ModelTurn, logs: Logs) -> ModelTurn:
        """Let the firing perturbations damage the model's turn; note what each changed, and whether the agent meets it."""
        firing: list[int] = []
        chain = [turn]
        for place in [place for place in self._watching if place in logs and logs[place].fired]:
            spoilt = await self._watching[place].spoil(call, chain[-1])
            if spoilt is None:
                self._note(logs, place, armed=0, fired=0, not_applicable=1)
                continue
            firing.append(place)
            chain.append(spoilt)
        for number, place in enumerate(firing):
            before, after = chain[number], chain[number + 1]
            if before == after:
                continue
            without = before
            for later in firing[number + 1 :]:
                without = await self._watching[later].spoil(call, without) or without
            self._note(logs, place, injected=_text_of(after), replaced=_text_of(before), seen=int(without != chain[-1]))
        return chain[-1]


def _calls_of(message: BaseMessage) -> list[Any]:
    if not isinstance(message, AIMessage):
        return []
    return [[call["name"], call["args"]] for call in (*message.tool_calls, *message.invalid_tool_calls)]


def _text_of(turn: ModelTurn) -> str:
    calls = [f"[call] {call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in turn.tool_calls]
    broken = [f"[call] {call.name}({call.raw}" for call in turn.unparsable_calls]
    return "\n".join(filter(None, (turn.text, *calls, *broken)))
