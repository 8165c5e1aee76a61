"""Measure how far people agree with each other, and judges with people: shares, kappa or alpha, intervals by base, base rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from talm_sim.common.kappa import Drawn, alpha_of_drawn, kappa_of_drawn
from talm_sim.judges.stats import bootstrap, mean_over
from talm_sim.store.people.kept_verdicts import PeopleVerdicts, labelled_share, plain_share
from talm_sim.store.people.labelled_rate import strata_without_labels
from talm_sim.store.people.sample import Sample
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import PersonQuestion
from talm_sim.types import UNPARSED, Matrix, Measure, Row, Summary, Verdict


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far labels of two, or of several, agree on the same episodes.

    Attributes:
        between: Who labelled; of a judge and the people, the judge is the second.
        labels: Of each episode on which two or more did, the labels in the order of `between`; None from who did not.
        bases: The base of each of these episodes.
        sample: What was drawn from the run, to estimate the agreement over it.
        people: Whether all of them are people.
        itself: Of a judge that votes, its votes on each episode.
    """

    between: tuple[str, ...]
    labels: Mapping[str, tuple[str | None, ...]]
    bases: Mapping[str, str]
    sample: Sample
    people: bool = False
    itself: Mapping[str, Sequence[bool]] | None = None

    @property
    def n(self) -> int:
        """Episodes that two or more labelled."""
        return len(self.labels)

    @property
    def agreed(self) -> int:
        """Episodes on which all who labelled them agree."""
        return sum(len({*filter(None, labels)}) == 1 for labels in self.labels.values())

    def counts(self, place: int) -> Counter[str]:
        """Count the labels of one of them over these episodes."""
        return Counter(label for labels in self.labels.values() if (label := labels[place]) is not None)

    def chance_corrected(self) -> Measure:
        """Return Cohen's kappa of two, or Krippendorff's alpha of more, with its 95 % interval by bases."""
        clusters: dict[str, list[list[str]]] = {}
        for episode, labels in self.labels.items():
            clusters.setdefault(self.bases[episode], []).append([one for one in labels if one is not None])
        # The draws depend on the order, which must not depend on who judged when.
        items = sorted(clusters.values())
        two = len(self.between) == 2
        drawn: Drawn = kappa_of_drawn([[(one[0], one[1]) for one in of] for of in items]) if two else alpha_of_drawn(items)
        value = drawn([1] * len(items)) if items else None
        low, high = (bootstrap(len(items), drawn) if value is not None else None) or (None, None)
        name, head, who = ("kappa", "kappa", "Cohen") if two else ("alpha", "alpha", "Krippendorff")
        return Measure(name=name, head=head, kind="score", value=value, low=low, high=high, n=self.n, note=f"agreement beyond chance ({who})")

    def summary(self, question: PersonQuestion) -> Summary:
        """Return the figures as the row of a table."""
        first, *_ = question.labels.values()
        binary = len(question.labels) == 2
        same = {episode: len({*filter(None, labels)}) == 1 for episode, labels in self.labels.items()}
        plain = [(self.bases[episode], value) for episode, value in same.items()]
        seen = {self.sample.episodes[episode] for episode in same}  # a judge leaves out what it cannot decide
        members = [one for one in self.sample.members(self.bases, same) if one.stratum in seen]
        estimate = labelled_share(members, "agreement_weighted", "For run", note="the same, over all episodes that these were drawn from")
        measures = [votes] if (votes := self._votes()) is not None else []
        measures.append(plain_share(plain, "agreement", "Agree", note="all who judged the episode gave the same label"))
        if estimate.kind == "score":
            measures.append(estimate)
        measures.append(self.chance_corrected())
        places = [range(len(self.between))] if self.people else [range(1), range(1, 2)]
        measures += [_base_rate(self, place, who, first) for place, who in zip(places, ("people", "judge"), strict=False) if binary]
        matrices = () if binary or self.people else (self._matrix(question),)
        return Summary(
            group=" and ".join(self.between) if self.people else self.between[1],
            n=self.n,
            total=self.n,
            measures=tuple(measures),
            matrices=matrices,
        )

    def _votes(self) -> Measure | None:
        """Return how far a judge that votes agrees with itself: of all pairs of its votes on an episode, the share that is equal."""
        shares = []
        for episode, votes in (self.itself or {}).items():
            pairs = [one == other for one, other in combinations(votes, 2)]
            if pairs and episode in self.labels:
                shares.append((self.bases[episode], sum(pairs) / len(pairs)))
        if (found := mean_over(shares)) is None:
            return None
        value, low, high = found
        note = "pairs of the judge's own votes on an episode that are equal"
        return Measure(name="agreement_itself", head="Itself", kind="score", value=value, low=low, high=high, n=len(shares), note=note)

    def _matrix(self, question: PersonQuestion) -> Matrix:
        known = tuple(question.labels.values())
        columns = (*known, *sorted(self.counts(1).keys() - {*known}))
        pairs = Counter((labels[0], labels[1]) for labels in self.labels.values())
        counts = tuple(tuple(pairs[one, other] for other in columns) for one in known)
        return Matrix(name=f"people and {self.between[1]}", rows=known, columns=columns, counts=counts, axes=("people", "judge"))

    def record(self, question: PersonQuestion) -> dict[str, Any]:
        """Return the figures as flat data."""
        figures = {name: value for name, value in self.summary(question).record().items() if name not in {"group", "total", "not_scored"}}
        labels = {who: dict(self.counts(place)) for place, who in enumerate(self.between)}
        return {"question": question.name, "between": list(self.between), "agreed": self.agreed, **figures, "labels": labels}


def agreements(run: StoredRun, people: PeopleVerdicts) -> list[Agreement]:
    """Return how far the people agree among themselves, then each judge, and each other answer in the rows, with what counts of theirs."""
    rows = {row.episode: row for row in run.rows()}
    bases = {episode: row.base for episode, row in rows.items()}
    found = []
    if len(people.names) > 1:
        said = {
            one: tuple(verdicts[name].label if name in verdicts else None for name in people.names) for one, verdicts in people.said.items()
        }
        several = {one: labels for one, labels in said.items() if sum(label is not None for label in labels) > 1}
        found.append(Agreement(tuple(people.names), several, bases, people.sample, people=True))
    counted = {one: verdict.label for one in people.said if (verdict := people.verdict(one)) is not None}
    who = people.names[0] if len(people.names) == 1 else "people"
    for judge, labels, votes in _others(run, people.question, rows):
        if both := {one: (label, labels[one]) for one, label in counted.items() if one in labels}:
            found.append(Agreement((who, judge), both, bases, people.sample, itself=votes))
    return found


def rate_of(run: StoredRun, people: PeopleVerdicts) -> tuple[Measure, list[str]]:
    """Return the share of yeses that people's labels give all episodes that could be drawn, and the strata that still have no label."""
    members = people.sample.members({row.episode: row.base for row in run.rows()}, people.values()[people.prefix])
    return labelled_share(members, people.prefix, "People"), strata_without_labels(members)


def raw_rate(run: StoredRun) -> Measure:
    """Return the share of episodes that passed, of those that the run's own judge decided."""
    said = ((row.base, run.job.task.succeeded(row)) for row in run.rows())
    return plain_share(((base, passed) for base, passed in said if passed is not None), "raw", "By judge")


def _others(
    run: StoredRun, question: PersonQuestion, rows: Mapping[str, Row]
) -> Iterator[tuple[str, dict[str, str], dict[str, Sequence[bool]]]]:
    """Yield the labels of each judge that answers the question, and its votes; then other answers in the rows."""
    wanted = question.judges
    labels: dict[str, dict[str, str]] = {}
    votes: dict[str, dict[str, Sequence[bool]]] = {}
    measures = run.measures()
    for verdict in run.verdicts():
        of_things = verdict.judge in measures and measures[verdict.judge].labels
        if of_things if wanted is None else verdict.judge not in wanted:
            continue
        if label := _judge_label(verdict, question):
            labels.setdefault(verdict.judge, {})[verdict.episode_id] = label
            if verdict.votes:
                votes.setdefault(verdict.judge, {})[verdict.episode_id] = verdict.votes
    own = labels.keys() & {*run.job.task.own_judges}
    if wanted is None and own:  # the task's own say what passes; another judge says something else
        labels = {judge: labels[judge] for judge in labels if judge in own}
    if wanted is None and not labels:
        succeeded = {episode: run.job.task.succeeded(row) for episode, row in rows.items()}
        labels["the table"] = {one: question.said[value] for one, value in succeeded.items() if value is not None and value in question.said}
    for episode, row in rows.items():
        for name, label in question.beside(row).items():
            labels.setdefault(name, {})[episode] = label
    for judge, given in labels.items():
        yield judge, given, votes.get(judge, {})


def _judge_label(verdict: Verdict, question: PersonQuestion) -> str:
    """Return the label that a judge's verdict stands for; empty if it decided nothing."""
    known = {*question.labels.values()}
    if verdict.label and (verdict.label in known or not question.said):
        return verdict.label if verdict.label in known else UNPARSED
    return "" if verdict.value is None else question.said.get(verdict.value, "")


def _base_rate(agreement: Agreement, places: Sequence[int], who: str, label: str) -> Measure:
    given = ((one, labels[place]) for one, labels in agreement.labels.items() for place in places)
    judged = [(agreement.bases[one], found == label) for one, found in given if found is not None]
    note = f"{who} labelled '{label}': the base rate"
    return plain_share(judged, f"base_rate_{who}", f"Base rate, {who}", note=note, better="neither")
