"""Compare what the project uses with `tests/budget.toml`: processor time of the tests by room, lines, and words of the documentation.

    .venv/bin/python scripts/budget.py [TIMES]     TIMES is the file that TALM_TEST_TIMES named when the tests ran

Prints used against budget. The exit code is 1 if a time exceeds 1.3 times its budget, or a count 1.005 times; each such line ends with OVER.
A budget falls freely. A change that raises one does so once, and its message says what that bought and what went for it.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORLD = ROOT / "talm_sim" / "world"
TIME_SLACK, COUNT_SLACK = 1.3, 1.005
PATTERN = re.compile(r"(?:re\.compile|compile_words|compile_small)\((.*?)\n?\)\n", re.DOTALL)
ENGLISH = re.compile(r"\b(?:not|the|is|are|was|you|please|have|with|that|for|and|or|my|no|what)\b.*\|")


def code_lines(text: str) -> int:
    """Return how many lines hold code: neither blank, nor a comment, nor a docstring."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def reads_english(file: Path, text: str) -> bool:
    """Return whether a file reads English: one of the room for it, or one with a pattern that lists English words."""
    return "language" in file.parts or any(map(ENGLISH.search, PATTERN.findall(text)))


def counts() -> dict[str, dict[str, int]]:
    """Return all lines and lines of code of each part, of what reads English among them, and the words of the documentation."""
    parts: dict[str, list[Path]] = {"talm_sim": [], "world": [], "tests": sorted(ROOT.glob("tests/**/*.py"))}
    for file in sorted(ROOT.glob("talm_sim/**/*.py")):
        parts["world" if WORLD in file.parents else "talm_sim"].append(file)
    parts["English"] = [file for file in parts["talm_sim"] if reads_english(file, file.read_text(encoding="utf-8"))]
    texts = {part: [file.read_text(encoding="utf-8") for file in files] for part, files in parts.items()}
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return {
        "lines": {part: sum(text.count("\n") for text in found) for part, found in texts.items()},
        "code": {part: sum(map(code_lines, found)) for part, found in texts.items() if part != "English"},
        "words": {"docs": sum(len(page.read_text(encoding="utf-8").split()) for page in pages)},
    }


def over(what: str, used: float, budget: float | None, slack: float) -> bool:
    """Print a line, and return whether the budget is exceeded."""
    if budget is None:
        print(f"{what:40} {used:10,.0f}  has no budget: add it to tests/budget.toml  OVER")
        return True
    exceeded = used > budget * slack
    print(f"{what:40} {used:10,.0f} of {budget:10,.0f}  {used / budget:5.0%}" + (f"  OVER (limit {slack:.1%})" if exceeded else ""))
    return exceeded


def main(words: list[str]) -> int:
    """Print used against budget, and return the exit code."""
    budget = tomllib.loads((ROOT / "tests" / "budget.toml").read_text(encoding="utf-8"))
    exceeded = []
    for kind, used in counts().items():
        exceeded += [over(f"{kind}: {part}", number, budget[kind].get(part), COUNT_SLACK) for part, number in used.items()]
    if words:
        times = json.loads(Path(words[0]).read_text(encoding="utf-8"))
        print(f"a unit of the tests' time is {times['loop_s'] * 1000:.1f} ms of this machine's processor")
        exceeded += [over(f"time: {room}", used, budget["time"].get(room), TIME_SLACK) for room, used in sorted(times["rooms"].items())]
        for test, used in sorted(times["tests"].items(), key=lambda one: -one[1]):
            if used > budget["longest_test"] * TIME_SLACK:
                exceeded.append(over(f"time: {test}", used, budget["longest_test"], TIME_SLACK))
    return 1 if any(exceeded) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
