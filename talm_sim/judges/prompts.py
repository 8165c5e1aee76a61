"""The instructions for the built-in judges' model, an episode as any judge's model is shown it, and the label that its answer begins with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from talm_sim.common.digests import canonical_json, digest
from talm_sim.common.toml_files import packaged_toml
from talm_sim.judges.base import prompt_key
from talm_sim.models.parsing import first_words
from talm_sim.scenarios.dialogue import as_text, with_answers
from talm_sim.types import Episode, Scenario, ToolEvent

_LEAD = re.compile(
    r"(?:(?:my|the|final|overall)\s+)*(?:verdict|grade|answer|result|judge?ment|decision|label)\s*+[*_`\"']*+\s*+(?:is\b|[:=-])", re.IGNORECASE
)


def messages_to_user(episode: Episode, scenario: Scenario) -> tuple[str, ...]:
    """Return the messages in which the agent answered the scenario's last turn: those that asked something in words, then its answer.

    So a message that was mistaken for a question, and replied to, costs nothing: what else it said counts.
    """
    last = len(scenario.user_turns) - 1
    asked = dict.fromkeys(event.turn for event in episode.questions if event.by == "words")
    texts = [turn.text for turn in map(episode.model_turns.__getitem__, asked) if turn.user_turn == last]
    return (*texts, episode.answer)


Section = tuple[str, str]
"""A title and the text under it."""


def default_instructions(judge: str) -> str:
    """Return the instructions of a built-in judge's model: the text of the packaged `prompts.toml`."""
    text: str = packaged_toml("talm_sim.judges")["judge"][prompt_key(judge)]
    return text.strip()


def show(question: str, sections: Sequence[Section]) -> str:
    """Write a grader's user message: the question, then each section between marked lines.

    The mark is a digest of all the texts, so no text can hold the line that closes its own section; equal material gives an equal message,
    which is what lets a recording be replayed.
    """
    mark = digest(list(sections))
    blocks = [f"{title}:\n<<<{mark}\n{text}\n{mark}>>>" for title, text in sections]
    return "\n\n".join([question, *blocks])


def request_sections(scenario: Scenario, episode: Episode | None = None) -> list[Section]:
    """Return the user's last request after the conversation so far, if there is any; with an `episode`, its answers are part of it."""
    answers = {turn.user_turn: turn.said for turn in episode.model_turns} if episode else {}
    before = as_text(with_answers(scenario.user_turns, answers)[:-1])
    return [*([("Conversation before", before)] if before else []), ("Request", scenario.query)]


def transcript(episode: Episode) -> str:
    """Describe what the agent did before its answer, in order: tool calls with the results it read, and exchanges with the person."""
    lines = []
    for event in episode.events:
        if isinstance(event, ToolEvent):
            lines.append(f"Called {event.name} with {canonical_json(event.arguments)}\nIt returned: {_inner(str(event.result))}")
        else:
            lines.append(f"Asked the person: {_inner(event.question)}\nThe person replied: {_inner(event.answer or '(nothing)')}")
    return "\n".join(lines)


def _inner(text: str) -> str:
    """Return a text all lines of which but the first are indented, so that none looks like a line of ours."""
    return "\n    ".join(text.splitlines()) or text


@cache
def _patterns(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[tuple[str, re.Pattern[str]], ...], re.Pattern[str]]:
    openings = tuple((label, re.compile(rf"(?:{words})\b", re.IGNORECASE)) for label, words in labels)
    any_label = "|".join(words for _, words in labels)
    return openings, re.compile(rf"\W{{0,3}}(?:\s*(?:/|,|\||or|and)\s*)\W{{0,3}}(?:{any_label})\b", re.IGNORECASE)


def opening_label(raw: str, labels: Mapping[str, str]) -> str | None:
    """Return the label that `raw` begins with; None if it begins with none of them, or lists several ("Pass or Fail").

    Case, quotes, markdown, thinking blocks and a "Verdict:" in front are forgiven; anything else is not guessed at.

    Args:
        raw: What the grader wrote.
        labels: Label to the words that mean it, as alternatives of a regular expression.

    >>> opening_label("**Verdict: Pass** - both facts are given.", {"pass": "pass", "fail": "fail"})
    'pass'
    """
    openings, second = _patterns(tuple(labels.items()))
    text = first_words(raw, _LEAD)
    for label, form in openings:
        if match := form.match(text):
            return None if second.match(text, match.end()) else label
    return None
