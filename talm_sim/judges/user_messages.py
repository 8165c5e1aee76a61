"""What an agent said to its user, where that may be more than its last answer."""

from __future__ import annotations

from talm_sim.types import Episode, Scenario

__all__ = ["messages_to_user"]


def messages_to_user(episode: Episode, scenario: Scenario) -> tuple[str, ...]:
    """The messages in which the agent answered the scenario's last turn: those that asked something in words, then its answer.

    A question that was only taken for one, and replied to, so costs nothing: what was said beside it counts.
    """
    last = len(scenario.user_turns) - 1
    asked = dict.fromkeys(event.turn for event in episode.human_events if event.by == "words")
    texts = [turn.text for turn in map(episode.model_turns.__getitem__, asked) if turn.user_turn == last]
    return (*texts, episode.answer)
