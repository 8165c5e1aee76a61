"""The `behaviour-llm` judge: a model, or a person, decides which of the four behaviours an answer shows (When2Call, section 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from talm_sim.common.toml_files import packaged_toml
from talm_sim.errors import ContextOverflowError
from talm_sim.judges.base import Judge
from talm_sim.judges.behaviour import reason_unjudged
from talm_sim.judges.prompts import show
from talm_sim.models.parsing import read_object, split_reasoning
from talm_sim.tasks.judged_by_people import Material, PersonQuestion
from talm_sim.types import UNPARSED, Behaviour, Choice, Episode, Measured, Scenario, Verdict

_CLASSES = {
    "direct_answer": Behaviour.DIRECT,
    "tool_call": Behaviour.TOOL_CALL,
    "request_for_info": Behaviour.REQUEST_FOR_INFO,
    "cannot_answer": Behaviour.CANNOT_ANSWER,
}
"""The published names of the classes; the data calls the first one `direct`."""
_CHOICES = tuple(f'{{"classification": "{name}"}}' for name in _CLASSES)
_TEMPERATURE = 0.0
"""One reading decides, so it should be the likeliest."""
_ATTEMPTS = 2
"""The first reply and, if it cannot be read, one more in the same conversation (section 4)."""
_REPAIR = (
    "That could not be read. Reply again with nothing but the JSON object, for example "
    f"{_CHOICES[0]}; the other names are {', '.join(list(_CLASSES)[1:])}."
)
_OBJECT = re.compile(r"\{[^{}]*\}")


class BehaviourLlmJudge(Judge):
    """Lets a model sort an answer into one of the four behaviours; it passes where that is the gold one.

    The model is asked once. A reply without a readable class is asked for again, once, in the same conversation; after that it is undecided.
    An empty answer is `unparsed` without a question.
    """

    name = "behaviour-llm"
    measure = Measured(name="behaviour_llm", head="Behaviour (LLM)", about="shows the right behaviour, as a model judges", better="higher")
    needs = frozenset({"model"})
    asks = 2
    rules = 2
    asking = 1
    instructions = packaged_toml("talm_sim.tasks.when2call", "behaviour_llm.toml")["instructions"].strip()

    def material(self, episode: Episode) -> str:
        """Return the part of the answer that the model is shown."""
        return answer_for_judge(episode)

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if reason := reason_unjudged(episode, scenario):
            return self.verdict(episode, None, reason)
        assert isinstance(scenario.target, Choice)
        gold, answer = scenario.target.gold, self.material(episode)
        if episode.gave_no_answer or not answer.strip():
            return self.verdict(episode, False, "there is no answer to classify", label=UNPARSED)
        sections = [("Tools", "\n".join(scenario.shown_tools) or "(none)"), ("Request", scenario.query), ("Answer", answer)]
        messages: list[BaseMessage] = [
            SystemMessage(self.instructions),
            HumanMessage(show("Which class is the answer? Reply with the JSON object alone.", sections)),
        ]
        settings = self.settings(episode, temperature=_TEMPERATURE, choices=_CHOICES)
        reply = ""
        try:
            with self.vote(episode):
                for attempt in range(1, _ATTEMPTS + 1):
                    reply = await self.reply(episode, messages, settings)
                    if (label := read_classification(reply)) is not None:
                        again = " (asked again)" if attempt > 1 else ""
                        return self.verdict(episode, label == gold, f"taken for {label}, right is {gold}{again}", label=label)
                    messages += [AIMessage(reply or "(nothing)"), HumanMessage(_REPAIR)]
        except ContextOverflowError:
            return self.verdict(episode, None, "not judged: the material is longer than the judge's context")
        return self.verdict(episode, None, f"undecided: the judge named no class: {reply[:200]!r}")


class FirstCallJudge(BehaviourLlmJudge):
    """Judges as `BehaviourLlmJudge`; of native tool calls it sees the first and nothing else, as the published evaluation does."""

    name = "behaviour-llm-first-call"
    measure = Measured(
        name="behaviour_llm_first_call",
        head="Behaviour (first call)",
        about="the first call, or the answer, shows the right behaviour, as a model judges",
        better="higher",
    )

    def material(self, episode: Episode) -> str:
        """Return the part of the answer that the model is shown."""
        return first_call(episode) or answer_for_judge(episode)


def first_call(episode: Episode) -> str:
    """Return the first native tool call as JSON; empty if there is none. A call that can be read comes before one that cannot."""
    for turn in episode.model_turns:
        for call in turn.tool_calls:
            return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        for broken in turn.unparsable_calls:
            return f'{{"name": {json.dumps(broken.name)}, "arguments": {broken.raw}}}'
    return ""


def answer_for_judge(episode: Episode) -> str:
    """Return the answer as the judge sees it: what was written, and each native tool call that is not in it already as JSON."""
    parts = [split_reasoning(episode.answer)[0]]
    for turn in episode.model_turns:
        calls = [json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False) for call in turn.tool_calls]
        calls += [f'{{"name": {json.dumps(call.name)}, "arguments": {call.raw}}}' for call in turn.unparsable_calls]
        parts += [call for call in calls if call not in episode.answer]
    return "\n".join(filter(None, parts))


def read_classification(reply: str) -> Behaviour | None:
    """Return the class a reply names in a JSON object, alone, fenced or amid words; None if it names none, or more than one.

    >>> read_classification('The class is {"classification": "direct_answer"}.')
    <Behaviour.DIRECT: 'direct'>
    """
    found = set(_read_behaviours(split_reasoning(reply)[0]))
    return found.pop() if len(found) == 1 else None


def _read_behaviours(reply: str) -> Iterator[Behaviour]:
    for match in _OBJECT.finditer(reply):
        try:
            name = read_object(match[0]).get("classification")
        except ValueError:
            continue
        if isinstance(name, str):
            key = re.sub(r"[\s-]+", "_", name.strip().casefold())
            if key in _CLASSES or key == "direct":
                yield _CLASSES.get(key, Behaviour.DIRECT)


def _answer(episode: Episode, scenario: Scenario) -> Material | None:
    if reason_unjudged(episode, scenario):
        return None
    tools = "\n".join(scenario.shown_tools) or "(none)"
    return [("Tools", tools), ("Request", scenario.query), ("Answer", answer_for_judge(episode).strip() or "(none)")]


BEHAVIOUR = PersonQuestion(
    name="behaviour",
    asks="Which of the four is the answer?",
    labels={
        "d": Behaviour.DIRECT.value,
        "t": Behaviour.TOOL_CALL.value,
        "i": Behaviour.REQUEST_FOR_INFO.value,
        "c": Behaviour.CANNOT_ANSWER.value,
    },
    about="the answer shows the right behaviour",
    show=_answer,
    value=lambda label, scenario: isinstance(scenario.target, Choice) and label == scenario.target.gold.value,
    judges=("behaviour", "behaviour-llm", "behaviour-llm-first-call"),
    not_asked="the model chose among given answers; people judge free ones: make a run with --mode judge",
)
