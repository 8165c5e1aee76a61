"""Dependencies point one way, files stay short, the command line starts light: read from the source, not from what happens to be imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import talm_sim

PACKAGE = Path(talm_sim.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
LAYERS = (
    ("errors", "types", "digests", "schemas"),
    ("plugins", "toml_files"),
    ("config",),
    ("models",),
    ("recordings",),
    ("tools_env", "scenarios"),
    ("agent", "judges"),
    ("tasks",),
    ("runs",),
    ("cli",),
)
"""From the lowest up; rooms of one layer do not know each other."""
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
HEAVY = (
    "anthropic",
    "fastapi",
    "httpx2",
    "jinja2",
    "jsonschema",
    "langchain_core",
    "langgraph",
    "openai",
    "pydantic",
    "requests",
    "sqlite3",
    "vcr",
)
LONGEST_FILE, LONGEST_FUNCTION = 400, 60


def module_of(path: Path) -> str:
    return ".".join(("talm_sim", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import of the package itself, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "talm_sim")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            if node.module == "talm_sim":
                yield from ((node.lineno, f"talm_sim.{alias.name}") for alias in node.names)
            elif node.module and node.module.startswith("talm_sim."):
                yield node.lineno, node.module


@pytest.mark.parametrize("path", [path for path in FILES if room_of(module_of(path))], ids=module_of)
def test_a_room_imports_only_what_lies_below_it(path: Path) -> None:
    room = room_of(module_of(path))
    if room == "__main__":
        return
    for line, module in imports_of(path):
        other = room_of(module)
        if other in {room, "__version__"}:
            continue
        assert LEVEL[other] < LEVEL[room], f"{path}:{line}: {room} imports {other}"


def test_every_room_has_a_layer_and_says_what_it_is() -> None:
    rooms = {room_of(module_of(path)) for path in FILES}
    assert rooms - {"", "__main__"} == set(LEVEL)
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no docstring"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    modules = {module_of(path) for path in FILES}
    below = {module_of(path): {name for _, name in imports_of(path) if name in modules} for path in FILES}
    done: set[str] = set()
    while ready := {name for name, needed in below.items() if name not in done and needed - {name} <= done}:
        done |= ready
    assert done == modules, f"a circle among {sorted(modules - done)}"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < LONGEST_FUNCTION, f"{path}:{node.lineno}: {node.name} is long"


def test_importing_the_command_line_is_light() -> None:
    script = f"import sys, talm_sim.cli; print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
