"""What model-based judges are told, how they are shown an episode, and how the user replaces the wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from talm_sim.digests import canonical_json, digest
from talm_sim.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.types import Episode, ToolEvent

__all__ = ["JudgePrompts", "Section", "load_judge_prompts", "show", "transcript"]

_LONGEST_RESULT = 20_000
"""Characters of one tool result a grader is shown; the published pipeline cuts at about 32,000 tokens."""

Section = tuple[str, str]
"""A title and the text under it."""


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """System messages of the model-based judges."""

    llm: str
    preference: str
    behaviour_llm: str


def load_judge_prompts(file: Path | None = None) -> JudgePrompts:
    """Return the built-in texts, with those of the `[judge]` table of the user's `file` in their place.

    Raises:
        PrerequisiteError: The file cannot be read, is not TOML, or its `[judge]` table has an unknown key or a value that is no text.
    """
    known = [field.name for field in fields(JudgePrompts)]
    prompts = JudgePrompts(**texts_of(packaged_toml("talm_sim.judges"), "judge", known, "prompts.toml"))
    if file is None:
        return prompts
    return replace(prompts, **texts_of(read_toml(file, "--prompts"), "judge", known, str(file)))


def show(question: str, sections: Sequence[Section]) -> str:
    """Write a grader's user message: the question, then each section between marked lines.

    The mark is a digest of all the texts, so no text can hold the line that closes its own section; equal material gives an equal message,
    which is what lets a recording be replayed.
    """
    mark = digest(list(sections))
    blocks = [f"{title}:\n<<<{mark}\n{text}\n{mark}>>>" for title, text in sections]
    return "\n\n".join([question, *blocks])


def transcript(episode: Episode) -> str:
    """What the agent did besides answering, in order: tool calls with their results, and exchanges with the person."""
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
