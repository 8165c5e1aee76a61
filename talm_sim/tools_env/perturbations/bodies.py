"""Perturbations that damage the body of an answer on its way back."""

from __future__ import annotations

import json
from dataclasses import replace

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Call, Outcome, Perturbation
from talm_sim.tools_env.perturbations.options import PerturbationOptions


def _cut(outcome: Outcome, length: int) -> Outcome | None:
    """Cut the body; None if what is left is still JSON, as half of a number is: that is a wrong answer and not a broken one."""
    left = outcome.body[: max(1, length)]
    try:
        json.loads(left)
    except (ValueError, RecursionError):
        return replace(outcome, body=left)
    return None


class MalformedBody(Perturbation):
    """The answer is cut in the middle of its JSON."""

    name = "malformed-body"
    summary = "cut the answer in the middle of its JSON"

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Cut the body in half."""
        return _cut(outcome, len(outcome.body) // 2)


class TruncatedBody(Perturbation):
    """The transfer ends early: the agent reads an error with the part that came, in which the value that it needs may be."""

    name = "truncated-body"
    summary = "end the transfer after a share of the answer"

    class Options(PerturbationOptions):
        """How much comes."""

        share: float = Field(0.9, ge=0, lt=1, title="a share", description="Share of the answer that comes.")

    options: Options

    async def after(self, call: Call, outcome: Outcome) -> Outcome | None:
        """Cut the body after the share."""
        return _cut(outcome, int(len(outcome.body) * self.options.share))


class EmptyResult(Perturbation):
    """The answer is well-formed, says success and holds nothing."""

    name = "empty-result"
    summary = "answer 200 with an empty object"
    silent = True
    origin = "an empty object"

    async def after(self, call: Call, outcome: Outcome) -> Outcome:
        """Replace the body."""
        return replace(outcome, status=200, body=b"{}")
