"""Translate scenarios with a model: a request per text, checked by rule; a row is made if all that its user says passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from talm_sim.common.digests import derive_seed, digest
from talm_sim.config import GEN, OPE, ModelName, option
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.jsonl import short_form
from talm_sim.scenarios.making.options import MakingOptions
from talm_sim.scenarios.making.outcome import DroppedSource, Made
from talm_sim.scenarios.making.prompts import ASKED_AGAIN, ask, load_writer_prompts
from talm_sim.scenarios.making.review import Reviewer
from talm_sim.scenarios.making.state import FixedSettings
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Listing, WritingMaker
from talm_sim.tasks.translation.added import ways_to_say
from talm_sim.tasks.translation.languages import ENGLISH, LANGUAGES
from talm_sim.tasks.translation.translation_checks import RULES_VERSION, NeededValue, Translation, check_translation
from talm_sim.tasks.translation.translation_review import (
    ORIGINALS,
    TranslationReviewer,
    conversation_before,
    needed_values,
    replace_texts,
    user_texts,
)
from talm_sim.types import Scenario
from talm_sim.types.base import canonical_form

_PROMPTS = "talm_sim.tasks.translation"
_MOST_TOLD = 5
"""Dialogues given up, and rows left out, that are named at the terminal; the report lists all."""
_LONGEST = 8_000
"""Characters of a rejected text that are kept."""
_UNFINISHED = "unfinished"
"""Of a text that cannot be checked: it was cut off, or there was no room for it."""


class TranslateOptions(MakingOptions):
    """Options of `talm-sim scenarios translate`."""

    to: Literal["vi", "th"] = option(..., GEN, "Language: vi (Vietnamese) or th (Thai).", metavar="vi|th")
    file: Path | None = option(..., OPE, "Scenario file, or a run.", metavar="FILE|RUN")
    model: ModelName = option(..., GEN, "Model that translates.", metavar="P/N")
    temperature: float = option(0.0, GEN, "Sampling temperature.", metavar="X", ge=0, le=2)
    max_new_tokens: int = option(512, GEN, "Maximum tokens per text; doubled once if cut off.", metavar="N", ge=1)
    attempts: int = option(3, GEN, "Attempts per text; a further one names what was wrong.", metavar="N", ge=1, le=3)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Rows in which the user says the same: they are translated once, so that they say the same again."""

    scenarios: tuple[Scenario, ...]
    needed: tuple[NeededValue, ...]

    @property
    def id(self) -> str:
        """Id of the first row."""
        return self.scenarios[0].id

    @property
    def digest(self) -> str:
        """Equal rows have equal digests."""
        return digest([*map(canonical_form, self.scenarios)])


@dataclass(slots=True, kw_only=True)
class TranslationOutcome(Made):
    """The result for one dialogue.

    Attributes:
        given_up: Rows without a translation that passed, to the last check that failed.
    """

    given_up: dict[str, str] = field(default_factory=dict)

    @property
    def summary_text(self) -> str:
        """Summarize what was made, and say why the last attempt of a dialogue failed."""
        made = f"{len(self.rows)} made, {len(self.given_up)} given up"
        return f"{made}: {_with_subject(self.rejected[-1])}" if self.given_up and self.rejected else made


class TranslationMaker(WritingMaker[TranslateOptions, Dialogue, TranslationOutcome]):
    """Translates what the user says, and keeps everything else."""

    options_model = TranslateOptions
    outcome = TranslationOutcome
    rules = RULES_VERSION
    noun: ClassVar = "dialogue"
    reviewer: ClassVar[Reviewer | None] = TranslationReviewer()

    def __init__(self, options: TranslateOptions, scenarios: Sequence[Scenario]) -> None:
        super().__init__(options)
        if options.model.startswith("sim/"):
            raise PrerequisiteError(f"--model {options.model}: is not a language model and cannot translate; name one: PROVIDER/NAME.")
        self._language = LANGUAGES[options.to].name
        self._scenarios = scenarios
        self._prompts = load_writer_prompts(_PROMPTS, options.prompts)
        self.wording = self._prompts.digest

    def load(self) -> Sequence[Dialogue]:
        """Put the rows together in which the user says the same; rows that cannot be translated are left out."""
        said: dict[str, list[Scenario]] = {}
        dropped = []
        for scenario in self._scenarios:
            if reason := _explain_drop(scenario):
                dropped.append(DroppedSource(scenario.id, reason))
            else:
                said.setdefault(digest([turn.messages for turn in scenario.turns]), []).append(scenario)
        self.dropped = dropped
        known = {one.id: one for one in self._scenarios}
        return [Dialogue(tuple(rows), needed_values(_with_bases(rows, known))) for rows in said.values()]

    async def make(self, source: Dialogue) -> TranslationOutcome:
        """Translate all that is said in the rows; a row of which a text fails is given up."""
        outcome = TranslationOutcome(source=source.id, digest=source.digest)
        said: dict[str, str] = {}
        failed: dict[str, str] = {}
        for scenario in source.scenarios:
            for text in user_texts(scenario):
                if text not in said and text not in failed:
                    await self._translate(source, replace_texts(scenario, said), text, outcome, said, failed)
                if text in failed:
                    outcome.given_up[scenario.id] = failed[text]
                    break
            else:
                outcome.rows.append(short_form(self._translated(scenario, said)))
        return outcome

    async def _translate(
        self, dialogue: Dialogue, scenario: Scenario, text: str, outcome: TranslationOutcome, said: dict[str, str], failed: dict[str, str]
    ) -> None:
        assert self._model is not None
        asked = messages = self._messages(scenario, text, dialogue.needed)
        for attempt in range(self.options.attempts):
            seed = derive_seed(self.options.seed, dialogue.id, text, attempt)
            written = await ask(self._model, messages, self.options, seed)
            translated = _clean(written.text, text)
            found = check_translation(Translation(text, translated, self.options.to, dialogue.needed))
            if not (found or written.problem):
                said[text] = translated
                return
            check = _UNFINISHED if written.problem else found[0].check
            reason = written.problem or "; ".join(one.words for one in found)
            record = {"source": dialogue.id, "check": check, "reason": reason, "attempt": attempt + 1, "language": self.options.to}
            outcome.rejected.append({**record, "before": text, "text": translated[:_LONGEST]})
            failed[text] = check
            again = self._prompts.text("again", "user", language=self._language, fault=_with_subject(outcome.rejected[-1]))
            messages = [*asked, AIMessage(translated[:_LONGEST] or "-"), HumanMessage(again)]

    def _messages(self, scenario: Scenario, text: str, needed: Iterable[NeededValue]) -> list[BaseMessage]:
        kept = dict.fromkeys(self._kept(text, one) for one in needed)
        before = conversation_before(scenario, text)
        values = {"language": self._language, "values": ", ".join(filter(None, kept)) or "nothing in particular", "text": text}
        return self._prompts.messages("later" if before else "request", **values, conversation=before)

    def _kept(self, text: str, needed: NeededValue) -> str:
        """Return a value as a text says it, with another way to say it; empty if the text does not say it."""
        ways = ways_to_say(text, (needed.value, *needed.others), self.options.to)
        return f"{ways[0]} (or {ways[1]})" if ways[1:] else "".join(ways)

    def _translated(self, scenario: Scenario, said: Mapping[str, str]) -> Scenario:
        to = self.options.to
        name = ", ".join(filter(None, (scenario.source.name, f"translated by {self.options.model}")))
        source = scenario.source.model_copy(update={"name": name, "base": scenario.base, "translation_of": scenario.id})
        return replace_texts(scenario, said).model_copy(update={"id": f"{scenario.id}.{to}", "language": to, "source": source})

    def bound(self, source: Dialogue) -> Bound:
        """Count a request per text and attempt, each once more if it is cut off; a further attempt also reads the one before."""
        most, told = self.options.max_new_tokens, max(max_tokens_of(*part.values()) for part in self._prompts.texts.values())
        bound = Bound()
        for text in dict.fromkeys(text for scenario in source.scenarios for text in user_texts(scenario)):
            size = max(max_tokens_of(conversation_before(one, text)) for one in source.scenarios) + 2 * max_tokens_of(text)
            read = told + size + max_tokens_of(*(one.value for one in source.needed))
            again = self.options.attempts - 1
            bound += Bound(0, ASKED_AGAIN, ASKED_AGAIN * read, (1 + ASKED_AGAIN) * most).times(self.options.attempts)
            bound += Bound(input_tokens=ASKED_AGAIN * (told + ASKED_AGAIN * most)).times(again)
        return bound

    def report(self, sources: Sequence[Dialogue], outcomes: Mapping[str, TranslationOutcome], begun: FixedSettings) -> dict[str, Any]:
        """Add rows by group, failures by check, rows that were left out, and the English texts, for a review."""
        report = super().report(sources, outcomes, begun)
        done = [outcomes[source.id] for source in sources if source.id in outcomes and not outcomes[source.id].failed]
        groups = {one.id: one.group for source in sources for one in source.scenarios}
        made = Counter(str(row["group"]) for one in done for row in one.rows)
        given_up = Counter(groups[name] for one in done for name in one.given_up if name in groups)
        names = dict.fromkeys((*made, *given_up))
        report["to"] = self.options.to
        report["groups"] = {name: {"made": made[name], "given_up": given_up[name]} for name in names}
        report["dialogues"] = {"kept": sum(not one.given_up for one in done), "given_up": sum(bool(one.given_up) for one in done)}
        report["why"] = dict(Counter(one["check"] for outcome in done for one in outcome.rejected).most_common())
        report["given_up"] = [{"id": one.source, "reason": _with_subject(one.rejected[-1])} for one in done if one.given_up]
        report["left_out"] = [{"id": one.id, "reason": one.reason} for one in self.dropped]
        report[ORIGINALS] = {one.id: user_texts(one) for source in sources for one in source.scenarios}
        return report

    def listings(self, report: Mapping[str, Any]) -> list[Listing]:
        """Return the rows by group, and the checks that translations failed."""
        rows = [{"group": name, **{key: f"{number:,}" for key, number in one.items()}} for name, one in report["groups"].items()]
        why = [{"count": f"{number:,}", "check": name} for name, number in report["why"].items()]
        return [
            (rows, {"group": "Group", "made": "Rows made", "given_up": "Given up"}),
            (why, {"count": "Attempts", "check": "First failed check"}),
        ]

    def notes(self, report: Mapping[str, Any]) -> list[str]:
        """Say how many dialogues passed, why others were given up, and which rows were left out."""
        dialogues = report["dialogues"]
        kept = f"{dialogues['kept']:,} dialogue{'' if dialogues['kept'] == 1 else 's'} translated, {dialogues['given_up']:,} given up"
        found = [kept]
        for name, what in (("given_up", "given up {id}: {reason}"), ("left_out", "left out {id}: {reason}")):
            listed = report[name]
            found += [what.format_map(one) for one in listed[:_MOST_TOLD]]
            found += [f"... and {len(listed) - _MOST_TOLD:,} more; report.json lists them"] if len(listed) > _MOST_TOLD else []
        return found


def _explain_drop(scenario: Scenario) -> str:
    """Say why a row cannot be translated; empty if it can."""
    if scenario.source.translation_of or scenario.language != ENGLISH:
        return f"its language is {scenario.language}; only English rows are translated"
    if any("part" in message for turn in scenario.turns for message in turn.messages):
        return "a protocol added messages to it; translate the file that the run was made from"
    return "" if user_texts(scenario) else "its user says nothing"


def _with_bases(rows: Sequence[Scenario], known: Mapping[str, Scenario]) -> Iterator[Scenario]:
    """Yield the rows and what they were derived from: a row that lacks its tools does not say which values a call needs."""
    yield from rows
    yield from (known[base] for base in dict.fromkeys(one.base for one in rows) if base in known)


def _with_subject(rejected: Mapping[str, Any]) -> str:
    """Return the reason of a rejected text as a clause: what the checks say lacks its subject."""
    return str(rejected["reason"] if rejected["check"] == _UNFINISHED else f"it {rejected['reason']}")


def _clean(text: str, before: str) -> str:
    """Return a translation without space around it, and without quotation marks that the English text does not have."""
    text = text.strip()
    for start, end in ('""', "“”", "''", "``"):
        if len(text) > 2 and text[0] == start and text[-1] == end and before[:1] != start and start not in text[1:-1]:
            return text[1:-1].strip()
    return text
