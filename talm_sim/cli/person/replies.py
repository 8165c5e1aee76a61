"""Parse what a person types: a reply, or a wish to see the question later, to take an answer back, or to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from talm_sim.cli.person.typed_lines import LineSource
from talm_sim.cli.terminal.text import one_line, strip_control
from talm_sim.types import Decision, Declined

SLASH = "To begin an answer with a slash, type two."


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person typed: an answer, "I don't know" (idk), "skip this" (skip), or a decision about a call or a form."""

    text: str = ""
    """The words the agent reads; empty for a decision."""
    declined: Declined = ""
    appropriate: bool | None = None
    """Whether they marked the question as appropriate; None where they did not mark it."""
    decision: Decision | None = None

    @property
    def shown(self) -> str:
        """The reply as it is shown back."""
        text = self.text if self.decision is None else self.decision.text
        said = {"idk": "I don't know", "skip": "(skipped)", "timeout": "(nobody, in time)"}.get(self.declined) or one_line(text)
        return said if self.appropriate is None else f"{said} (question marked as {'' if self.appropriate else 'not '}appropriate)"


LATER: Literal["later"] = "later"
"""The person wants to see this question later."""
UNDO: Literal["undo"] = "undo"
"""The person wants to take the last answer back."""
CLOSED: Literal["closed"] = "closed"
"""Nobody types any more."""
Said = Reply | Literal["later", "undo", "closed"]


async def read_words(lines: LineSource, prompt: str, *, remember: bool = True, keys: str = "", begun: str = "") -> str | None:
    """Return the next line without control characters and outer white space; arguments and None as of `LineSource.read`."""
    line = await lines.read(prompt, remember=remember, keys=keys, begun=begun)
    return None if line is None else " ".join(strip_control(line).splitlines()).strip()


def is_command(words: str) -> bool:
    """Return whether a line is a command: it begins with one slash."""
    return words.startswith("/") and not words.startswith("//")
