"""What a reader of a run's table should know of task `refusal`: how tools were shown, what was cut off, and how attempts failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talm_sim.tasks.base import RunView
from talm_sim.tasks.refusal.bfcl import SUBSETS
from talm_sim.tasks.refusal.bfcl.subsets import KNOWN_FAULTS
from talm_sim.tasks.refusal.measures import FORMAT, INTENT
from talm_sim.tasks.sections import shorten
from talm_sim.types import Calls, Summary

__all__ = ["notes"]

_EXAMPLES = 3
_SOURCES = {
    "chat": "the tokenizer's own chat template, or the provider's native tools",
    "injected": "a system message, calls in <tool_call> blocks",
    "pythonic": "a system message, calls as [f(a=1)]",
}


def notes(summaries: Sequence[Summary], run: RunView) -> Iterator[str]:
    """The lines below the table."""
    template = run.job.options.template
    yield f"tools shown by template {template}" + (f" ({_SOURCES[template]})" if template in _SOURCES else "")
    own = [summary for summary in summaries if not summary.derived]
    if any(summary.measure("h_i") for summary in own):
        yield "Irr, H-I and H-S are shares of rows without a call: higher is better"
    yield from _data(run)
    cut = sum(summary.facts["cut_off"] for summary in own)
    if cut:
        yield f"{cut:,} of {sum(one.n for one in own):,} outputs cut off at {run.job.settings().max_new_tokens:,} new tokens"
    malformed = sum(summary.facts["malformed"] for summary in own)
    if malformed:
        yield f"{malformed:,} malformed attempt{'' if malformed == 1 else 's'}: meant as a call, and none can be read"
        yield from _examples(run)
    only = sum(summary.facts["bfcl_only"] for summary in own)
    if only:
        yield f"Gap(BFCL): BFCL reads a call in {only:,} output{'' if only == 1 else 's'} where no call is attempted (arguments without names)"


def _data(run: RunView) -> Iterator[str]:
    scenarios = [one for one in run.scenarios() if one.group in SUBSETS]
    sources = dict.fromkeys(one.source.name for one in scenarios if one.source.name)
    if sources:
        yield f"rows: {', '.join(sources)}"
    if scenarios and not {"live_irrelevance", "live_relevance"} <= {one.group for one in scenarios}:
        yield "the study's H-I and H-S are over live_irrelevance and live_relevance together, which were not both run"
    faulty = [one.id for one in scenarios if one.id in KNOWN_FAULTS]
    for name in faulty:
        yield f"{name}: the published ground truth {KNOWN_FAULTS[name]}"


def _examples(run: RunView) -> Iterator[str]:
    """The first malformed attempts, in the words of the judge that found them."""
    refusals = {one.id for one in run.scenarios() if isinstance(one.target, Calls) and one.target.expected == "none"}
    of = {one.id: one.scenario_id for one in run.episodes()}
    unread = {one.episode_id for one in run.verdicts() if one.judge == FORMAT and one.value}
    found = [
        one
        for one in run.verdicts()
        if one.judge == INTENT and one.value is False and one.episode_id in unread and of.get(one.episode_id) in refusals
    ]
    for verdict in sorted(found, key=lambda one: one.episode_id)[:_EXAMPLES]:
        yield f"{verdict.episode_id}: {shorten(verdict.explanation, 120)}"
