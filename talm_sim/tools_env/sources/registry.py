"""The kinds of sources by name, and how a source is written on the command line: `[NAME=]KIND:PLACE[,option=value]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TypeVar

from talm_sim.common.credentials import Hider, credentials_in_environment, names_credential
from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.common.typed_options import read_options, split_commas, split_options, written_names
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.foreign.plugins import Registry
from talm_sim.tools_env.sources.base import SourceOptions, SourceRequest, ToolSource

BUILT_IN = "built-in"
"""The kind of the tools that come with the package; they alone need no name."""

_OpenSource = Callable[[SourceRequest], Awaitable[ToolSource]]


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source.

    Attributes:
        open: Opens a source.
        options: The options one may be given.
    """

    open: _OpenSource
    options: type[SourceOptions] = SourceOptions


_AT = "talm_sim.tools_env.sources."

TOOL_SOURCES: Registry[SourceKind | _OpenSource] = Registry(
    "tool_source",
    {
        BUILT_IN: "talm_sim.world.source:open_built_in",
        "bfcl": _AT + "bfcl.apis:BFCL",
        "fail-talms": _AT + "fail_talms:FAIL_TALMS",
        "given": _AT + "python:open_given",
        "mcp": _AT + "mcp:MCP",
        "openapi": _AT + "openapi:OPENAPI",
        "python": _AT + "python:open_python",
        "specs": _AT + "spec_file:open_spec_file",
    },
)
"""Entry points of group `talm_sim.tool_sources` name a coroutine function that opens a source, or a `SourceKind`."""

Opener = TypeVar("Opener", bound=_OpenSource)

_NAMED = re.compile(r"([A-Za-z][\w-]*)=(.+)", re.DOTALL)
_OPTION = re.compile(r"([A-Za-z_]\w*)=")
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def register_tool_source(kind: str, options: type[SourceOptions] = SourceOptions) -> Callable[[Opener], Opener]:
    """Make a kind of source known; decorates the coroutine function that opens one.

    Args:
        kind: Its name.
        options: The options one may be given behind its place.
    """

    def register(opener: Opener) -> Opener:
        TOOL_SOURCES.register(kind, SourceKind(opener, options), opener.__module__)
        return opener

    return register


def read_source(text: str, *, trusted: bool = False, person: bool = False) -> tuple[str, SourceRequest]:
    """Read how a source is written; return its kind and what opens it.

    The kind may be left out where it is plain: `module:object` is Python, an address or a JSON or YAML file OpenAPI or a list of tools, a
    folder Fail-TaLMs.
    """
    _refuse_secrets(text)
    if not text.strip():
        raise PrerequisiteError("--tools-from: is empty; write [NAME=]KIND:PLACE.")
    name, kind, place, written = _take_apart(text)
    if bool(place) == (kind == BUILT_IN):
        raise PrerequisiteError(
            f"--tools-from {text}: " + ("takes no place; write built-in." if place else f"its place is missing; write {kind}:PLACE.")
        )
    where = f"--tools-from {text}: "
    options = read_options(split_options(written, where), _find_kind(kind).options, kind, where)
    return kind, SourceRequest(name or _name_of(kind, place), place, options, trusted, person)


def options_of_source(text: str) -> list[str]:
    """Return the names of the options that can be written behind a source."""
    return list(written_names(_find_kind(_take_apart(text)[1]).options))


def _take_apart(text: str) -> tuple[str, str, str, list[str]]:
    """Take a source apart: its name, where one was given, its kind, its place, and each option as it is written."""
    named = _NAMED.fullmatch(text)
    name, rest = (named[1], named[2]) if named else ("", text)
    place, written = _cut_options(rest)
    kind, colon, behind = place.partition(":")
    if kind in TOOL_SOURCES and (colon or kind == BUILT_IN):
        return name, kind, behind, written
    return name, _kind_of(place, text), place, written


def _cut_options(text: str) -> tuple[str, list[str]]:
    """Cut `[KIND:]PLACE,KEY=VALUE,...` into what precedes the options, and the options."""
    parts = split_commas(text)
    kind, colon, _ = parts[0].partition(":")
    options = _find_kind(kind).options if colon and kind in TOOL_SOURCES else SourceOptions
    if options.place_has_commas:
        begin = len(parts)
        while begin > 1 and (found := _OPTION.match(parts[begin - 1])) and found[1] in written_names(options):
            begin -= 1
    else:
        begin = next((number for number, part in enumerate(parts) if number and _OPTION.match(part)), len(parts))
    return ",".join(parts[:begin]), parts[begin:]


def _find_kind(kind: str) -> SourceKind:
    found = TOOL_SOURCES.get(kind)
    return found if isinstance(found, SourceKind) else SourceKind(found)


async def open_source(text: str, *, trusted: bool = False, person: bool = False) -> ToolSource:
    """Open a source."""
    kind, request = read_source(text, trusted=trusted, person=person)
    try:
        return await _find_kind(kind).open(request)
    except PrerequisiteError as err:
        place = "" if kind == BUILT_IN else f"--tools-from {text}: "
        raise PrerequisiteError(f"{place}{err}") from None


def _refuse_secrets(text: str) -> None:
    flags = [word for word in text.split() if word.startswith("-")]
    named = next((flag for flag in flags if names_credential(flag.partition("=")[0])), "")
    if named or Hider.from_environment(credentials_in_environment()).text(text) != text:
        what = f"'{named.partition('=')[0]}'" if named else "what looks like a credential"
        raise PrerequisiteError(
            f"--tools-from: contains {what}, which would be written into the run; put it in an environment variable and name that."
        )


def _kind_of(rest: str, text: str) -> str:
    if rest.startswith(("http://", "https://")):
        return "openapi"
    path = Path(rest)
    if path.is_dir():
        return "fail-talms"
    if path.suffix in {".json", ".yaml", ".yml"}:
        return "openapi"
    if _OBJECT.fullmatch(rest) or re.fullmatch(r"[^:]+\.py:[A-Za-z_][\w.]*", rest):
        return "python"
    parts = rest.split(",")
    if len(parts) > 1 and all(map(_OBJECT.fullmatch, parts)):
        repeated = " ".join(line_to_copy("--tools-from", part) for part in parts)
        raise PrerequisiteError(f"--tools-from {text}: give one source per option; repeat it: {repeated}.")
    module = path if path.suffix == ".py" else Path(*rest.split(".")).with_suffix(".py")
    if module.is_file():
        dotted = ".".join(module.with_suffix("").parts) if not module.is_absolute() else module.stem
        found = _tools_in(module)
        raise PrerequisiteError(f"--tools-from {text}: is a Python module; write {dotted}:{found or 'OBJECT, a function or a list of tools'}.")
    # `given` is written by `tools=[...]` alone.
    known = ", ".join(f"{kind}:..." if kind != BUILT_IN else kind for kind in TOOL_SOURCES.names() if kind != "given")
    raise PrerequisiteError(f"--tools-from {text}: no such file, folder or kind of source; write one of {known}.")


def _tools_in(module: Path) -> str:
    """Return the object with a module's tools, as far as its text shows: its first list of them, otherwise its only documented function."""
    try:
        body = ast.parse(read_text(module, LARGEST_SETTINGS)).body
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    defined = [one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    imported = {alias.asname or alias.name for one in body if isinstance(one, ast.Import | ast.ImportFrom) for alias in one.names}
    named = imported | {one.name for one in defined}
    lists = [
        target.id
        for one in body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.List | ast.Tuple)
        if one.value.elts and all(any(isinstance(part, ast.Name) and part.id in named for part in ast.walk(each)) for each in one.value.elts)
        for target in one.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]
    functions = [one.name for one in defined if one.name[0] != "_" and ast.get_docstring(one)]
    return next(iter([*lists, *(functions if len(functions) == 1 else ())]), "")


def _name_of(kind: str, place: str) -> str:
    """Return a name for a source without one: that of its module, file, folder, host or program."""
    if kind == BUILT_IN:
        return ""
    if kind == "python":
        stem = place.partition(":")[0].rpartition(".")[2]
    elif place.startswith(("http://", "https://")):
        stem = place.split("/")[2].partition(":")[0].removeprefix("[")
    else:
        words = place.split()
        # For a program that runs another one (`npx -y server`, `python server.py`), the other one's name says more.
        stem = PurePath(next((word for word in words[1:] if not word.startswith("-")), words[0]) if kind == "mcp" else place).stem
    return re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower() or kind
