"""Change the program in single places, and see whether the tests notice: each change against the tests that execute its line.

    git clone . /tmp/clone && sh /tmp/clone/scripts/setup.sh
    python3 scripts/mutants.py /tmp/clone [--seed N] [--count 40] [--same-in OTHER] [--only 3,17] [--together]

All changes are written into the clone at once, each behind a switch, so one run of the tests tells who executes which. Then each is switched
on alone for those tests. Prints a line per change; the exit code is 1 if one survives. `--same-in OTHER` takes only files that another checkout
has in the same form, so that two sets of tests can be compared; `--together` switches on the changes of `--only` in one run of all tests.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWITCH = '''"""Switches of changed places."""
import os

_ON = frozenset(os.environ.get("TALM_TEST_MUTANT", "").split(","))
_LOG = os.environ.get("TALM_TEST_MUTANT_LOG")
_SEEN = set()


def off(number):
    if _LOG and (at := (number, os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])) not in _SEEN:
        _SEEN.add(at)
        with open(f"{_LOG}/{number}", "a", encoding="utf-8") as file:
            file.write(at[1] + chr(10))
    return str(number) not in _ON
'''
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in"}
COMPARISONS |= {ast.Is: "is not", ast.IsNot: "is"}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*"}
PYTEST = (
    "-q",
    "-p",
    "no:cacheprovider",
    "--numprocesses",
    "2",
    "--dist",
    "worksteal",
    "-m",
    "not local and not documents",
    "--no-header",
    "--tb=no",
)


@dataclass(frozen=True)
class Place:
    """An expression and what it is changed to; `begin` and `end` are offsets in the bytes of the file."""

    file: str
    line: int
    begin: int
    end: int
    before: str
    after: str


def places(root: Path, file: str) -> Iterator[Place]:
    """Yield what can be changed in the functions of a file."""
    text = (root / file).read_text(encoding="utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(text)
    # What stands in a formatted string has no place of its own in the file.
    seen = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (node for statement in function.body for node in ast.walk(statement)):
            if id(node) in seen or not isinstance(node, ast.expr) or not (after := changed(node)):
                continue
            seen.add(id(node))
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            yield Place(file, node.lineno, begin, end, text.encode()[begin:end].decode(), after)


def changed(node: ast.expr) -> str:
    """Return the source of an expression's change; empty if it has none."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            return f"{ast.unparse(left)} {COMPARISONS[type(op)]} {ast.unparse(right)}"
        case ast.BoolOp(op=op, values=values):
            return (" or " if isinstance(op, ast.And) else " and ").join(f"({ast.unparse(value)})" for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"bool({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS and not has_text(node):
            return f"({ast.unparse(left)}) {OPERATORS[type(op)]} ({ast.unparse(right)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({ast.unparse(orelse)}) if ({ast.unparse(test)}) else ({ast.unparse(body)})"
        case _:
            return ""


def has_text(node: ast.AST) -> bool:
    """Return whether an expression holds a string, which no operator but + takes."""
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str) for part in ast.walk(node))


def choose(root: Path, other: Path | None, seed: int, count: int) -> list[Place]:
    """Draw places from the product's files, at most one a file."""
    files = [str(file.relative_to(root)) for file in sorted(root.glob("talm_sim/**/*.py"))]
    if other is not None:
        files = [file for file in files if (other / file).is_file() and (other / file).read_bytes() == (root / file).read_bytes()]
    draw = random.Random(seed)
    weights = [(root / file).stat().st_size for file in files]
    chosen: dict[str, Place] = {}
    while len(chosen) < min(count, len(files) // 2):
        (file,) = draw.choices(files, weights)
        if file not in chosen and (found := list(places(root, file))):
            chosen[file] = draw.choice(found)
    return list(chosen.values())


def write(root: Path, chosen: list[Place]) -> None:
    """Write every change into the files, each behind its switch."""
    (root / "talm_sim/_mutant.py").write_text(SWITCH, encoding="utf-8")
    for number, place in enumerate(chosen):
        content = (root / place.file).read_bytes()
        switch = f'(({place.before}) if __import__("talm_sim._mutant", fromlist=["off"]).off({number}) else ({place.after}))'
        (root / place.file).write_bytes(content[: place.begin] + switch.encode() + content[place.end :])


def play(root: Path, tests: list[str], **environment: str) -> tuple[int, str]:
    """Run tests of a clone, and return the exit code and the names of what failed first."""
    command = [str(root / ".venv/bin/python"), "-m", "pytest", *PYTEST, *([] if "TALM_TEST_MUTANT_LOG" in environment else ["-x"]), *tests]
    done = subprocess.run(command, cwd=root, env=os.environ | environment, capture_output=True, text=True, check=False)
    failed = [line.partition(" - ")[0] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, " ".join(failed[:3]) or done.stdout[-300:]


def main() -> int:
    """Draw, write, run, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--same-in", type=Path)
    parser.add_argument("--only", help="numbers of changes")
    parser.add_argument("--together", action="store_true")
    given = parser.parse_args()
    root = given.clone.resolve()
    plan = root / ".mutants.json"
    if not plan.exists():
        plan.write_text(json.dumps([vars(place) for place in choose(root, given.same_in, given.seed, given.count)], indent=1), encoding="utf-8")
        write(root, [Place(**place) for place in json.loads(plan.read_text(encoding="utf-8"))])
    chosen = [Place(**place) for place in json.loads(plan.read_text(encoding="utf-8"))]
    numbers = [int(number) for number in given.only.split(",")] if given.only else list(range(len(chosen)))
    if given.together:
        print(play(root, [], TALM_TEST_MUTANT=",".join(map(str, numbers))))
        return 0
    log = root / ".mutants"
    if not log.exists():
        log.mkdir()
        print("who executes what:", *play(root, [], TALM_TEST_MUTANT_LOG=str(log)), flush=True)
    survived = 0
    for number in numbers:
        place = chosen[number]
        at = log / str(number)
        names = at.read_text(encoding="utf-8").splitlines() if at.exists() else []
        tests = sorted({name.partition("[")[0] for name in names if name})
        code, failed = play(root, tests, TALM_TEST_MUTANT=str(number)) if tests else (0, "no test executes it")
        survived += code == 0
        what = f"{place.file}:{place.line}  {place.before!r} > {place.after!r}"
        print(f"{number:3} {'survives' if code == 0 else 'killed  '} {what}  {len(tests)} tests  {failed}", flush=True)
    print(f"{len(numbers) - survived} of {len(numbers)} killed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
