"""Files in the form of When2Call's repository, with made-up rows, for the documents that clone it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tasks.when2call.choices import row

GOLDS = ("tool_call", "request_for_info", "cannot_answer")


def write_when2call(directory: Path) -> None:
    """Write `When2Call/data/test`: both test files, with one row of each right answer and one that shows no tools."""
    folder = directory / "When2Call" / "data" / "test"
    folder.mkdir(parents=True)
    rows = [*(row(f"sample-{gold}", gold) for gold in GOLDS), row("sample-no-tools", "cannot_answer", tools=[])]
    text = "".join(json.dumps(one) + "\n" for one in rows)
    for name in ("mcq", "llm_judge"):
        (folder / f"when2call_test_{name}.jsonl").write_text(text, encoding="utf-8")
