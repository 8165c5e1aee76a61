"""A run as it lies on the disk: read lazily, by any number of processes, while it goes on or long after."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.runs import rows
from talm_sim.runs.database import connect_reader
from talm_sim.runs.lease import Owner, owner_of
from talm_sim.runs.manifest import MANIFEST, RunManifest, find_run, read_manifest
from talm_sim.runs.questions import Question, unanswered
from talm_sim.runs.tables import choice_record, episode_record, frame, summary_record
from talm_sim.types import Episode, Measured, Scenario, ToolSpec, Verdict

if TYPE_CHECKING:
    import pandas

    from talm_sim.judges.choices import ChoiceSummary
    from talm_sim.judges.metrics import GroupSummary

__all__ = ["RunInfo", "StoredRun", "list_runs", "load_run"]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One line of a list of runs."""

    id: str
    path: Path
    created: str
    model: str
    split: str
    human: str
    finished: int
    total: int
    waiting: int
    """Open questions."""
    owner: Owner | None
    """The living process that runs it; None where nobody does."""
    problem: str = ""
    """Why the run cannot be read; empty for a sound one."""


class StoredRun:
    """A stored run. Every call reads what is committed at that moment.

    Args:
        path: The run's directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest: RunManifest = read_manifest(path)

    def __repr__(self) -> str:
        return f"StoredRun({str(self.path)!r})"

    @property
    def id(self) -> str:
        """The run's name."""
        return self.manifest.id

    @property
    def config(self) -> RunConfig:
        """The run's configuration, with the scoring fields it was last judged with."""
        with self._reading() as conn:
            scoring = rows.meta(conn, "scoring", dict[str, Any])
            return self.manifest.config if scoring is None else RunConfig(**{**self.manifest.config.model_dump(), **scoring})

    @cached_property
    def total(self) -> int:
        """Episodes of the whole run."""
        with self._reading() as conn:
            planned = rows.meta(conn, "total", int)
            if planned is None:
                planned = conn.execute("SELECT count(*) FROM scenarios").fetchone()[0] * self.manifest.config.epochs
        return int(planned)

    @property
    def finished(self) -> int:
        """Episodes finished by now."""
        with self._reading() as conn:
            return int(conn.execute("SELECT count(*) FROM episodes").fetchone()[0])

    @property
    def judged(self) -> bool:
        """Whether judges have been through the run."""
        with self._reading() as conn:
            return rows.judges(conn) is not None

    @property
    def owner(self) -> Owner | None:
        """The living process that runs it; None where nobody does."""
        with self._reading() as conn:
            owner = owner_of(conn)
        return owner if owner is not None and owner.alive else None

    def scenarios(self) -> Iterator[Scenario]:
        """The run's scenarios in order."""
        with self._reading() as conn:
            yield from rows.scenarios(conn)

    def tools(self) -> dict[str, ToolSpec]:
        """The tools the scenarios name, missing ones included, by name; empty for an imported run."""
        with self._reading() as conn:
            found = rows.meta(conn, "tools", list[ToolSpec]) or ()
        return {tool.name: tool for tool in found}

    def episodes(self, group: str | None = None) -> Iterator[Episode]:
        """Finished episodes, of one group or all, in the order of the plan."""
        with self._reading() as conn:
            yield from rows.episodes(conn, group)

    def episode(self, episode_id: str) -> Episode:
        """One finished episode.

        Raises:
            PrerequisiteError: It is unknown or not finished.
        """
        with self._reading() as conn:
            found = rows.episode(conn, episode_id)
            if found is not None:
                return found
            if conn.execute("SELECT 1 FROM waiting WHERE episode_id = ?", (episode_id,)).fetchone():
                raise PrerequisiteError(f"{self.path}: episode '{episode_id}' waits for a person; see `talm-sim answer {self.path}`.")
            if conn.execute("SELECT 1 FROM attempts WHERE episode_id = ?", (episode_id,)).fetchone():
                raise PrerequisiteError(f"{self.path}: episode '{episode_id}' is not finished; continue with `talm-sim resume {self.path}`.")
            known = [row[0] for row in conn.execute("SELECT id FROM episodes ORDER BY epoch, position")]
        raise PrerequisiteError(f"{self.path}: no episode '{episode_id}'.{_hint(episode_id, known)}")

    def verdicts(self) -> Iterator[Verdict]:
        """Verdicts of the judges the run was last judged with."""
        with self._reading() as conn:
            yield from rows.verdicts(conn, rows.judges(conn) or ())

    def measures(self) -> dict[str, Measured]:
        """What those judges measure, by their names; it was stored with the verdicts, so a judge need not be installed to be read.

        Judges whose verdicts came with an imported run are not in it.
        """
        with self._reading() as conn:
            return rows.measures(conn)

    def pending(self) -> list[Question]:
        """Open questions, in the order they were asked."""
        with self._reading() as conn:
            return unanswered(conn)

    def answered(self) -> set[str]:
        """Ids of the episodes one of whose questions was answered."""
        with self._reading() as conn:
            return {episode_id for (episode_id,) in conn.execute("SELECT DISTINCT episode_id FROM answers")}

    def summary(self) -> list[GroupSummary]:
        """Metrics of each group of a run of task `talm`, over the episodes finished by now.

        Raises:
            PrerequisiteError: The run is of another task, or its `paired_run` cannot be read.
        """
        if self.manifest.config.task != "talm":
            raise PrerequisiteError(f"{self.path}: is a run of task {self.manifest.config.task}; its metrics are in choice_summary().")
        from talm_sim.agent.humans import describe_missing
        from talm_sim.judges.metrics import summarize

        tools = self.tools()
        other = self.config.paired_run
        paired = load_run(other, self.path.parent) if other is not None else None
        return summarize(
            self.episodes(),
            self.scenarios(),
            self.verdicts(),
            paired=(paired.episodes("perfect"), paired.verdicts()) if paired else None,
            describe=lambda scenario: describe_missing(scenario, tools),
        )

    def choice_summary(self) -> ChoiceSummary:
        """Metrics of a run of task `when2call`, over the episodes finished by now.

        Raises:
            PrerequisiteError: The run is of another task.
        """
        from talm_sim.judges.choices import summarize_choices

        config = self.manifest.config
        if config.task != "when2call":
            raise PrerequisiteError(f"{self.path}: is a run of task {config.task}; its metrics are in summary().")
        return summarize_choices(self.episodes(), self.scenarios(), self.verdicts(), mode=config.mode)[0]

    def summary_records(self) -> list[dict[str, Any]]:
        """The summary as one flat row a group (one in all for task `when2call`): n, each rate with its interval, and what names the run."""
        config = self.config
        if config.task == "when2call":
            return [{"run": self.id, "model": config.model, "template": config.template} | choice_record(self.choice_summary())]
        named = {"run": self.id, "model": config.model, "human": config.human}
        return [named | summary_record(item) for item in self.summary()]

    def to_records(self) -> list[dict[str, Any]]:
        """One flat row an episode, with a column for each judge's verdict: its label where it classifies, else whether it passed."""
        verdicts: dict[str, dict[str, bool | str | None]] = {}
        for verdict in self.verdicts():
            verdicts.setdefault(verdict.episode_id, {})[verdict.judge] = verdict.label or verdict.value
        judges = sorted({judge for values in verdicts.values() for judge in values})
        none: dict[str, bool | str | None] = {}
        return [
            {"run": self.id} | episode_record(item) | {judge: verdicts.get(item.id, none).get(judge) for judge in judges}
            for item in self.episodes()
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """`to_records` as a pandas frame.

        Raises:
            PrerequisiteError: pandas is not installed.
        """
        return frame(self.to_records())

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        conn = connect_reader(self.path)
        try:
            yield conn
        except (sqlite3.DatabaseError, ValueError) as err:
            raise PrerequisiteError(f"{self.path}: run.db cannot be read ({str(err).splitlines()[0]}).") from None
        finally:
            conn.close()


def load_run(run: Path | str, run_dir: Path = Path("runs")) -> StoredRun:
    """Open a stored run, given as a path or by its name in `run_dir`.

    Raises:
        PrerequisiteError: There is no such run, or it cannot be read.
    """
    return StoredRun(find_run(run, run_dir))


def list_runs(run_dir: Path) -> list[RunInfo]:
    """The runs in a directory, oldest first; a damaged one is listed with its problem."""
    directories = sorted(path.parent for path in run_dir.glob(f"*/{MANIFEST}") if not path.parent.name.startswith("."))
    return sorted((_info(directory) for directory in directories), key=lambda info: (info.created, info.id))


def _info(directory: Path) -> RunInfo:
    try:
        run = StoredRun(directory)
        config = run.manifest.config
        return RunInfo(
            id=directory.name,
            path=directory,
            created=run.manifest.created,
            model=config.model,
            split=config.split,
            human=config.human,
            finished=run.finished,
            total=run.total,
            waiting=len(run.pending()),
            owner=run.owner,
        )
    except PrerequisiteError as err:
        return RunInfo(directory.name, directory, "", "", "", "", 0, 0, 0, None, problem=str(err))


def _hint(word: str, known: list[str]) -> str:
    if not known:
        return " No episode is finished yet."
    near = did_you_mean(word, known)
    return near if near.startswith(" Did") else f" Known are {len(known)}, such as '{known[0]}'."
