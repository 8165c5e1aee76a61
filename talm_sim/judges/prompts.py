"""Instructions for the built-in judges' model, and how any judge's model is shown an episode."""

from __future__ import annotations

from collections.abc import Sequence

from talm_sim.common.digests import canonical_json, digest
from talm_sim.common.toml_files import packaged_toml
from talm_sim.judges.base import prompt_key
from talm_sim.scenarios.dialogue import as_text, with_answers
from talm_sim.types import Episode, Scenario, ToolEvent

__all__ = ["Section", "default_instructions", "request_sections", "show", "transcript"]

_LONGEST_RESULT = 20_000
"""Characters of one tool result a grader is shown; the published pipeline cuts at about 32,000 tokens."""

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
    """Return what the user asks last and, if more was said before it, the conversation up to there; `episode` adds the agent's answers."""
    answers = {turn.user_turn: turn.text for turn in episode.model_turns} if episode else {}
    before = as_text(with_answers(scenario.user_turns, answers)[:-1])
    return [*([("Conversation before", before)] if before else []), ("Request", scenario.query)]


def transcript(episode: Episode) -> str:
    """Return what the agent did besides answering, in order: tool calls with their results, and exchanges with the person."""
    lines = []
    for event in episode.events:
        if isinstance(event, ToolEvent):
            lines.append(f"Called {event.name} with {canonical_json(event.arguments)}\nIt returned: {_cut(event.result)}")
        else:
            lines.append(f"Asked the person: {event.question}\nThe person replied: {event.answer or '(nothing)'}")
    return "\n".join(lines)


def _cut(text: str) -> str:
    rest = len(text) - _LONGEST_RESULT
    return text if rest <= 0 else f"{text[:_LONGEST_RESULT]} [{rest} more characters not shown]"
