"""docs/numbers.md defines every measure that the code defines, in the words of its legend, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from talm_sim import run
from talm_sim.comparison.by_tool import tool_table
from talm_sim.comparison.compared_rows import COSTS
from talm_sim.judges.registry import judge_class
from talm_sim.judges.repeats import Outcomes, repeat_measures
from talm_sim.store.people.people_agreement import Agreement
from talm_sim.store.people.sample import Sample
from talm_sim.store.tidy_tables import label_measure
from talm_sim.tasks import PersonQuestion, find_task
from talm_sim.tasks.awareness.feedback import CONDITIONS
from talm_sim.tasks.refusal.bfcl import SUBSETS
from talm_sim.tasks.talm.ask_scores import AskScores
from talm_sim.tasks.talm.blockers import BlockerScores
from talm_sim.types import Measure, Measured, Row
from talm_sim.types.scenarios import Behaviour
from tests.tasks.views import View, job

PAGE = Path(__file__).parents[1] / "docs" / "numbers.md"
SEVERAL = ("pass@k", "pass^k", "a line of BFCL's score")
"""Lines of the page that stand for measures with several heads."""
BUILT_IN = ("talm", "when2call", "awareness", "refusal")
MARKS = {"person_answers": 1, "person_faulty": 1, "marked": 1, "compared": 1, "agreeing": 1}
CHANCES = {"p_yes": 0.75, "p_yes_token": 0.5, "yes_no_mass": 0.75}


class Defined(NamedTuple):
    """A measure, as the code defines it or as a line of the page does."""

    name: str
    head: str
    words: str


def test_every_measure_is_defined_on_the_page_in_the_words_of_its_legend() -> None:
    lines = page()
    assert len(lines) > 100
    for one in defined():
        heads = {one.head, *SEVERAL}
        found = [line for line in lines if line.head in heads and re.fullmatch(pattern(line.name), one.name)]
        assert found, f"{PAGE.name} has no line for {one.head} ({one.name})"
        assert any(plain(one.words) in line.words for line in found), f"{one.name}: '{plain(one.words)}' is not among {found}"


def test_the_page_defines_no_measure_that_is_gone() -> None:
    names = {one.name for one in defined()}
    for line in page():
        assert any(re.fullmatch(pattern(line.name), name) for name in names), f"no measure is called {line.name}"


def test_measures_that_a_task_has_only_where_they_apply_are_among_those_seen() -> None:
    names = {one.name for one in defined()}
    for task in map(find_task, BUILT_IN):
        assert set(task.further_measures or ()) <= names, task.name


@cache
def page() -> tuple[Defined, ...]:
    """One line per name: a row of the page may define two."""
    rows = re.findall(r"^\| (.+?) \| (`.+?`) \| (.+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return tuple(Defined(name, head, words) for head, names, words in rows for name in re.findall(r"`([^`]+)`", names))


def pattern(name: str) -> str:
    """Names with a part in capitals are those of several measures."""
    return re.sub(r"_(?:K|FAULT|TOOL|SCORE|BEHAVIOUR)$", lambda found: r"_\d+" if found[0] == "_K" else "_.+", name)


def plain(words: str) -> str:
    """A legend with its numbers and labels left open, as on the page."""
    words = re.sub(r"the [\d,]+ (?=complete|incomplete)", "the ", words)
    words = re.sub(r"fewer than \d+ ", "fewer than N ", words)
    return re.sub(r"'[^']*'", "'LABEL'", words)


@cache
def defined() -> tuple[Defined, ...]:
    """Every measure, from crafted rows that each has something to count in."""
    found = [Defined(one.name, one.head, "" if "BFCL v" in one.under else one.note) for one in measures()]
    for measured in judges():
        found.append(Defined(measured.name, measured.head, measured.about))
    for name in ("fault", "respect"):
        measure = judge_class(name).measure
        for label in (*measure.labels, *measure.flags):
            found.append(Defined(label_measure(name, label) if label.counted else label.name, label.head, label.about))
        found.append(Defined(f"{name}_n_thing", "n", ""))
    return tuple(found)


def judges() -> Iterator[Measured]:
    every = {name for task in map(find_task, BUILT_IN) for name in task.judge_classes}
    yield from (judge_class(name).measure for name in sorted(every | {"reference", "fault", "respect", "llm", "person", "preference"}))


def measures() -> Iterator[Measure]:
    for rows, view in (*talm(), *awareness(), *refusal(), *when2call()):
        yield from (one for summary in view.job.task.summarize(rows, view) for one in summary.measures)
    scenario = Outcomes("a")
    scenario.update({1: True, 2: False})
    yield from repeat_measures({"a": scenario}, 2)
    yield from COSTS.values()
    yield from (one for summary in tool_table(run(split="perfect", limit=1)).summaries for one in summary.measures)
    yield from agreement()


def row(group: str, base: str = "a", values: dict[str, Any] | None = None, **labels: str) -> Row:
    return Row(episode=f"{base}.{group}", scenario=f"{base}.{group}", base=base, group=group, values=values or {}, labels=labels)


def talm() -> Iterator[tuple[list[Row], View]]:
    task = find_task("talm")
    values = dict.fromkeys((*(task.further_measures or ()), "pass_rate", "awareness", "unexpected", "skip", "interaction"), True)
    rows = [
        row(
            name,
            values={**values, **dict.fromkeys((*AskScores.model_fields, *BlockerScores.model_fields), 1), **MARKS},
            human="model:openai/a",
            pass_judge="reference",
        )
        for name in ("perfect", "no-tools")
    ]
    yield rows, View(job("talm"))


def awareness() -> Iterator[tuple[list[Row], View]]:
    values = {"accuracy": True, "yes_ratio": True, "unreadable": False, "asked_again": False, "agreement": True, "explanation": True, **CHANCES}
    rows = [
        row("removed", values=values, gold="no", said="no", kind="removed", source="", explicit="no"),
        row("removed", "b", values=values, gold="yes", said="yes", kind="complete", source="", explicit="yes"),
        row("removed", values=values, gold="yes", said="yes", kind="complete", source="", explicit="yes").model_copy(update={"episode": "c"}),
    ]
    for protocol in ("zero-shot", "implicit", "explanation"):
        yield rows, View(job("awareness", protocol=protocol))
    yield [one.model_copy(update={"group": next(iter(CONDITIONS))}) for one in rows], View(job("awareness", protocol="feedback"))


def refusal() -> Iterator[tuple[list[Row], View]]:
    names = {"calls": ("ast", "ast_bfcl"), "none": ("h_i", "h_s", "h_s_bfcl"), "any": ("relevance", "relevance_intent", "relevance_bfcl")}
    names["turns"] = ("turns", "missing_turn", "missing_looked", "missing_named", "missing_done", "missing_passed")
    rows = []
    for subset in SUBSETS.values():
        values = dict.fromkeys(names[subset.expected], True) | {"cut_off": False}
        rows.append(row(subset.name, subset.name, values, gold=subset.expected, found="", subset=subset.name, language="en"))
    for version in ("v2", "v3", "v4"):
        yield rows, View(job("refusal", bfcl_version=version))
    yield thinking(rows), View(job("refusal", reasoning="form"))


def when2call() -> Iterator[tuple[list[Row], View]]:
    names = ("accuracy", "accuracy_norm", "tool_hallucination", "answer_hallucination", "parameter_hallucination")
    rows = [row("all", one.value, dict.fromkeys(names, True), gold=one.value, chosen=one.value) for one in Behaviour]
    yield rows, View(job("when2call"))
    yield thinking(rows), View(job("when2call", mode="judge", reasoning="form"))


def thinking(rows: list[Row]) -> list[Row]:
    values = {"form_read": True, "decision_right": True, "decision_followed": True, "fields_missing": 1, "reasoning_tokens": 2.0}
    return [one.model_copy(update={"values": {**one.values, **values}}) for one in rows]


def agreement() -> Iterator[Measure]:
    question = PersonQuestion("passes", "Does it pass?", {"y": "yes", "n": "no"}, "passes", lambda *_: None, lambda label, _: label == "yes")
    bases = {"a": "a", "b": "b", "c": "c"}
    sample = Sample(seed=0, sizes={"passed": 3}, episodes=dict.fromkeys("ab", "passed"), left={"c": "passed"})
    for between, labels in ((("ann", "llm"), ("yes", "no")), (("ann", "bob", "eve"), ("yes", "no", "yes"))):
        one = Agreement(between, dict.fromkeys("ab", labels), bases, sample, people=len(between) > 2, itself={"a": [True, False]})
        yield from one.summary(question).measures
