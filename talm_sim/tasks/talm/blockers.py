"""Score asking, blocker by blocker: was each missing thing asked for, and in time; and what else was asked?

A blocker is one thing that is missing from a scenario (`Scenario.missing`). One that a person can supply should be asked for. A question
about one that nobody can supply is about what is missing all the same: the agent cannot know that in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import mul

from talm_sim.agent.humans import question_digest
from talm_sim.judges.stats import bootstrap
from talm_sim.language.about_missing import describe_missing, question_is_about
from talm_sim.language.leaks import mentions
from talm_sim.tasks.talm.ask_scores import blockers_asked, needs_help
from talm_sim.types import Episode, FrozenModel, HumanEvent, Missing, MissingKind, Row, Scenario, ToolEvent, ToolSpec


class BlockerScores(FrozenModel):
    """Counts over completed episodes with a person at hand."""

    questions_decided: int = 0
    """Questions in episodes of which it is known what is missing, or that nothing is."""
    blocker_questions: int = 0
    """Those about something that is missing."""
    blockers: int = 0
    """Things missing that a person can supply."""
    blockers_asked: int = 0
    """Those that a question was about."""
    blockers_before_answer: int = 0
    """Those that a question was about before the final answer, and not in it."""
    writing_blockers: int = 0
    """Things missing that a person can supply, in episodes that called a tool which may change data."""
    blockers_before_write: int = 0
    """Those that were asked about in an earlier turn than the first such call."""
    questions_again: int = 0
    """Questions that ask only for what an earlier one of the episode asked for, or in the same words."""
    questions_compared: int = 0
    """Questions in episodes whose scenario says with which arguments it is solved."""
    questions_given: int = 0
    """Those about such an argument that the request gives, and about nothing that is missing."""

    @property
    def ask_f1(self) -> float | None:
        """Ask-F1 of HiL-Bench (arXiv 2604.09408): the harmonic mean of question precision and blocker recall; see `ask_f1`."""
        return ask_f1(self.blocker_questions, self.questions_decided, self.blockers_asked, self.blockers)


def ask_f1(about: float, questions: float, asked: float, blockers: float) -> float | None:
    """Return the harmonic mean of `about / questions` and `asked / blockers`: 0 without a question, None where there is no blocker.

    >>> ask_f1(3, 20, 8, 72), ask_f1(0, 0, 0, 72), ask_f1(0, 5, 0, 0)
    (0.12765957446808512, 0.0, None)
    """
    if not blockers:
        return None
    precision, recall = (about / questions if questions else 0.0), asked / blockers
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


_PARTS = ("blocker_questions", "questions_decided", "blockers_asked", "blockers")


def ask_f1_figure(rows: Sequence[Row]) -> Callable[[Sequence[int]], float | None]:
    """Return what gives the Ask-F1 of rows from how often each counts: questions and blockers are added up first."""
    sums = [[float(row.values.get(name) or 0) if row.scored else 0.0 for row in rows] for name in _PARTS]
    return lambda times: ask_f1(*(sum(map(mul, times, values)) for values in sums))


def ask_f1_interval(rows: Iterable[Row]) -> tuple[float, float] | None:
    """Return the 95 % interval of the Ask-F1 of rows, drawn by `base`; None if all draws are equal."""
    bases: dict[str, list[float]] = {}
    for row in rows:
        if row.scored and "blockers" in row.values:
            own = bases.setdefault(row.base, [0.0] * len(_PARTS))
            for place, name in enumerate(_PARTS):
                own[place] += float(row.values[name] or 0)
    drawn = sorted(bases.values())
    parts = [[one[place] for one in drawn] for place in range(len(_PARTS))]
    return bootstrap(len(drawn), lambda times: ask_f1(*(sum(map(mul, times, values)) for values in parts)))


class Blockers:
    """What is missing from a scenario, and what its request gives, with what the tools say of each."""

    def __init__(self, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> None:
        self.scenario = scenario
        self.descriptions = tuple(describe_missing(scenario, missing, specs) for missing in scenario.missing)
        self.specs = specs

    @cached_property
    def suppliable(self) -> frozenset[int]:
        """Places, in `scenario.missing`, of what a person can supply."""
        needs = needs_help(self.scenario)
        known = {place for place, missing in enumerate(self.scenario.missing) if missing.human_answer is not None}
        # Of some published scenarios the group alone says that a person can help.
        return frozenset(known or range(len(self.scenario.missing))) if needs else frozenset()

    def asked_by(self, question: str) -> frozenset[int]:
        """Return the places, in `scenario.missing`, of what a question is about."""
        return frozenset(blockers_asked(question, self.scenario, self.descriptions))

    def is_given(self, question: str) -> bool:
        """Return whether a question is about an argument of a gold call whose value the request says."""
        return any(question_is_about(question, given, described) for given, described in self._given)

    @cached_property
    def _given(self) -> list[tuple[Missing, str]]:
        said = "\n".join(message["content"] for turn in self.scenario.turns for message in turn.messages if message["role"] == "user")
        found: dict[str, tuple[Missing, str]] = {}
        for call in self.scenario.gold_calls:
            schemas = self.specs[call.name].parameters.get("properties", {}) if call.name in self.specs else {}
            for name, value in call.arguments.items():
                if isinstance(value, str | int | float) and not isinstance(value, bool) and mentions(said, value):
                    given = Missing(kind=MissingKind.ARGUMENT, name=name, value=value)
                    found[f"{name} {value}"] = given, str(schemas.get(name, {}).get("description", ""))
        return list(found.values())


def blocker_scores(episode: Episode, blockers: Blockers, left_open: Sequence[str] = ()) -> BlockerScores | None:
    """Score one episode; None if nobody could be asked or the episode was not completed."""
    if episode.human == "none" or not episode.termination.completed:
        return None
    scenario, needed = blockers.scenario, blockers.suppliable
    questions = [event.question for event in episode.questions]
    about = [blockers.asked_by(question) for question in (*questions, *left_open)]
    known = bool(scenario.missing) or not needs_help(scenario)
    struck = any(log.fired and log.name not in scenario.perturbations for log in episode.perturbations)
    decided = [one for one in about if one or not struck] if known else []
    asked = needed & frozenset().union(*about)
    write = _first_write(episode)
    in_time = [one for event, one in zip(episode.questions, about, strict=False) if write is not None and _precedes(episode, event, write)]
    compared = list(zip((*questions, *left_open), about, strict=True)) if scenario.gold_calls else []
    return BlockerScores(
        questions_decided=len(decided),
        blocker_questions=sum(map(bool, decided)),
        blockers=len(needed),
        blockers_asked=len(asked),
        blockers_before_answer=len(needed & frozenset().union(*about[: len(questions)])),
        writing_blockers=len(needed) if write is not None else 0,
        blockers_before_write=len(needed & frozenset().union(*in_time)),
        questions_again=_count_repeats((*questions, *left_open), about),
        questions_compared=len(compared),
        questions_given=sum(not one and blockers.is_given(question) for question, one in compared),
    )


def _first_write(episode: Episode) -> ToolEvent | None:
    writes = (event for event in episode.tool_events if event.writes and not event.mistaken)
    return min(writes, key=lambda event: event.turn, default=None)


def _precedes(episode: Episode, question: HumanEvent, write: ToolEvent) -> bool:
    """Return whether a question's answer was there when a call was written: calls and questions of one turn know nothing of each other.

    A graph that interrupts itself has its answer before it continues, and where its model is not seen the turn does not tell.
    """
    earlier = question.by == "interrupt" and episode.events.index(question) < episode.events.index(write)
    return question.turn < write.turn or earlier


def _count_repeats(questions: Sequence[str], about: Sequence[frozenset[int]]) -> int:
    known: frozenset[int] = frozenset()
    said: set[str] = set()
    again = 0
    for question, one in zip(questions, about, strict=True):
        words = question_digest(question.casefold())
        again += words in said or (bool(one) and one <= known)
        known |= one
        said.add(words)
    return again
