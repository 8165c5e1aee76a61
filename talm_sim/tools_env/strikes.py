"""Apply the perturbations of an episode to one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.perturbations import Call, Outcome, Perturbation
from talm_sim.tools_env.tool_answers import render_outcome
from talm_sim.types import PerturbationLog


class Strikes:
    """Applies the perturbations that watch an episode's calls to one of them.

    Args:
        perturbations: All of the episode, in order.
        result_limit: Characters of a result that the model reads.
        reads: Whether the tool is known to change nothing, or the user lets faults repeat calls that may.
        logs: What `logs` returned, where the call is made again.
    """

    def __init__(
        self, call: Call, perturbations: Sequence[Perturbation], result_limit: int, *, reads: bool, logs: Sequence[PerturbationLog] = ()
    ) -> None:
        self._call = call
        self._limit = result_limit
        self._watching = {one: place for place, one in enumerate(perturbations) if one.watches_calls}
        self._reads = reads
        self._logs = {perturbations[log.place]: log for log in logs}

    async def answer(self) -> Outcome | None:
        """Let the perturbations that may answer in the tool's place do so; return the answer, or None if the tool is to be called.

        If one answers, no other can take effect, so none is armed.
        """
        call = self._call
        for one in (one for one in self._watching if one.answers):
            if not self._fires(one):
                continue
            waits = call.clock.waits
            outcome = await one.before(call)
            if outcome is not None:
                self._note(one, injected=render_outcome(outcome, self._limit)[0], seen=1)
                return outcome
            if call.clock.waits == waits and not one.let_through():
                self._note(one, fired=0)
        for one in self._watching:
            if not one.answers:
                self._fires(one)
        return None

    def _fires(self, one: Perturbation) -> bool:
        """Arm a perturbation if the call concerns it, and return whether it fires."""
        call = self._call
        if (one.options.tool and one.options.tool != call.spec.name) or not one.concerns(call):
            return False
        lacks, allowed = one.lacks(call.spec, call.response, call.others), self._reads or one.answers
        if lacks or not allowed:
            self._log(one, not_applicable=1, withheld=not lacks)
            return False
        self._log(one, armed=1, fired=int(one.strikes(call)))
        return bool(self._logs[one].fired)

    def _log(self, one: Perturbation, **counts: Any) -> None:
        self._logs[one] = PerturbationLog(name=str(one.spec), place=self._watching[one], **counts)

    def _note(self, one: Perturbation, **changes: object) -> None:
        self._logs[one] = self._logs[one].model_copy(update=changes)

    async def damage(self, outcome: Outcome) -> Outcome:
        """Let the firing perturbations damage the answer; note what each changed, and whether the model will read it."""
        firing: list[Perturbation] = []
        chain = [outcome]
        for one in [one for one in self._watching if one in self._logs and self._logs[one].fired]:
            damaged = await one.after(self._call, chain[-1])
            if damaged is None:
                self._note(one, armed=0, fired=0, not_applicable=1)
                continue
            firing.append(one)
            chain.append(damaged)
        texts = [render_outcome(one, self._limit) for one in chain]
        changing = [place for place in range(len(firing)) if texts[place] != texts[place + 1]]
        for place in changing:
            last = place == changing[-1]
            seen = last or texts[-1] != render_outcome(await self._outcome_without(place, firing, chain), self._limit)
            self._note(firing[place], injected=texts[place + 1][0], replaced=texts[place][0], seen=int(seen))
        return chain[-1]

    async def _outcome_without(self, place: int, firing: Sequence[Perturbation], chain: Sequence[Outcome]) -> Outcome:
        """Return the outcome without the perturbation at `place`; nothing is waited for a second time."""
        call, outcome = replace(self._call, clock=VirtualClock()), chain[place]
        for later in firing[place + 1 :]:
            outcome = await later.after(call, outcome) or outcome
        return outcome

    def logs(self) -> tuple[PerturbationLog, ...]:
        """Return what each perturbation did to the call, in their order."""
        return tuple(sorted(self._logs.values(), key=lambda log: log.place))
