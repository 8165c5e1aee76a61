"""A run as it is stored on disk. Any number of processes can read it, during the run or later."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, full_name
from talm_sim.store.extensions import check_brought
from talm_sim.store.files import stored_documents
from talm_sim.store.files.comments import Comment, add_comments, make_comment
from talm_sim.store.files.lease import Owner, owner_of
from talm_sim.store.files.manifest import LATEST, RunManifest, find_run, read_manifest
from talm_sim.store.files.parts import LEDGER, MergedShard
from talm_sim.store.files.sealed_files import RunFiles
from talm_sim.store.people.kept_verdicts import PeopleVerdicts, add_people, people_measures, read_people
from talm_sim.store.questions import Question, asking_episodes, kinds_unanswered, number_unanswered, open_questions
from talm_sim.store.tidy_tables import add_comment_texts, add_judge_values, episode_records, frame, settings_of, summary_with
from talm_sim.store.transcripts import Transcript, read_transcript
from talm_sim.tasks import Job, job_of
from talm_sim.tasks.outcomes import by_success
from talm_sim.types import Episode, Measure, Measured, Row, Scenario, Summary, Termination, ToolSpec, Verdict

if TYPE_CHECKING:
    import pandas


class StoredRun(RunFiles):
    """A stored run. Every call reads what is committed at that moment.

    Args:
        path: The run's directory.
        manifest: What its `run.json` says; by default, the file is read.

    Attributes:
        id: The run's name, which is its directory's.
    """

    def __init__(self, path: Path, manifest: RunManifest | None = None) -> None:
        self.path = path
        self._place = path.absolute()
        self.id: str = os.path.basename(os.path.abspath(path))
        self.manifest: RunManifest = read_manifest(path) if manifest is None else manifest
        self._judged_as: Job[Any] | None = None
        self._held_job: Job[Any] | None = None
        self._counted: tuple[tuple[int, ...], tuple[Row, ...], tuple[Summary, ...] | None] | None = None

    def __repr__(self) -> str:
        return f"StoredRun({str(self.path)!r})"

    def __str__(self) -> str:
        from talm_sim.store.result_screen import screen_text  # not at the top: it reads runs

        return screen_text(self, self.id)

    def _repr_html_(self) -> str:
        try:
            return f"<pre>{escape(str(self))}{'' if self.closed else '; not closed properly, so resume it'}</pre>"
        except PrerequisiteError as err:  # what cannot be counted here is still a run
            return f"<pre>{escape(self.id)}: {escape(str(err))}</pre>"

    @property
    def config(self) -> RunConfig:
        """The run's configuration, with the scoring options it was last judged with."""
        if (known := self._judged_as or self._held_job) is not None:
            return known.config
        config = self.manifest.config
        with self._open_connection() as conn:
            if (scoring := stored_documents.meta(conn, "scoring", dict[str, Any])) is None:
                return config
            given = config.model_dump()
            return RunConfig(**{**given.pop("options"), **given, **scoring})

    @property
    def job(self) -> Job[Any]:
        """The run's configuration as its task reads it.

        Raises:
            PrerequisiteError: The task is not installed (the message says how it was loaded when the run was made), or it does not
                know an option.
        """
        if (known := self._judged_as or self._held_job) is not None:
            return known
        check_brought(self.manifest.brought, str(self.path), ("task",))
        config = self.config
        try:
            job = job_of(config, datetime.fromisoformat(self.manifest.created))
        except (PrerequisiteError, ValueError) as err:  # the date may be none
            raise PrerequisiteError(f"{self.path}: {err}") from None
        if self._held is not None:
            self._held_job = job
        return job

    @property
    def imported(self) -> bool:
        """Whether the episodes are somebody else's published outputs."""
        return "imported" in self.manifest.notes

    @property
    def paired(self) -> StoredRun | None:
        """The run that its scoring options compare it with; None if there is none.

        Raises:
            PrerequisiteError: It cannot be read.
        """
        other = getattr(self.job.options, "paired_run", None)
        try:
            return None if other is None else load_run(other, self.path.parent)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"paired_run: {err}") from None

    def judged_as(self, job: Job[Any]) -> StoredRun:
        """Return this run, read with the scoring options of `job` before they are stored."""
        view = StoredRun(self.path, self.manifest)
        view._judged_as = job
        return view

    @property
    def closed(self) -> bool:
        """Whether the run is in use, or was closed properly; False after a kill, until it is resumed.

        Raises:
            PrerequisiteError: It is damaged.
        """
        with self._open_connection():
            return self._closed

    @cached_property
    def total(self) -> int:
        """How many episodes the run has in all."""
        with self._open_connection() as conn:
            if (planned := stored_documents.meta(conn, "total", int)) is None:
                planned = conn.execute("SELECT count(*) FROM scenarios").fetchone()[0] * self.manifest.config.epochs
        return int(planned)

    @property
    def finished(self) -> int:
        """How many episodes are finished."""
        return sum(self.terminations.values())

    @property
    def terminations(self) -> dict[Termination, int]:
        """How many finished episodes ended in each termination."""
        with self._open_connection() as conn:
            ends = dict(conn.execute("SELECT termination, count(*) FROM episodes GROUP BY termination"))
        return {end: ends[end] for end in Termination if end in ends}

    @property
    def failed(self) -> int:
        """How many finished episodes failed because something was not recorded or no answer came."""
        return sum(number for end, number in self.terminations.items() if end.failed)

    @property
    def crashed(self) -> int:
        """How many finished episodes ended because your agent raised an error, took too long or returned nothing; they count in the rates."""
        return len(self.crashed_episodes())

    def crashed_episodes(self) -> list[Episode]:
        """Return those episodes, in planned order; one that an injected fault of the model ended is none of them."""
        with self._open_connection() as conn:
            return stored_documents.crashed(conn)

    @property
    def judged(self) -> bool:
        """Whether the run has been judged."""
        with self._open_connection() as conn:
            return stored_documents.judges(conn) is not None

    @property
    def unjudged(self) -> int:
        """How many finished episodes still lack a verdict of one of the run's judges."""
        with self._open_connection() as conn:
            said, imported = stored_documents.judges(conn), stored_documents.imported_judges(conn)
            if said is None:
                return self.finished if self.job.task.judges(self.job) else 0
            query = "SELECT count(*) FROM verdicts WHERE judge = ? AND judge_config_digest = ?"
            return max((self.finished - conn.execute(query, one).fetchone()[0] for one in said if one not in imported), default=0)

    @property
    def first_measure(self) -> Measure | None:
        """The first measure of the run's table over all groups, as of the last judging."""
        with self._open_connection() as conn:
            return stored_documents.meta(conn, "first_measure", Measure)

    @property
    def owner(self) -> Owner | None:
        """The live process that is running it; None if there is none."""
        with self._open_connection() as conn:
            owner = owner_of(conn)
        return owner if owner is not None and owner.alive else None

    @property
    def shards(self) -> list[MergedShard]:
        """The shards that the run was merged from, in order; none if it was not merged."""
        with self._open_connection() as conn:
            return stored_documents.meta(conn, LEDGER, list[MergedShard]) or []

    def scenarios(self) -> Iterator[Scenario]:
        """Yield the run's scenarios in order."""
        with self._open_connection() as conn:
            yield from stored_documents.scenarios(conn)

    def tools(self) -> dict[str, ToolSpec]:
        """Return the tools that the scenarios name, including missing ones, by name; of an imported run, the missing ones alone."""
        with self._open_connection() as conn:
            return {tool.name: tool for tool in stored_documents.meta(conn, "tools", list[ToolSpec]) or ()}

    def left_out(self) -> dict[str, list[str]]:
        """Return, by model, the fields that requests did not have, as its servers refuse them."""
        with self._open_connection() as conn:
            return stored_documents.meta(conn, stored_documents.LEFT_OUT, dict[str, list[str]]) or {}

    def ignored(self) -> tuple[int, int]:
        """Return how many requests had a part that recordings ignore, and of how many."""
        with self._open_connection() as conn:
            return stored_documents.meta(conn, stored_documents.IGNORED, tuple[int, int]) or (0, 0)

    def tool_traffic(self) -> Counter[str]:
        """Count the finished episodes by how they reached their tools (live, replay or record); empty if all did as configured."""
        with self._open_connection() as conn:
            mixed = stored_documents.meta(conn, stored_documents.MIXED, bool)
            return Counter(episode.tools for episode in stored_documents.episodes(conn, None) if episode.tools) if mixed else Counter()

    def episodes(self, group: str | None = None) -> Iterator[Episode]:
        """Yield the finished episodes of one group or of all, in planned order."""
        with self._open_connection() as conn:
            yield from stored_documents.episodes(conn, group)

    def episode(self, episode_id: str) -> Episode:
        """Return one finished episode, by its id or a unique prefix.

        Raises:
            PrerequisiteError: The episode is unknown or not finished, or several ids begin with this prefix.
        """
        with self._open_connection() as conn:
            episode_id = full_name(episode_id, stored_documents.started_episodes(conn), "episodes") or episode_id
            if (found := stored_documents.episode(conn, episode_id)) is None:
                raise PrerequisiteError(f"{self.path}: {stored_documents.why_not_there(conn, episode_id, str(self.path))}")
            return found

    def show(self, episode_id: str) -> Transcript:
        """Return one finished episode, by its id or a unique prefix, as a reader sees it; a notebook renders it.

        Raises:
            PrerequisiteError: The episode is unknown or not finished, or several ids begin with this prefix.
        """
        with self.at_once():
            return read_transcript(self, self.episode(episode_id))

    def episode_ids(self) -> list[str]:
        """Return the sorted ids of all episodes that have started."""
        with self._open_connection() as conn:
            return stored_documents.started_episodes(conn)

    def verdicts(self, judges: Container[str] | None = None) -> Iterator[Verdict]:
        """Yield the verdicts of the judges that last judged the run, or of some of these."""
        with self._open_connection() as conn:
            last = [one for one in stored_documents.judges(conn) or () if judges is None or one[0] in judges]
            yield from stored_documents.verdicts(conn, last)

    def people(self) -> list[PeopleVerdicts]:
        """Return what people said of the run's episodes, question by question; other judges do not change it."""
        with self._open_connection() as conn:
            return read_people(conn, self.job)

    def verdicts_of_all(self) -> list[Verdict]:
        """Return the verdicts of the judges that last judged the run, and people's."""
        with self.at_once():
            return [*self.verdicts(), *(verdict for one in self.people() for verdict in one.every())]

    def comment(self, episode: str, text: str, name: str = "") -> Comment:
        """Add a comment of up to 4,000 characters to a finished episode, and return it as it is kept; any process may do so.

        Raises:
            PrerequisiteError: The episode is unknown or not finished, the text is empty or too long, or the file cannot be written.
        """
        of = self.episode(episode)
        made = make_comment(of.id, of.attempt, text, name, time.time())
        add_comments(self._place, [made])
        return made

    def pending(self, episode: str = "", limit: int | None = None) -> list[Question]:
        """Return the first `limit` open questions of one episode or of all, oldest first."""
        with self._open_connection() as conn:
            return open_questions(conn, episode, limit)

    def asking(self) -> list[str]:
        """Return the ids of the episodes with an open question, in the order they asked."""
        with self._open_connection() as conn:
            return asking_episodes(conn)

    @property
    def open_items(self) -> Counter[str]:
        """How many questions, approvals and forms are open, by kind."""
        with self._open_connection() as conn:
            return kinds_unanswered(conn)

    @property
    def waiting(self) -> int:
        """How many episodes have an open question."""
        with self._open_connection() as conn:
            return number_unanswered(conn, episodes=True)

    def answered(self) -> set[str]:
        """Return the ids of episodes that had a question answered."""
        with self._open_connection() as conn:
            return {episode_id for (episode_id,) in conn.execute("SELECT DISTINCT episode_id FROM answers")}

    def measures(self) -> dict[str, Measured]:
        """Return what those judges measure, by judge name, as stored with their verdicts; those that came with an imported run are left out."""
        with self._open_connection() as conn:
            return stored_documents.measures(conn)

    def rows(self) -> list[Row]:
        """Return what each finished episode counts as, in planned order, with a value for people and each judge with a measure of its own."""
        state = self._file_state()
        if self._counted is not None and self._counted[0] == state:
            return [*self._counted[1]]
        with self.at_once():
            task, own = self.job.task, self._own_columns()
            rows = task.rows(self) if task.outcomes else by_success(task.rows(self), task.succeeded)
            found = add_people(add_judge_values(rows, own, self.verdicts(own)), self.people())
            self.keep(found, None, self.job, state)
        return found

    def summary(self, rows: Sequence[Row] | None = None) -> list[Summary]:
        """Return the summary of each group: the task's measures, those of judges that have their own, people's, and what epochs say together.

        Args:
            rows: The run's rows; they need not be computed again.

        Raises:
            PrerequisiteError: The task is not installed, or the run to compare with cannot be read.
        """
        given, state = rows, self._file_state()
        if given is None and self._counted and self._counted[0] == state and self._counted[2] is not None:
            return [*self._counted[2]]
        with self.at_once():
            rows, columns, job, people = self.rows() if rows is None else rows, self._own_columns(), self.job, self.people()
            own = (summary_with(one, rows, columns, job) for one in job.task.summarize(rows, self))
            found = [people_measures(one, rows, people) for one in own]
        if given is None:
            self.keep(rows, found, job, state)
        return found

    def keep(self, rows: Sequence[Row], summary: Sequence[Summary] | None, job: Job[Any], state: tuple[int, ...] = ()) -> None:
        """Keep what was counted when the files were as in `state`, by default as they are; it holds until one changes."""
        if getattr(job.options, "paired_run", None) is None or self._held is not None:  # the other run may change
            self._counted = state or self._file_state(), tuple(rows), None if summary is None else tuple(summary)

    def _own_columns(self) -> dict[str, Measured]:
        """Return the measures of the judges that the task does not read itself."""
        own = self.job.task.own_judges
        return {judge: measure for judge, measure in self.measures().items() if judge not in own}

    def summary_records(self, summaries: Sequence[Summary] | None = None) -> list[dict[str, Any]]:
        """Return one flat record per group: the run and its settings, then `Summary.record`; `summaries` saves computing them again."""
        mixed = {"tools": "mixed"} if len(self.tool_traffic()) > 1 else {}
        named = {"run": self.id, **settings_of(self.job), **mixed}
        return [named | one.record() for one in (self.summary() if summaries is None else summaries)]

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record per episode.

        A record has what happened and the run's settings (`episode_record` and `settings_of` of `talm_sim.store.tidy_tables`), the categories
        of the scenario's tools, what the episode counts as (the values and labels of its `Row`), and a column for each judge's verdict: the
        label if the judge classifies, else whether the episode passed. If readers wrote comments, they are a column as well.
        """
        return add_comment_texts(episode_records(self.id, self, self.rows()), self.comments())

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_records` as a pandas frame; without pandas, a `PrerequisiteError` says how to get it."""
        return frame(self.to_records())

    def _forget(self) -> None:
        if (job := self._judged_as or self._held_job) is not None and getattr(job.options, "paired_run", None) is not None:
            self._counted = None
        self._held_job = None


def load_run(run: StoredRun | Path | str | None = None, run_dir: Path = Path("runs")) -> StoredRun:
    """Open a stored run, given its directory, its name, a unique prefix of the name, or `latest` (as None).

    Raises:
        PrerequisiteError: There is no such run, several names begin with the prefix, or the run cannot be read.
    """
    if isinstance(run, StoredRun):
        return run
    if not isinstance(run, str | os.PathLike | None):
        raise PrerequisiteError(f"{run!r} is not a run; give its name, its directory or the StoredRun.")
    return StoredRun(find_run(LATEST if run is None else run, run_dir))
