"""Tidy tables: episodes and summaries as flat rows, and as pandas frames where pandas is installed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from talm_sim.errors import PrerequisiteError
from talm_sim.types import AwarenessKind, Episode, Rate

if TYPE_CHECKING:
    import pandas

    from talm_sim.judges.choices import ChoiceSummary
    from talm_sim.judges.metrics import GroupSummary

__all__ = ["choice_record", "episode_record", "frame", "summary_record"]


def episode_record(episode: Episode) -> dict[str, Any]:
    """One episode as a flat row."""
    tools, people = episode.tool_events, episode.human_events
    information = episode.awareness_of(AwarenessKind.INFORMATION)
    tool = episode.awareness_of(AwarenessKind.TOOL)
    return {
        "episode": episode.id,
        "scenario": episode.scenario_id,
        "group": episode.group,
        "epoch": episode.epoch,
        "attempt": episode.attempt,
        "model": episode.model,
        "human": episode.human,
        "termination": episode.termination.value,
        "completed": episode.termination.completed,
        "awareness_information": information.value if information else None,
        "awareness_tool": tool.value if tool else None,
        "model_turns": len(episode.model_turns),
        "tool_calls": len(tools),
        "tool_failures": sum(not event.ok for event in tools),
        "human_calls": len(people),
        "perturbations_fired": sum(log.fired for log in episode.perturbations),
        "input_tokens": episode.usage.input_tokens,
        "output_tokens": episode.usage.output_tokens,
        "elapsed_s": episode.elapsed_s,
        "chosen": _likeliest(episode, "logprob"),
        "chosen_per_byte": _likeliest(episode, "per_byte"),
        "answer": episode.answer,
        "error": episode.error,
    }


def _likeliest(episode: Episode, measure: str) -> str | None:
    """The option a model finds likeliest, of equal ones the first; None where none was scored."""
    scores = episode.option_scores
    return max(scores, key=attrgetter(measure)).behaviour.value if scores else None


def summary_record(summary: GroupSummary) -> dict[str, Any]:
    """One group's metrics as a flat row: each rate as `<rate>`, `<rate>_low`, `<rate>_high`, `<rate>_k` and `<rate>_n`."""
    row: dict[str, Any] = {
        "group": summary.group,
        "total": summary.total,
        "n": summary.n,
        "not_scored": sum(summary.not_scored.values()),
        "unparsed": summary.unparsed,
        "pass_judge": summary.pass_judge,
    }
    for name, rate in summary.rates.items():
        row |= _rate_columns(name, rate)
    return row


def choice_record(summary: ChoiceSummary) -> dict[str, Any]:
    """The metrics of task `when2call` as a flat row.

    Rates as in `summary_record`; macro F1 with its limits; `precision_<class>`, `recall_<class>`, `f1_<class>` and `support_<class>`; and each
    cell of the confusion matrix as `<gold>_as_<predicted>`.
    """
    row: dict[str, Any] = {
        "group": summary.group,
        "total": summary.total,
        "n": summary.n,
        "not_scored": sum(summary.not_scored.values()),
        "unparsed": summary.unparsed,
        "mode": summary.mode,
        "judge": summary.judge,
        **_rate_columns("accuracy", summary.accuracy),
        **_rate_columns("accuracy_norm", summary.accuracy_norm),
        "macro_f1": summary.macro_f1,
        "macro_f1_low": summary.macro_f1_low,
        "macro_f1_high": summary.macro_f1_high,
    }
    for name, rate in summary.hallucinations.items():
        row |= _rate_columns(f"{name}_hallucination", rate)
    for behaviour, scores in summary.classes.items():
        row |= {f"{name}_{behaviour.value}": value for name, value in scores.model_dump().items()}
    for gold, cells in zip(summary.classes, summary.matrix, strict=True):
        row |= {f"{gold.value}_as_{column}": cell for column, cell in zip(summary.columns, cells, strict=True)}
    return row


def _rate_columns(name: str, rate: Rate | None) -> dict[str, Any]:
    shown = (rate.value, rate.low, rate.high, rate.k, rate.n) if rate else (None,) * 5
    return dict(zip((name, *(f"{name}_{end}" for end in ("low", "high", "k", "n"))), shown, strict=True))


def frame(records: Sequence[dict[str, Any]]) -> pandas.DataFrame:
    """Records as a pandas frame.

    Raises:
        PrerequisiteError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise PrerequisiteError("pandas is not installed: pip install 'talm-sim[pandas]'.") from None
    return pandas.DataFrame.from_records(list(records))
