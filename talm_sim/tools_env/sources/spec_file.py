"""Read a file of ToolSpecs, as `talm-sim import --tools-to` writes it: descriptions of tools, which only a person or a recording executes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from talm_sim.common.plain_files import LARGEST_DOCUMENT, nests_deeply, read_text
from talm_sim.common.typed_options import fault_of
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import posted, unexecuted_response
from talm_sim.tools_env.sources.base import NotTaken, SourceRequest
from talm_sim.tools_env.sources.tool_schemas import check_schema
from talm_sim.types import JsonObject, ToolSpec


class SpecList:
    """Tools that are shown and not executed; attributes are those of `ToolSource`."""

    def __init__(self, name: str, specs: Mapping[str, ToolSpec], not_taken: Sequence[NotTaken] = ()) -> None:
        self.name = name
        self.specs = specs
        self.routes = posted(name, specs)
        self.responses: dict[str, JsonObject] = {}
        self.not_taken = not_taken
        self.described = dict.fromkeys(specs, "only described")

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Answer that nothing executes it."""
        return unexecuted_response()

    async def aclose(self) -> None:
        """Do nothing: nothing was started."""


async def open_spec_file(request: SourceRequest) -> SpecList:
    """Read the file."""
    try:
        tools = json.loads(read_text(Path(request.place), LARGEST_DOCUMENT))
    except OSError as err:
        raise PrerequisiteError(f"cannot be read: {err.strerror}.") from None
    except (ValueError, RecursionError):
        raise PrerequisiteError("is not JSON; give the file that `talm-sim import --tools-to` writes.") from None
    return open_spec_list(request.name, tools)


def open_spec_list(name: str, tools: Any) -> SpecList:
    """Return a source of the tools in a list."""
    if not isinstance(tools, list) or not tools:
        raise PrerequisiteError("is not a list of tools; give the file that `talm-sim import --tools-to` writes.")
    specs: dict[str, ToolSpec] = {}
    not_taken: list[NotTaken] = []
    for number, entry in enumerate(tools, start=1):
        if nests_deeply(entry):
            raise PrerequisiteError(f"tool {number}: nested too deeply.")
        try:
            spec = ToolSpec.model_validate(entry)
        except ValidationError as err:
            first = err.errors()[0]
            if first["type"] == "value_error":  # a text that cannot be written down, of whoever wrote the tool
                not_taken.append(NotTaken(_name_of(entry, number), f"{fault_of(first)}."))
                continue
            raise PrerequisiteError(f"tool {number}: {'.'.join(map(str, first['loc']))}: {fault_of(first)}") from None
        try:
            check_schema(spec.parameters)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"tool {number}: {spec.name}: {err}") from None
        if spec.name in specs:
            raise PrerequisiteError(f"tool {number}: the name '{spec.name}' is used twice; rename one.")
        specs[spec.name] = spec
    if not specs:
        raise PrerequisiteError(f"{not_taken[0].tool}: {not_taken[0].reason}")
    return SpecList(name, specs, not_taken)


def _name_of(entry: Any, number: int) -> str:
    return str(entry.get("name", f"tool {number}")) if isinstance(entry, Mapping) else f"tool {number}"
