"""What is explained: every outcome, measure, control, split and fault, each with its names and the lines that explain it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from talm_sim.cli.report.outcome_matrix import COLUMN_OF, GAPS
from talm_sim.models.control_names import ABOUT
from talm_sim.tasks.outcomes import NOT_SOLVED, agent_words
from talm_sim.tasks.registry import find_task, list_tasks

_PLACES = (Path(__file__).parents[1] / "numbers.md", Path(__file__).parents[3] / "docs" / "numbers.md")
"""Where the page is that defines the measures: in an installed package, and in a checkout."""
_ROW = re.compile(r"^\| (?P<head>[^|]+) \| (?P<names>`[^|]+) \| (?P<about>.+) \|$", re.MULTILINE)


def explained_words() -> list[str]:
    """Return every word that is explained."""
    return sorted({one for name, _ in explained_entries() for one in name})


def explained_entries() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the names of each thing that is explained, and its lines."""
    for task in map(find_task, list_tasks()):
        for one in task.outcomes:
            said = {"good": "it is good", "neutral": "it is neither good nor bad", "bad": "it is bad"}[one.kind]
            first = f"{one.name}: an outcome of task {task.name}; {agent_words(one)} ({said})."
            yield (
                (one.name, one.words),
                (first, one.about, *filter(None, [one.advice]), f"As a gate: --gate '{one.name}{'>=0.9' if one.kind == 'good' else '<=0.1'}'."),
            )
        for split, groups in ({one: (one,) for one in task.about_groups} | {**task.splits}).items():
            about = task.about_groups.get(split) or f"those of the groups {', '.join(groups)}"
            rows = [f"In the matrix of talm-sim try: {label}." for label, of in GAPS.items() if {*groups} <= {*of}]
            said = f"{split}: scenarios of task {task.name}: {about}."
            yield (split,), (said, *rows, f"To run them: talm-sim run --task {task.name} --split {split}.")
    said = f"{NOT_SOLVED.name}: an outcome of a task that says no more than when an episode succeeded (it is bad)."
    yield (NOT_SOLVED.name, NOT_SOLVED.words), (said, NOT_SOLVED.about)
    for name, about in ABOUT.items():
        yield (f"sim/{name}", name), (f"sim/{name}: a control, which is a script and no language model: it {about}.",)
    said = "control: a script of known behaviour that plays in place of a language model, so that a number has a scale (docs/controls.md)."
    yield ("control", "controls"), (said, f"Each is a model: {', '.join(f'sim/{name}' for name in ABOUT)}.")
    for head in dict.fromkeys(COLUMN_OF.values()):
        counted = ", ".join(name for name, column in COLUMN_OF.items() if column == head)
        yield (head,), (f"{head}: a column of talm-sim try; it counts the outcomes {counted}.",)
    known = {group: about for task in map(find_task, list_tasks()) for group, about in task.about_groups.items()}
    for label, groups in GAPS.items():
        yield (label,), (f"{label}: a row of talm-sim try.", *(f"Group {group}: {known[group]}." for group in groups))
    from talm_sim.tools_env.perturbations import PERTURBATIONS

    for name in PERTURBATIONS.names():
        yield (name,), (f"{name}: a fault: {PERTURBATIONS.get(name).summary}.", f"To inject it: talm-sim run --perturb {name}.")
    for section in _numbers().split("\n## ")[1:]:
        title = section.partition("\n")[0].strip()
        for row in _ROW.finditer(section):
            names = tuple(re.findall(r"`([^`]+)`", row["names"]))
            about = re.sub(r"\[([^\]]+)\]\([^)]+\)|[`*]", r"\1", row["about"])
            first = f"{row['head'].strip()} ({', '.join(names)}): a measure; {title[:1].lower()}{title[1:]}."
            yield (row["head"].strip(), *names), (first, about)


@cache
def _numbers() -> str:
    return next((place.read_text(encoding="utf-8") for place in _PLACES if place.is_file()), "")
