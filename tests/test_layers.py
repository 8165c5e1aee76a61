"""No circles, short files, a light command line: read from the source. The order of rooms is import-linter's (pyproject.toml)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import talm_sim
from talm_sim.judges.registry import JUDGES
from talm_sim.tasks.registry import TASKS, find_task

PACKAGE = Path(talm_sim.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
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


MODULES = frozenset(module_of(path) for path in FILES)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _forget_the_trees() -> Iterator[None]:
    """They are large, and of no use to other tests."""
    yield
    tree_of.cache_clear()


@cache
def imports_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and module of every import of the package itself, those inside functions included."""
    return tuple(_own_imports(path))


def _own_imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "talm_sim")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            if node.module == "talm_sim":
                yield from ((node.lineno, f"talm_sim.{alias.name}") for alias in node.names)
            elif node.module and node.module.startswith("talm_sim."):
                yield node.lineno, node.module
                # A module of a package may be imported by its own name.
                yield from ((node.lineno, name) for alias in node.names if (name := f"{node.module}.{alias.name}") in MODULES)


def test_every_module_says_what_it_is() -> None:
    for path in FILES:
        assert ast.get_docstring(tree_of(path)), f"{path} has no docstring"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    modules = {module_of(path) for path in FILES}
    below = {module_of(path): {name for _, name in imports_of(path) if name in modules} for path in FILES}
    done: set[str] = set()
    while ready := {name for name, needed in below.items() if name not in done and needed - {name} <= done}:
        done |= ready
    assert done == modules, f"a circle among {sorted(modules - done)}"


def test_files_are_short() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert {path: count for path, count in lines.items() if count >= LONGEST_FILE} == {}


def test_functions_are_short() -> None:
    functions = [(path, node) for path in FILES for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {f"{path}:{node.lineno}: {node.name}": (node.end_lineno or sys.maxsize) - node.lineno for path, node in functions}
    assert functions and {place: length for place, length in lengths.items() if length >= LONGEST_FUNCTION} == {}


def test_importing_the_command_line_is_light() -> None:
    script = f"import sys, talm_sim.cli; print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


NAMES = {
    "tasks": frozenset({"talm", "when2call", "awareness", "refusal"}),
    "judges": frozenset(
        {
            "reference",
            "fault",
            "respect",
            "llm",
            "person",
            "preference",
            "behaviour",
            "behaviour-llm",
            "behaviour-llm-first-call",
            "explanation",
            "calls",
            "calls-bfcl",
            "intent",
            "bfcl-official",
            "bfcl-turns",
            "missing-turn",
        }
    ),
}
MAY_KNOW = {"tasks": {"tasks"}, "judges": {"tasks", "judges"}}
"""Rooms that may tell the tasks apart by name, and the judges."""
HOMONYMS = {
    "talm_sim.agent.prompts": {"awareness", "person"},
    "talm_sim.agent.person.model_person": {"person"},
    "talm_sim.agent.graph": {"awareness"},
    "talm_sim.agent.episode": {"awareness"},
    **{
        key: {"refusal"}
        for key in (
            "talm_sim.types.episodes",
            "talm_sim.models.answers",
            "talm_sim.models.endings",
            "talm_sim.models.openai_chat",
            "talm_sim.models.openai_responses",
        )
    },
    **{
        key: {"refusal"}
        for key in ("talm_sim.models.anthropic_messages", "talm_sim.models.langchain_chat", "talm_sim.exchange.traces.traced_episodes")
    },
    **{key: {"calls"} for key in ("talm_sim.types.scenarios", "talm_sim.tools_env.environment")},
    **{key: {"fault"} for key in ("talm_sim.cli.commands.perturbations", "talm_sim.cli.making.fault_ways")},
    "talm_sim.cli.commands.tools": {"person"},
    "talm_sim.cli.pages.index": {"calls", "fault"},
    "talm_sim.cli.pages.transcripts": {"explanation"},
    "talm_sim.exchange.exports.span_values": {"refusal"},
    "talm_sim.training.lessons.training_examples": {"preference"},
    "talm_sim.exchange.exports.inspect_samples": {"refusal", "calls", "explanation", "awareness"},
}
"""Words that name something else there: `awareness` and `calls` are keys of stored episodes and scenarios, `refusal` is why a provider's turn
ended, `calls` and `explanation` are keys of other programs' logs, `fault` is a column of a list, `preference` a kind of training set, and
`person` is who can do a tool's work, and the table of the wording for who plays the person."""
LOOK_UPS = {"get", "pop", "setdefault", "index", "count", "startswith", "endswith"}


def texts_in(node: ast.AST | None, constants: dict[str, str]) -> Iterator[str]:
    """Texts an expression compares with: constants, those in a tuple, list, set or call, and names of constants."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name) and node.id in constants:
        yield constants[node.id]
    elif isinstance(node, ast.Attribute) and node.attr in constants:
        yield constants[node.attr]
    elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Starred | ast.Call | ast.BinOp):
        for child in ast.iter_child_nodes(node):
            yield from texts_in(child, constants)


def compared_in(tree: ast.Module, constants: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Line and text of all that a module tells apart by a text: comparisons, cases, and keys and values of dictionaries."""
    constants = constants | {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        looked_at: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            looked_at = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            looked_at = [node.value]
        elif isinstance(node, ast.Subscript):
            looked_at = [node.slice]
        elif isinstance(node, ast.Dict):
            looked_at = [*node.keys, *node.values]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOK_UPS:
            looked_at = [*node.args[:1]]
        for one in looked_at:
            yield from ((getattr(node, "lineno", 0), text) for text in texts_in(one, constants))


def known_in(module: str, tree: ast.Module) -> list[str]:
    """Where a module outside the rooms that may tells a task or judge apart by its name."""
    room = room_of(module)
    return [
        f"line {line}: '{text}'"
        for line, text in compared_in(tree, {"TASK": "when2call"})
        for kind, names in NAMES.items()
        if text in names and room not in MAY_KNOW[kind] and text not in HOMONYMS.get(module, ())
    ]


def test_the_names_looked_for_are_the_built_in_ones() -> None:
    brought = {judge for name in TASKS._built_in for judge in find_task(name).judge_classes}
    built_in = {"tasks": frozenset(TASKS._built_in), "judges": frozenset(JUDGES._built_in) | brought}
    assert built_in == NAMES


def test_no_task_is_told_by_its_name_outside_its_room_and_no_judge() -> None:
    known = {module_of(path): known_in(module_of(path), tree_of(path)) for path in FILES}
    assert {module: places for module, places in known.items() if places} == {}
    read = {text for path in FILES for _, text in compared_in(tree_of(path), {})}
    assert set().union(*HOMONYMS.values()) <= read, "an exception that nothing needs"


@pytest.mark.parametrize(
    "line",
    [
        "if config.task == 'talm': ...",
        "if 'talm' != task: ...",
        "if task in ('talm', 'other'): ...",
        "if task not in {'when2call'}: ...",
        "if task in frozenset(['when2call']): ...",
        "match task:\n    case 'talm' | 'other': ...",
        "table['talm']",
        "table.get('talm', 3)",
        "{'talm': 1, 'when2call': 2}[task]",
        "RUNS = {ROW: 'when2call'}",
        "MINE = 'talm'\nif task == MINE: ...",
        "from talm_sim.tasks.when2call.published import TASK\nif task == TASK: ...",
        "from talm_sim.scenarios import when2call\nif task == when2call.TASK: ...",
        "if judge == 'preference': ...",
        "if {'llm', 'reference'} & set(judges) == {'llm'}: ...",
        "needs = table.pop('behaviour-llm')",
        "if task.startswith('when2call'): ...",
    ],
)
def test_a_name_told_apart_is_found(line: str) -> None:
    assert known_in("talm_sim.runs.made_up", ast.parse(line))
    judge = any(name in line for name in ("judge", "needs"))
    assert bool(known_in("talm_sim.judges.made_up", ast.parse(line))) is not judge
    assert not known_in("talm_sim.tasks.made_up", ast.parse(line))


@pytest.mark.parametrize("line", ["task = find_task('talm')", "Scenario(task=TASK)", "f'add --task {TASK}'", "def run(task='talm'): ..."])
def test_a_name_may_be_given_and_said(line: str) -> None:
    assert not known_in("talm_sim.runs.made_up", ast.parse(line))
