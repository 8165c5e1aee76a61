"""Limits on the questions a person is asked, and the replies an agent reads when nobody answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from talm_sim.agent.humans import HumanReply
from talm_sim.types import Approval, Decision, PersonRequest

NOBODY_LEFT = "Nobody answers questions any more."
"""What the agent reads of a question beyond a limit, which is put to nobody."""
NOBODY_ANSWERED = "Nobody answered in time."
"""What the agent reads of a question that nobody answered while there was time."""


class AskLimits:
    """Limits of the questions that a person is asked; calls to approve and forms are not counted.

    Attributes:
        asked: The questions that were put so far, each by its episode and its number there: one that is asked again counts once.
    """

    def __init__(self, per_episode: int | None = None, per_run: int | None = None) -> None:
        self.per_episode = per_episode
        self.per_run = per_run
        self.asked: set[tuple[str, int]] = set()

    def cut_off(self, episode: str, asks: Iterable[int], before: int) -> set[int]:
        """Count the questions that are put, and return those that are not, because a limit was reached."""
        cut: set[int] = set()
        for ask in asks:
            known = (episode, ask) in self.asked
            over = self.per_run is not None and not known and len(self.asked) >= self.per_run
            if over or (self.per_episode is not None and before >= self.per_episode):
                cut.add(ask)
            else:
                before += 1
                self.asked.add((episode, ask))
        return cut


def limits_of(human: str, per_episode: int | None, per_run: int | None) -> AskLimits | None:
    """Return the limits of a run; none where the answers are recorded, as the recording also says which questions were not answered."""
    given = human != "recorded" and (per_episode is not None or per_run is not None)
    return AskLimits(per_episode, per_run) if given else None


def reply_of_nobody(why: Literal["timeout", "limit"], request: PersonRequest | None = None) -> HumanReply | None:
    """Return what an agent is told in place of an answer: a call is rejected, a form is cancelled.

    None for a call whose asker takes no other decision than to run it: nobody's silence is a yes.
    """
    said = NOBODY_LEFT if why == "limit" else NOBODY_ANSWERED
    if request is None:
        return HumanReply(said, "nobody", why)
    if not isinstance(request, Approval):
        return HumanReply(said, "nobody", why, decision=Decision(action="cancel"))
    action = next((action for action in ("reject", "respond") if action in request.allowed), None)
    return None if action is None else HumanReply(said, "nobody", why, decision=Decision(action=action, message=said))
