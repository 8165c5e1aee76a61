"""Store people's verdicts on a run: under the judge `person:NAME` and the question's key; what was settled, under `person`."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.person import PEOPLE, judge_of, person_of
from talm_sim.judges.registry import JUDGES
from talm_sim.judges.stats import mean_over
from talm_sim.store.files import stored_documents
from talm_sim.store.people.labelled_rate import Member, labelled_rate, stratum_key
from talm_sim.store.people.sample import Sample, kept_samples
from talm_sim.tasks import Job, PersonQuestion
from talm_sim.types import Measure, Row, Scenario, Summary, Verdict

_TITLE = "people"
"""Title of the table of people's verdicts; on a further question, what the title begins with."""
_NAME = re.compile(r"[\w.-]{1,40}")


def check_person(name: str) -> str:
    """Return a person's name, which becomes part of a judge's."""
    if not _NAME.fullmatch(name):
        raise PrerequisiteError(f"--name '{name}': give a name of at most 40 letters, digits, '.', '_' and '-'.")
    if name in JUDGES.names():
        raise PrerequisiteError(f"--name {name}: is a judge, whose labels never count as people's; give the name of who judges.")
    return name


@dataclass(frozen=True)
class PeopleVerdicts:
    """People's verdicts on a run's episodes, on one question.

    Attributes:
        said: Id of each episode to the verdicts on it, by person.
        settled: Id of each episode on which they differed to the verdict that settles it.
        prefix: Name of the measure of what people say together.
        title: Title of the table of these measures.
    """

    question: PersonQuestion
    sample: Sample
    said: Mapping[str, Mapping[str, Verdict]]
    settled: Mapping[str, Verdict]
    prefix: str
    title: str

    @property
    def names(self) -> list[str]:
        """Return the people's names, sorted."""
        return sorted({name for verdicts in self.said.values() for name in verdicts})

    def verdict(self, episode: str) -> Verdict | None:
        """Return the verdict that counts: the settled one, else that of most people; None if as many say something else."""
        if episode in self.settled:
            return self.settled[episode]
        verdicts = self.said.get(episode, {})
        most = Counter(one.label for one in verdicts.values()).most_common(2)
        if not most or (len(most) == 2 and most[0][1] == most[1][1]):
            return None
        return next(one for one in verdicts.values() if one.label == most[0][0])

    def every(self) -> list[Verdict]:
        """Return all verdicts, person by person, and then those that settle."""
        return [*(one for name in self.names for said in self.said.values() if (one := said.get(name))), *self.settled.values()]

    def disputed(self) -> list[str]:
        """Return the ids of episodes on which people differ, in the order of the sample."""
        return [one for one in self.sample.episodes if len({verdict.label for verdict in self.said.get(one, {}).values()}) > 1]

    def undecided(self) -> list[str]:
        """Return the ids of episodes that were judged, and have no verdict that counts."""
        return [one for one in self.said if self.verdict(one) is None]

    def values(self) -> dict[str, dict[str, bool]]:
        """Return the name of each measure to the values of the episodes."""
        counted = {one: verdict.value for one in self.said if (verdict := self.verdict(one)) is not None and verdict.value is not None}
        found = {self.prefix: counted}
        for name in self.names:
            own = {one: verdicts[name].value for one, verdicts in self.said.items() if name in verdicts}
            found[f"{self.prefix}:{name}"] = {one: value for one, value in own.items() if value is not None}
        return found


def read_people(conn: sqlite3.Connection, job: Job[Any]) -> list[PeopleVerdicts]:
    """Return what people said of a run, question by question; of a question that its task no longer asks so, nothing."""
    samples = kept_samples(conn)
    questions = job.task.person_questions(job) if samples else ()
    found = []
    for place, question in enumerate(questions):
        if (sample := samples.get(question.key)) is None:
            continue
        said: dict[str, dict[str, Verdict]] = {}
        settled: dict[str, Verdict] = {}
        for verdict in stored_documents.verdicts_under(conn, question.key, judge_of(""), judge_of("*")):
            if verdict.episode_id not in sample.episodes or verdict.label not in question.labels.values():
                continue
            name = person_of(verdict.judge)
            if name == "":
                settled[verdict.episode_id] = verdict
            elif name and _NAME.fullmatch(name):  # a run may come from a stranger
                said.setdefault(verdict.episode_id, {})[name] = verdict
        in_order = {one: said[one] for one in sample.episodes if one in said}
        prefix, title = (f"{PEOPLE}_{question.name}", f"{_TITLE}: {question.name}") if place else (PEOPLE, _TITLE)
        in_question = {one: settled[one] for one in settled if one in said}
        found.append(PeopleVerdicts(question, sample, in_order, in_question, prefix, title))
    return found


def add_people(rows: Sequence[Row], people: Iterable[PeopleVerdicts]) -> list[Row]:
    """Add to each row what people said of its episode, and the stratum that it was drawn from, or could have been."""
    more: dict[str, tuple[dict[str, bool], dict[str, str]]] = {}
    for one in (one for one in people if one.said):
        for episode, stratum in one.sample.known.items() if one.sample.is_known else ():
            more.setdefault(episode, ({}, {}))[1][stratum_key(one.prefix)] = stratum
        for name, values in one.values().items():
            for episode, value in values.items():
                more.setdefault(episode, ({}, {}))[0][name] = value
    found = ((row, *more.get(row.episode, ({}, {}))) for row in rows)
    return [
        row.model_copy(update={"values": {**row.values, **said}, "labels": {**row.labels, **of}}) if said or of else row
        for row, said, of in found
    ]


def people_measures(summary: Summary, rows: Iterable[Row], people: Iterable[PeopleVerdicts]) -> Summary:
    """Add to a group's summary the share of yeses that people gave, together and each; nothing to a group that repeats others' episodes."""
    own = {row.episode: row.base for row in rows if row.group == summary.group}
    found: list[Measure] = []
    for one in (one for one in people if one.said and not summary.derived):
        alone = len(one.names) == 1  # whose column would be the same as that of all
        for name, values in one.values().items():
            person = name.removeprefix(one.prefix).removeprefix(":")
            about = one.question.about + (f", says {person}" if person else ", say people: most of them, or what was settled")
            place = "hidden" if person and alone else "column"
            found.append(labelled_share(one.sample.members(own, values), name, person or "People", under=one.title, note=about, place=place))
    return summary.model_copy(update={"measures": (*summary.measures, *found)}) if found else summary


def is_of_people(measure: Measure) -> bool:
    """Return whether a measure is of people's verdicts: what they say together, or what one of them says."""
    return measure.under.partition(":")[0] == _TITLE and measure.name.startswith(PEOPLE)


def plain_share(judged: Iterable[tuple[str, float]], name: str, head: str, **more: Any) -> Measure:
    """Return the share of yeses, each with its base, with its 95 % interval by bases."""
    said = list(judged)
    value, low, high = mean_over(said) or (None, None, None)
    known = {"better": "higher", **more}
    return Measure(name=name, head=head, kind="rate", value=value, low=low, high=high, k=int(sum(yes for _, yes in said)), n=len(said), **known)


def labelled_share(members: Sequence[Member], name: str, head: str, **more: Any) -> Measure:
    """Return the rate that the labels of a sample give; a score by `labelled_rate` over n labels, unless all were labelled."""
    rate = plain_share([(one.base, one.value) for one in members if one.value is not None], name, head, **more)
    if rate.n == len(members) and all(one.weight == 1 for one in members):
        return rate
    value, low, high = labelled_rate(members) or (None, None, None)
    return rate.model_copy(update={"kind": "score", "value": value, "low": low, "high": high, "k": None})


def verdict_of(question: PersonQuestion, label: str, scenario: Scenario, episode: str, name: str, **more: Any) -> Verdict:
    """Return the verdict that a label is; without a name, one that settles."""
    return Verdict(
        episode_id=episode,
        judge=judge_of(name),
        judge_config_digest=question.key,
        value=question.value(label, scenario),
        label=label,
        **more,
    )
