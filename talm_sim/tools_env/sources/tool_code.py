"""What the text of a tool's code says before it is run: which names it defines, and which modules it needs."""

from __future__ import annotations

import ast
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text

__all__ = ["ToolCode", "imported_anywhere", "read_code"]

_ANY = "*"


class ToolCode(NamedTuple):
    """What a file of code says of itself.

    Attributes:
        names: Every name that it may define; `*` where any is possible.
        modules: The modules that it cannot be read without, but for those of Python and those beside it.
        imported: The modules that it imports anywhere, but for those of Python.
    """

    names: frozenset[str]
    modules: frozenset[str]
    imported: frozenset[str]

    def defines(self, name: str) -> bool:
        """Return whether it may define a name."""
        return name in self.names or _ANY in self.names


def read_code(file: Path) -> ToolCode:
    """Read a file of code; nothing of it is run. One that is not Python says nothing: its calls will tell why."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of a stranger's code
            tree = ast.parse(read_text(file, LARGEST_SETTINGS))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ToolCode(frozenset({_ANY}), frozenset(), frozenset())
    # One that is imported within a function, or in a `try`, may never be needed.
    wanted = {module for one in tree.body for module in _imported(one)} - sys.stdlib_module_names
    anywhere = frozenset(module for one in ast.walk(tree) for module in _imported(one)) - sys.stdlib_module_names
    beside = {module for module in wanted if _files_of(file.parent, module)}
    return ToolCode(frozenset(name for one in ast.walk(tree) for name in _defined(one)), frozenset(wanted - beside), anywhere)


def imported_anywhere(file: Path) -> set[str]:
    """Return the modules that a file of code imports anywhere, and those that the modules beside it import which it imports."""
    files, modules = [file], set[str]()
    for one in files:  # which grows
        new = read_code(one).imported - modules
        modules |= new
        files += [found for module in new for found in _files_of(file.parent, module)]
    return modules


def _files_of(folder: Path, module: str) -> list[Path]:
    """Return the files of a module in a folder; the folder alone where it holds none."""
    inside, alone = folder / module, folder / f"{module}.py"
    return [alone] if alone.is_file() else [*inside.rglob("*.py")] or [inside] if inside.is_dir() else []


def _imported(one: ast.AST) -> list[str]:
    if isinstance(one, ast.Import):
        return [alias.name.partition(".")[0] for alias in one.names]
    return [one.module.partition(".")[0]] if isinstance(one, ast.ImportFrom) and one.module and not one.level else []


def _defined(one: ast.AST) -> list[str]:
    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [one.name]
    if isinstance(one, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in one.names]
    return [one.id] if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) else []
