"""A model's draft of a tool: read from its answer, and compared with itself, before anything of it is run."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Draft", "DraftError", "read_draft"]

_BLOCK = re.compile(r"^```[ \t]*(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"[A-Za-z]\w{0,63}", re.ASCII)
_TEST = "test_"


class DraftError(ValueError):
    """Why a draft is not kept."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A tool as a model drafted it.

    Attributes:
        name: The tool's name.
        category: The category it gives itself; empty if none.
        metadata: Its functions described, in the form of Fail-TaLMs.
        code: The module with the functions.
        tests: The module with the tests.
        functions: Names of the functions described.
        test_names: Names of the tests.
    """

    name: str
    category: str
    metadata: dict[str, Any]
    code: str
    tests: str
    functions: tuple[str, ...]
    test_names: tuple[str, ...]


def read_draft(text: str) -> Draft:
    """Read a draft from a model's answer; nothing of it is run.

    Raises:
        DraftError: A part is missing or cannot be read, a function has no test, or the metadata do not match the code.
    """
    blocks = _BLOCK.findall(text if text.endswith("\n") else text + "\n")
    python = [body for _, body in blocks if _is_python(body)]
    tests = next((body for body in python if _test_names(body)), None)
    code = next((body for body in python if body is not tests and not _test_names(body)), None)
    if code is None or tests is None:
        raise DraftError(f"its answer has no block of {'Python code' if code is None else 'tests'} that can be read")
    metadata = next((found for language, body in blocks if (found := _object_in(body)) is not None), None)
    if metadata is None:
        raise DraftError("its answer has no block of metadata: a JSON object with an 'api_list'")
    name = metadata.get("tool_name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DraftError(f"metadata: tool_name: {str(name)[:80]!r} is not a name of letters, digits and underscores")
    functions = _check_metadata(metadata["api_list"], code)
    used = {node.id for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Attribute)}
    for function in functions:
        if function not in used:
            raise DraftError(f"tests: none calls {function}")
    category = metadata.get("category_name")
    return Draft(
        name, category if isinstance(category, str) and _NAME.fullmatch(category) else "", metadata, code, tests, functions, _test_names(tests)
    )


def _is_python(text: str) -> bool:
    try:
        return any(isinstance(node, ast.FunctionDef) for node in ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _test_names(text: str) -> tuple[str, ...]:
    return tuple(node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name.startswith(_TEST))


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("api_list"), list) and found["api_list"] else None


def _check_metadata(described: list[Any], code: str) -> tuple[str, ...]:
    """Compare what the metadata say of each function with its code; return the functions' names."""
    defined = {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    names: list[str] = []
    for number, one in enumerate(described, 1):
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise DraftError(f"metadata: entry {number} of api_list has no name")
        name = one["name"]
        if name in names:
            raise DraftError(f"metadata: {name} is described twice")
        if not str(one.get("description") or "").strip():
            raise DraftError(f"metadata: {name} has no description")
        if name not in defined:
            raise DraftError(f"metadata: {name} is not in the code")
        for kind, taken in zip(("required", "optional"), _parameters(defined[name]), strict=True):
            said = {str(parameter.get("name")) for parameter in one.get(f"{kind}_parameters") or () if isinstance(parameter, dict)}
            if said != taken:
                differing = ", ".join(sorted(said ^ taken))
                raise DraftError(f"metadata: {name}: the {kind} parameters are not those of the code ({differing[:120]})")
        names.append(name)
    return tuple(names)


def _parameters(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Return the names of a function's required and optional parameters."""
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        raise DraftError(f"code: {function.name} takes arguments that have no name of their own")
    plain = [one.arg for one in given.args]
    required = {*plain[: len(plain) - len(given.defaults)]}
    required |= {one.arg for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None}
    return required, {*plain, *(one.arg for one in given.kwonlyargs)} - required
