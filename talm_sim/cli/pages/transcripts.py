"""The transcript of an episode for a page: without control characters, credentials and empty parts, and cut if it is long."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from talm_sim.cli.terminal.text import strip_control
from talm_sim.common.json_values import map_texts
from talm_sim.exchange.exports.safe_texts import Cleaner
from talm_sim.store.files.comments import Comment
from talm_sim.store.transcripts import Asked, Broken, Call, Transcript, TurnPart, fold_turns

_LIKELIEST: Final = 5
"""First tokens that are shown."""
_BEGIN: Final = 3_000
_END: Final = 1_000
"""Characters at the beginning and the end of a long text that are shown: a question may be at its end."""
_MOST: Final = 100
"""Arguments of a call that are shown."""


class PageTexts:
    """Makes values fit for a page."""

    def __init__(self) -> None:
        self._cleaner = Cleaner()

    def text(self, text: str, begin: int = _BEGIN, end: int = _END) -> str:
        """Return a text clean, and with a count in place of its middle if it is long."""
        text = strip_control(self._cleaner.text(text))
        if len(text) <= begin + end:
            return text
        left = f"[… {len(text) - begin - end:,} characters left out …]"
        return f"{text[:begin].rstrip()} {left} {text[-end:].lstrip()}" if end else f"{text[:begin].rstrip()}…"

    def line(self, text: str, width: int) -> str:
        """Return a text on one line of at most `width` characters and an ellipsis."""
        return self.text(" ".join(text[: 8 * width].split()), width, 0)

    def value(self, value: Any) -> Any:
        """Return a JSON value with all its texts made fit, the keys of objects included."""
        return map_texts(value, self.text)

    def arguments(self, arguments: Mapping[str, Any]) -> list[list[str]]:
        """Return the arguments of a call as names and texts: a text as it is in quotes, all else as JSON."""
        shown = [[self.text(name, 200, 0), self.text(json.dumps(value, ensure_ascii=False, default=str))] for name, value in arguments.items()]
        return shown if len(shown) <= _MOST else [*shown[:_MOST], ["…", f"{len(shown) - _MOST:,} more arguments"]]


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
    steps = [*turn.steps, *(step for other in others for part in (other, *other.broken, *other.events, *other.left) for step in part.steps)]
    events = [_event(event, texts) for event in (*turn.broken, *turn.events, *turn.left)]
    return {**found, "to": alike[-1].number, "events": events, "steps": steps}


def _event(event: Call | Asked | Broken, texts: PageTexts) -> dict[str, Any]:
    found: dict[str, Any] = texts.value(event.model_dump(exclude={"arguments"}, exclude_defaults=True))
    if isinstance(event, Broken):
        return {**found, "kind": "broken"}
    if isinstance(event, Asked):
        return found
    return {**found, "kind": "call", "ok": event.ok, "executed": event.executed, "arguments": texts.arguments(event.arguments)}
