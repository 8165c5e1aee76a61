"""The base class of judges, each of which declares what it measures and needs, and says what an episode was worth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from talm_sim.common.digests import derive_seed, digest
from talm_sim.errors import PrerequisiteError
from talm_sim.types import Episode, Measured, Scenario, ToolSpec, Verdict

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from talm_sim.models.base import GenerationSettings, Model

Need = Literal["model", "pairs", "earlier", "person"]
"""What a judge may need: a `model` that grades, the `pairs` that episodes are compared in, verdicts of the judges `earlier` in line, or a
`person`, who is asked of a stored run.
"""
WayOut = Callable[[Episode, Scenario, int], bool | None]
"""Whether there was a way out of an episode's fault, named by its place among the perturbations; None where that is not known."""
CUT_OFF = "the judge was cut off"
"""Ends the explanation of a verdict that is undecided because the model had too few tokens."""
OpenVote = Callable[[str, Episode, int], AbstractContextManager[object]]
"""Enters the setting of one vote: (judge config digest, episode, vote counted from 1). A run puts the vote's recording in place here."""
Pair = Callable[[Episode, Scenario], Episode | None]
"""The episode with which one of this scenario is compared; None if there is none."""
Earlier = Callable[[str], bool | None]
"""Whether an episode, named by its id, passed with the judges earlier in line; None if none of them decided."""


def unrecorded_vote(config_digest: str, episode: Episode, vote: int) -> AbstractContextManager[object]:
    """Enter the setting of one vote that is asked live and not recorded."""
    return nullcontext()


def _know_nothing(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """The things a judge may use when it is opened."""

    model: Model | None = None
    """The grader; None if the user named none."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """The user's texts in place of judges' own, by `prompt_key`."""
    open_vote: OpenVote = unrecorded_vote
    pair: Pair = _know_nothing
    earlier: Earlier = _know_nothing
    way_out: WayOut = _know_nothing
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    """The tools that the scenarios name, by name."""
    options: Any = None
    """The options of the run's task; None where no run is judged yet."""
    calls_as: str = ""
    """How raw text was asked to write calls: `pythonic`, as a list in Python's syntax; empty if it was asked otherwise, or not at all."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the grader in place of a judge's own: `temperature`, `max_new_tokens`."""


class Judge(ABC):
    """Decides what one episode was worth.

    A judge is a subclass with a `name` and a `measure`, made known by `register_judge` or an entry point of group `talm_sim.judges`. It is
    opened once a run, and may be called for several episodes at once.

    Args:
        context: What the run gives its judges.

    Raises:
        PrerequisiteError: It needs a model, and the user named none.
    """

    name: ClassVar[str]
    """What `--judge` calls it."""
    measure: Measured
    """The measure that the share of its yeses is; it gets its own column unless the task makes something else of the verdicts."""
    needs: ClassVar[frozenset[Need]] = frozenset()
    asks: ClassVar[int] = 1
    """Most times that it asks its model about an episode."""
    rules: ClassVar[int] = 1
    """Version of its fixed rules, to be raised whenever a change of code may change a verdict: equal digests are not judged again."""
    asking: ClassVar[int | None] = None
    """Version of what it asks its model, which names the recordings of its votes; None where that of its rules does."""
    instructions: str = ""
    """Instructions of its model; the key `prompt_key(name)` of the `[judge]` table of the user's prompt file replaces them."""

    def __init__(self, context: JudgeContext) -> None:
        self.context = context
        self._asked: set[str] = set()
        self._cut_off: set[str] = set()
        told: dict[str, Any] = {}
        if "model" in self.needs:
            self.instructions = context.instructions.get(prompt_key(self.name), self.instructions)
            told = {"model": self.model.name, "instructions": self.instructions, **context.sampling}
        self.config_digest = judge_digest(self.name, self.rules, **told)
        """Digest of everything that decides the verdicts: equal digests, comparable verdicts."""
        self._votes = "" if self.asking is None else judge_digest(self.name, self.asking, **told)

    @abstractmethod
    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode.

        Returns: The result of `verdict`.

        Raises:
            ProviderError: The judge's model failed permanently.
            CassetteMissError: A replay met an unrecorded vote.
        """

    def verdict(self, episode: Episode, value: bool | None, explanation: str = "", *, label: str = "", votes: tuple[bool, ...] = ()) -> Verdict:
        """Make this judge's verdict.

        Args:
            episode: The judged episode.
            value: Yes or no; None if the judge does not apply, or could not decide: such an episode is not in the n of its measure.
            explanation: What decided it, in a line.
            label: The label that a classifying judge gave the answer.
            votes: The votes that `value` is the majority of.
        """
        return Verdict(
            episode_id=episode.id,
            judge=self.name,
            judge_config_digest=self.config_digest,
            value=value,
            label=str(label),
            votes=votes,
            explanation=f"{explanation} ({CUT_OFF})" if value is None and episode.id in self._cut_off else explanation,
            asked=episode.id in self._asked,
        )

    @property
    def model(self) -> Model:
        """The model of a judge that needs one.

        Raises:
            PrerequisiteError: The user named none.
        """
        if self.context.model is None:
            raise PrerequisiteError(f"judge '{self.name}' needs a model: add --judge-model PROVIDER/NAME.")
        return self.context.model

    def vote(self, episode: Episode, number: int = 1) -> AbstractContextManager[object]:
        """Enter the setting of a vote on an episode, which is its recording: the model is asked in it."""
        self._asked.add(episode.id)
        return self.context.open_vote(self._votes or self.config_digest, episode, number)

    def settings(self, episode: Episode, vote: int = 1, **own: Any) -> GenerationSettings:
        """Return the settings of a vote: the judge's `own`, with the user's in their place; else at temperature 1, the published one."""
        from talm_sim.models.base import GenerationSettings  # not at the top: judges without a model need no message types

        return GenerationSettings(**{**own, **self.context.sampling}, seed=derive_seed(episode.id, vote))

    async def ask(self, episode: Episode, question: str, choices: tuple[str, ...], vote: int = 1) -> str:
        """Ask the model once, in a separate conversation, and return what it wrote.

        Args:
            episode: The judged episode.
            question: The material, as `prompts.show` writes it.
            choices: Labels an answer begins with (`labels.opening_label` reads them); constrained models are held to them.
            vote: Number of the vote on an episode, counted from 1: each is recorded separately, and drawn with its own seed.
        """
        from langchain_core.messages import HumanMessage, SystemMessage

        settings = self.settings(episode, vote, choices=choices)
        with self.vote(episode, vote):
            return await self.reply(episode, [SystemMessage(self.instructions), HumanMessage(question)], settings)

    async def reply(self, episode: Episode, messages: Sequence[BaseMessage], settings: GenerationSettings) -> str:
        """Return what the model answers in a conversation about an episode."""
        turn = await self.model.generate(messages, (), settings)
        if turn.stop == "length":
            self._cut_off.add(episode.id)
        return turn.text or turn.raw_text


def prompt_key(name: str) -> str:
    """Return the key of a judge's text in the `[judge]` table of a prompt file."""
    return name.replace("-", "_")


def judge_digest(name: str, rules: int, model: str = "", instructions: str = "", **sampling: Any) -> str:
    """Return the digest of a judge's configuration.

    Args:
        name: The judge.
        rules: Version of its fixed rules.
        model: Name of its model.
        instructions: What the model is told.
        **sampling: Its settings, where the user gives any.
    """
    return digest({"judge": name, "rules": rules, "model": model, "instructions": instructions, **sampling})
