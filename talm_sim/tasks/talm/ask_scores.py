"""Score asking for help: does the agent ask a person when it needs one, only then, and about the right thing?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from pydantic import computed_field

from talm_sim.language.about_missing import question_is_about
from talm_sim.language.asking import asking_sentences, asks_plainly
from talm_sim.tasks.talm.groups import GROUPS
from talm_sim.tasks.talm.recovered import SOURCE
from talm_sim.types import Episode, FrozenModel, HumanEvent, Missing, MissingKind, Scenario

MARKS = ("marked", "appropriate", "compared", "agreeing")
"""The counts of `AskScores` that only a person who marks questions gives."""


class AskScores(FrozenModel):
    """Counts over completed episodes with a person at hand, and the shares they give; a share without a denominator is None."""

    episodes: int = 0
    needing: int = 0
    """Episodes that lack something a person can supply."""
    asking: int = 0
    """Episodes with at least one question."""
    asking_in_need: int = 0
    questions: int = 0
    questions_in_need: int = 0
    """Questions in episodes whose missing thing is known, so that their relevance can be decided."""
    relevant_questions: int = 0
    """Those among them that are about it."""
    marked: int = 0
    """Questions that the person marked as appropriate or not."""
    appropriate: int = 0
    """Those marked as appropriate."""
    compared: int = 0
    """Marked questions in episodes whose missing thing is known, whoever could supply it."""
    agreeing: int = 0
    """Those among them whose mark says the same as the rule: appropriate is what is about the missing thing."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def precision(self) -> float | None:
        """Share of the asking episodes that needed help."""
        return _share(self.asking_in_need, self.asking)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def recall(self) -> float | None:
        """Share of the episodes needing help that asked."""
        return _share(self.asking_in_need, self.needing)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        return _share(2 * self.asking_in_need, self.asking + self.needing)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def relevance(self) -> float | None:
        """Share of the questions in need that are about what is missing."""
        return _share(self.relevant_questions, self.questions_in_need)

    def counts(self) -> dict[str, int]:
        """Return the counts by name, without the shares."""
        return {name: getattr(self, name) for name in AskScores.model_fields}

    def sentence(self) -> str:
        """Return in words in which episodes somebody was asked."""
        others = self.asking - self.asking_in_need
        if not self.needing and self.episodes == 1:
            return f"{'asked' if others else 'not asked'} in the one episode, which did not need it"
        if not self.needing:
            return f"{f'asked in {others} of' if others else 'never asked in'} the {_episodes(self.episodes)}, none of which needed it"
        if self.needing == 1:
            first = f"{'asked' if self.asking_in_need else 'not asked'} in the one episode that needed it"
        else:
            first = f"asked in {self.asking_in_need or 'none'} of the {_episodes(self.needing)} that needed it"
        if self.episodes == self.needing:
            return first
        left = self.episodes - self.needing
        rest = "the one other" if left == 1 else f"{others} of the {left} others"
        if not self.asking_in_need:
            return f"{first}, but in {rest}" if others else f"{first}, nor in any other"
        return f"{first} and in {rest if others else 'no other'}"


def _episodes(number: int) -> str:
    return f"{number:,} episode{'' if number == 1 else 's'}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def needs_help(scenario: Scenario) -> bool:
    """Return whether the scenario lacks something a person can supply.

    Where it does not say what is missing, the group decides, as published: under-specified queries, replaceable tools. So it does where the
    published query lacks a tool, since the release does not say what a person would answer in its place.
    """
    published = scenario.source.name == SOURCE and all(one.kind is MissingKind.TOOL for one in scenario.missing)
    if not scenario.missing or published:
        return not scenario.source.unchanged and scenario.group in GROUPS and GROUPS[scenario.group].needs_help
    return any(one.human_answer is not None for one in scenario.missing)


def without_babble(episode: Episode) -> Episode:
    """Return an episode of the built-in agent without its messages that were put to the person and ask nothing plainly."""
    events = tuple(one for one in episode.events if not isinstance(one, HumanEvent) or one.by != "words" or asks_plainly(one.question))
    return episode if len(events) == len(episode.events) else episode.model_copy(update={"events": events})


def asked_in_words(episode: Episode) -> tuple[str, ...]:
    """Return the questions that nobody was given to answer: in a turn that a reminder answered, and in the final answer (docs/numbers.md)."""
    texts = [turn.text for turn in episode.model_turns if turn.reminded]
    if episode.answered:
        texts.append(episode.answer)
    return tuple(dict.fromkeys(question for text in texts for question in asking_sentences(text)))


def ask_scores(
    episode: Episode, scenario: Scenario | None, descriptions: Sequence[str] = (), left_open: Sequence[str] = ()
) -> AskScores | None:
    """Score one episode; None if nobody could be asked or the episode was not completed."""
    if scenario is None or episode.human == "none" or not episode.termination.completed:
        return None
    asked = [*(event.question for event in episode.questions), *left_open]
    needs = needs_help(scenario)
    told = asked if needs and scenario.missing else []
    marks = [(event.question, event.appropriate) for event in episode.questions if event.appropriate is not None]
    compared = [mark is bool(blockers_asked(question, scenario, descriptions)) for question, mark in marks] if scenario.missing else []
    return AskScores(
        episodes=1,
        needing=int(needs),
        asking=int(bool(asked)),
        asking_in_need=int(needs and bool(asked)),
        questions=len(asked),
        questions_in_need=len(told),
        relevant_questions=sum(bool(blockers_asked(question, scenario, descriptions)) for question in told),
        marked=len(marks),
        appropriate=sum(mark for _, mark in marks),
        compared=len(compared),
        agreeing=sum(compared),
    )


def blockers_asked(question: str, scenario: Scenario, descriptions: Sequence[str] = ()) -> tuple[int, ...]:
    """Return the indexes of the blockers that a question is about."""
    described = zip_longest(scenario.missing, descriptions, fillvalue="")
    return tuple(index for index, (one, said) in enumerate(described) if isinstance(one, Missing) and question_is_about(question, one, said))


def total_ask_scores(scores: Iterable[AskScores | None]) -> AskScores | None:
    """Add up counts, over episodes or over the groups of a run; None if there are none to add."""
    counts = dict.fromkeys(AskScores.model_fields, 0)
    found = False
    for score in scores:
        if score is not None:
            found = True
            for name in counts:
                counts[name] += getattr(score, name)
    return AskScores(**counts) if found else None
