"""Manipulate one complete scenario so that the tools shown cannot serve it: replace tools or remove words, check, and keep or give up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from talm_sim.common.digests import derive_seed, digest
from talm_sim.config import GEN, OPE, Names, option
from talm_sim.errors import did_you_mean
from talm_sim.models.base import Model
from talm_sim.retrieval import DEFAULT_EMBEDDER
from talm_sim.scenarios.jsonl import short_form
from talm_sim.scenarios.making.options import MakingOptions
from talm_sim.scenarios.making.outcome import Made
from talm_sim.scenarios.making.prompts import WriterPrompts, ask
from talm_sim.tasks.awareness.making.item_checks import FailedCheck, check_manipulated
from talm_sim.tasks.awareness.making.loaded import tool_names
from talm_sim.tasks.awareness.making.pool import Pool
from talm_sim.tasks.awareness.making.remove import remove_by_rules
from talm_sim.tasks.awareness.making.replace import Skipped, Swap, replace_tools
from talm_sim.tasks.awareness.making.written import conversation_text, described_apis, gold_calls_text, read_object, read_removal
from talm_sim.types import Scenario, YesNo
from talm_sim.types.base import canonical_form

GROUPS = ("replaced", "removed")
"""The manipulations (section 3.2), named as the groups of what they make."""
_FROM = "api-bank:FOLDER, toolbench:FOLDER, study:PLACE, or scenarios (JSONL). Default: packaged."


def _check_groups(value: str) -> str:
    names = value.split(",")
    for name in names:
        if name not in GROUPS:
            raise ValueError(f"there is no manipulation '{name}'.{did_you_mean(name, GROUPS)}")
    return ",".join(group for group in GROUPS if group in names)


Manipulations = Annotated[Names, AfterValidator(_check_groups)]


class ManipulateOptions(MakingOptions):
    """Everything that decides how complete scenarios of task `awareness` are made such that cannot be served."""

    file: Path | None = option(None, OPE, _FROM, flag="--from", metavar="SOURCE")
    manipulation: Manipulations = option(
        ",".join(GROUPS), GEN, "replaced: other tools; removed: some of the user's words.", metavar="NAME[,NAME]"
    )
    embedder: str = option(
        DEFAULT_EMBEDDER, GEN, "Embedder that finds similar tools: wordllama, or a sentence-transformers model.", metavar="NAME"
    )
    max_new_tokens: int = option(
        1024, GEN, "Maximum tokens per answer, which contains the conversation; doubled once if cut off.", metavar="N", ge=1
    )
    attempts: int = option(3, GEN, "Attempts per scenario.", metavar="N", ge=1, le=10)

    @property
    def groups(self) -> tuple[str, ...]:
        """The manipulations asked for."""
        return tuple(self.manipulation.split(","))


_MOST_ALIKE = 0.05
"""Largest share of all replacements that one swap may be: a model could learn a frequent one."""
_FEW = 5
"""How often a swap may occur even if there are few replacements."""


def replace_all(scenarios: Iterable[Scenario], pool: Pool) -> dict[str, Scenario | Skipped]:
    """Swap the needed APIs of each scenario, so that no swap is more than a twentieth of all (but any may occur five times).

    What comes after the last time a swap may occur takes the next nearest API.

    Returns: The results by id.
    """
    first = {one.id: (one, replace_tools(one, pool)) for one in scenarios}
    most = max(_FEW, int(_MOST_ALIKE * sum(_passes_checks(*pair, pool) for pair in first.values())))
    made: Counter[Swap] = Counter()
    found: dict[str, Scenario | Skipped] = {}
    for id_, (scenario, changed) in first.items():
        used_up = {swap for swap, times in made.items() if times >= most}
        if not used_up.isdisjoint(_swaps(changed)):
            changed = replace_tools(scenario, pool, used_up=used_up)  # noqa: PLW2901
        found[id_] = changed
        if _passes_checks(scenario, changed, pool):
            made.update(_swaps(changed))
    return found


def _passes_checks(scenario: Scenario, changed: Scenario | Skipped, pool: Pool) -> bool:
    return isinstance(changed, Scenario) and all(one.review for one in check_manipulated(scenario, changed, pool))


def _swaps(changed: Scenario | Skipped) -> list[Swap]:
    return list(changed.target.swapped.items()) if isinstance(changed, Scenario) and isinstance(changed.target, YesNo) else []


REMOVAL, SERVING = "removal", "serving"
"""Tasks of a model: to remove something, and to say whether what is shown can serve."""
_LONGEST = 8_000
"""Characters of a model's answer that are kept if it was rejected."""


@dataclass(frozen=True)
class Original:
    """A complete scenario, as a source."""

    scenario: Scenario

    @property
    def id(self) -> str:
        """Id of the scenario."""
        return self.scenario.id

    @cached_property
    def digest(self) -> str:
        """Equal scenarios have equal digests."""
        return digest(canonical_form(self.scenario))


@dataclass(slots=True, kw_only=True)
class ManipulationOutcome(Made):
    """The result for one complete scenario.

    Attributes:
        skipped: Reason why a manipulation was not tried, by manipulation.
        given_up: Manipulations without a result that passed.
        to_read: What the checks of a kept manipulation leave to a person, by check.
    """

    skipped: dict[str, str] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    to_read: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def summary_text(self) -> str:
        """Summarize what was made and what was not."""
        said = [f"{row['group']} made" for row in self.rows if row["group"] not in ("complete",)]
        said += [f"{group} given up" for group in self.given_up] + [f"{group} skipped ({why})" for group, why in self.skipped.items()]
        return ", ".join(said)


class Manipulator:
    """Makes all manipulations of a scenario.

    Args:
        scenarios: All scenarios of the source: how often a swap occurs is seen over all.
        pool: Where substitutes come from; None if no tools are replaced.
        model: Removes words, and says whether what is shown can serve; None if rules do.
        removed: What people removed already, by scenario; None if rules are to remove words.
    """

    def __init__(
        self,
        options: ManipulateOptions,
        scenarios: Iterable[Scenario],
        pool: Pool | None,
        model: Model | None,
        prompts: WriterPrompts | None,
        removed: Mapping[str, Scenario] | None = None,
    ) -> None:
        self._options = options
        self._pool = pool
        self._replaced = {} if pool is None else replace_all(scenarios, pool)
        self._model = model
        self._prompts = prompts
        self._removed = removed

    async def make(self, original: Original) -> ManipulationOutcome:
        """Try each manipulation asked for; the original is kept with its results."""
        outcome = ManipulationOutcome(source=original.id, digest=original.digest)
        kept = [changed for group in self._options.groups if (changed := await self._manipulate(group, original.scenario, outcome))]
        outcome.rows = [short_form(one) for one in ([original.scenario, *kept] if kept else [])]
        return outcome

    async def _manipulate(self, group: str, scenario: Scenario, outcome: ManipulationOutcome) -> Scenario | None:
        if group == "removed" and self._model is not None:
            return await self._remove_by_model(scenario, outcome)
        if group == "removed" and self._removed is not None:
            left = "people left nothing out of it, or part of what is left can be served"
            changed: Scenario | Skipped = self._removed.get(scenario.id) or Skipped(scenario.id, left)
        elif group == "removed":
            changed = remove_by_rules(scenario, self._options.seed)
        else:
            changed = self._replaced[scenario.id]
        if isinstance(changed, Skipped):
            outcome.skipped[group] = changed.reason
            return None
        more = await self._find_serving_tools(changed) if group == "replaced" else []
        if self._passes(scenario, changed, outcome, more):
            return changed
        outcome.given_up.append(group)
        return None

    async def _remove_by_model(self, scenario: Scenario, outcome: ManipulationOutcome) -> Scenario | None:
        """Let a model remove some of the user's words (section 3.2, figure 16)."""
        if scenario.turns[-1].messages[-1]["role"] != "user":
            outcome.skipped["removed"] = "it ends with a result, not with the user"
            return None
        for attempt in range(self._options.attempts):
            text, problem = await self._ask(REMOVAL, scenario, values_of(scenario), attempt)
            assert self._model is not None
            changed = problem or read_removal(text, scenario, self._model.name)
            if isinstance(changed, str):
                outcome.rejected.append(_rejection_record(scenario, "removed", "answer", changed, attempt, text))
            elif self._passes(scenario, changed, outcome, [], attempt, text):
                return changed
        outcome.given_up.append("removed")
        return None

    async def _find_serving_tools(self, changed: Scenario) -> list[FailedCheck]:
        """Ask a model whether a tool that is shown can serve after all; return nothing without a model."""
        if self._model is None:
            return []
        values = {"apis": described_apis(changed), "conversation": conversation_text(changed)}
        text, problem = await self._ask(SERVING, changed, values, 0)
        found = None if problem else read_object(text, "answer")
        said = str(found["answer"]).strip() if found else ""
        if said.casefold() == "none":
            return []
        if said in tool_names(changed):
            return [FailedCheck("model's word", f"'{said}' serves, the model says")]
        return [FailedCheck("model's word", problem or "the model names no API of the list", review=True)]

    async def _ask(self, step: str, scenario: Scenario, values: dict[str, str], attempt: int) -> tuple[str, str]:
        assert self._model is not None and self._prompts is not None
        seed = derive_seed(self._options.seed, step, scenario.id, attempt)
        written = await ask(self._model, self._prompts.messages(step, **values), self._options, seed)
        return written.text, written.problem

    def _passes(
        self, original: Scenario, changed: Scenario, outcome: ManipulationOutcome, more: Sequence[FailedCheck], attempt: int = 0, text: str = ""
    ) -> bool:
        """Return whether nothing is wrong; what only a person can decide is noted."""
        found = [*check_manipulated(original, changed, self._pool), *more]
        wrong = [one for one in found if not one.review]
        for one in wrong:
            rejected = _rejection_record(original, changed.group, one.check, one.words, attempt, text)
            outcome.rejected.append(rejected | {"scenario": short_form(changed)})
        if not wrong and found:
            outcome.to_read[changed.group] = {one.check: one.words for one in found}
        return not wrong


def values_of(scenario: Scenario) -> dict[str, str]:
    """Return what a model reads when it removes something: the tools the request needs, the calls, the conversation."""
    names = scenario.target.relevant if isinstance(scenario.target, YesNo) else ()
    return {"apis": described_apis(scenario, names), "calls": gold_calls_text(scenario), "conversation": conversation_text(scenario)}


def _rejection_record(scenario: Scenario, group: str, check: str, reason: str, attempt: int, text: str) -> dict[str, Any]:
    return {"source": scenario.id, "group": group, "check": check, "reason": reason, "attempt": attempt + 1, "text": text[:_LONGEST]}
