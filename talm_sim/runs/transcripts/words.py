"""What happened in an episode, in the words that every transcript uses."""

from __future__ import annotations

import re
from typing import Final

from talm_sim.types import Approval, Episode, Form, HumanEvent, PerturbationLog, ToolCall, Usage

__all__ = ["describe_asking", "describe_fault", "describe_log", "describe_turns", "explain_left", "reply_of", "responder_words"]

_RECORDED = re.compile(r"recorded \((.*)\)")
_RESPONDERS: Final = {
    "": "a person",
    "answer": "a person (talm-sim answer)",
    "queue": "a person (answered from Python)",
    "recorded": "a recorded answer",
    "refusing": "the simulated person, who allows nothing",
    "simulated": "the simulated person",
    "terminal": "a person (at the terminal)",
}
"""Who answers, by the name an event keeps."""
_DECLINED: Final = {
    "idk": "does not know",
    "skip": "will not answer",
    "timeout": "no answer in time (answer_timeout)",
    "limit": "not asked (a limit of questions was reached)",
}
"""Why there is no answer, behind who answers; of the last two that is nobody."""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def describe_turns(episode: Episode) -> str:
    """Return the number of turns and tokens, if a model was seen: a plain function may have none."""
    number, usage = len(episode.model_turns), episode.usage
    if episode.model.startswith("agent/") and not episode.saw_model:
        return f"{_count(number, 'turn')}, no model seen"
    return f"{_count(number, 'model turn')}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{_describe_uncounted(usage)}"


def _describe_uncounted(usage: Usage) -> str:
    """Return a note if a server gave no counts: the sum then covers only the other generations."""
    return f" (not counted by the server: {_count(usage.uncounted, 'generation')})" if usage.uncounted else ""


def describe_log(episode: Episode, log: PerturbationLog) -> str:
    """Return what a perturbation did in an episode; of one of the model, in how many generations."""
    noun = "eligible generation" if episode.watched_model(log) else "eligible call"
    error = "" if log.injected is None else f"; the error was: {' '.join(log.injected.split())}"
    left = f"; not applicable to {log.not_applicable}" if log.not_applicable else ""
    return f"{log.name}: injected in {log.fired} of {_count(log.armed, noun)}, seen in {log.seen}{left}{error}"


def describe_fault(log: PerturbationLog) -> str:
    """Return what a perturbation did to a call."""
    if log.not_applicable:
        return "not applicable without --writing" if log.withheld else "not applicable"
    return "fired" if log.seen else "injected, not seen by the model" if log.fired else "eligible, not injected"


def describe_asking(event: HumanEvent) -> str:
    """Return the words before what was put to a person, as what it is."""
    if isinstance(event.request, Form):
        return f"a form{f' from {event.request.source}' if event.request.source else ''}"
    if event.request is not None:
        return "a call waits for a person" if event.by == "policy" else "the agent asks for approval"
    return {"words": "asks the human in words", "interrupt": "its graph interrupts"}.get(event.by, "asks the human")


def reply_of(event: HumanEvent) -> str:
    """Return the answer or the decision; where there is none, why."""
    if event.declined:
        return _DECLINED[event.declined]
    return event.answer if event.decision is None else event.decision.text


def responder_words(name: str) -> str:
    """Describe who answered, for a reader.

    >>> responder_words("recorded (terminal)"), responder_words("answer"), responder_words("parrot")
    ('a person (at the terminal), recorded', 'a person (talm-sim answer)', 'parrot')
    """
    inner = _RECORDED.fullmatch(name)
    if name.startswith("model:"):
        return f"a person, played by {name.removeprefix('model:')}"
    return f"{responder_words(inner[1])}, recorded" if inner else _RESPONDERS.get(name, name)


def explain_left(episode: Episode, index: int, call: ToolCall) -> str:
    """Explain why a call of a turn was not executed, as far as the episode shows."""
    for event in episode.human_events:
        asked, decided = event.request, event.decision
        same = event.turn == index and isinstance(asked, Approval) and (asked.name, asked.arguments) == (call.name, call.arguments)
        if same and decided is not None and decided.action in ("reject", "respond"):
            return f"not executed: {'rejected' if decided.action == 'reject' else 'answered in its place'}"
    ended = index == len(episode.model_turns) - 1
    return "not executed: the episode ended here" if ended else "a tool of the agent's own, not called through talm-sim"
