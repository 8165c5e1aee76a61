"""Write the task for lm-evaluation-harness: a folder with a YAML file, the rows in the very texts that are scored here, and their reader."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from talm_sim.tasks.when2call.published import row_of
from talm_sim.tasks.when2call.scores import BEHAVIOURS
from talm_sim.types import Choice, Scenario

if TYPE_CHECKING:
    from talm_sim.tasks.templates import Template

HARNESS_TASK = "talm_sim_when2call"
"""The task's name there."""
_YAML = f"""\
# Run it with: lm_eval --include_path THIS_FOLDER --tasks {HARNESS_TASK} --model hf --model_args pretrained=DIR,dtype=float32
# acc is Acc here, acc_bytes is Acc-norm, f1 is macro F1; lm-evaluation-harness's own acc_norm divides by characters, not by bytes.
task: {HARNESS_TASK}
custom_dataset: !function rows.load
test_split: test
output_type: multiple_choice
doc_to_text: prompt
doc_to_choice: choices
doc_to_target: gold
target_delimiter: ""
metric_list:
  - {{metric: acc}}
  - {{metric: acc_norm}}
  - {{metric: acc_bytes}}
  - {{metric: f1, aggregation: !function rows.macro_f1, higher_is_better: true}}
"""
_READER = f'''\
"""Reads rows.jsonl, and averages F1 over all four classes."""

import json
from pathlib import Path

import datasets

CLASSES = {json.dumps([str(one) for one in BEHAVIOURS])}


def load(**_):
    lines = Path(__file__).with_name("rows.jsonl").read_text(encoding="utf-8").split("\\n")
    return {{"test": datasets.Dataset.from_list([json.loads(line) for line in lines if line])}}


def macro_f1(pairs):
    pairs = [(int(gold), int(chosen)) for gold, chosen in pairs]  # of numpy's, two truths add up to one
    found = []
    for one in range(len(CLASSES)):
        right = sum(gold == chosen == one for gold, chosen in pairs)
        size = sum((gold == one) + (chosen == one) for gold, chosen in pairs)
        found.append(2 * right / size if size else 0.0)
    return sum(found) / len(CLASSES)
'''


def harness_files(scenarios: Sequence[Scenario], template: Template) -> dict[str, str]:
    """Return the texts of the folder's files, by name; the options of a row stand in the order of `BEHAVIOURS`."""
    rows = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in _rows(scenarios, template))
    return {f"{HARNESS_TASK}.yaml": _YAML, "rows.py": _READER, "rows.jsonl": rows}


def _rows(scenarios: Sequence[Scenario], template: Template) -> Iterator[dict[str, object]]:
    for scenario in scenarios:
        row_of(scenario)  # which says what is missing
        assert isinstance(scenario.target, Choice)
        texts = {option.behaviour: template.option(option) for option in scenario.target.options}
        yield {
            "id": scenario.id,
            "prompt": template.prompt(scenario.query, scenario.shown_tools),
            "choices": [texts[behaviour] for behaviour in BEHAVIOURS],
            "gold": BEHAVIOURS.index(scenario.target.gold),
        }
