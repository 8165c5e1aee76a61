"""The data that a comparison has of a run: its rows, and what they are measured by. A run that is kept for later is a file with just that."""

from __future__ import annotations

import json
import os.path
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from talm_sim.common.digests import canonical_json, digest
from talm_sim.common.plain_files import LARGEST_DATA, UnfitFileError, read_text
from talm_sim.common.typed_options import fault_of
from talm_sim.config import Scope
from talm_sim.errors import NotComparableError, PrerequisiteError, did_you_mean, line_to_copy
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.tasks.outcomes import BY_SUCCESS, SOLVED, outcome_values
from talm_sim.tasks.reasoning import WORDED
from talm_sim.types import Episode, FrozenModel, Measure, Row, Scenario, Summary, Usage
from talm_sim.types.base import canonical_form

FORMAT = 2
"""The number is raised whenever a baseline is read in another way."""
_T = TypeVar("_T", bound=FrozenModel)
_KIND: Literal["talm-sim baseline"] = "talm-sim baseline"
WEIGHTS = "digest of the weights"
"""Name of a setting that only a run with an adapter has."""
_SELECTING = frozenset({"task", "split", "subset", "bfcl", "scenario", "category", "scenarios", "limit", "shard"})
"""Options that say which scenarios are run: what that comes to is in the rows."""
_NEWER = ("tools_from", "no_awareness")
"""Options that runs and baselines of earlier versions lack: unset, they are the same as absent."""
_NOT_SCORING = frozenset({"judge", "judge_model", "judge_options", "paired_run"})
"""Scoring options that the judges' digests tell, or that only name a run."""
_TOOK = "what it took"
COSTS = {
    "model_turns": Measure(name="model_turns", head="Turns", kind="number", under=_TOOK, note="model turns per episode"),
    "tool_calls": Measure(name="tool_calls", head="Calls", kind="number", under=_TOOK, note="tool calls per episode"),
    "tokens": Measure(name="tokens", head="Tokens", kind="number", under=_TOOK, note="tokens in and out per episode"),
}
"""Measures of any task that mean the same in all its groups, by the value that a row of a side has in addition."""


class Column(FrozenModel):
    """A measure of one group."""

    group: str
    derived: bool = False
    """Whether the group repeats the episodes of others."""
    measure: Measure
    """With its value over all of the side's rows."""


class _Known(FrozenModel):
    """What is known of a run as a whole."""

    label: str
    """The model, and what the task says of the run."""
    task: str
    judges: dict[str, str]
    """The judges whose verdicts the rows hold, each with its digest."""
    judged: dict[str, tuple[str, ...]]
    """Each judge to the groups in which it gave a verdict."""
    scoring: dict[str, Any]
    """Scoring options of the run and its task."""
    settings: dict[str, Any]
    """Options of the run and its task that shape an episode, and digests of the texts and tools that the model saw."""
    version: str
    """The talm-sim that made the run."""
    columns: tuple[Column, ...]


class _Header(_Known):
    """The first line of a baseline."""

    kind: Literal["talm-sim baseline"]
    format: int = Field(ge=1)
    episodes: int = Field(ge=0)
    """The number of lines that follow."""
    digest: str
    """Of these lines."""


class _Line(FrozenModel):
    """A further line of a baseline: an episode."""

    row: Row
    text: str
    kept: str = ""
    """Missing in lines of format 1, like `original`."""
    original: str = Field(default="", exclude_if=lambda found: not found)


OUTCOMES = "what it came to"
"""Title of the table of outcomes."""


class Side(_Known):
    """One side of a comparison."""

    name: str
    """What the user calls it."""
    texts: dict[str, str]
    """Id of each scenario to a digest of all that it asks and accepts."""
    kept: dict[str, str] = Field(default_factory=dict)
    """Id of each scenario to a digest of all that a translation keeps; empty where a baseline does not know."""
    originals: dict[str, str] = Field(default_factory=dict)
    """Id of each translation to the id of the scenario that it says the same as."""
    rows: tuple[Row, ...]
    """One per episode, with the values of `COSTS`."""
    path: Path | None = None
    """The run's directory; None for a baseline."""
    calls: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Of a run with faults: each episode to digests of its tool calls; empty for a baseline."""

    @classmethod
    def of_run(cls, stored: StoredRun) -> Side:
        """Read a stored run."""
        with stored.at_once():
            _check_finished(stored)
            job = stored.job
            rows = [outcome_values(row, job.task.outcomes or BY_SUCCESS) for row in stored.rows()]
            # Published outputs hold answers alone; traces of an agent have turns.
            played = not stored.imported or any(episode.model_turns for episode in stored.episodes())
            took = {episode.id: _costs(episode, played=played) for episode in stored.episodes()}
            perturbed = (episode for episode in stored.episodes() if episode.perturbations)
            said, who = job.task.label(stored), job.config.model_and_adapter
            return cls(
                name=stored.id,
                label=f"{'control: ' if who.startswith('sim/') else ''}{who}{f', {said}' if said else ''}",
                task=job.task.name,
                judges={verdict.judge: verdict.judge_config_digest for verdict in stored.verdicts()},
                judged=_judged_groups(stored),
                scoring={name: value for name, value in job.values(Scope.SCORING).items() if name not in _NOT_SCORING},
                settings=_settings(stored),
                version=stored.manifest.versions.get("talm-sim", ""),
                texts={scenario.id: text_digest(scenario) for scenario in stored.scenarios()},
                kept={scenario.id: kept_digest(scenario) for scenario in stored.scenarios()},
                originals={scenario.id: scenario.original for scenario in stored.scenarios() if scenario.source.translation_of},
                rows=tuple(row.model_copy(update={"values": {**took[row.episode], **row.values}}) for row in rows),
                columns=tuple(_columns(stored.summary())),
                path=stored.path,
                calls={episode.id: _calls_of(episode) for episode in perturbed},
            )

    @classmethod
    def of_file(cls, file: Path) -> Side:
        """Read a baseline that `lines` wrote."""
        try:
            lines = read_text(file, LARGEST_DATA).rstrip("\n").split("\n")
        except (UnfitFileError, OSError, UnicodeDecodeError) as err:
            raise PrerequisiteError(f"{file}: cannot be read: {getattr(err, 'strerror', None) or 'it is not UTF-8'}.") from None
        if not isinstance(first := _parse_json(file, 1, lines[0]), dict) or first.get("kind") != _KIND:
            made = line_to_copy("talm-sim", "export", "baseline", "RUN", str(file))
            raise PrerequisiteError(f"{file}:1: is not the first line of a baseline; make one with: {made}")
        if isinstance(first.get("format"), int) and first["format"] > FORMAT:
            raise NotComparableError(
                f"{file}: is of format {first['format']}, which a later talm-sim writes; this one reads {FORMAT}: update it."
            )
        header = _check(_Header, first, file, 1)
        found = [_check(_Line, _parse_json(file, number, line), file, number) for number, line in enumerate(lines[1:], 2) if line.strip()]
        episodes, texts = [one.row.episode for one in found], {(one.row.scenario, one.text) for one in found}
        if len(set(episodes)) < len(episodes):
            raise PrerequisiteError(f"{file}: names an episode twice; export it again.")
        if len(dict(texts)) < len(texts):
            raise PrerequisiteError(f"{file}: has two texts of one scenario; export it again.")
        if len(found) != header.episodes or digest(lines[1:]) != header.digest:
            raise PrerequisiteError(
                f"{file}: is not whole ({len(found):,} of {header.episodes:,} episodes, or one was changed); restore the file, or export the "
                "baseline again."
            )
        return cls(
            **{name: getattr(header, name) for name in _Known.model_fields},
            name=file.name,
            texts=dict(texts),
            kept={one.row.scenario: one.kept for one in found if one.kept},
            originals={one.row.scenario: one.original for one in found if one.original},
            rows=tuple(one.row for one in found),
        )

    @property
    def epochs(self) -> int:
        """The number of epochs."""
        return max((row.epoch for row in self.rows), default=1)

    def lines(self) -> Iterator[str]:
        """Yield the lines of a baseline: what it is, then one per episode."""
        kept = self.model_dump(mode="json", include=set(_Known.model_fields))
        rows = [json.dumps(self._line(row).model_dump(mode="json"), ensure_ascii=False) for row in self.rows]
        whole = {"episodes": len(rows), "digest": digest(rows)}
        yield json.dumps({"kind": _KIND, "format": FORMAT, **whole, **kept}, ensure_ascii=False)
        yield from rows

    def _line(self, row: Row) -> _Line:
        name = row.scenario
        return _Line(row=row, text=self.texts[name], kept=self.kept.get(name, ""), original=self.originals.get(name, ""))

    def judges_of(self, groups: Container[str]) -> dict[str, str]:
        """Return the judges that gave a verdict in one of the groups, each with its digest."""
        return {name: version for name, version in self.judges.items() if any(group in groups for group in self.judged.get(name, ()))}


def is_baseline(name: str) -> bool:
    """Return whether a name is a file's; what cannot be one, such as a very long name, is not."""
    return os.path.isfile(name)


def find_side(text: str | Path | StoredRun, run_dir: Path = Path("runs")) -> tuple[Side, str]:
    """Find a run, or a baseline's file; a run's name may be followed by `:GROUP`.

    Returns:
        The side, and the group; empty where none is named.
    """
    if isinstance(text, StoredRun):
        return Side.of_run(text), ""
    whole = str(text)
    if is_baseline(whole):
        return Side.of_file(Path(whole)), ""
    try:
        return Side.of_run(load_run(whole, run_dir)).model_copy(update={"name": whole}), ""
    except NotComparableError:
        raise
    except PrerequisiteError:
        before, colon, group = whole.rpartition(":")
        if not colon or not before:
            raise
    side = (Side.of_file(Path(before)) if is_baseline(before) else Side.of_run(load_run(before, run_dir))).model_copy(update={"name": before})
    groups = list(dict.fromkeys(row.group for row in side.rows))
    if group not in groups:
        raise PrerequisiteError(f"{before}: has no group '{group}'.{did_you_mean(group, groups)}")
    return side, group


def text_digest(scenario: Scenario) -> str:
    """Return a digest of what a scenario asks and accepts: scenarios of one id are the same only where it is equal."""
    return digest(canonical_form(scenario, "perturbations", "source"), 16)


def kept_digest(scenario: Scenario) -> str:
    """Return a digest of what a translation keeps: everything but its id, its language and what the user says."""
    kept = canonical_form(scenario, "id", "language", "perturbations", "source")
    for message in (message for turn in kept["turns"] for message in turn["messages"]):
        message["content"] = "" if message["role"] == "user" else message["content"]
    found = kept["missing"]
    for one in found if isinstance(found, list) else [found] if found else []:
        one["human_answer"] = one["human_answer"] is not None
    return digest(kept, 16)


def _check_finished(stored: StoredRun) -> None:
    if stored.finished < stored.total:
        again = line_to_copy("talm-sim", "resume", str(stored.path))
        raise NotComparableError(f"{stored.path}: {stored.total - stored.finished:,} of {stored.total:,} episodes are not finished: {again}")
    if stored.unjudged:
        again = line_to_copy("talm-sim", "judge", str(stored.path))
        raise NotComparableError(f"{stored.path}: {stored.unjudged:,} of {stored.finished:,} episodes lack a verdict: {again}")


def _judged_groups(stored: StoredRun) -> dict[str, tuple[str, ...]]:
    """Return the groups in which each judge said something of an episode; that it does not apply to any says nothing."""
    group = {row.episode: row.group for row in stored.rows()}
    found: dict[str, dict[str, None]] = {}
    for verdict in stored.verdicts():
        if verdict.episode_id in group and (verdict.value is not None or verdict.label or verdict.labels or verdict.votes):
            found.setdefault(verdict.judge, {})[group[verdict.episode_id]] = None
    return {judge: tuple(groups) for judge, groups in found.items()}


def _settings(stored: StoredRun) -> dict[str, Any]:
    job = stored.job
    options = {name: value for name, value in job.values(Scope.GENERATION).items() if name not in _SELECTING}
    for name in _NEWER:
        if name in options and not options[name]:
            del options[name]
    digests = stored.manifest.weights
    if "adapter" in digests:
        named = job.config.model_options
        options["model_options"] = {**named, "lora": f"{named['lora']} (digest {digests['adapter'][:12]})"}
    wording = stored.manifest.wording
    if not job.config.prompts:  # which of these texts is asked for follows from an option, which is named itself
        wording = {name: text for name, text in wording.items() if name not in {f"prompt {one}" for one in WORDED}}
    tools = [tool.model_dump(mode="json") for _, tool in sorted(stored.tools().items())]
    return {
        **options,
        "language": ",".join(dict.fromkeys(scenario.language for scenario in stored.scenarios())),
        "temperature": job.settings().temperature,
        "max_new_tokens": job.settings().max_new_tokens,
        **({"wording of the prompts": digest(wording)} if wording else {}),
        **({WEIGHTS: digests["base"][:12]} if "base" in digests else {}),
        **({"specifications of the tools": digest(tools)} if tools else {}),
    }


def _costs(episode: Episode, *, played: bool) -> dict[str, int | None]:
    """Return what an episode took; None where that is not known: of published outputs, and the tokens of what reports none.

    Of `questions`, what the task itself counts is taken instead.
    """
    usage = episode.usage
    counted = usage != Usage() and all(turn.usage != Usage() for turn in episode.model_turns)
    return {
        "model_turns": len(episode.model_turns) if played else None,
        "tool_calls": len(episode.tool_events) if played else None,
        "questions": len(episode.questions) if played else None,
        "tokens": usage.input_tokens + usage.output_tokens if counted else None,
    }


def _calls_of(episode: Episode) -> tuple[str, ...]:
    """Return a digest of each tool call: its tool, its arguments, and how often it had been made before."""
    made: Counter[str] = Counter()
    found = []
    for event in episode.tool_events:
        call = f"{event.name} {canonical_json(event.arguments)}"
        found.append(digest([call, made[call]]))
        made[call] += 1
    return tuple(found)


def _columns(summaries: Sequence[Summary]) -> Iterator[Column]:
    for summary in summaries:
        for measure in summary.measures_in("outcome"):
            # An episode that comes to one good outcome in place of another is no worse.
            better = "neither" if measure.better == "higher" and measure.name != SOLVED.name else measure.better
            update = {"place": "column", "under": OUTCOMES, "better": better}
            yield Column(group=summary.group, measure=measure.model_copy(update=update))
        for measure in summary.measures_in("column"):
            yield Column(group=summary.group, derived=summary.derived, measure=measure)
        taken = {measure.name for measure in summary.measures}  # a task's own measure of such a name means what the task says
        for name, measure in COSTS.items() if not summary.derived else ():
            if name not in taken:
                yield Column(group=summary.group, measure=measure)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _read_number(text: str) -> int | float:
    """Return a number; a count that no float can be made from, or an infinite value, would end a comparison later."""
    number = float(text)
    if not isfinite(number):
        raise ValueError("a number is too large")
    return int(text) if text.lstrip("-").isdigit() else number


def _parse_json(file: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line, parse_constant=_refuse_constant, parse_float=_read_number, parse_int=_read_number)
    except (ValueError, RecursionError) as err:
        known = isinstance(err, ValueError) and not isinstance(err, json.JSONDecodeError)
        fault = f"is damaged ({err})" if known else "is not JSON"
        raise PrerequisiteError(f"{file}:{number}: {fault}; restore the file, or export the baseline again.") from None


def _check(kind: type[_T], value: Any, file: Path, number: int) -> _T:
    try:
        return kind.model_validate(value)
    except ValidationError as err:
        first = err.errors()[0]
        fault = ": ".join(filter(None, (".".join(map(str, first["loc"])), fault_of(first))))
        raise PrerequisiteError(f"{file}:{number}: is damaged ({fault}); restore the file, or export the baseline again.") from None
