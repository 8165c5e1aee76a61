"""The kinds of sources by name, and how a source is written on the command line: `[NAME=]KIND:PLACE[,option=value]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePath
from typing import TypeVar

from talm_sim.credentials import Hider, credentials_in_environment, names_credential
from talm_sim.errors import PrerequisiteError
from talm_sim.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.plugins import Registry
from talm_sim.shell_lines import line_to_copy
from talm_sim.tools_env.sources.base import SourceRequest, ToolSource

__all__ = ["BUILT_IN", "TOOL_SOURCES", "open_source", "read_source", "register_tool_source"]

BUILT_IN = "built-in"
"""The kind of the tools that come with the package; they alone need no name."""

OpenSource = Callable[[SourceRequest], Awaitable[ToolSource]]
_AT = "talm_sim.tools_env.sources."

TOOL_SOURCES: Registry[OpenSource] = Registry(
    "tool_source",
    {
        BUILT_IN: _AT + "built_in:open_built_in",
        "fail-talms": _AT + "fail_talms:open_fail_talms",
        "given": _AT + "python:open_given",
        "mcp": _AT + "mcp:open_mcp",
        "openapi": _AT + "openapi:open_openapi",
        "python": _AT + "python:open_python",
        "specs": _AT + "spec_file:open_spec_file",
    },
)
"""Entry points of group `talm_sim.tool_sources` name a coroutine function that opens a source."""

Opener = TypeVar("Opener", bound=OpenSource)

_NAMED = re.compile(r"([A-Za-z][\w-]*)=(.+)", re.DOTALL)
_COMMA = re.compile(r"(?<!\\),")
_OPTION = re.compile(r"(server|auth|only|env)=((?:[^,\\]|\\.)*)", re.DOTALL)
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def register_tool_source(kind: str) -> Callable[[Opener], Opener]:
    """Make a kind of source known; decorates the coroutine function that opens one."""

    def register(opener: Opener) -> Opener:
        TOOL_SOURCES.register(kind, opener)
        return opener

    return register


def read_source(text: str, *, trusted: bool = False) -> tuple[str, SourceRequest]:
    """Read how a source is written; return its kind and what opens it.

    The kind may be left out where it is plain: `module:object` is Python, an address or a JSON or YAML file OpenAPI or a list of tools, a
    folder Fail-TaLMs.

    Raises:
        PrerequisiteError: It is none of these.
    """
    _refuse_secrets(text)
    if not text.strip():
        raise PrerequisiteError("--tools-from: names no source; write [NAME=]KIND:PLACE.")
    named = _NAMED.fullmatch(text)
    name, rest = (named[1], named[2]) if named else ("", text)
    options: dict[str, str] = {}
    parts = _COMMA.split(rest)
    while len(parts) > 1 and (found := _OPTION.fullmatch(parts[-1])):
        options[found[1]] = found[2].replace("\\,", ",")
        parts.pop()
    rest = ",".join(parts).replace("\\,", ",")
    kind, colon, place = rest.partition(":")
    if kind not in TOOL_SOURCES or not (colon or kind == BUILT_IN):
        kind, place = _kind_of(rest, text), rest
    if bool(place) == (kind == BUILT_IN):
        raise PrerequisiteError(f"--tools-from {text}: " + ("is in no place; write built-in." if place else f"what of? Write {kind}:PLACE."))
    return kind, SourceRequest(name or _name_of(kind, place), place, options, trusted)


async def open_source(text: str, *, trusted: bool = False) -> ToolSource:
    """Open a source.

    Raises:
        PrerequisiteError: It cannot be read, reached or started; the message begins with how it was written.
    """
    kind, request = read_source(text, trusted=trusted)
    try:
        return await TOOL_SOURCES.get(kind)(request)
    except PrerequisiteError as err:
        place = "" if kind == BUILT_IN else f"--tools-from {text}: "
        raise PrerequisiteError(f"{place}{err}") from None


def _refuse_secrets(text: str) -> None:
    flags = [word for word in text.split() if word.startswith("-")]
    named = next((flag for flag in flags if names_credential(flag.partition("=")[0])), "")
    if named or Hider.knowing(credentials_in_environment()).text(text) != text:
        what = f"'{named.partition('=')[0]}'" if named else "what looks like a credential"
        raise PrerequisiteError(f"--tools-from: holds {what}, which would be written into the run; name a variable of the environment for it.")


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
        raise PrerequisiteError(f"--tools-from {text}: one source each; repeat the option: {repeated}.")
    module = path if path.suffix == ".py" else Path(*rest.split(".")).with_suffix(".py")
    if module.is_file():
        dotted = ".".join(module.with_suffix("").parts) if not module.is_absolute() else module.stem
        raise PrerequisiteError(f"--tools-from {text}: is a Python module; write {dotted}:{_tools_in(module)}, MODULE:OBJECT.")
    # `given` is written by `tools=[...]` alone.
    known = ", ".join(f"{kind}:..." if kind != BUILT_IN else kind for kind in TOOL_SOURCES.names() if kind != "given")
    raise PrerequisiteError(f"--tools-from {text}: no such file, folder or kind of source; write one of {known}.")


def _tools_in(module: Path) -> str:
    """What holds the tools of a module, as far as its text tells: its first list, else its first public function."""
    try:
        body = ast.parse(read_text(module, LARGEST_SETTINGS)).body
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return "TOOLS"
    lists = [
        target.id
        for one in body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.List | ast.Tuple)
        for target in one.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]
    functions = [one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and not one.name.startswith("_")]
    return next(iter([*lists, *functions]), "TOOLS")


def _name_of(kind: str, place: str) -> str:
    """A name for a source that was given none: of its module, file, folder, host or program."""
    if kind == BUILT_IN:
        return ""
    if kind == "python":
        stem = place.partition(":")[0].rpartition(".")[2]
    elif place.startswith(("http://", "https://")):
        stem = place.split("/")[2].partition(":")[0].removeprefix("[")
    else:
        words = place.split()
        # Of a program that runs another one (`npx -y server`, `python server.py`), the other one's name says more.
        stem = PurePath(next((word for word in words[1:] if not word.startswith("-")), words[0]) if kind == "mcp" else place).stem
    return re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower() or kind
