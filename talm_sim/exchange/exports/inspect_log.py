"""`talm-sim export inspect`: a stored run as a log that Inspect reads, analyses and shows.

The form is version 2 of its `.eval` files, an archive of JSON documents. It is written with the standard library alone.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from talm_sim.common.digests import digest
from talm_sim.config import Scope
from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.exports.inspect_samples import SampleMaker, comments_record, model_name, sample_id, summary_of, usage_record
from talm_sim.exchange.exports.safe_texts import Cleaner
from talm_sim.judges.stats import share
from talm_sim.store.files.comments import Comment
from talm_sim.tasks.open_job import Exported
from talm_sim.types import Measure, Rate, Row, Summary, Usage, Verdict

if TYPE_CHECKING:
    from talm_sim.store.stored_run import StoredRun

_VERSION = 2
_EPOCH_START = (1980, 1, 1, 0, 0, 0)
"""The time of every entry, so that a second export is the same file."""
_CONTROL = "a scripted policy whose true figures are known, not a language model"


def export_inspect(stored: StoredRun) -> Exported:
    """Write a run of any task as a log of Inspect, for `inspect view` and its data frames.

    DIR gets one file, named as Inspect names its logs. Each episode is a sample: what its task and every judge say is a score, "C" or "I";
    an episode that is not in the rates keeps its scores without a value. Each group's measures are in the results.
    """
    if not (rows := {row.episode: row for row in stored.rows()}):
        raise PrerequisiteError(f"{stored.path}: has no finished episode; there is nothing to export.")
    scenarios = {scenario.id: scenario for scenario in stored.scenarios()}
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in stored.verdicts():
        verdicts.setdefault(verdict.episode_id, []).append(verdict)
    judges = list(dict.fromkeys(one.judge for said in verdicts.values() for one in said))
    comments: dict[str, list[Comment]] = {}
    for comment in stored.comments():
        comments.setdefault(comment.episode_id, []).append(comment)
    created = datetime.fromisoformat(stored.manifest.created).astimezone(UTC)
    sampling = _sampling(stored)
    maker = SampleMaker(stored.id, stored.job, created.timestamp(), _name_of_success(stored, rows, judges), sampling)
    clean, spec = Cleaner(), _spec(stored, list(scenarios)) | {"model_generate_config": sampling}
    start = {"version": _VERSION, "eval": spec, "plan": _plan(stored)}
    archive, summaries, ended = io.BytesIO(), list[dict[str, Any]](), _Totals()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as log:
        _write(log, "_journal/start.json", clean.value(start))
        for episode in stored.episodes():
            made = maker.sample(episode, scenarios.get(episode.scenario_id), rows[episode.id], verdicts.get(episode.id, ()))
            made["metadata"] |= comments_record(comments.get(episode.id, ()))
            sample = clean.value(made)
            _write(log, f"samples/{sample['id']}_epoch_{episode.epoch}.json", sample)
            summaries.append(summary_of(sample))
            ended.add(sample, episode.usage, episode.model)
        _write(log, "summaries.json", summaries)
        _write(log, "header.json", clean.value(start | _end(stored, rows, verdicts, maker.success, judges, ended)))
    name = f"{created:%Y-%m-%dT%H-%M-%S}+00-00_{_part(stored.config.task)}_{spec['task_id']}.eval"
    return Exported({name: archive.getvalue()}, tuple(_notes(stored, rows, scenarios)))


class _Totals:
    """What the samples add up to."""

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}
        self.failed = 0
        self.times: list[str] = []

    def add(self, sample: Mapping[str, Any], usage: Usage, model: str) -> None:
        self.usage[model] = self.usage.get(model, Usage()) + usage
        self.failed += "error" in sample
        self.times += (sample["started_at"], sample["completed_at"])

    def stats(self) -> dict[str, Any]:
        counted = {model_name(model): usage_record(usage) for model, usage in self.usage.items() if usage != Usage()}
        return {"started_at": min(self.times), "completed_at": max(self.times), "model_usage": counted}


def _write(log: zipfile.ZipFile, name: str, value: Any) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH_START)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    # Of what JSON lacks only the value of an unscored score occurs, in Inspect's own spelling.
    log.writestr(entry, json.dumps(value, separators=(",", ":")))


def _part(text: str) -> str:
    """Return a text as a part of a log's name."""
    return "".join(sign if sign.isalnum() or sign == "." else "-" for sign in text).strip(".") or "task"


def _name_of_success(stored: StoredRun, rows: Mapping[str, Row], judges: Sequence[str]) -> str:
    """Return the name of the score that says whether an episode succeeded; empty if the task says it of none."""
    task = stored.job.task
    if not task.success and all(task.succeeded(row) is None for row in rows.values()):
        return ""
    name = "success"
    while name in judges:
        name = f"task_{name}"
    return name


def _spec(stored: StoredRun, scenarios: Sequence[str]) -> dict[str, Any]:
    manifest, job = stored.manifest, stored.job
    config = job.config
    control = config.model.startswith("sim/")
    tags = ["talm-sim", *(["control"] if control else []), *(["imported"] if stored.imported else [])]
    about: dict[str, Any] = {"run": stored.id, "command": manifest.command, "dataset_digest": manifest.dataset_digest}
    about |= {"notes": manifest.notes, "brought": manifest.brought, "wording": manifest.wording, "weights": manifest.weights}
    about |= {"judges": {judge: one.model_dump(mode="json") for judge, one in stored.measures().items()}}
    identity = [stored.id, manifest.created, manifest.dataset_digest]
    return {
        "eval_id": digest([*identity, "eval"], 22),
        "run_id": digest([*identity, "run"], 22),
        "task_id": digest([*identity, "task"], 22),
        "created": datetime.fromisoformat(manifest.created).astimezone(UTC).isoformat(),
        "task": config.task,
        "task_description": job.task.about,
        "task_args": {**job.values(Scope.GENERATION, Scope.SCORING)},
        "dataset": {
            "name": PurePath(config.scenarios).name if config.scenarios else config.task,
            "samples": len(scenarios),
            "sample_ids": [sample_id(one) for one in scenarios],
        },
        "model": model_name(config.model),
        "model_args": dict(config.model_options),
        "config": {
            "epochs": config.epochs,
            "turn_limit": getattr(job.options, "turn_limit", None),
            "token_limit": getattr(job.options, "token_limit", None),
        },
        "packages": manifest.versions,
        "tags": tags,
        "metadata": about | ({"control": _CONTROL} if control else {}) | ({"imported": True} if stored.imported else {}),
    }


def _sampling(stored: StoredRun) -> dict[str, Any]:
    """Return how the model was sampled; of an imported run and of an own agent that is not known."""
    if stored.imported or getattr(stored.job.options, "agent", None):
        return {}
    settings = stored.job.settings()
    return {"max_tokens": settings.max_new_tokens, "temperature": settings.temperature, "seed": settings.seed}


def _plan(stored: StoredRun) -> dict[str, Any]:
    agent = getattr(stored.job.options, "agent", None)
    return {"name": "plan", "steps": [{"solver": agent or f"talm_sim/{stored.config.task}", "params": {}}]}


def _end(
    stored: StoredRun, rows: Mapping[str, Row], verdicts: Mapping[str, Sequence[Verdict]], success: str, judges: Sequence[str], ended: _Totals
) -> dict[str, Any]:
    task, scores = stored.job.task, list[dict[str, Any]]()
    if success:
        scores.append(_overall(success, "talm_sim", {one.episode: task.succeeded(one) for one in rows.values()}, rows))
    for judge in judges:
        said = {name: one.value for name, found in verdicts.items() for one in found if one.judge == judge}
        scores.append(_overall(judge, judge, said, rows))
    summaries = stored.summary(list(rows.values()))
    scores += [_group_score(one) for one in summaries]
    finished = len(rows) == stored.total
    results = {"total_samples": stored.total, "completed_samples": len(rows) - ended.failed, "scores": scores}
    notes = [note for one in summaries for note in one.notes] + list(task.notes(summaries, stored))
    status = "success" if finished else "started" if stored.owner is not None else "cancelled"
    return {"status": status, "results": results | {"metadata": {"notes": notes}}, "stats": ended.stats()}


def _overall(name: str, scorer: str, said: Mapping[str, bool | None], rows: Mapping[str, Row]) -> dict[str, Any]:
    """Return the share of all scored episodes with a yes."""
    counted = [row.model_copy(update={"values": {name: said.get(episode)}}) for episode, row in rows.items()]
    rate = share(counted, name)
    return {
        "name": name,
        "scorer": scorer,
        "metrics": _metrics("pass_rate", rate),
        "scored_samples": rate.n,
        "unscored_samples": len(rows) - rate.n,
    }


def _group_score(summary: Summary) -> dict[str, Any]:
    """Return a group's measures, as its row of the table has them."""
    metrics: dict[str, Any] = {}
    for measure in summary.measures:
        metrics |= _metrics(measure.name, measure)
    facts = {"derived": summary.derived, "not_scored": summary.not_scored, "notes": list(summary.notes), **summary.facts}
    return {
        "name": summary.group,
        "scorer": "group",
        "metrics": metrics,
        "scored_samples": summary.n,
        "unscored_samples": sum(summary.not_scored.values()),
        "metadata": facts,
    }


def _metrics(name: str, found: Rate | Measure) -> dict[str, Any]:
    """Return a figure and the ends of its 95 % interval; what has no value is left out."""
    figures = {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    counts = {key: value for key, value in (("k", found.k), ("n", found.n)) if value is not None}
    return {
        key: {"name": key, "value": value, **({"metadata": counts} if key == name and counts else {})}
        for key, value in figures.items()
        if value is not None
    }


def _notes(stored: StoredRun, rows: Mapping[str, Row], scenarios: Mapping[str, Any]) -> Iterator[str]:
    if left := Counter(row.not_scored for row in rows.values() if not row.scored):
        reasons = ", ".join(f"{count:,} {why}" for why, count in sorted(left.items()))
        yield f"{left.total():,} of {len(rows):,} samples {'has' if left.total() == 1 else 'have'} no score: {reasons}"
    if (missing := stored.total - len(rows)) > 0:
        yield f"{missing:,} of {stored.total:,} episodes {'is' if missing == 1 else 'are'} not finished, and not in the log"
    if renamed := sum(sample_id(one) != one for one in scenarios):
        ids = "sample id differs from its scenario's id" if renamed == 1 else "sample ids differ from their scenarios' ids"
        yield f"{renamed:,} {ids}, which cannot name a file; metadata.scenario has the scenario's own"
