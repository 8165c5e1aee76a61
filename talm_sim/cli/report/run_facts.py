"""What a reader of a page should know of a run besides its numbers: when and how it was made."""

from __future__ import annotations

from typing import Any

from talm_sim.cli.terminal.text import count
from talm_sim.config import RunConfig, Scope
from talm_sim.errors import format_names
from talm_sim.runs.stored_run import StoredRun

__all__ = ["run_facts"]


def run_facts(stored: StoredRun) -> dict[str, str]:
    """Return name, date, sources of tools, settings that are not the defaults, weights, judges, data, versions and command line, if known."""
    manifest = stored.manifest
    facts = {
        "run": stored.id,
        "made": manifest.created.replace("T", " ").removesuffix("Z") + " UTC" if manifest.created else "",
        "task": f"{manifest.config.task}, split {_text(manifest.config.split)}",
        "tools": ", ".join(getattr(stored.job.options, "tools_from", ())),
        "settings": ", ".join(_settings(stored)),
        "weights": ", ".join(f"{name} {text[:12]}" for name, text in manifest.weights.items()),
        "judges": _judges(stored),
        "data": f"{count(stored.total, 'episode')}, digest {manifest.dataset_digest}",
        "shards": _shards(stored),
        "versions": ", ".join(f"{name} {version}" for name, version in manifest.versions.items()),
        "command": manifest.command,
    }
    return {word: text for word, text in facts.items() if text}


def _judges(stored: StoredRun) -> str:
    """Return who judged the run, people by their names."""
    names = sorted({verdict.judge for verdict in stored.verdicts_of_all()})
    model = stored.config.judge_model
    return ", ".join(names) + (f" (judge model {model})" if model else "")


def _shards(stored: StoredRun) -> str:
    """Return what a merged run was made from."""
    shards = stored.shards
    rows = [f"{one.name} ({one.part}, {count(one.rows, 'episode')}{', waiting' * (one.status == 'waiting')})" for one in shards]
    return f"merged from {len(shards):,}: {format_names(rows, 4)}" if shards else ""


def _settings(stored: StoredRun) -> list[str]:
    """Return each option of the run and its judging that is not the default."""
    job = stored.job
    defaults: dict[str, Any] = {}
    for model in (RunConfig, type(job.options)):
        defaults |= {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
    values = {name: value for name, value in job.values(Scope.GENERATION, Scope.SCORING).items() if name not in ("task", "split")}
    return [f"{name} {_text(value)}" for name, value in values.items() if _text(value) != _text(defaults[name])]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={one}" for key, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
