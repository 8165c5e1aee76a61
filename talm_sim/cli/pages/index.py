"""All of a page but the transcripts, as JSON-able data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from talm_sim.cli.pages.cleaning import PageTexts
from talm_sim.cli.pages.episodes import asked_of, breakdowns, ends_table, episode_lines, verdicts_by_episode, verdicts_table
from talm_sim.cli.pages.pairs import Compared, compare_each, compared_data
from talm_sim.cli.pages.tables import block_data, paper_data, table_data
from talm_sim.cli.pages.transcripts import transcript_data
from talm_sim.cli.report.blocks import block_of, title_of
from talm_sim.cli.report.layout import Block, definitions
from talm_sim.cli.report.run_usage import total_usage
from talm_sim.cli.terminal.text import count
from talm_sim.config import RunConfig, Scope
from talm_sim.errors import format_names
from talm_sim.runs.files.comments import Comment
from talm_sim.runs.prices import Price
from talm_sim.runs.stored_run import StoredRun
from talm_sim.runs.transcripts import Transcript, read_transcript
from talm_sim.types import Episode

__all__ = ["build_index", "build_transcript", "build_transcripts"]


def build_index(
    runs: Sequence[StoredRun],
    *,
    blocks: Sequence[Block] | None = None,
    compared: Sequence[Compared] | None = None,
    prices: Mapping[str, Price] | None = None,
    transcripts: bool = True,
) -> dict[str, Any]:
    """Return what a page over runs shows, apart from the transcripts.

    Args:
        runs: The runs.
        blocks: Their tables; by default those that `report` prints.
        compared: Their comparisons; by default each run with each other one.
        prices: Model to its price; None if none were given.
        transcripts: Whether the page has an index of the episodes.

    Raises:
        PrerequisiteError: A run cannot be read.
    """
    texts = PageTexts()
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.at_once())
        if blocks is None:
            blocks = [block_of(run, on_screen=True, prices=prices) for run in runs]
        if compared is None:
            compared = compare_each(runs)
        head = {
            "title": "; ".join(block.title for block in blocks),
            "blocks": [block_data(block) for block in blocks],
            "papers": paper_data(blocks),
            "definitions": list(definitions(blocks).items()),
        }
        return {
            **texts.value(head),
            "runs": [_run_data(run, texts, prices, transcripts) for run in runs],
            "compared": [compared_data(one, runs, texts) for one in compared],
        }


def _run_data(run: StoredRun, texts: PageTexts, prices: Mapping[str, Price] | None, transcripts: bool) -> dict[str, Any]:
    episodes, said = list(run.episodes()), verdicts_by_episode(run)
    rows = {row.episode: row for row in run.rows()}
    tables = [ends_table(run, episodes, rows), verdicts_table(said, rows)]
    data = {
        "id": run.id,
        "title": title_of(run),
        "control": run.config.model.startswith("sim/"),
        "facts": list(_run_facts(run).items()),
        "usage": total_usage(run, prices).line(),
        "finished": len(episodes),
        "total": run.total,
        "tables": [table_data(one) for one in tables if one is not None],
        "breakdowns": [block_data(block) for block in breakdowns(run, episodes, rows)],
    }
    shown = episodes if transcripts else []
    return {**texts.value(data), "asked": asked_of(shown, texts), "episodes": episode_lines(run, shown, rows, said, texts)}


def build_transcript(run: StoredRun, episode_id: str) -> dict[str, Any]:
    """Return the transcript of a finished episode, by its id or a unique prefix.

    Raises:
        PrerequisiteError: There is no such episode, or it is not finished.
    """
    with run.at_once():
        return transcript_data(read_transcript(run, run.episode(episode_id)), PageTexts())


def build_transcripts(run: StoredRun) -> dict[str, dict[str, Any]]:
    """Return the transcripts of all finished episodes, by their ids as the index has them."""
    texts = PageTexts()
    with run.at_once():
        scenarios, said = {item.id: item for item in run.scenarios()}, verdicts_by_episode(run)
        written: dict[str, list[Comment]] = {}
        for comment in run.comments():
            written.setdefault(comment.episode_id, []).append(comment)

        def read(one: Episode) -> Transcript:
            return read_transcript(run, one, scenarios.get(one.scenario_id), said.get(one.id, []), written.get(one.id, []))

        return {texts.text(one.id): transcript_data(read(one), texts) for one in run.episodes()}


def _run_facts(stored: StoredRun) -> dict[str, str]:
    """Return name, date, sources of tools, settings that are not the defaults, weights, judges, data, versions and command line, if known."""
    manifest = stored.manifest
    facts = {
        "run": stored.id,
        "made": manifest.created.replace("T", " ").removesuffix("Z") + " UTC" if manifest.created else "",
        "task": f"{manifest.config.task}, split {_text_of(manifest.config.split)}",
        "tools": ", ".join(getattr(stored.job.options, "tools_from", ())),
        "settings": ", ".join(_settings_of(stored)),
        "weights": ", ".join(f"{name} {text[:12]}" for name, text in manifest.weights.items()),
        "judges": _judges_of(stored),
        "data": f"{count(stored.total, 'episode')}, digest {manifest.dataset_digest}",
        "shards": _shards_of(stored),
        "versions": ", ".join(f"{name} {version}" for name, version in manifest.versions.items()),
        "command": manifest.command,
    }
    return {word: text for word, text in facts.items() if text}


def _judges_of(stored: StoredRun) -> str:
    """Return who judged the run, people by their names."""
    names = sorted({verdict.judge for verdict in stored.verdicts_of_all()})
    model = stored.config.judge_model
    return ", ".join(names) + (f" (judge model {model})" if model else "")


def _shards_of(stored: StoredRun) -> str:
    """Return what a merged run was made from."""
    shards = stored.shards
    rows = [f"{one.name} ({one.part}, {count(one.rows, 'episode')}{', waiting' * (one.status == 'waiting')})" for one in shards]
    return f"merged from {len(shards):,}: {format_names(rows, 4)}" if shards else ""


def _settings_of(stored: StoredRun) -> list[str]:
    """Return each option of the run and its judging that is not the default."""
    job = stored.job
    defaults: dict[str, Any] = {}
    for model in (RunConfig, type(job.options)):
        defaults |= {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
    values = {name: value for name, value in job.values(Scope.GENERATION, Scope.SCORING).items() if name not in ("task", "split")}
    return [f"{name} {_text_of(value)}" for name, value in values.items() if _text_of(value) != _text_of(defaults[name])]


def _text_of(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={one}" for key, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
