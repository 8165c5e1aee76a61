"""Ask a model to think first, and tell its thought from its answer; write the thought of the controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from talm_sim.common.digests import derive_seed
from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.errors import PrerequisiteError
from talm_sim.models.parsing import split_reasoning
from talm_sim.reasoning import Decision, Value, begin_form, draw_form, read_form, write_form
from talm_sim.scenarios.item_tools import tool_name
from talm_sim.tasks.base import Job, RunView
from talm_sim.tasks.model_task import Asking
from talm_sim.tasks.reasoning.options import FORM, FREE, NONE, RANDOM, WORDED
from talm_sim.types import ModelTurn, Scenario

if TYPE_CHECKING:
    from talm_sim.models.base import Continuation, GenerationSettings, Model, TextModel

_WHY = {
    Decision.CALL: "a shown tool is called",
    Decision.DEFER: "nothing shown is used",
    Decision.CLARIFY: "something is asked first",
    Decision.ANSWER: "words are enough",
}
_BLOCKERS = {Decision.DEFER: ("tool_unavailable",), Decision.CLARIFY: ("missing_argument",)}


def with_thought(kind: str, decision: Decision, answer: str, *, summary: str, tools: Sequence[str] = ()) -> str:
    """Return what a control writes: its thought, of the kind that was asked for, and its answer."""
    why = f"{_WHY[decision]}, as this control always plays"
    if kind == NONE:
        return answer
    if kind == FREE:
        return f"<think>The request: {' '.join(summary.split())[:80]}. Decision: {decision}, because {why}.</think>\n\n{answer}"
    if kind == RANDOM:
        return f" {why}\n\n{answer}"
    called = decision is Decision.CALL
    fields: dict[str, Value] = {
        "task_summary": " ".join(summary.split())[:80],
        "task_type": "lookup",
        "ambiguity_level": "high" if decision is Decision.CLARIFY else "low",
        "relevant_tools_sorted": tuple(tools),
        "tool_needed": "false" if decision is Decision.ANSWER else "true",
        "tool_sufficiency": "yes" if called else "no",
        "blockers": _BLOCKERS.get(decision, ()),
        "decision": decision.value,
        "hallucination_risk": "low" if called else "high",
        "why": why,
    }
    return f"{write_form(fields)}\n\n{answer}"


def ask_for_thought(asking: Asking, job: Job[Any], model: Model) -> Asking:
    """Return how a job's model is asked if it is to think first."""
    kind, text = job.options.reasoning, thought_text(job)
    if kind == NONE:
        return asking
    if kind == RANDOM:
        _check_begins(model)

    async def ask(model: Model, scenario: Scenario, settings: GenerationSettings, turns: Sequence[ModelTurn] = ()) -> ModelTurn | None:
        begun = _begin(scenario, settings) if kind == RANDOM else ""
        turn = await asking.ask(_begun_for(model, begun), instruct(scenario, text), settings, turns)
        return None if turn is None else read_thought(turn, begun, formed=kind != FREE)

    return replace(
        asking,
        ask=ask,
        check=lambda scenario: asking.check(instruct(scenario, text)),
        wording={**asking.wording, f"prompt {kind if kind == FREE else FORM}": text},
        control={**asking.control, "reasoning": kind},
    )


def _check_begins(model: Model) -> None:
    from talm_sim.models.base import ScenarioModel, TextModel

    if not isinstance(model, TextModel | ScenarioModel):
        raise PrerequisiteError(
            f"--reasoning {RANDOM}: begins the model's answer, which {model.name} does not allow; use hf/, vllm/, or openai-api/ with "
            "-M tokenizer=DIR, or --reasoning form."
        )


def instruct(scenario: Scenario, text: str) -> Scenario:
    """Return a scenario whose last message of the user ends with a text."""
    if not text:
        return scenario
    turns = list(scenario.turns)
    for place in reversed(range(len(turns))):
        messages = list(turns[place].messages)
        said = [number for number, message in enumerate(messages) if message["role"] == "user" and "part" not in message]
        if said:
            last = messages[said[-1]]
            messages[said[-1]] = {**last, "content": f"{last['content']}\n\n{text}"}
            turns[place] = turns[place].model_copy(update={"messages": tuple(messages)})
            break
    return scenario.model_copy(update={"turns": tuple(turns)})


def instruct_all(scenarios: Sequence[Scenario], job: Job[Any]) -> list[Scenario]:
    """Return the scenarios as the job's model is asked them."""
    text = thought_text(job)
    return [instruct(scenario, text) for scenario in scenarios]


def thought_text(job: Job[Any]) -> str:
    """Return the text that asks for thought, with the user's in its place; empty if the job asks for none."""
    if job.options.reasoning == NONE:
        return ""
    name, file = FREE if job.options.reasoning == FREE else FORM, job.config.prompts
    own = {}
    if file is not None:
        own = texts_of(read_toml(file, "prompts"), job.task.name, (*job.options.own_templates, *WORDED), str(file), filled=False)
    return own[name] if name in own else str(packaged_toml("talm_sim.tasks.reasoning")["reasoning"][name]).strip()


def keyed(key: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the key of a recording, in which a run without reasoning says nothing of it, as before there was any."""
    return {name: value for name, value in key.items() if (name, value) != ("reasoning", NONE)}


def reasoning_label(run: RunView) -> str:
    """Return what stands behind the model's name: the kind of reasoning, if there is any."""
    kind = run.job.options.reasoning
    return "" if kind == NONE else f"reasoning {kind}"


def read_thought(turn: ModelTurn, begun: str = "", *, formed: bool = True) -> ModelTurn:
    """Return a turn whose thought is told from its answer; one that is thought alone, such as a thought that never ends, has no answer."""
    said = split_reasoning(turn.raw_text)[0]
    form = read_form(begun + said) if formed else None
    if form is None or not form.fields:
        return turn if said.strip() else turn.model_copy(update={"answered": "", "text": ""})
    text = read_form(begun + turn.text).rest.strip()
    thought = "\n\n".join(filter(None, (turn.reasoning, form.text.strip())))
    return turn.model_copy(update={"answered": form.rest, "text": text, "reasoning": thought})


def _begin(scenario: Scenario, settings: GenerationSettings) -> str:
    random = Random(derive_seed(settings.seed or 0, "reasoning form"))
    return begin_form(draw_form(random, scenario.query, [tool_name(tool) for tool in scenario.shown_tools]))


def _begun_for(model: Model, begun: str) -> Any:
    from talm_sim.models.base import TextModel

    return _Begun(model, begun) if begun and isinstance(model, TextModel) else model


class _Begun:
    """A model whose every answer is begun; a `TextModel`."""

    def __init__(self, model: TextModel, begun: str) -> None:
        self.name, self.chat_template, self.render_chat = model.name, model.chat_template, model.render_chat
        self._model, self._begun = model, begun

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Let the model continue the prompt and the beginning of its answer."""
        turn = await self._model.complete(prompt + self._begun, settings)
        return turn.model_copy(update={"raw_prompt": prompt + self._begun})

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Score answers that nothing begins."""
        return await self._model.score(prompt, options)
