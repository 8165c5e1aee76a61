"""The measure of what a text's form gives away, on texts whose answer is known."""

import importlib.util
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from talm_sim.tasks.when2call.published import scenario_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def form_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("form_check", ROOT / "scripts/form_check.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _texts(lead: dict[str, tuple[str, ...]]) -> tuple[list[str], list[str], list[str]]:
    """Sixty texts of two classes in pairs by source, opened by a word of their class."""
    draw = random.Random(3)
    texts, labels, sources = [], [], []
    for number in range(60):
        label = "ab"[number % 2]
        words = " ".join(draw.choices(("tea", "rice", "salt", "oil", "milk"), k=draw.randint(3, 9)))
        texts.append(f"{draw.choice(lead[label])} {words}.")
        labels.append(label)
        sources.append(f"s{number // 2}")
    return texts, labels, sources


def test_a_source_is_never_on_both_sides(form_check: ModuleType) -> None:
    # Each source has a word and a class of its own: only who saw the source before could know.
    texts = [f"w{chr(97 + number // 2)}x tea." for number in range(40)]
    labels = ["ab"[number // 2 % 2] for number in range(40)]
    assert form_check.balanced_accuracy_of_form(texts, labels, [str(number) for number in range(40)]) >= 0.9
    assert form_check.balanced_accuracy_of_form(texts, labels, [str(number // 2) for number in range(40)]) <= 0.5


def _row(gold: str, source: str, *, follow_up: str, tools: Sequence[str] = ()) -> dict[str, object]:
    answers = {"direct": "Yes.", "tool_call": '{"name": "brew", "arguments": {}}', "cannot_answer": "I cannot.", "request_for_info": follow_up}
    return {"uuid": f"{source}-{gold}", "source_id": source, "question": "Tea?", "correct_answer": gold, "answers": answers} | {
        "tools": list(tools),
        "target_tool": None,
    }


BREW, BAKE = (
    json.dumps({"name": name, "description": "", "parameters": {"type": "object", "properties": {"leaves": {}}, "required": ["leaves"]}})
    for name in ("brew", "bake")
)
TOLD: dict[str, dict[str, list[str]]] = {
    "number of tools": {"tool_call": [BREW], "request_for_info": [BREW, BAKE], "cannot_answer": []},
    "rule of two words": {"tool_call": [BREW], "request_for_info": [BREW], "cannot_answer": [BAKE]},
}


@pytest.mark.parametrize("what", TOLD)
def test_what_tells_the_class_without_reading_is_measured(form_check: ModuleType, what: str) -> None:
    rows = [
        _row(gold, f"s{number}", follow_up="Which leaves?" if gold == "request_for_info" else "Which cup?", tools=tools)
        for number in range(10)
        for gold, tools in TOLD[what].items()
    ]
    found = {name: (accuracy, most) for name, accuracy, most in form_check.measures([scenario_of(row) for row in rows])}
    assert found[what][0] == 1.0 > found[what][1] == form_check.LIMITS[what]
    asked = [row | {"answers": row["answers"] | {"request_for_info": "Which leaves?"}, "tools": [BREW]} for row in rows]  # type: ignore[operator]
    found = {name: (accuracy, most) for name, accuracy, most in form_check.measures([scenario_of(row) for row in asked])}
    assert all(accuracy <= most for accuracy, most in found.values())


def test_the_command_measures_a_file_and_refuses_what_form_gives_away(
    form_check: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, labels, sources = _texts({"a": ("Could",), "b": ("What",)})
    golds = {"a": "tool_call", "b": "cannot_answer"}
    rows = [_row(golds[label], source, follow_up=text) for text, label, source in zip(texts, labels, sources, strict=True)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert form_check.main(["--task", "when2call", "--scenarios", str(file)]) == 1
    found = capsys.readouterr().out.splitlines()
    assert "when2call, question: 0.50 (at most 0.60)" in found
    assert "when2call, option request_for_info: 1.00 (at most 0.60) TOO HIGH" in found
    with pytest.raises(SystemExit):
        form_check.main(["--scenarios", str(file)])
