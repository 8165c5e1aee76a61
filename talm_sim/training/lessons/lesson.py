"""The base class of what a task can teach: rows from its scenarios and from its runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from talm_sim.training.lessons.training_examples import Example, Kind, TrainingSet
from talm_sim.types import JsonObject, Scenario

if TYPE_CHECKING:
    from talm_sim.models.base import TextModel
    from talm_sim.training.lessons.outputs import PlayedRun
    from talm_sim.training.lessons.writing import RowWriter


class Lessons(ABC):
    """A task's part in `talm-sim export training`: its scenarios and runs become examples, and these become text.

    Args:
        prompts: The user's file of texts, as option `prompts` of a run names it; None for the built-in texts.

    Attributes:
        reads_prompts: Whether its rows contain texts that such a file can replace.
        balances: Names of the shares of classes that it can keep; `natural` keeps all as they are.
        published: The forms of rows that a paper published, by name, each with what writes one; `trl` is written for every task.
    """

    reads_prompts: ClassVar[bool] = False
    balances: ClassVar[tuple[str, ...]] = ("natural",)
    published: ClassVar[Mapping[str, Callable[[Example], JsonObject]]] = {}

    def __init__(self, prompts: Path | None = None) -> None:
        self.prompts = prompts

    @abstractmethod
    def of_scenarios(self, scenarios: Sequence[Scenario], kind: Kind, *, seed: int, balance: str) -> TrainingSet:
        """Make examples from scenarios, whose right answers are known.

        Args:
            scenarios: Scenarios of the task.
            kind: `sft`: the right answers; `preference`: each with a wrong one.
            seed: Seed of all draws.
            balance: One of `balances`.

        Raises:
            PrerequisiteError: No example can be made, or the classes cannot be balanced.
        """

    @abstractmethod
    def of_run(self, run: PlayedRun, kind: Kind, *, seed: int) -> TrainingSet:
        """Make examples from what a model answered; see `outputs_to_examples`.

        Args:
            run: A run of the task.
            kind: `sft`: the answers that are right; `preference`: each wrong answer with a right one to the same scenario.
            seed: Seed of all draws.

        Raises:
            PrerequisiteError: No example can be made.
        """

    @abstractmethod
    def writer(self, model: TextModel | None, template: str) -> RowWriter:
        """Return what writes conversations and answers as the task puts them to a model.

        Args:
            model: The model that is trained, of which only the tokenizer is used; None if there is none.
            template: The name of a template, or a file.

        Raises:
            PrerequisiteError: There is no such template, or it cannot be used with this model.
        """
