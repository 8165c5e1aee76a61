"""The types of a transcript. Texts are as a model, a tool or a person wrote them: whoever shows them cleans them first."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from talm_sim.store.files.comments import Comment
from talm_sim.types import FrozenModel, Section, TokenLogprob, Verdict
from talm_sim.types.base import JsonObject
from talm_sim.types.pages import render_episode


class Fault(FrozenModel):
    """What one perturbation did to a call or a generation."""

    name: str
    """As it was written."""
    outcome: Literal["seen", "unseen", "missed", "not_applicable", "withheld"]
    """`seen`: it fired and the agent met it; `unseen`: it fired and the agent did not; `missed`: it watched and did not fire."""
    said: str
    """The outcome in words."""
    replaced: str | None = None
    """The text that it took the place of; None where there was none."""


class Call(FrozenModel):
    """A tool call, with its result if it was executed."""

    kind: Literal["call"] = "call"
    name: str
    arguments: JsonObject = Field(default_factory=dict)
    executed: bool = True
    why_not: str = ""
    """Why it was not executed, as far as the episode shows."""
    ok: bool = False
    status: int | None = None
    """HTTP status; None where no answer came."""
    error: str = ""
    origin: str = ""
    elapsed_ms: float = 0.0
    result: str = ""
    faults: tuple[Fault, ...] = ()
    steps: tuple[int, ...] = ()
    """Numbers of the episode's steps that it holds; see `steps_of`."""


class Asked(FrozenModel):
    """A question to a person, a call that waits for one, or a form."""

    kind: Literal["question", "approval", "form"]
    how: str
    """Who asked whom, in words."""
    question: str
    who: str
    """Who answered, or would have."""
    reply: str
    """The answer or decision, in words; if there is none, why."""
    declined: bool = False
    """Whether there is no answer."""
    appropriate: bool | None = None
    """Whether the person marked the question as appropriate; None where they did not mark it."""
    steps: tuple[int, ...] = ()


class Broken(FrozenModel):
    """A call that could not be read."""

    name: str
    raw: str
    reason: str
    steps: tuple[int, ...] = ()


class TurnPart(FrozenModel):
    """One turn of the model."""

    number: int
    """From 1."""
    user: tuple[str, ...] = ()
    """What the user said between the turn before and this one; the query is not among it."""
    request: int = 1
    """Which of the user's requests it answers, from 1."""
    answers: bool = False
    """Whether it says the final answer, so that this need not be shown again."""
    faults: tuple[Fault, ...] = ()
    """Faults of the model that struck this generation."""
    reasoning: str = ""
    text: str = ""
    broken: tuple[Broken, ...] = ()
    events: tuple[Call | Asked, ...] = ()
    """What was executed and asked, in order."""
    finish: str | None = None
    """The answer that a call of `Finish` gives; None without such a call."""
    reminded: bool = False
    """Whether it called nothing, and was reminded to end with a call of `Finish`."""
    left: tuple[Call, ...] = ()
    """Calls that were not executed."""
    first_tokens: tuple[TokenLogprob, ...] = ()
    cut: bool = False
    """Whether the token limit of one turn ended it."""
    steps: tuple[int, ...] = ()


class Transcript(FrozenModel):
    """One episode for a reader: what was asked, what happened, how it ended and what it was worth."""

    episode: str
    scenario: str
    group: str
    epoch: int
    attempt: int
    agent: str
    """The user's own agent; empty for the built-in one."""
    model: str
    human: str
    termination: str
    turns_seen: str
    """Turns and tokens, in words."""
    elapsed_s: float
    notes: tuple[str, ...] = ()
    """What a reader should know of its run."""
    query: str | None
    """None if the run does not have the scenario."""
    sections: tuple[Section, ...] = ()
    """What its task adds: what is missing, the awareness questions and answers."""
    awareness_steps: tuple[int, ...] = ()
    """Numbers of the steps that are answers to awareness questions."""
    prompt: str = ""
    """What the model read before its first turn."""
    turns: tuple[TurnPart, ...] = ()
    unanswered: tuple[str, ...] = ()
    """What the user said after the last turn."""
    error: str = ""
    traceback: str = ""
    answer: str | None
    """The final answer; None where the last turn says it, or where there can be none."""
    answer_steps: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    """What each fault did in the whole episode, in words."""
    verdicts: tuple[Verdict, ...] | None
    """None where there can be none."""
    comments: tuple[Comment, ...] = ()
    """What readers wrote on the episode, oldest first."""

    def __repr__(self) -> str:
        said = "".join(f", {one.judge}={one.value}" for one in self.verdicts or ())
        return f"Transcript({self.episode!r}, {self.termination!r}, model={self.model!r}, {len(self.turns)} turns{said})"

    def _repr_html_(self) -> str | None:
        return render_episode(self)
