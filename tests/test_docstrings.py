"""A function's docstring says what the function does; ruff's D401 finds no clause that begins with a question word."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import talm_sim

PACKAGE = Path(talm_sim.__file__).parent
QUESTION = re.compile(r"(What|Whether|How|Where|Who|Why|Which)\b")


def test_no_function_is_described_by_a_question() -> None:
    """A property is: "Whether the run is over." The service's docstrings are the texts that models read of its tools."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "world"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and QUESTION.match(ast.get_docstring(node) or "")
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]
    assert found == []
