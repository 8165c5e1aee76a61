"""Read the text of a tool's code before it is run: which names it defines, and which modules it needs."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from talm_sim.common.plain_files import UnfitFileError, files_below, read_text

_ANY = "*"
_LARGEST = 96 << 10
"""The size in bytes of a file; a tree takes up to 1,000 times as much."""


class ToolCode(NamedTuple):
    """The facts read from a file of code.

    Attributes:
        names: Every name that it may define; `*` where any is possible.
        modules: The modules that it cannot be read without, but for those of Python and those beside it.
        imported: The modules that it imports anywhere, but for those of Python.
        fault: Why it is not read; empty if it is.
    """

    names: frozenset[str]
    modules: frozenset[str]
    imported: frozenset[str]
    fault: str = ""

    def defines(self, name: str) -> bool:
        """Return whether it may define a name."""
        return name in self.names or _ANY in self.names


def read_code(file: Path) -> ToolCode:
    """Read a file of code; nothing of it is run. One that is not Python says nothing: its calls will tell why."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of a stranger's code
            tree = ast.parse(read_text(file, _LARGEST))
    except UnfitFileError:
        return ToolCode(frozenset(), frozenset(), frozenset(), f"its code is larger than {_LARGEST >> 10} KiB")
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ToolCode(frozenset({_ANY}), frozenset(), frozenset())
    # One that is imported within a function, or in a `try`, may never be needed.
    wanted, nodes = {module for one in tree.body for module in _imported(one)} - sys.stdlib_module_names, [*ast.walk(tree)]
    anywhere = frozenset(module for one in nodes for module in _imported(one)) - sys.stdlib_module_names
    return ToolCode(frozenset(name for one in nodes for name in _defined(one)), frozenset(wanted - _beside(file)), anywhere)


@lru_cache
def imported_anywhere(file: Path) -> set[str]:
    """Return the modules that a file of code imports anywhere, and those that the modules beside it import which it imports."""
    files, modules, beside = [file], set[str](), _beside(file)
    for one in files:  # which grows
        new = read_code(one).imported - modules
        modules |= new
        files += [found for module in new & beside for found in _files_of(file.parent, module)]
    return modules


def _beside(file: Path) -> set[str]:
    """Return the modules that lie beside a file, by the names of what is there."""
    return {name.removesuffix(".py") for name in os.listdir(file.parent)}


def _files_of(folder: Path, module: str) -> list[Path]:
    """Return the files of a module in a folder, but for those to which a link leads out of it."""
    top, inside = f"{os.path.realpath(folder)}/", folder / module  # `Path.resolve` raises where links lead in a circle
    found = [folder / f"{module}.py", *(files_below(inside, "*.py") if f"{os.path.realpath(inside)}/".startswith(top) else ())]
    return [one for one in found if one.is_file() and os.path.realpath(one).startswith(top)]


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
