"""Additions to the table of task `awareness`: the published results, notes, and the sections of an episode's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from talm_sim.scenarios.dialogue import ATTEMPT, EXAMPLE, as_text, dialogue, part_of
from talm_sim.scenarios.item_tools import tool_name
from talm_sim.scenarios.statistics import Statistics
from talm_sim.tasks.awareness.protocols import ALTERNATIVES, IMPLICIT, TELLS_FIRST_TOKEN
from talm_sim.tasks.base import RunView
from talm_sim.tasks.page_sections import missing_section, shorten
from talm_sim.tasks.paper.paper_rows import OTHER, Beside, compare_own
from talm_sim.tasks.paper.published import published
from talm_sim.types import Episode, Line, Scenario, Section, Summary, YesNo


def sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Return the parts this task adds to the page, below the query."""
    said = dialogue(scenario)
    if len(said) > 1:
        yield Section.of("Conversation", [shorten(line) for line in as_text(said).splitlines()])
    if examples := [message["from"] for message in part_of(scenario, EXAMPLE) if "from" in message]:
        yield Section.of("Examples shown before", [shorten(str(one)) for one in examples])
    if attempt := part_of(scenario, ATTEMPT):
        yield Section.of("The call made before", [shorten(line) for line in as_text(attempt).splitlines()])
    if scenario.missing:
        yield missing_section(*scenario.missing)
    if isinstance(scenario.target, YesNo):
        yield Section(title="Tools shown", lines=tuple(_tools(scenario, scenario.target)))
        yield Section.of("Right", [f"{scenario.target.gold.capitalize()}{_maker_note(scenario.target)}"])


def _tools(scenario: Scenario, target: YesNo) -> Iterator[tuple[Line, ...]]:
    replaced = {instead: name for name, instead in target.swapped.items()}
    for tool in scenario.shown_tools:
        name = tool_name(tool)
        line = Line(text=shorten(name))
        if name in replaced:
            yield line, Line(text=f"  in place of {shorten(replaced[name])}", style="notice")
        elif name in target.relevant:
            yield line, Line(text="  needed", style="good")
        else:
            yield (line,)
    if not scenario.shown_tools:
        yield (Line(text="(none)", style="faint"),)


def _maker_note(target: YesNo) -> str:
    return f" (taken away by {shorten(target.made_by)})" if target.made_by else ""


_ASKED = {
    "few-shot": "two originals and two manipulated instances of others stand before each question, drawn by seed {seed}: "
    "of the same data set and manipulation",
    "cot": "the answer stands behind the thought",
    "implicit": "the model writes the next turn: a call counts as Yes, anything else as No; the question itself is asked apart",
    "implicit-native": "the model goes on with the conversation, offered the tools: a call, also a written one, counts as Yes, "
    "anything else as No; the question itself is asked apart",
    "completion": "the model goes on with a text, without a chat template",
    "feedback": "right is No, No, Yes: words are gone and the call failed, or succeeded with what nobody said; nothing is gone and it failed",
}


def notes(summaries: Sequence[Summary], run: RunView) -> Iterator[str]:
    """Return the lines below the table."""
    options = run.job.options
    if options.protocol in _ASKED:
        yield _ASKED[options.protocol].format(seed=run.job.config.seed)
    if options.protocol == "explanation" and "explanation" not in run.measures():
        yield "explanations of a right No are judged by a model: add --judge-model PROVIDER/NAME, or later talm-sim judge RUN --judge-model ..."
    own = [summary for summary in summaries if not summary.derived]
    if any(summary.group == "all" for summary in summaries):
        times = "once per manipulation" if options.protocol == "few-shot" else "once"
        yield f"all: every original {times}, beside all that was made of them: no balanced set"
    if any(summary.facts["with_p_yes"] for summary in own):
        where = f"among the {ALTERNATIVES} likeliest first tokens" if options.probability == "first-tokens" else "as the whole answer, scored"
        without = sum(summary.n - summary.facts["with_p_yes"] for summary in own)
        yield f"P(Yes), Yes or No: the probabilities of Yes and No {where}" + (
            f"; {without:,} of {sum(one.n for one in own):,} have neither there" if without else ""
        )
    elif options.protocol in TELLS_FIRST_TOKEN and any(summary.n for summary in own):
        yield "no P(Yes): the model tells no probabilities of an answer that begins with Yes or No"
    if again := sum(summary.facts["asked_again"] for summary in own):
        left = sum((one.k or 0) for summary in own if (one := summary.measure("unreadable")))
        yield f"{again:,} answer{'' if again == 1 else 's'} could not be read and asked for again; {left:,} could not be read at all"


_PAPER = "incomplete-conditions"
_MANIPULATION = {"replaced": "API Replacement", "removed": "Utterance Removal"}
_STUDIED = {"apibank": "APIBank", "stabletoolbench": "ToolBench", "toolbench": "ToolBench"}
"""A source's name to that of the paper's data; results over any other source are compared with APIBank's."""
_MODELS = ("GPT-4o", "GPT-4o mini", "Llama3.1 8B", "Phi-3 small")
_FIGURES = {"accuracy": "Acc", "f1": "F1"}
_TABLES = {"zero-shot": ("2", "0-shot"), "few-shot": ("2", "4-shot"), "cot": ("11", "CoT")}
"""For a protocol, the table that distinguishes sources and prompts, and its prompt."""
_PLAIN = {
    **dict.fromkeys(IMPLICIT, ("4", "free answers", {**_FIGURES, "agreement": "Corr"}, ("GPT-4", "GPT-3.5-T"))),
    "completion": ("6", "Llama 2, base models and tuned ones", _FIGURES, ("13B base", "70B base", "7B base")),
    "explanation": ("7", "explanations", {"explanation": "Acc"}, ("GPT-4", "GPT-3.5-T", "Mistral-7B")),
}
"""For a protocol, the table that distinguishes only manipulations, its subject, its figures and its models."""
_CONDITIONS = {
    "removed-failed": {"scenario": "utterance removed, call failed"},
    "removed-invented": {"scenario": "utterance removed, call succeeded"},
    "complete-failed": {"scenario": "complete, call failed"},
}


def beside(run: RunView) -> Beside:
    """Return the table of the run's protocol, and say whether the instances are the study's own."""
    from talm_sim.tasks.awareness.making.study import STUDY_URL

    addresses = [scenario.source.url for scenario in run.scenarios()]
    compared = compare_own(f"{len(addresses):,} instances of its files") if set(addresses) == {STUDY_URL} else OTHER
    return replace(_table(run), compared=compared)


def _table(run: RunView) -> Beside:
    protocol = run.job.options.protocol
    if protocol == "feedback":
        return Beside(_PAPER, "5", {"accuracy": "Acc"}, _CONDITIONS, ("GPT-4o", "GPT-3.5 Turbo"), "feedback")
    if protocol in _PLAIN:
        table, about, figures, models = _PLAIN[protocol]
        return Beside(_PAPER, table, figures, {name: {"manipulation": one} for name, one in _MANIPULATION.items()}, models, about)
    table, prompt = _TABLES[protocol]
    sources = sorted({scenario.source.name for scenario in run.scenarios()})
    groups: dict[str, Mapping[str, str]] = {}
    for name, manipulation in _MANIPULATION.items():
        keys = {"manipulation": manipulation, "prompt": prompt}
        if len(sources) < 2:
            groups[name] = {**keys, "data": _data(sources[0] if sources else "")}
        else:
            groups |= {f"{name}, {source}": {**keys, "data": _data(source)} for source in sources}
    return Beside(_PAPER, table, _FIGURES, groups, _MODELS, prompt)


_COUNTED = {
    "instances": "# Instances",
    "turns": "Avg. Turns",
    "apis": "Avg. APIs",
    "utterance_words": "Avg. Uttr. Words",
    "api_length": "Avg. API Length",
}


def published_statistics(counted: Statistics) -> Statistics | None:
    """Return the column of Table 1 about the manipulated instances of one of its data sets."""
    data, manipulation = _STUDIED.get(counted.source), _MANIPULATION.get(counted.group)
    if data is None or manipulation is None:
        return None
    table = published(_PAPER, "1")
    figures: dict[str, Any] = {name: table.row(key).values[f"{manipulation}, {data}"] for name, key in _COUNTED.items()}
    return Statistics(source=f"published: Table 1, {data}", group=counted.group, **figures)


def _data(source: str) -> str:
    return _STUDIED.get(source, "APIBank")
