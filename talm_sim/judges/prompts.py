"""Instructions for the built-in judges' model, and how any judge's model is shown an episode."""

from __future__ import annotations

from collections.abc import Sequence

from talm_sim.common.digests import canonical_json, digest
from talm_sim.common.toml_files import packaged_toml
from talm_sim.judges.base import prompt_key
from talm_sim.scenarios.dialogue import as_text, with_answers
from talm_sim.types import Episode, Scenario, ToolEvent

__all__ = ["Section", "default_instructions", "messages_to_user", "request_sections", "show", "transcript"]


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
    """What the user asks last and, where more was said before it, the conversation up to there; with an `episode`, its answers among it."""
    answers = {turn.user_turn: turn.said for turn in episode.model_turns} if episode else {}
    before = as_text(with_answers(scenario.user_turns, answers)[:-1])
    return [*([("Conversation before", before)] if before else []), ("Request", scenario.query)]


def transcript(episode: Episode) -> str:
    """What the agent did besides answering, in order: tool calls with what it read of their results, and exchanges with the person."""
    lines = []
    for event in episode.events:
        if isinstance(event, ToolEvent):
            lines.append(f"Called {event.name} with {canonical_json(event.arguments)}\nIt returned: {event.result}")
        else:
            lines.append(f"Asked the person: {event.question}\nThe person replied: {event.answer or '(nothing)'}")
    return "\n".join(lines)
