"""What task `when2call` can teach, and how its rows are written: by the template that also writes what is scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from talm_sim.scenarios.dialogue import dialogue
from talm_sim.tasks.training.examples import Kind, TrainingSet
from talm_sim.tasks.training.lessons import Lessons
from talm_sim.tasks.training.writing import RowWriter
from talm_sim.tasks.when2call.training.forms import published_row
from talm_sim.tasks.when2call.training.sets import build_set
from talm_sim.types import Scenario

if TYPE_CHECKING:
    from talm_sim.models.base import TextModel

__all__ = ["ChoiceLessons"]


class ChoiceLessons(Lessons):
    """Right options, and wrong ones next to them (When2Call, section 3.3)."""

    balances = ("natural", "paper", "calls")
    published: ClassVar = {"when2call": published_row}

    def of_scenarios(self, scenarios: Sequence[Scenario], kind: Kind, *, seed: int, balance: str) -> TrainingSet:
        """See `build_set`."""
        return build_set(scenarios, kind, seed=seed, balance=balance)

    def writer(self, model: TextModel | None, template: str) -> RowWriter:
        """Write the prompts and options that the task scores."""
        from talm_sim.agent.templates import load_template

        name = "default" if template == "auto" and model is None else template
        found = load_template(name, model)
        return RowWriter(
            found.name,
            {f"template {found.name}": found.source},
            lambda scenario: found.conversation(dialogue(scenario), scenario.shown_tools),
            found.calls,
        )
