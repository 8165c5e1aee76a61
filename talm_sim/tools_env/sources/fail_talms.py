"""A tool folder in the form of Fail-TaLMs and ToolBench: JSON files that describe tools, and beside them the code (`api.py`) of them.

A tool that is described twice is the one whose code is there. One that nothing executes is described all the same: its calls fail.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from talm_sim.common.plain_files import LARGEST_DOCUMENT, files_below, read_text
from talm_sim.common.tool_files import HUMAN_TOOL, FunctionKey, function_key, function_names, spec_of_function, tool_of_file
from talm_sim.common.typed_options import fault_of
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import posted, unexecuted_response
from talm_sim.tools_env.sources.base import NotTaken, SourceOptions, SourceRequest
from talm_sim.tools_env.sources.registry import SourceKind
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, check_sandbox
from talm_sim.tools_env.sources.sandbox_walls import missing_modules
from talm_sim.tools_env.sources.tool_code import ToolCode, read_code
from talm_sim.types import JsonObject, ToolSpec

CODE = "api.py"


class FailTalmsOptions(SourceOptions):
    """Options of a folder of tools."""

    network: Literal["off", "on"] = Field("off", description="Whether the sandboxed code reaches the network.")


@dataclass(frozen=True)
class _Function:
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
    def only_gets(self) -> bool:
        """Whether its description says that it is reached with GET alone."""
        return str(self.described.get("method")).strip().upper() == "GET"

    @cached_property
    def code(self) -> Path | None:
        """The code beside the file, or in the folder of its name, unless a link leads to it out of the folder of tools."""
        places = (self.file.with_suffix("") / CODE, self.file.parent / CODE)
        found = next((place.resolve() for place in places if place.is_file()), None)
        return found if found is not None and found.is_relative_to(self.top.resolve()) else None


class ToolFolder:
    """The tools of a folder; attributes as of `ToolSource`.

    Args:
        network: Whether the code reaches the network. It may change something there, so only tools described as GET count as reading.
    """

    def __init__(self, name: str, folder: Path, *, network: bool = False) -> None:
        self.name = name
        self.network = network
        self.specs: dict[str, ToolSpec] = {}
        self.responses: dict[str, JsonObject] = {}
        self.not_taken: list[NotTaken] = []
        self._folder = folder
        self._functions: dict[str, _Function] = {}
        functions = list(self._read())
        names = function_names(function.key for function in functions)
        with_code = {function.key for function in functions if function.code}
        for function in functions:
            if function.name == HUMAN_TOOL:
                self.not_taken.append(NotTaken(self._place_of(function), "ask_human takes its place; see --human."))
                continue
            name_here = re.sub(r"\W", "_", names[function.key], flags=re.ASCII)
            if function.code is None and function.key in with_code:
                self._leave_out(function, name_here)
            else:
                self._add_tool(function, name_here)
        if not self.specs:
            why = f"; {self.not_taken[0].tool}: {self.not_taken[0].reason}" if self.not_taken else ""
            raise PrerequisiteError(f"contains no tool file (JSON with an 'api_list'){why}")
        self._name_undescribed({function.code for function in functions})
        self.routes = posted(name, self.specs)

    @cached_property
    def described(self) -> dict[str, str]:
        """The tools that nothing executes, each with the reason."""
        return {name: why for name, one in self._functions.items() if (why := self._explain_unexecuted(one))}

    @cached_property
    def _codes(self) -> dict[Path, ToolCode]:
        """What each file of code says; none is read before the user trusts it."""
        return {code: read_code(code) for code in {one.code for one in self._functions.values()} if code}

    @property
    def code_folders(self) -> set[Path]:
        """Return the folders with code that could be run."""
        return {function.code.parent for function in self._functions.values() if function.code}

    @property
    def modules(self) -> set[str]:
        """The modules that the code needs besides those of Python and its own."""
        return {module for code in self._codes.values() for module in code.modules}

    @property
    def reading(self) -> set[str]:
        """The tools whose calls change nothing: what sandboxed code without a network changes is not kept."""
        return {name for name, one in self._functions.items() if name not in self.described and (not self.network or one.only_gets)}

    def note_missing(self, modules: Collection[str]) -> None:
        """Execute no tool whose code cannot be read without one of these modules."""
        for name, function in self._functions.items():
            lacking = sorted(self._codes[function.code].modules.intersection(modules)) if function.code else []
            if lacking:
                self.described.setdefault(name, f"module '{lacking[0]}' is not installed")

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call, in a sandbox, or answer that nothing executes the tool."""
        function = self._functions[tool]
        if tool in self.described or function.code is None:
            return unexecuted_response()
        return await call_in_sandbox(function.code, function.name, arguments, network=self.network)

    async def aclose(self) -> None:
        """Do nothing: nothing was started."""

    def _explain_unexecuted(self, function: _Function) -> str:
        if function.code is None:
            return "it has no code"
        code = self._codes[function.code]
        return code.fault or ("" if code.defines(function.name) else "its code has no such function")

    def _read(self) -> Iterator[_Function]:
        for file in sorted(files_below(self._folder, "*.json")):
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
                    yield _Function(self._folder, file, tool_of_file(file, tool.get("tool_name")), function["name"], function)
                else:
                    self.not_taken.append(NotTaken(f"{place}, entry {number}", "no name."))

    def _add_tool(self, function: _Function, name: str) -> None:
        place = self._place_of(function)
        if name in self.specs:
            self._leave_out(function, name)
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

    def _name_undescribed(self, known: Collection[Path | None]) -> None:
        for place in sorted(files_below(self._folder, CODE)):
            code = Path(os.path.realpath(place))  # `resolve` raises where links lead in a circle
            if code not in known and code.is_relative_to(self._folder.resolve()):
                self.not_taken.append(NotTaken(str(place.relative_to(self._folder)), "no file describes its functions."))

    def _leave_out(self, function: _Function, name: str) -> None:
        self.not_taken.append(NotTaken(self._place_of(function), f"the name '{name}' is used twice."))

    def _place_of(self, function: _Function) -> str:
        return f"{function.file.relative_to(self._folder)}, {function.name}"


async def open_fail_talms(request: SourceRequest) -> ToolFolder:
    """Read a folder."""
    folder = Path(request.place).resolve()
    if not folder.is_dir():
        raise PrerequisiteError("there is no such folder.")
    network = request.options.network == "on"
    tools = ToolFolder(request.name, folder, network=network)
    if tools.code_folders:
        if not request.trusted:
            reach = "with the network of this machine" if network else "no network"
            raise PrerequisiteError(f"contains code ({CODE}); add --trust to run it in a sandbox: {reach}, 1 GiB, 10 s per call.")
        check_sandbox(tools.code_folders)
    tools.note_missing(missing_modules(tools.modules))
    return tools


FAIL_TALMS = SourceKind(open_fail_talms, FailTalmsOptions)
