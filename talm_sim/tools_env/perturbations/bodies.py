"""Answers whose body is damaged on the way back."""

from __future__ import annotations

from dataclasses import replace

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation

__all__ = ["EmptyResult", "MalformedBody"]


class MalformedBody(Perturbation):
    """The answer is cut in the middle of its JSON."""

    name = "malformed-body"
    summary = "cut the answer in the middle of its JSON"

    async def after(self, call: Call, outcome: Outcome) -> Outcome:
        """Cut the body in half."""
        return replace(outcome, body=outcome.body[: max(1, len(outcome.body) // 2)])


class EmptyResult(Perturbation):
    """The answer is well-formed and holds nothing."""

    name = "empty-result"
    summary = "answer 200 with an empty object"

    async def after(self, call: Call, outcome: Outcome) -> Outcome:
        """Replace the body."""
        return replace(outcome, status=200, body=b"{}")
