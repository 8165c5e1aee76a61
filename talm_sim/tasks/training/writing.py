"""Write examples as rows of prompt and completion: the very texts that a model reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import CallToWrite
from talm_sim.tasks.training.examples import Answer, Example, TrainingSet
from talm_sim.types import JsonObject, Scenario

__all__ = ["RowWriter", "write_rows"]

EMPTY, EQUAL, TOO_LONG = "an answer is empty", "both answers are the same text", "longer than --max-tokens"


@dataclass(frozen=True, slots=True)
class RowWriter:
    """How a task's conversations and answers are written for a model.

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


def write_rows(made: TrainingSet, writer: RowWriter, measure: Measure | None = None, most: int | None = None) -> WrittenRows:
    """Write the examples of a set; what cannot be trained on is left out of the set, by its id.

    Args:
        made: The set. A row whose answer is empty, or that is too long, is noted in it as left out.
        writer: Writes the texts.
        measure: Counts tokens; None if nobody does.
        most: Tokens that a row may have; None for any number.

    Raises:
        PrerequisiteError: A conversation or a call cannot be written by the template; the message names the row.
    """
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
