"""The simulated APIs of BFCL's multi-turn rows as a source of tools: each episode has instances of its own, in a sandbox of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.models.formats.shown import TYPE_NAMES
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import answer, function_error, posted, with_states
from talm_sim.tools_env.sources.base import EpisodeCalls, NotTaken, SourceRequest, tool_spec
from talm_sim.tools_env.sources.registry import SourceKind
from talm_sim.tools_env.sources.sandbox import SandboxSession, check_sandbox
from talm_sim.types import JsonObject, ToolSpec

CLASSES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
"""Each class to its module, whose name the file that describes it has as well."""
_MPMATH = "mpmath==1.3.0"
"""What the package's classes need besides."""
BOX = Path(__file__).with_name("box.py")
_CODE = "eval_checker/multi_turn_eval/func_source_code"
_MODULES = {name: f"bfcl_eval.{_CODE.replace('/', '.')}.{module}" for name, module in CLASSES.items()}
_HOW = "install it with pip install --no-deps bfcl-eval, or name the folder that it was installed into"


def package_folder(place: Path) -> Path:
    """Return the package's folder, which is `place`, in it, or around it."""
    for folder in (place, place / "bfcl_eval", place.parent):
        if folder.name == "bfcl_eval" and (folder / _CODE).is_dir():
            return folder.resolve()
    raise PrerequisiteError(f"{place}: is not the package bfcl_eval with its simulated APIs; {_HOW}.")


def boxed_packages(package: Path) -> list[Path]:
    """Return the folders that the classes are imported from: the package's, and that of what they need besides."""
    beside = package.parent / "mpmath"
    spec = None if beside.is_dir() else find_spec("mpmath")
    if spec is not None and spec.origin:
        beside = Path(spec.origin).parent
    if not beside.is_dir():
        raise PrerequisiteError(f"the simulated APIs of bfcl_eval need mpmath, which is not installed: pip install {_MPMATH}")
    return [package, beside.resolve()]


def source_files(package: Path) -> list[Path]:
    """Return the files of the package that decide what its functions answer, and what its check of the answers says."""
    checks = sorted((package / "eval_checker" / "multi_turn_eval").glob("*.py"))
    return [*checks, *(package / _CODE / f"{module}.py" for module in CLASSES.values()), package / _CODE / "long_context.py"]


def read_specs(package: Path) -> dict[str, ToolSpec]:
    """Read the descriptions of all functions, each in the category of its class."""
    specs: dict[str, ToolSpec] = {}
    for category, module in CLASSES.items():
        file = package / "data" / "multi_turn_func_doc" / f"{module}.json"
        try:
            lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
            for one in lines:
                about = " ".join(str(one["description"]).split())
                specs[one["name"]] = tool_spec(
                    {"name": one["name"], "category": category, "description": about, "parameters": _schema(one["parameters"])}
                )
        except (OSError, ValueError, TypeError, KeyError) as err:
            raise PrerequisiteError(f"{file}: cannot be read as the descriptions of {category} ({err}); {_HOW}.") from None
    return specs


def _schema(schema: Any) -> JsonObject:
    """Return a schema with JSON's names of types."""
    found = {key: value for key, value in schema.items() if key not in ("type", "properties", "items")}
    if kind := TYPE_NAMES.get(schema.get("type", ""), ""):
        found["type"] = kind
    if "properties" in schema:
        found["properties"] = {name: _schema(one) for name, one in schema["properties"].items()}
    if "items" in schema:
        found["items"] = _schema(schema["items"])
    return found


class BfclApis:
    """The functions of the simulated APIs; attributes are those of `ToolSource`.

    A scenario's `start` is `{"classes": {NAME: WHAT IT STARTS FROM}, "long_context": true or false}`; without one, all classes start empty.
    Arguments are not checked against the schema: as in BFCL, a function says itself what is wrong with them.
    """

    def __init__(self, name: str, package: Path) -> None:
        self.name = name
        self.specs = read_specs(package)
        routes = posted(name, self.specs)
        self.routes = {tool: route.model_copy(update={"state": "writes", "checks": False}) for tool, route in routes.items()}
        self.responses: dict[str, JsonObject] = {}
        self.not_taken: Sequence[NotTaken] = ()
        self._packages = boxed_packages(package)

    def fault_in_start(self, start: Mapping[str, Any]) -> str:
        """Return what is wrong with the `start` of a scenario; empty if nothing is."""
        classes = start.get("classes")
        if not isinstance(classes, dict) or not classes or not all(isinstance(one, dict) for one in classes.values()):
            return 'names no classes; write {"classes": {NAME: {...}}, "long_context": false}.'
        if (unknown := next((name for name in classes if name not in CLASSES), None)) is not None:
            return f"there is no class '{unknown}'.{did_you_mean(unknown, CLASSES)}"
        odd = next((key for key in start if key not in ("classes", "long_context")), None)
        return f"'{odd}' is not read; leave it out." if odd else ""

    def begin(self, start: Mapping[str, Any]) -> EpisodeCalls:
        """Return the functions of one episode; its sandbox is started with their first call."""
        return _Episode(self._packages, start or {"classes": {name: {} for name in CLASSES}})

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Refuse a call without an episode's own instances, which `begin` makes."""
        raise RuntimeError("every function has a state")

    async def aclose(self) -> None:
        """Do nothing: nothing was started."""


class _Episode:
    """The functions of one episode; see `EpisodeCalls`."""

    def __init__(self, packages: Sequence[Path], start: Mapping[str, Any]) -> None:
        given = {
            "places": [str(package.parent) for package in packages],
            "modules": _MODULES,
            "classes": start["classes"],
            "long_context": bool(start.get("long_context")),
        }
        self._session = SandboxSession(BOX, "open_apis", given, readable=packages)
        self._alone = asyncio.Lock()

    async def call(self, tool: str, arguments: Mapping[str, object]) -> HttpResponse:
        async with self._alone:
            response = await self._session.call({"tool": tool, "arguments": dict(arguments)})
        if response.status != 200:
            return response
        found = json.loads(response.body)
        made = function_error(found["error"]) if "error" in found else answer(found["value"])
        return with_states(made, found["before"], found["after"])

    async def aclose(self) -> None:
        await self._session.aclose()


async def _open_bfcl(request: SourceRequest) -> BfclApis:
    """Read the functions of the package in a folder."""
    source = BfclApis(request.name, package_folder(Path(request.place)))
    check_sandbox([BOX.parent])
    return source


BFCL = SourceKind(_open_bfcl)
