"""A tool folder in the form of Fail-TaLMs and ToolBench: JSON files that describe tools, and their code (`api.py`) beside them."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from talm_sim.common.plain_files import LARGEST_DOCUMENT, read_text
from talm_sim.common.tool_files import FunctionKey, function_key, function_names, spec_of_function
from talm_sim.common.typed_options import fault_of
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import posted
from talm_sim.tools_env.sources.base import NotTaken, SourceRequest
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, check_sandbox
from talm_sim.types import JsonObject, ToolSpec

__all__ = ["ToolFolder", "open_fail_talms"]

CODE = "api.py"


class _Function(NamedTuple):
    """One entry of a file's `api_list`."""

    top: Path
    file: Path
    tool: str
    name: str
    described: Mapping[str, Any]

    @property
    def key(self) -> FunctionKey:
        """What distinguishes it from all others."""
        return function_key(self.file.parent.name, self.tool, self.name)

    @property
    def code(self) -> Path | None:
        """The code beside the file, or in the folder of its name, unless a link leads to it out of the folder of tools."""
        places = (self.file.with_suffix("") / CODE, self.file.parent / CODE)
        found = next((place.resolve() for place in places if place.is_file()), None)
        return found if found is not None and found.is_relative_to(self.top.resolve()) else None


class ToolFolder:
    """The tools of a folder; attributes are those of `ToolSource`. A tool without code is described and not executed.

    Args:
        name: The source's.
        folder: The folder.

    Raises:
        PrerequisiteError: It contains no tools.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.specs: dict[str, ToolSpec] = {}
        self.responses: dict[str, JsonObject] = {}
        self.not_taken: list[NotTaken] = []
        self._folder = folder
        self._functions: dict[str, _Function] = {}
        functions = list(self._read())
        names = function_names(function.key for function in functions)
        for function in functions:
            self._add_tool(function, re.sub(r"\W", "_", names[function.key], flags=re.ASCII))
        if not self.specs:
            why = f"; {self.not_taken[0].tool}: {self.not_taken[0].reason}" if self.not_taken else ""
            raise PrerequisiteError(f"contains no tool file (JSON with an 'api_list'){why}")
        self.routes = posted(name, self.specs)
        # Nothing that sandboxed code changes is kept.
        self.reading = {name for name, function in self._functions.items() if function.code}

    @property
    def code_folders(self) -> set[Path]:
        """Return the folders with code that could be run."""
        return {function.code.parent for function in self._functions.values() if function.code}

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call, in a sandbox.

        Raises:
            ProviderError: There is no code for it, or the sandbox could not be started.
        """
        function = self._functions[tool]
        if function.code is None:
            raise ProviderError(f"Tool '{tool}' of source '{self.name}' is only described: nothing executes it; mask it, or replay it.")
        return await call_in_sandbox(function.code, function.name, arguments)

    async def aclose(self) -> None:
        """Do nothing: nothing was started."""

    def _read(self) -> Iterator[_Function]:
        for file in sorted(_files(self._folder)):
            place = str(file.relative_to(self._folder))
            try:
                tool = json.loads(read_text(file, LARGEST_DOCUMENT))
            except OSError as err:
                self.not_taken.append(NotTaken(place, f"cannot be read: {err.strerror}."))
                continue
            except (ValueError, RecursionError) as err:
                self.not_taken.append(NotTaken(place, f"not valid JSON ({type(err).__name__})."))
                continue
            listed = tool.get("api_list") if isinstance(tool, dict) else None
            if not isinstance(listed, list):
                self.not_taken.append(NotTaken(place, "no 'api_list'."))
                continue
            for number, function in enumerate(listed, start=1):
                if isinstance(function, dict) and isinstance(function.get("name"), str):
                    yield _Function(self._folder, file, str(tool.get("tool_name", file.stem)), function["name"], function)
                else:
                    self.not_taken.append(NotTaken(f"{place}, entry {number}", "no name."))

    def _add_tool(self, function: _Function, name: str) -> None:
        place = f"{function.file.relative_to(self._folder)}, {function.name}"
        if name in self.specs:
            self.not_taken.append(NotTaken(place, f"the name '{name}' is used twice."))
            return
        category = function.file.parent.name if function.file.parent != self._folder else self.name
        try:
            self.specs[name] = spec_of_function(name, category, function.described)
        except ValidationError as err:
            self.not_taken.append(NotTaken(place, f"{fault_of(err.errors()[0])}."))
        except (TypeError, AttributeError):
            self.not_taken.append(NotTaken(place, "its description is not in the Fail-TaLMs format."))
        else:
            self._functions[name] = function


def _files(top: Path) -> Iterator[Path]:
    """Return files whose names are those of tools, in folders of any depth; links to folders are not followed."""
    folders = [top]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:  # an unreadable one contains nothing
            for entry in entries:
                if entry.name.endswith(".json"):
                    yield Path(entry)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry))


async def open_fail_talms(request: SourceRequest) -> ToolFolder:
    """Read a folder.

    Raises:
        PrerequisiteError: It contains no tools, or code that the user does not trust or that cannot be sandboxed here.
    """
    folder = Path(request.place).resolve()
    if not folder.is_dir():
        raise PrerequisiteError("there is no such folder.")
    tools = ToolFolder(request.name, folder)
    if tools.code_folders:
        if not request.trusted:
            raise PrerequisiteError(f"contains code ({CODE}); add --trust to run it in a sandbox: no network, 1 GiB, 10 s per call.")
        check_sandbox(tools.code_folders)
    return tools
