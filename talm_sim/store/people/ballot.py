"""Keep one person's verdicts on a run, one after the other, each on disk at once; any process may run or judge the run meanwhile."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.errors import PrerequisiteError, did_you_mean, line_to_copy
from talm_sim.judges.person import judge_of, person_of
from talm_sim.store.files import stored_documents
from talm_sim.store.files.database import connect_reader, connect_writer, fold, writing
from talm_sim.store.files.lease import is_owned
from talm_sim.store.files.manifest import stamp_in
from talm_sim.store.files.records import write_verdict
from talm_sim.store.files.sealing import insert_row, keep_tables_sealed
from talm_sim.store.people.alone import ALONE
from talm_sim.store.people.kept_verdicts import PeopleVerdicts, check_person, verdict_of
from talm_sim.store.people.sample import KEY, Sample, draw, kept_samples
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import PersonQuestion
from talm_sim.tasks.judged_by_people import Material
from talm_sim.types import Episode, Scenario, Verdict


class GivenElsewhereError(PrerequisiteError):
    """A person has judged an episode elsewhere meanwhile, under the same name; that verdict stays."""

    def __init__(self, place: Path, verdict: Verdict) -> None:
        who = person_of(verdict.judge)
        super().__init__(f"{place}: '{verdict.episode_id}' has been {f'judged by {who}' if who else 'settled'} meanwhile: {verdict.label}.")
        self.verdict = verdict


class Ballot:
    """One person's judging of a run; the caller closes it.

    Args:
        name: Who judges; empty for whoever settles what people differ on.
        items: Ids of the episodes, in the order in which they are shown.
        people: What people said so far; None if nobody said anything.
        reviews: How many people judge an item; None for all.
    """

    def __init__(
        self,
        stored: StoredRun,
        question: PersonQuestion,
        name: str,
        items: Sequence[str],
        people: PeopleVerdicts | None,
        reviews: int | None = None,
    ) -> None:
        self.path = stored.path
        self.question = question
        self.name = name
        self._people = people
        self._reviews = reviews
        self._scenarios = {scenario.id: scenario for scenario in stored.scenarios()}
        self._reader = connect_reader(stored.path)
        self._writer: sqlite3.Connection | None = None
        self._given: dict[str, Verdict] = {}
        self.catch_up()
        self.items = tuple(item for item in items if self.is_wanted(item))

    def close(self) -> None:
        """Close the connections; if no process has the run, its file is left complete."""
        self._reader.close()  # first: the last connection that closes folds the log into the file, which a read-only one cannot do
        if self._writer is not None:
            with closing(self._writer) as conn:
                if not is_owned(conn):
                    fold(conn)

    @property
    def given(self) -> int:
        """How many of the items have a verdict."""
        return sum(item in self._given for item in self.items)

    def catch_up(self) -> None:
        """Read the person's verdicts anew: they may also judge elsewhere, or take verdicts back there."""
        self._given = self._own(self._reader)

    def verdict(self, item: str) -> Verdict | None:
        """Return the person's verdict on an item."""
        return self._given.get(item)

    def is_wanted(self, item: str) -> bool:
        """Return whether an item needs this person: it has their verdict, or those of too few others at this moment."""
        if self._reviews is None or item in self._given:
            return True
        others = stored_documents.verdicts_under(self._reader, self.question.key, judge_of("*"), episode=item)
        return sum(one.judge != judge_of(self.name) for one in others) < self._reviews

    def waiting(self) -> list[str]:
        """Return the items without a verdict."""
        return [item for item in self.items if item not in self._given]

    def material(self, item: str) -> Material:
        """Return what the person is shown of an item; whoever settles also sees what was said."""
        episode, scenario = self._read(item)
        shown = list(self.question.show(episode, scenario) or [("Episode", "(it can no longer be shown)")])
        if self.name or self._people is None:
            return shown
        said = (f"{name}: {one.label}{f' ({one.explanation})' if one.explanation else ''}" for name, one in self._people.said[item].items())
        return [*shown, ("What was said", "\n".join(said))]

    def give(self, item: str, label: str, note: str = "") -> None:
        """Keep a verdict; it is in the file when this returns, in place of an earlier one that is known here.

        Raises:
            GivenElsewhereError: The person has judged the item elsewhere meanwhile: that verdict stays.
        """
        self.give_all({item: (label, note)})

    def give_all(self, labels: dict[str, tuple[str, str]]) -> None:
        """Keep several verdicts, all or none: labels and notes by item; raises what `give` does."""
        now = time.time()
        made = []
        for item, (label, note) in labels.items():
            scenario = self._scenarios[self._read(item)[0].scenario_id]
            made.append(verdict_of(self.question, label, scenario, item, self.name, explanation=note, given_at=now))

        def change(conn: sqlite3.Connection) -> None:
            sample = kept_samples(conn).get(self.question.key)
            if sample is None or not labels.keys() <= sample.episodes.keys():
                raise PrerequisiteError(f"{self.path}: the sample was drawn anew meanwhile; start again.")
            known = self._own(conn)
            for verdict in made:
                there = known.get(verdict.episode_id)
                if there is not None and there != self._given.get(verdict.episode_id):
                    raise GivenElsewhereError(self.path, there)
                write_verdict(conn, verdict)

        self._change(change)
        for verdict in made:
            self._given.pop(verdict.episode_id, None)
            self._given[verdict.episode_id] = verdict

    def undo(self) -> str | None:
        """Take the last verdict back, whenever it was given; return its item, or None if there is none."""
        self.catch_up()
        if (last := next((item for item in reversed(self._given) if item in self.items), None)) is None:
            return None
        which = (last, judge_of(self.name), self.question.key)
        self._change(lambda conn: conn.execute("DELETE FROM verdicts WHERE episode_id = ? AND judge = ? AND judge_config_digest = ?", which))
        del self._given[last]
        return last

    def _read(self, item: str) -> tuple[Episode, Scenario]:
        if (episode := stored_documents.episode(self._reader, item)) is None:
            raise PrerequisiteError(f"{self.path}: {stored_documents.why_not_there(self._reader, item, str(self.path))}")
        return episode, self._scenarios[episode.scenario_id]

    def _own(self, conn: sqlite3.Connection) -> dict[str, Verdict]:
        """Return the person's verdicts by item, the last one last."""
        found = stored_documents.verdicts_under(conn, self.question.key, judge_of(self.name))
        known = [one for one in found if one.label in self.question.labels.values()]
        # Verdicts that came from a file have one time.
        return {one.episode_id: one for one in sorted(known, key=lambda one: one.given_at or 0.0)}

    def _change(self, change: Callable[[sqlite3.Connection], Any]) -> None:
        self._writer = self._writer or connect_writer(self.path)
        with (
            writing(self._writer, self.path),
            keep_tables_sealed(self._writer, ("verdicts",), partial(stamp_in, self.path)),
        ):
            change(self._writer)


def open_ballot(
    stored: StoredRun,
    question: PersonQuestion,
    name: str,
    *,
    size: int | None = None,
    seed: int | None = None,
    reviews: int | None = None,
    settle: bool = False,
) -> Ballot:
    """Open what a person judges of a run; the sample is drawn when the first person judges, and is the same for all."""
    if settle:
        people = find_people(stored, question)
        disputed = [] if people is None else people.disputed()
        if not disputed:
            raise PrerequisiteError(f"{stored.path}: there is nothing to settle: no two people differ on an episode.")
        return Ballot(stored, question, "", disputed, people)
    check_person(name)
    sample = sample_of(stored, question, size, seed)
    # Each person has an order of their own, which says nothing of group and verdict.
    items = sorted(sample.episodes, key=lambda one: digest([sample.seed, name, one], 32))
    return Ballot(stored, question, name, items, find_people(stored, question), reviews)


def choose_question(stored: StoredRun, name: str = "") -> PersonQuestion:
    """Return what people are asked of a run: the question called `name`; by default, the task's first one that can be asked."""
    job = stored.job
    questions = {one.name: one for one in job.task.person_questions(job)}
    if stored.manifest.notes.get("imported") == ALONE:
        questions = {known: one for known, one in questions.items() if not one.needs_episode}
    if not questions:
        raise PrerequisiteError(
            f"{stored.path}: task {job.task.name} does not say what a person is asked: it has neither `success` nor questions."
        )
    if name and name not in questions:
        raise PrerequisiteError(f"--question: there is no '{name}' for this run.{did_you_mean(name, questions)}")
    return questions[name] if name else next(iter(questions.values()))


def find_people(stored: StoredRun, question: PersonQuestion) -> PeopleVerdicts | None:
    """Return what people said on one question; None before the first of them began."""
    return next((one for one in stored.people() if one.question.key == question.key), None)


def sample_of(stored: StoredRun, question: PersonQuestion, size: int | None = None, seed: int | None = None) -> Sample:
    """Return the episodes that people judge; they are drawn, or more of them are, if need be."""
    with closing(connect_reader(stored.path)) as conn:
        kept = kept_samples(conn).get(question.key)
        begun = _is_begun(conn, question)
    if kept is not None and not kept.whole and size is None:
        size = len(kept.episodes)
    of_it = kept if begun else None  # what nobody has judged can be drawn anew
    if kept is not None and size in (None, len(kept.episodes)) and seed in (None, kept.seed):
        return kept
    if kept is not None and begun:
        if seed is not None and seed != kept.seed:
            raise PrerequisiteError(f"--seed {seed}: the sample of {stored.path} was drawn with seed {kept.seed}; leave out --seed.")
        if size is None or (kept.whole and size > len(kept.episodes)):
            return kept
        if size < len(kept.episodes):
            raise PrerequisiteError(
                f"--sample {size}: people judge {len(kept.episodes):,} episodes of {stored.path} already; leave out --sample, or name more."
            )
        if not kept.is_known:
            raise PrerequisiteError(f"--sample {size}: an earlier version drew the sample of {stored.path}, and kept no others; leave it out.")
    pool = of_it.known if of_it else _pool(stored, question)  # a judge may say something else by now
    made = draw(pool, of_it.seed if of_it else seed or 0, size, tuple(of_it.episodes) if of_it else ())
    with closing(connect_writer(stored.path)) as conn:
        with writing(conn, stored.path), keep_tables_sealed(conn, ("meta",), partial(stamp_in, stored.path)):
            now = kept_samples(conn)
            if now.get(question.key) == kept and _is_begun(conn, question) is begun:  # else somebody was faster
                values = {**now, question.key: made}
                text = json.dumps({key: one.model_dump(mode="json") for key, one in values.items()})
                insert_row(conn, "meta", KEY, text, either="REPLACE")
                return made
        return sample_of(stored, question, size, seed)


def shown_digests(stored: StoredRun, question: PersonQuestion, sample: Sample) -> dict[str, str]:
    """Return a digest of the question and of what people are shown, for each episode of the sample: equal digests, the same thing judged."""
    scenarios = {scenario.id: scenario for scenario in stored.scenarios()}
    found = {}
    for episode in stored.episodes():
        if episode.id in sample.episodes:
            material = question.show(episode, scenarios[episode.scenario_id]) or ()
            # A spreadsheet would read digits, and digits with an e, as a number.
            found[episode.id] = "x" + digest([question.key, question.asks, [list(part) for part in material]], 16)
    return found


def _is_begun(conn: sqlite3.Connection, question: PersonQuestion) -> bool:
    return any(True for _ in stored_documents.verdicts_under(conn, question.key, judge_of("*")))


def _pool(stored: StoredRun, question: PersonQuestion) -> dict[str, str]:
    """Return the episodes that can be judged, each with its stratum."""
    if stored.finished < stored.total:
        again = line_to_copy("talm-sim", "resume", str(stored.path))
        raise PrerequisiteError(f"{stored.path}: {stored.total - stored.finished:,} of {stored.total:,} episodes are not finished: {again}")
    succeeded, words = stored.job.task.succeeded, {True: "passed", False: "failed", None: "undecided"}
    rows = {row.episode: row for row in stored.rows()}
    scenarios = {scenario.id: scenario for scenario in stored.scenarios()}
    found = {}
    for episode in stored.episodes():
        row = rows.get(episode.id)
        if row is None or (question.needs_episode and not row.scored):
            continue
        if question.show(episode, scenarios[episode.scenario_id]) is not None:
            found[episode.id] = (words[succeeded(row)] if question.outcome is None else question.outcome(row)) or episode.group
    if not found:
        raise PrerequisiteError(f"{stored.path}: people have nothing to judge: {question.not_asked}.")
    return found
