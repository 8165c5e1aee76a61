"""Limits of an episode, whichever agent plays it."""

from __future__ import annotations

from collections.abc import Sequence

from talm_sim.types import AwarenessAnswer, ModelTurn, Termination, Usage

__all__ = ["limit_reached"]


def limit_reached(
    turns: Sequence[ModelTurn],
    asked: Sequence[AwarenessAnswer],
    turn_limit: int,
    token_limit: int | None,
    counted: Sequence[ModelTurn] | None = None,
) -> Termination | None:
    """Return the limit that the last turn has reached, if the agent would continue; None if it may.

    Args:
        turns: All turns so far.
        asked: The awareness answers, whose tokens count.
        turn_limit: Model turns an episode may take.
        token_limit: Tokens it may use, as far as they are counted; None for no limit.
        counted: The turns that count towards `turn_limit`; None for all.
    """
    if len(turns if counted is None else counted) >= turn_limit:
        return Termination.TURN_LIMIT
    used = sum((one.usage for one in turns), Usage()) + sum((one.usage for one in asked), Usage())
    beyond = token_limit is not None and used.input_tokens + used.output_tokens >= token_limit
    return Termination.TOKEN_LIMIT if beyond else None
