"""Write the thoughts that lead to the right actions of scenarios of task `refusal`, for training.

A thought is kept only if it decides on the action that is right, names tools that are shown, and does not say that anybody told it so.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, Literal

from talm_sim.common.digests import derive_seed, digest
from talm_sim.config import GEN, OPE, RunConfig, option
from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import CallToWrite
from talm_sim.models.metering import max_tokens_of
from talm_sim.models.parsing import replace_surrogates, split_reasoning
from talm_sim.reasoning import Decision, Value, draw_form, find_form, write_form
from talm_sim.reasoning.fields import value_of
from talm_sim.scenarios.dialogue import dialogue, request_text
from talm_sim.scenarios.item_tools import tool_name
from talm_sim.scenarios.making.options import MakingOptions
from talm_sim.scenarios.making.outcome import DroppedSource, Made
from talm_sim.scenarios.making.prompts import ASKED_AGAIN, WriterPrompts, ask, load_writer_prompts
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Listing, OpenModel, WritingMaker
from talm_sim.tasks.refusal.controls import right_calls
from talm_sim.tasks.refusal.shown_tools import tool_texts
from talm_sim.tasks.registry import find_task, job_of
from talm_sim.training.lessons.outputs import in_tags
from talm_sim.types import Calls, Scenario
from talm_sim.types.base import canonical_form

_DECISION = re.compile(r"^[^\w\n]*decision\b[^\w\n]{0,9}?[:=](.*)$", re.IGNORECASE | re.MULTILINE)
_TOLD = re.compile(r"\b(?:right|correct|expected|given|known) (?:action|answer|decision|call)\b|\b(?:was|am|been) told\b", re.IGNORECASE)
_TAG = re.compile(r"</?(?:think|thinking|thought|reasoning)>|\[/?THINK\]", re.IGNORECASE)
_SUMMARY = 80
"""Characters of a summary that is written by rule."""
_WHY_DRAWN = "this follows from the request and the tools"
"""Of a drawn form, whose other fields give no reason."""


class ThoughtOptions(MakingOptions):
    """Everything that decides a making of thoughts for task `refusal`."""

    file: Path | None = option(None, OPE, "Scenarios of task refusal, or BFCL's rows. Default: packaged.", flag="--from", metavar="FILE")
    reasoning: Literal["form", "free", "random"] = option("form", GEN, "Thought to write: a form, free, or a form drawn by seed.")


_PROMPTS = "talm_sim.tasks.refusal.making"
"""The package whose `prompts.toml` holds the wordings."""
_TASK = "refusal"


@dataclass(frozen=True, slots=True)
class Asked:
    """A scenario whose right action is known."""

    scenario: Scenario
    target: Calls

    @property
    def id(self) -> str:
        """The scenario's."""
        return self.scenario.id

    @property
    def digest(self) -> str:
        """Equal scenarios have equal digests."""
        return digest(canonical_form(self.scenario))


class ThoughtMaker(WritingMaker[ThoughtOptions, Asked, Made]):
    """Puts a thought in front of the right action of each scenario; one that contradicts the action is kept as rejected."""

    options_model = ThoughtOptions
    outcome = Made
    rules = 1

    def __init__(self, options: ThoughtOptions) -> None:
        super().__init__(options)
        if options.reasoning == "random" and not options.by_rules:
            raise PrerequisiteError(f"--reasoning random: is drawn by seed and needs no model; leave out --model {options.model}.")
        if options.reasoning == "free" and options.by_rules:
            raise PrerequisiteError("--reasoning free: is written by a model; add --model PROVIDER/NAME.")
        self._prompts: WriterPrompts | None = None if options.by_rules else load_writer_prompts(_PROMPTS, options.prompts)
        self.wording = self._prompts.digest if self._prompts else ""

    def load(self) -> Sequence[Asked]:
        """Read the scenarios; those for which any call is right have no known action."""
        read = find_task(_TASK).load(job_of(RunConfig(task=_TASK, scenarios=self.options.file, split="all")))
        known = [Asked(one, one.target) for one in read if isinstance(one.target, Calls) and one.target.expected != "any"]
        ids = {one.id for one in known}
        self.dropped = [DroppedSource(one.id, "any call is right, so that none is known") for one in read if one.id not in ids]
        groups: dict[str, list[Asked]] = {}
        for one in known:
            groups.setdefault(one.scenario.group, []).append(one)
        # By turns, so that a part has rows of each group.
        return [one for some in zip_longest(*groups.values()) for one in some if one is not None]

    def open(self, sources: Sequence[Asked], open_model: OpenModel) -> None:
        """Open the teacher."""
        self._model = None if self._prompts is None else open_model()

    async def make(self, source: Asked) -> Made:
        """Write a thought, in at most `--attempts` tries."""
        made = Made(source=source.id, digest=source.digest)
        for attempt in range(1 if self._model is None else self.options.attempts):
            text, thought = await self._write(source, attempt)
            if not thought.fault:
                made.rows.append(_with_thought(source, thought.text, self._writer).model_dump(mode="json"))
                break
            made.rejected.append({"id": source.id, "attempt": attempt + 1, "reason": thought.fault, "decision": thought.decision, "text": text})
        return made

    @property
    def _writer(self) -> str:
        return "rules" if self._model is None else self._model.name

    async def _write(self, source: Asked, attempt: int) -> tuple[str, Thought]:
        """Return what was written, and the thought that was read in it."""
        scenario, target, options = source.scenario, source.target, self.options
        if self._model is None or self._prompts is None:
            drawn = Random(derive_seed("random form", options.seed, source.id))
            thought = drawn_form(scenario, drawn) if options.reasoning == "random" else rule_form(scenario, target)
            return thought.text, thought
        messages = self._prompts.messages(options.reasoning, **self._values(source))
        written = await ask(self._model, messages, options, derive_seed("thought", options.seed, source.id, attempt))
        if written.problem:
            return written.text, Thought(fault=written.problem)
        if options.reasoning == "free":
            return written.text, read_free_thought(written.text, target)
        return written.text, read_form_thought(written.text, scenario, target)

    def _values(self, source: Asked) -> dict[str, str]:
        scenario = source.scenario
        tools = "\n".join(tool_texts(scenario)) or "(none)"
        return {"tools": tools, "request": request_text(dialogue(scenario)), "action": action_words(scenario, source.target)}

    def bound(self, source: Asked) -> Bound:
        """Count one request per attempt, and one more with twice the tokens if it is cut off."""
        if self._prompts is None:
            return Bound()
        told = max_tokens_of(*self._prompts.texts[self.options.reasoning].values(), *self._values(source).values())
        one = Bound(0, ASKED_AGAIN, ASKED_AGAIN * told, (1 + ASKED_AGAIN) * self.options.max_new_tokens)
        return one.times(self.options.attempts)

    def report(self, sources: Sequence[Asked], outcomes: Mapping[str, Made], begun: FixedSettings) -> dict[str, Any]:
        """Count thoughts by right action, and the reasons for which some were rejected."""
        report = super().report(sources, outcomes, begun)
        done = [outcomes[one.id] for one in sources if one.id in outcomes and not outcomes[one.id].failed]
        report["rows"]["by_action"] = dict(
            Counter("call" if row["target"]["expected"] == "calls" else "refusal" for one in done for row in one.rows)
        )
        why = Counter(one["reason"].partition(":")[0].partition(" (")[0] for outcome in done for one in outcome.rejected)
        report["rejected"]["why"] = [{"count": number, "reason": reason} for reason, number in why.most_common()]
        report["given_up"] = [one.source for one in done if not one.rows]
        report["dropped"] = dict(Counter(one.reason for one in self.dropped))
        return report

    def listings(self, report: Mapping[str, Any]) -> list[Listing]:
        """Return what was made, and why thoughts were rejected."""
        rows = [{"action": action, "made": f"{number:,}"} for action, number in report["rows"]["by_action"].items()]
        why = [{"count": f"{one['count']:,}", "reason": one["reason"]} for one in report["rejected"]["why"]]
        return [(rows, {"action": "Right action", "made": "Thoughts"}), (why, {"count": "Thoughts", "reason": "Rejected because"})]

    def notes(self, report: Mapping[str, Any]) -> list[str]:
        """Say what was given up, and how the rows become training rows."""
        given_up, items = len(report["given_up"]), f"{self.options.out}/items.jsonl"
        return [
            *(f"dropped {number:,}: {reason}" for reason, number in report["dropped"].items()),
            *([f"given up {given_up:,}: no thought passed the checks; --attempts N tries more often"] if given_up else []),
            f"{report['rows']['total']:,} rows; training rows: talm-sim export training {items} --task {_TASK} --kind sft --out FILE",
        ]


def _with_thought(source: Asked, text: str, writer: str) -> Scenario:
    scenario = source.scenario
    named = scenario.source.model_copy(update={"name": f"{scenario.source.name or 'scenarios'}, thought by {writer}"})
    return scenario.model_copy(update={"target": source.target.model_copy(update={"thought": text}), "source": named})


@dataclass(frozen=True, slots=True)
class Thought:
    """A thought, or why it is not used."""

    text: str = ""
    decision: str = ""
    fault: str = ""


def right_decision(target: Calls) -> Decision:
    """Return the decision that leads to what is right: a call, or a refusal."""
    return Decision.CALL if target.expected == "calls" else Decision.DEFER


def action_words(scenario: Scenario, target: Calls) -> str:
    """Say to a teacher what is right."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in right_calls(scenario, target)]
    if right_decision(target) is Decision.CALL:
        return f"call {json.dumps(calls, ensure_ascii=False)} (decision: call)"
    return "decline in words and call nothing, because no tool can do this (decision: defer)"


def read_form_thought(text: str, scenario: Scenario, target: Calls) -> Thought:
    """Read the form that a teacher wrote, and check it."""
    said, thought = split_reasoning(text)
    form = find_form(said if said.strip() else thought)
    if not form.fields:
        return Thought(fault="no form can be read in it")
    decision = str(form.decision or "")
    if form.missing:
        return Thought(decision=decision, fault=f"its form lacks {', '.join(form.missing)}")
    fault = _contradiction(decision, target) or _fault_in_fields(form.fields, scenario, target) or _fault_in_words(form.text)
    return Thought(decision=decision, fault=fault) if fault else Thought(_before_answer(form.fields), decision)


def read_free_thought(text: str, target: Calls) -> Thought:
    """Read the thought that a teacher wrote freely, whose last line is its decision, and check it."""
    said = _TAG.sub("", replace_surrogates(text)).strip()
    found = [*_DECISION.finditer(said)]
    value = value_of("decision", found[-1][1]) if found else None
    if value is None or value not in [*Decision]:
        return Thought(fault="it ends without a line that says its decision")
    thought = said[: found[-1].start()].strip()
    fault = _contradiction(str(value), target) or ("it contains no thought" if not thought else _fault_in_words(thought))
    return Thought(decision=str(value), fault=fault) if fault else Thought(in_tags(thought), str(value))


def rule_form(scenario: Scenario, target: Calls) -> Thought:
    """Write the form that leads to what is right, by rule."""
    calls = right_calls(scenario, target)
    fits = right_decision(target) is Decision.CALL
    fields: dict[str, Value] = {
        "task_summary": _summary(scenario.query),
        "task_type": "multi_intent" if len(calls) > 1 else "lookup",
        "ambiguity_level": "low",
        "relevant_tools_sorted": tuple(dict.fromkeys(call.name for call in calls)),
        "tool_needed": "true",
        "tool_sufficiency": "yes" if fits else "no",
        "blockers": () if fits else ("tool_unavailable",),
        "decision": right_decision(target).value,
        "hallucination_risk": "low" if fits else "high",
        "why": _why(calls, fits=fits),
    }
    return Thought(_before_answer(fields), right_decision(target).value)


def drawn_form(scenario: Scenario, random: Random) -> Thought:
    """Write a form whose decision fields are drawn, whatever is right."""
    fields = draw_form(random, scenario.query, _shown_names(scenario))
    return Thought(_before_answer({**fields, "why": _WHY_DRAWN}), str(fields["decision"]))


def _before_answer(fields: Mapping[str, Value]) -> str:
    return f"{write_form(fields)}\n\n"


def _summary(query: str) -> str:
    said = " ".join(query.split())
    return said if len(said) <= _SUMMARY else said[:_SUMMARY].rpartition(" ")[0] or said[:_SUMMARY]


def _why(calls: Sequence[CallToWrite], *, fits: bool) -> str:
    names = " and ".join(dict.fromkeys(call.name for call in calls))
    return f"{names} can do what is asked, and all that is needed was said" if fits else "no given tool can do what is asked"


def _contradiction(decision: str, target: Calls) -> str:
    right = right_decision(target)
    if not decision:
        return "its decision cannot be read"
    return "" if decision == right else f"it decides on {decision}, and {right} is right"


def _fault_in_fields(fields: Mapping[str, Value], scenario: Scenario, target: Calls) -> str:
    """Say which field contradicts the tools, or the right action."""
    listed = fields["relevant_tools_sorted"]
    named = {item.split("(")[0].strip() for item in (listed if isinstance(listed, tuple) else (listed,))}
    if unknown := sorted(named - set(_shown_names(scenario))):
        return f"it names a tool that is not shown: {unknown[0][:80]}"
    if needed := [call.name for call in right_calls(scenario, target) if call.name not in named]:
        return f"it does not name {needed[0]} as relevant, which is called"
    if right_decision(target) is Decision.CALL and fields["tool_needed"] == "false":
        return "it says that no tool is needed, and a call is right"
    return ""


def _fault_in_words(text: str) -> str:
    found = _TOLD.search(text)
    return f"it speaks of what it was told ('{found[0]}')" if found else ""


def _shown_names(scenario: Scenario) -> list[str]:
    return [tool_name(tool) for tool in scenario.shown_tools]
