"""Perturbation `polite-refusal`: the tool answers that it would rather not."""

import json

from pydantic import Field

from talm_sim import Call, Outcome, Perturbation, PerturbationOptions, register_perturbation


@register_perturbation
class PoliteRefusal(Perturbation):
    """The answer is a sentence and not what was asked for."""

    name = "polite-refusal"
    summary = "let the tool say that it would rather not (words=TEXT)"

    class Options(PerturbationOptions):
        """Options of the perturbation."""

        words: str = Field("I would rather not", description="What it says.")

    options: Options

    async def before(self, call: Call) -> Outcome | None:
        """Answer in the tool's place."""
        return Outcome(200, json.dumps({"note": f"{call.spec.name}: {self.options.words}"}).encode())
