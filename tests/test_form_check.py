"""The measure of what a text's form gives away, on texts whose answer is known."""

import importlib.util
import json
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

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


def test_the_command_measures_a_file_and_refuses_what_form_gives_away(
    form_check: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, labels, sources = _texts({"a": ("Could",), "b": ("What",)})
    golds = {"a": "tool_call", "b": "cannot_answer"}
    answers = {"direct": "Yes.", "tool_call": "{}", "cannot_answer": "I cannot."}
    rows: list[dict[str, object]] = [
        {"uuid": str(number), "source_id": source, "question": "Tea?", "correct_answer": golds[label]}
        | {"answers": answers | {"request_for_info": text}, "tools": [], "target_tool": None}
        for number, (text, label, source) in enumerate(zip(texts, labels, sources, strict=True))
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert form_check.main(["--task", "when2call", "--scenarios", str(file)]) == 1
    found = capsys.readouterr().out.splitlines()
    assert "when2call, question: 0.50 (chance 0.50)" in found
    assert "when2call, option request_for_info: 1.00 (chance 0.50) TOO HIGH" in found
    with pytest.raises(SystemExit):
        form_check.main(["--scenarios", str(file)])
