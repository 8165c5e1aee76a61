"""Writes the thoughts that lead to the right actions of scenarios of task `refusal`, for training."""

from __future__ import annotations

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
from talm_sim.models.base import Model
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.dialogue import dialogue, request_text
from talm_sim.scenarios.making.asking import ASKED_AGAIN, ask
from talm_sim.scenarios.making.options import MakingOptions
from talm_sim.scenarios.making.outcome import DroppedSource, Outcome
from talm_sim.scenarios.making.prompts import WriterPrompts, load_writer_prompts
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Listing, Maker, OpenModel
from talm_sim.tasks.refusal.making.thoughts import Thought, action_words, drawn_form, read_form_thought, read_free_thought, rule_form
from talm_sim.tasks.refusal.tools import tool_texts
from talm_sim.tasks.registry import find_task, job_of
from talm_sim.types import Calls, Scenario

__all__ = []


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
        return digest(self.scenario.model_dump(mode="json"))


class ThoughtMaker(Maker[ThoughtOptions, Asked, Outcome]):
    """Puts a thought in front of the right action of each scenario; one that contradicts the action is kept as rejected."""

    options_model = ThoughtOptions
    outcome = Outcome
    rules = 1

    def __init__(self, options: ThoughtOptions) -> None:
        super().__init__(options)
        if options.reasoning == "random" and not options.by_rules:
            raise PrerequisiteError(f"--reasoning random: is drawn by seed and needs no model; leave out --model {options.model}.")
        if options.reasoning == "free" and options.by_rules:
            raise PrerequisiteError("--reasoning free: is written by a model; add --model PROVIDER/NAME.")
        self._prompts: WriterPrompts | None = None if options.by_rules else load_writer_prompts(_PROMPTS, options.prompts)
        self.wording = self._prompts.digest if self._prompts else ""
        self._model: Model | None = None

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

    async def make(self, source: Asked) -> Outcome:
        """Write a thought, in at most `--attempts` tries."""
        made = Outcome(source=source.id, digest=source.digest)
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

    def report(self, sources: Sequence[Asked], outcomes: Mapping[str, Outcome], begun: FixedSettings) -> dict[str, Any]:
        """Count thoughts by right action, and the reasons for which some were rejected."""
        report = super().report(sources, outcomes, begun)
        done = [outcomes[one.id] for one in sources if one.id in outcomes and not outcomes[one.id].failed]
        report["rows"]["by_action"] = dict(
            Counter("call" if row["target"]["expected"] == "calls" else "refusal" for one in done for row in one.rows)
        )
        why = Counter(_kind_of(one["reason"]) for outcome in done for one in outcome.rejected)
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

    async def aclose(self) -> None:
        """Close the teacher."""
        if self._model is not None:
            await self._model.aclose()


def _with_thought(source: Asked, text: str, writer: str) -> Scenario:
    scenario = source.scenario
    named = scenario.source.model_copy(update={"name": f"{scenario.source.name or 'scenarios'}, thought by {writer}"})
    return scenario.model_copy(update={"target": source.target.model_copy(update={"thought": text}), "source": named})


def _kind_of(reason: str) -> str:
    """Return a reason without the name that it ends with."""
    return reason.partition(":")[0].partition(" (")[0]
