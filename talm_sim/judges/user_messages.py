"""The messages of an agent to its user, which may be more than its last answer."""

from __future__ import annotations

from talm_sim.types import Episode, Scenario

__all__ = ["messages_to_user"]


def messages_to_user(episode: Episode, scenario: Scenario) -> tuple[str, ...]:
    """Return the messages in which the agent answered the scenario's last turn: those that asked something in words, then its answer.

    So a message that was mistaken for a question, and replied to, costs nothing: what else it said counts.
    """
    last = len(scenario.user_turns) - 1
    asked = dict.fromkeys(event.turn for event in episode.questions if event.by == "words")
    texts = [turn.text for turn in map(episode.model_turns.__getitem__, asked) if turn.user_turn == last]
    return (*texts, episode.answer)
