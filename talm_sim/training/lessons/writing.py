"""Write examples as rows of prompt and completion: the very texts that a model reads and writes; and the card beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import CallToWrite
from talm_sim.training.lessons.training_examples import Answer, Example, TrainingSet
from talm_sim.types import JsonObject, Scenario


def fit_scenarios(scenarios: Sequence[Scenario], make: Callable[[Sequence[Scenario]], TrainingSet], write: Write) -> TrainingSet:
    """Make a set in which every example can be written; what cannot is left out before classes are balanced."""
    left: dict[str, list[str]] = {}
    rest = list(scenarios)
    while True:
        made = make(rest)
        of = {one.id: one.scenario.id for one in made.examples}
        tried = TrainingSet(made.kind, [*made.examples])
        write(tried)
        gone = {reason: sorted({of[one] for one in ids}) for reason, ids in tried.left_out.items()}
        if not gone:
            for reason, ids in left.items():
                made.leave_out(reason, *sorted(ids))
            return made
        for reason, ids in gone.items():
            left.setdefault(reason, []).extend(ids)
        dropped = {one for ids in gone.values() for one in ids}
        rest = [one for one in rest if one.id not in dropped]
        if not rest:
            raise PrerequisiteError(f"no row can be made from {len(scenarios):,} scenarios: {'; '.join(left)}.")


def fit_examples(made: TrainingSet, write: Write) -> TrainingSet:
    """Keep the examples of a set that can be written."""
    total = len(made.examples)
    made.examples = write(made).examples
    made.refuse_empty(f"{total:,} answers")
    return made


_LONGEST_LIST = 20
"""Ids that are listed per reason."""


@dataclass(frozen=True, slots=True)
class RowSource:
    """Something that rows were made from.

    Attributes:
        kind: `scenarios` or `run`.
        sha256: Digest of the file; of a run, of its scenarios.
        given: How many scenarios, episodes or rows it has.
        more: What else is known of it: the model of a run.
    """

    kind: str
    name: str
    sha256: str
    given: int
    more: JsonObject


def make_card(made: TrainingSet, written: Sequence[Example], sources: Sequence[RowSource], **settings: Any) -> JsonObject:
    """Return the card."""
    kept = TrainingSet(made.kind, [*written])
    by_source = Counter(one.source for one in written)
    by_class = Counter((one.source, one.action) for one in written)
    origins = Counter((one.source, one.scenario.source.licence, one.scenario.source.url) for one in written)
    return {
        "made_by": "talm-sim",
        "kind": made.kind,
        **settings,
        "rows": len(written),
        "counts": kept.counts(),
        "shares": [
            {
                "source": name,
                "rows": number,
                "share": round(number / len(written), 4),
                "classes": {action: count for (source, action), count in sorted(by_class.items()) if source == name},
            }
            for name, number in by_source.items()
        ],
        "licences": [
            {"source": name, "licence": licence or "not stated", "url": url, "rows": number} for (name, licence, url), number in origins.items()
        ],
        "sources": [{"kind": one.kind, "name": one.name, "sha256": one.sha256, "given": one.given, **one.more} for one in sources],
        "left_out": [{"why": why, "number": len(ids), "ids": ids[:_LONGEST_LIST]} for why, ids in made.left_out.items()],
    }


EMPTY, EQUAL, TOO_LONG = "an answer is empty", "both answers are the same text", "longer than --max-tokens"


@dataclass(frozen=True, slots=True)
class RowWriter:
    """Writes a task's conversations and answers for a model.

    Attributes:
        template: The template's name, with `auto` settled.
        source: The texts that it writes with, by name.
        prompt: Writes a scenario's conversation with its tools: the text that the model continues.
        calls: Writes calls as the model would.
    """

    template: str
    source: dict[str, str]
    prompt: Callable[[Scenario], str]
    calls: Callable[[Sequence[CallToWrite]], str]

    def answer(self, answer: Answer, thought: str = "") -> str:
        """Write an answer, with the thought that precedes it."""
        text = answer if isinstance(answer, str) else self.calls(answer)
        return f"{thought}{text}" if text.strip() else ""


class Measure(Protocol):
    """Counts tokens of a prompt with its answer, and says whether the answer begins with a token of its own."""

    def __call__(self, prompt: str, answer: str) -> tuple[int, bool]:
        """Return both."""


@dataclass(slots=True)
class WrittenRows:
    """Rows as they are written to a file, and the example of each."""

    rows: list[JsonObject] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    longest: int = 0
    """Tokens of the longest row; 0 if nobody counted."""
    merged: int = 0
    """Answers whose first letters share a token with the end of the prompt."""


Write = Callable[[TrainingSet], WrittenRows]
"""Writes a set; notes in it what cannot be trained on."""


def write_rows(made: TrainingSet, writer: RowWriter, measure: Measure | None = None, most: int | None = None) -> WrittenRows:
    """Write the examples of a set; what cannot be trained on is left out of the set, by its id."""
    written = WrittenRows()
    for example in made.examples:
        try:
            row = _row(example, writer)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"row {example.id}: {err}") from None
        answers = [row[key] for key in ("completion", "chosen", "rejected") if key in row]
        if not all(answers):
            made.leave_out(EMPTY, example.id)
            continue
        if len({*answers}) < len(answers):
            made.leave_out(EQUAL, example.id)
            continue
        measured = [measure(row["prompt"], answer) for answer in answers] if measure else [(0, True)]
        length = max(tokens for tokens, _ in measured)
        if most is not None and length > most:
            made.leave_out(f"{TOO_LONG} {most:,}", example.id)
            continue
        written.longest = max(written.longest, length)
        written.merged += sum(not split for _, split in measured)
        written.rows.append(row)
        written.examples.append(example)
    return written


def _row(example: Example, writer: RowWriter) -> JsonObject:
    row: JsonObject = {"id": example.id, "prompt": writer.prompt(example.scenario)}
    chosen = writer.answer(example.chosen, example.thought)
    if example.rejected is None:
        return row | {"completion": chosen, "action": example.action, "source": example.source}
    rejected = writer.answer(example.rejected, example.rejected_thought)
    classes = {"chosen_action": example.action, "rejected_action": example.rejected_action, "source": example.source}
    return row | {"chosen": chosen, "rejected": rejected} | classes
