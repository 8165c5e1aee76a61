"""For the time being: the summaries of both tasks as `Summary`. Their tasks make them themselves soon."""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.cli.text import count
from talm_sim.judges.choices import HALLUCINATIONS, UNPARSED, ChoiceSummary
from talm_sim.judges.metrics import GroupSummary
from talm_sim.types import Matrix, Measure, Summary

__all__ = ["BEHAVIOUR_LABELS", "choice_notes", "choice_summary", "talm_summary"]

_HEADS = {"pass_rate": "PR", "awareness": "Aware", "unexpected": "Unexp", "skip": "Skip", "interaction": "Inter"}
_WORDS = {"pass_rate": "pass rate", "skip": "skips", "unexpected": "unexpected outcomes"}
BEHAVIOUR_LABELS = {
    "direct": "direct",
    "tool_call": "tool_call",
    "request_for_info": "request",
    "cannot_answer": "cannot",
    UNPARSED: "unparsed",
}
_HALLUCINATION_LABELS = {
    "tool": "tool call where no tools are shown",
    "answer": "direct answer",
    "parameter": "tool call where information is missing",
}


def talm_summary(group: GroupSummary) -> Summary:
    """A group of task `talm`."""
    by = {"pass_rate": group.pass_judge or "no judge"}
    return Summary(
        group=group.group,
        n=group.n,
        total=group.total,
        not_scored=group.not_scored,
        facts={"unparsed": group.unparsed, "pass_judge": group.pass_judge},
        measures=tuple(
            Measure.of(rate, name, _HEADS[name], note=_WORDS.get(name, name), by=by.get(name, "")) for name, rate in group.rates.items()
        ),
        notes=group.notes,
        derived=group.group == "unavailable",
    )


def choice_summary(one: ChoiceSummary) -> Summary:
    """A run of task `when2call`."""
    measures = [Measure.of(one.accuracy, "accuracy", "Acc"), Measure.of(one.accuracy_norm, "accuracy_norm", "Acc-norm")]
    f1 = {"value": one.macro_f1, "low": one.macro_f1_low, "high": one.macro_f1_high}
    measures.append(Measure(name="macro_f1", head="macro F1", kind="score", **f1))
    for name in HALLUCINATIONS:
        words = _HALLUCINATION_LABELS[name]
        rate = one.hallucinations[name]
        measures.append(Measure.of(rate, f"{name}_hallucination", name, place="line", under="hallucinations", note=words))
    for behaviour, scores in one.classes.items():
        for name, value in scores.model_dump().items():
            head = "F1" if name == "f1" else name
            place = "hidden" if name == "support" else "matrix"
            label = behaviour.value
            measures.append(Measure(name=f"{name}_{label}", head=head, kind="number", place=place, under=label, value=value))
    heads = tuple(BEHAVIOUR_LABELS[column] for column in one.columns)
    rows = tuple(behaviour.value for behaviour in one.classes)
    return Summary(
        group=one.group,
        n=one.n,
        total=one.total,
        not_scored=one.not_scored,
        facts={"unparsed": one.unparsed, "mode": one.mode, "judge": one.judge},
        measures=tuple(measures),
        matrices=(Matrix(name="confusion", rows=rows, columns=tuple(map(str, one.columns)), counts=one.matrix, heads=heads),),
        notes=tuple(choice_notes(one)),
    )


def choice_notes(summary: ChoiceSummary) -> Iterator[str]:
    """What a reader of the rates should know."""
    if summary.mode == "logprob":
        yield "mode logprob: the likeliest given answer counts; Acc-norm: likeliest a byte"
    elif summary.judge is not None:
        rules = " (rules, no model; weak beside behaviour-llm)" if summary.judge == "behaviour" else ""
        yield f"mode judge: free answers, classified by judge {summary.judge}{rules}"
    if summary.not_scored:
        yield "not scored: " + ", ".join(f"{number:,} {_reason(name)}" for name, number in summary.not_scored.items())
    if summary.unparsed:
        yield f"{count(summary.unparsed, 'answer')} of no readable behaviour ({UNPARSED}); counted as wrong"
    if summary.n:
        yield "macro F1: mean over all four classes, one without rows counting as 0"
        if not summary.hallucinations["tool"].n:
            yield "no row shows no tools (and has gold cannot_answer): there is no tool hallucination rate"
    yield from summary.notes


def _reason(name: str) -> str:
    return "context_overflow (prompt too long for the model)" if name == "context_overflow" else name
