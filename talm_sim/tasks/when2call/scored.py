"""Score given answers in task `when2call`: what is kept of such an episode, and the graph that scores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talm_sim.tasks.page_sections import EpisodeDetails
from talm_sim.types import Behaviour, Choice, Precision, Termination
from talm_sim.types.base import FrozenModel

if TYPE_CHECKING:
    from talm_sim.agent.context import EpisodeContext
    from talm_sim.agent.single_step import StepGraph
    from talm_sim.tasks.templates import Template


class OptionScore(FrozenModel):
    """How likely a model finds one option of a multiple-choice item, as the continuation of the prompt (When2Call, section 3)."""

    behaviour: Behaviour
    logprob: float
    """Sum of the natural-log probabilities of its tokens."""
    tokens: int
    size: int
    """Length in bytes of the text that was scored, in UTF-8."""

    @property
    def per_byte(self) -> float:
        """Log-probability per byte: the length-normalised accuracy compares it."""
        return self.logprob / self.size


class Scored(EpisodeDetails):
    """`Episode.details` of the task; empty where the model answered freely."""

    option_scores: tuple[OptionScore, ...] = ()
    """Scores in the order of the item's options."""
    precision: Precision | None = None
    """How they were computed; None if the model does not say."""

    @property
    def chosen(self) -> Behaviour | None:
        """The option the model finds likeliest, the first of equal ones; None if none was scored."""
        return max(self.option_scores, key=lambda one: one.logprob).behaviour if self.option_scores else None

    @property
    def chosen_per_byte(self) -> Behaviour | None:
        """The option with the highest log-probability per byte; None if none was scored."""
        return max(self.option_scores, key=lambda one: one.per_byte).behaviour if self.option_scores else None


def score_graph(template: Template) -> StepGraph:
    """Compile the graph that scores the options of a multiple-choice item; it needs a model that can score them."""
    from talm_sim.agent.single_step import step_graph  # not at the top: a table needs no graph
    from talm_sim.models.base import ScoringModel

    async def score(context: EpisodeContext) -> dict[str, Any]:
        model, target = context.model, context.scenario.target
        assert isinstance(model, ScoringModel) and isinstance(target, Choice)
        texts = [template.option(option) for option in target.options]
        found = await model.score(template.prompt(context.scenario.query, context.scenario.shown_tools), texts)
        scores = tuple(
            OptionScore(behaviour=option.behaviour, logprob=one.logprob, tokens=one.tokens, size=len(text.encode()))
            for option, text, one in zip(target.options, texts, found, strict=True)
        )
        scored = Scored(option_scores=scores, precision=getattr(model, "precision", None))
        return {"details": scored.model_dump(mode="json"), "termination": Termination.ANSWERED}

    return step_graph("score", score)
