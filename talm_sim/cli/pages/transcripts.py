"""The transcript of an episode as a page holds it: clean, and without what is empty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from talm_sim.cli.pages.cleaning import PageTexts
from talm_sim.runs.files.comments import Comment
from talm_sim.runs.transcripts import Asked, Broken, Call, Transcript, TurnPart, fold_turns

__all__ = ["comment_data", "transcript_data"]

_LIKELIEST: Final = 5
"""First tokens that are shown."""


def transcript_data(one: Transcript, texts: PageTexts) -> dict[str, Any]:
    """Return a transcript as data of a page."""
    whole = one.model_dump(exclude={"turns", "sections", "verdicts", "answer", "comments"}, exclude_defaults=True)
    sections = [{"title": part.title, "lines": [[[line.style, line.text] for line in lines] for lines in part.lines]} for part in one.sections]
    verdicts = None if one.verdicts is None else [_verdict(verdict.model_dump(exclude={"episode_id"})) for verdict in one.verdicts]
    answer = {} if one.answer is None else {"answer": one.answer}
    data: dict[str, Any] = texts.value({**whole, **answer, "sections": sections, "verdicts": verdicts})
    comments = [comment_data(comment, texts) for comment in one.comments]
    turns = [_turn(alike, texts) for alike in fold_turns(one.turns)]
    return {**data, "elapsed_s": round(one.elapsed_s, 1), "turns": turns, "comments": comments}


def comment_data(comment: Comment, texts: PageTexts) -> dict[str, Any]:
    """Return a reader's comment as data of a page."""
    return {
        "episode": texts.text(comment.episode_id),
        "attempt": comment.attempt,
        "who": texts.text(comment.attribution),
        "text": texts.text(comment.text),
    }


def _verdict(verdict: dict[str, Any]) -> dict[str, Any]:
    votes = verdict["votes"]
    return {
        "judge": verdict["judge"],
        "value": verdict["value"],
        "label": verdict["label"],
        "labels": [[name, label] for name, label in verdict.get("labels", {}).items()],
        "votes": f"{sum(votes)} of {len(votes)} votes" if votes else "",
        "why": verdict["explanation"],
    }


def _turn(alike: Sequence[TurnPart], texts: PageTexts) -> dict[str, Any]:
    """Return the first of some turns that are the same to a reader; it holds the steps of all."""
    turn, others = alike[0], alike[1:]
    data = turn.model_dump(exclude={"events", "left", "broken", "first_tokens", "steps"}, exclude_defaults=True)
    tokens = [f"{one.token!r} {math.exp(one.logprob):.3f}" for one in turn.first_tokens[:_LIKELIEST]]
    found: dict[str, Any] = texts.value({**data, "first_tokens": tokens})
    steps = [*turn.steps, *(step for other in others for step in _all_steps(other))]
    events = [_event(event, texts) for event in (*turn.broken, *turn.events, *turn.left)]
    return {**found, "to": alike[-1].number, "events": events, "steps": steps}


def _all_steps(turn: TurnPart) -> list[int]:
    return [*turn.steps, *(step for part in (*turn.broken, *turn.events, *turn.left) for step in part.steps)]


def _event(event: Call | Asked | Broken, texts: PageTexts) -> dict[str, Any]:
    found: dict[str, Any] = texts.value(event.model_dump(exclude={"arguments"}, exclude_defaults=True))
    if isinstance(event, Broken):
        return {**found, "kind": "broken"}
    if isinstance(event, Asked):
        return found
    return {**found, "kind": "call", "ok": event.ok, "executed": event.executed, "arguments": texts.arguments(event.arguments)}
