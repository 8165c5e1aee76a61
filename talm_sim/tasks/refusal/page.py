"""Additions to the table of task `refusal`: the published results, notes, and the sections of an episode's page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

from talm_sim.scenarios.dialogue import as_text, dialogue
from talm_sim.tasks.acting.person_model import who_answers
from talm_sim.tasks.base import RunView
from talm_sim.tasks.page_sections import shorten
from talm_sim.tasks.paper.paper_rows import Beside, compare_own
from talm_sim.tasks.reasoning import reasoning_label, reasoning_notes
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, SUBSETS
from talm_sim.tasks.refusal.bfcl.subsets import KNOWN_FAULTS
from talm_sim.tasks.refusal.bfcl.turn_rows import gold_turns
from talm_sim.tasks.refusal.data import NOT_NATIVE
from talm_sim.tasks.refusal.measures import ALL, FORMAT, INTENT
from talm_sim.tasks.refusal.propensity import Propensity
from talm_sim.tasks.refusal.shown_tools import functions
from talm_sim.tasks.refusal.turns.missing_table import missing_lines, missing_note
from talm_sim.tasks.refusal.turns.missing_turn import read_missing_turn
from talm_sim.types import AcceptedCall, Calls, Episode, Line, Scenario, Section, Summary

_RIGHT = {"none": "no call: no function shown serves", "any": "a call, whichever"}


def sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Return the parts this task adds to the page, below the query."""
    if (gold := gold_turns(scenario)) is not None:
        yield Section.of("Right calls, by request", [shorten(line) for line in _turn_lines(scenario, gold)])
        if (found := read_missing_turn(episode, scenario)) is not None:
            yield Section.of(f"Request {found.turn + 1}, in which something is missing", missing_lines(found))
        return
    said = dialogue(scenario)
    if len(said) > 1:
        yield Section.of("Conversation", [shorten(line) for line in as_text(said).splitlines()])
    if not isinstance(scenario.target, Calls):
        return
    needed = {call.name for call in scenario.target.accepted}
    names = [one["name"] for one in functions(scenario.shown_tools)]
    shown = [(Line(text=shorten(name)), *([Line(text="  needed", style="good")] if name in needed else [])) for name in names]
    yield Section(title="Functions shown", lines=tuple(shown) or ((Line(text="(none)", style="faint"),),))
    right = [_format_accepted(call) for call in scenario.target.accepted] or [_RIGHT[scenario.target.expected]]
    yield Section.of("Right", right)
    yield Section(title="Calls read", lines=tuple((line,) for line in _calls(episode, scenario, scenario.target)))
    yield from _propensity(episode)


def _propensity(episode: Episode) -> Iterator[Section]:
    """Return the texts that were scored, with their likelihoods, if any were."""
    scored = Propensity.of(episode)
    if scored.value is None:
        return
    lines = []
    for one in scored.option_scores:
        lines.append((Line(text=f"{one.kind:<8}{one.logprob:>10.2f}  {one.tokens:>4} tokens  {exp(one.per_token):>8.4f} per token"),))
        lines.append((Line(text=f"  {shorten(one.text)}", style="faint"),))
    share = Line(text=f"call / (call + refusal): {scored.value:.3f}", style="bad" if scored.value > 0.5 else "good")
    yield Section(title="Propensity", lines=(*lines, (share,)))


def _turn_lines(scenario: Scenario, gold: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the right calls of each request, after the functions that are shown from then on."""
    added = [turn.tools_added for turn in scenario.turns]
    for number, calls in enumerate(gold):
        new = ", ".join(added[number]) if number < len(added) else ""
        yield f"{number + 1}. {f'[now shown: {new}] ' if new else ''}{'; '.join(calls) or '(none)'}"


def _format_accepted(call: AcceptedCall) -> str:
    """Return a right call, with every value that counts."""
    arguments = [f"{name}={' or '.join(_value(value) for value in values) or '(nothing is right)'}" for name, values in call.arguments.items()]
    return shorten(f"{call.name}({', '.join(arguments)})")


def _value(value: Any) -> str:
    return "(left out)" if value == "" else json.dumps(value, ensure_ascii=False)


def _calls(episode: Episode, scenario: Scenario, target: Calls) -> Iterator[Line]:
    from talm_sim.tasks.refusal.call_checks.calls_judge import calls_of, tools_of

    found = calls_of(episode, tools_of(scenario), target.syntax)
    for call in found:
        arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
        yield Line(text=shorten(f"{call.name}({arguments})"))
    if not found:
        yield Line(text="(none)", style="faint")


def label(run: RunView) -> str:
    """Return what stands behind the model's name: the kind of reasoning, and who answers, if there is any."""
    options = run.job.options
    return ", ".join(filter(None, (reasoning_label(run), "" if options.human == "none" else f"Ask-and-Help ({who_answers(options)})")))


_EXAMPLES = 3
_SOURCES = {
    "chat": "the tokenizer's own chat template, or the provider's native tools",
    "injected": "a system message, calls in <tool_call> blocks",
    "pythonic": "a system message, calls as [f(a=1)]",
}


def notes(summaries: Sequence[Summary], run: RunView) -> Iterator[str]:
    """Return the lines below the table."""
    template = run.job.options.template
    yield f"tools shown by template {template}" + (f" ({_SOURCES[template]})" if template in _SOURCES else "")
    own = [summary for summary in summaries if not summary.derived]
    if any(summary.measure("h_i") for summary in own):
        yield "Irrelevance, No attempt and No call are shares of rows without a call: higher is better"
    if any(summary.measure("propensity") for summary in own):
        yield "propensity: the beginning of a call against refusals, each exp of the mean log-probability per token"
    yield from reasoning_notes(run.job)
    yield from _data(run)
    if malformed := sum(summary.facts["malformed"] for summary in own):
        yield f"{malformed:,} malformed attempt{'' if malformed == 1 else 's'}: meant as a call, and none can be read"
        yield from _examples(run)
    yield from missing_note(own)
    if only := sum(summary.facts["bfcl_only"] for summary in own):
        yield f"Gap(BFCL): BFCL reads a call in {only:,} output{'' if only == 1 else 's'} where no call is attempted (arguments without names)"


_TRANSLATORS = {NOT_NATIVE: "not written or read by native speakers"}
"""Source of translated rows to what is said of them, if that is shorter."""


def _data(run: RunView) -> Iterator[str]:
    own = [one for one in run.scenarios() if one.source.translation_of and one.group not in SUBSETS]
    translated = Counter((one.source.name, one.language) for one in own)
    for source in dict.fromkeys(name for name, _ in translated):
        counts = " and ".join(f"{count:,} in {language}" for (name, language), count in sorted(translated.items()) if name == source)
        yield f"translated rows ({counts}): {_TRANSLATORS.get(source, source)}"
    scenarios = [one for one in run.scenarios() if one.group in SUBSETS]
    if sources := dict.fromkeys(one.source.name for one in scenarios if one.source.name):
        yield f"rows: {', '.join(sources)}"
    asked = {one.group for one in scenarios} - {*MULTI_TURN}
    if asked and not {"live_irrelevance", "live_relevance"} <= asked:
        yield "the study's H-I and H-S are over live_irrelevance and live_relevance together, which were not both run"
    faulty = [one.id for one in scenarios if one.id in KNOWN_FAULTS]
    for name in faulty:
        yield f"{name}: the published ground truth {KNOWN_FAULTS[name]}"
    for one in scenarios:
        if (gold := gold_turns(one)) is not None and len(gold) != len(one.turns):
            yield f"{one.id}: the published ground truth has {len(gold)} turns, and the row {len(one.turns)}: no answer passes it"


def _examples(run: RunView) -> Iterator[str]:
    """Return the first malformed attempts, in the words of the judge that found them."""
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


_FIGURES = {"ast_bfcl": "AST", "irr": "Irr", "h_i": "H-I", "h_s_bfcl": "H-S"}
"""The study's AST and H-S are those of BFCL's own command, so they are beside the columns that BFCL's reader gives."""
_VARIANT = "Baseline"
"""The study's models before its training; the effect of training is in the same table."""


def beside(run: RunView) -> Beside | None:
    """Return the study's table, in each language that was run; None for rows that are not BFCL's."""
    scenarios = [one for one in run.scenarios() if one.group in SUBSETS]
    if not (counts := Counter(one.language for one in scenarios)):
        return None
    languages = list(counts)
    names = {language: ALL if len(languages) == 1 else f"{ALL}, {language}" for language in languages}
    groups = {name: {"language": language.upper(), "variant": _VARIANT} for language, name in names.items()}
    rows = ", ".join(f"{count:,} {'row' if count == 1 else 'rows'} in {language}" for language, count in counts.items())
    sources = ", ".join(dict.fromkeys(one.source.name for one in scenarios if one.source.name)) or "BFCL"
    compared = compare_own(f"{rows} ({sources})")
    return Beside("when-not-to-call", "main", _FIGURES, groups, ("Llama-3.2-1B", "Gemma-3-1B"), f"{_VARIANT}, {', '.join(languages)}", compared)
