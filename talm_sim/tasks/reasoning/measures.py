"""Measure thought before an answer: whether forms can be read, whether they are right and followed, and their length."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from talm_sim.judges.stats import share
from talm_sim.models.parsing import split_reasoning
from talm_sim.reasoning import Decision, find_form
from talm_sim.tasks.base import Job
from talm_sim.tasks.reasoning.options import FREE, NONE, RANDOM
from talm_sim.tasks.row_figures import Figure, mean_of
from talm_sim.types import Episode, Matrix, Measure, ModelTurn, Row

TABLE = "reasoning"
"""Title of the table."""
_UNREAD = "unread"
_RATES = {
    "form_read": ("Read", "the answer follows a form whose decision can be read", "higher"),
    "decision_right": ("Right", "the form decides on the right action", "higher"),
    "decision_followed": ("Followed", "the answer does what the form decides", "neither"),
}
_MEANS = {
    "fields_missing": ("Missing", "fields that an answer's form lacks, of ten"),
    "reasoning_tokens": ("Thought", "tokens of thought per answer"),
}


def reasoning_values(
    kind: str, episode: Episode, right: Collection[Decision], done: Collection[Decision] | None
) -> tuple[dict[str, bool | int | float | None], dict[str, str]]:
    """Return the values and labels that a row has of the thought before its answer."""
    if kind == NONE or not episode.model_turns:
        return {}, {}
    turn = episode.model_turns[-1]
    tokens = _tokens_of_thought(turn, kind)
    values: dict[str, bool | int | float | None] = {} if tokens is None else {"reasoning_tokens": tokens}
    if kind == FREE:
        return values, {}
    form = find_form(turn.reasoning)
    values |= {"form_read": form.decision is not None, "fields_missing": len(form.missing)}
    if form.decision is not None:
        values["decision_right"] = form.decision in right
        if done is not None:
            values["decision_followed"] = form.decision in done
    return values, {"decision": form.decision or _UNREAD}


def _tokens_of_thought(turn: ModelTurn, kind: str) -> float | None:
    """Return the output tokens by the share of what was written that is thought; None if they were not counted, or no answer came."""
    if turn.usage.uncounted or not turn.usage.output_tokens:
        return None
    said = len(split_reasoning(turn.written)[0])
    said += sum(len(call.name) + len(json.dumps(call.arguments)) for call in turn.tool_calls)
    thought = max(0, len(turn.raw_text) - len(split_reasoning(turn.written)[0]))
    if kind != RANDOM:  # the form that was begun is no output
        thought = max(thought, len(turn.reasoning))  # a provider may report thought apart from the text
    return turn.usage.output_tokens * thought / (said + thought) if said else None


def reasoning_measures(rows: Sequence[Row], kind: str) -> Iterator[Measure]:
    """Return the columns of a group's table of reasoning; none without reasoning."""
    if kind == NONE:
        return
    for name, (head, note, better) in _RATES.items():
        if kind != FREE:
            yield Measure.of(share(rows, name), name, head, under=TABLE, note=note, better=better)
    for name, (head, note) in _MEANS.items():
        value = mean_of(name)(rows)([1] * len(rows))
        if n := sum(row.scored and row.values.get(name) is not None for row in rows):
            by_ratio = name == "reasoning_tokens"
            yield Measure(name=name, head=head, kind="number", under=TABLE, value=value, n=n, note=note, better="lower", by_ratio=by_ratio)


def reasoning_figure(measure: str) -> Figure | None:
    """Return how a measure of the table is computed over the rows of a group; None for any other measure."""
    return mean_of(measure) if measure in (*_RATES, *_MEANS) else None


def decision_matrix(rows: Sequence[Row], label: str, actions: Sequence[str], heads: Sequence[str] = ()) -> Iterator[Matrix]:
    """Return how often each decision led to each action; nothing if no row has a form."""
    decisions = (*(one.value for one in Decision), _UNREAD)
    counts = Counter((row.labels["decision"], row.labels.get(label, "")) for row in rows if row.scored and "decision" in row.labels)
    cells = tuple(tuple(counts[decision, action] for action in actions) for decision in decisions)
    if counts:
        yield Matrix(
            name="decisions",
            rows=decisions,
            columns=tuple(actions),
            counts=cells,
            heads=tuple(heads),
            axes=("decision", "action"),
        )


def reasoning_notes(job: Job[Any]) -> Iterator[str]:
    """Return the line below the table, if there is reasoning."""
    kind, seed = job.options.reasoning, job.config.seed
    if kind == FREE:
        yield "reasoning free: what is between thinking tags is thought; no judge reads it"
    elif kind != NONE:
        drawn = f", begun for the model, with decisions drawn by seed {seed}" if kind == RANDOM else ""
        yield f"reasoning {kind}: ten fields before the answer{drawn}; what they contain is thought, and no judge reads it"
