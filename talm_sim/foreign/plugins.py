"""Extension points: things found by name that are built in, registered by a decorator, or offered by an installed package.

A package offers a thing by an entry point of group `talm_sim.<kind>s`; a module outside a package is named with `--plugin MODULE`, and its
decorators register what it contains. Nothing is imported before its name is asked for, and nothing because a run directory names it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path, PurePath
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from talm_sim.errors import PrerequisiteError, did_you_mean, suggest_nearest
from talm_sim.foreign.code import directory_kept, in_foreign_code
from talm_sim.foreign.error_text import error_line, escape_control

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_LONGEST: Final = 500

T = TypeVar("T")


class Registry(Generic[T]):
    """The things of one kind, by name.

    Args:
        kind: What messages call one of them: `judge`.
        built_in: Name to `module:attribute`, so that listing the names imports nothing; or to the thing itself.
        group: Entry-point group of other packages; `talm_sim.<kind>s` by default.
    """

    def __init__(self, kind: str, built_in: Mapping[str, str | T], group: str = "") -> None:
        self.kind = kind
        self.group = group or f"talm_sim.{kind}s"
        self._built_in = dict(built_in)
        self._registered: dict[str, str | T] = {}
        self._modules: dict[str, str] = {}
        self._packages: dict[str, str] = {}

    def register(self, name: str, thing: str | T, module: str = "") -> None:
        """Make `thing` known under `name`, replacing what had this name."""
        self._registered[name] = thing
        self._modules[name] = module or getattr(thing, "__module__", "")
        self._packages.pop(name, None)

    def names(self) -> list[str]:
        """List all names without importing anything: built-in ones in their order, then the others alphabetically."""
        return [*self._built_in, *sorted(({*self._registered, *_entry_points(self.group)}) - set(self._built_in))]

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._registered or name in _entry_points(self.group)

    def get(self, name: str) -> T:
        """Return the thing called `name`, importing it if necessary."""
        known = self._registered.get(name) or self._built_in.get(name)
        if known is not None:
            return load_named(known, f"{self.kind} '{name}'")
        if name in _entry_points(self.group):
            return self._from_package(name, _entry_points(self.group)[name])
        raise PrerequisiteError(f"unknown {self.kind} '{name}'.{did_you_mean(name, self.names())}")

    def get_loaded(self, name: str) -> T | None:
        """Return the thing called `name` if it needs no import."""
        known = self._registered.get(name) or self._built_in.get(name)
        return None if isinstance(known, str) else known

    def origin(self, name: str) -> str:
        """Return where a thing that is not built in comes from, in the words of a message; empty for a built-in one."""
        if name in self._packages:
            return self._packages[name]
        if name in self._registered:
            module = self._modules[name]
            return "" if module.partition(".")[0] == "talm_sim" else f"--plugin {module}"
        point = None if name in self._built_in else _entry_points(self.group).get(name)
        return "" if point is None else _package(point)

    def _from_package(self, name: str, point: EntryPoint) -> T:
        source = f" of {_package(point)}" if point.dist is not None else ""
        with looking_at(f"{self.kind} '{name}'{source} cannot be loaded"):
            thing = point.load()
        # Loading may have registered it by its decorator; otherwise the entry point names the thing itself.
        if name not in self._registered:
            self.register(name, thing)
        self._packages[name] = _package(point)
        return load_named(self._registered[name], f"{self.kind} '{name}'")


def load_plugins(modules: Sequence[str], place: str = "--plugin") -> None:
    """Import the user's modules; the working directory is searched first."""
    for name in filter(None, (modules,) if isinstance(modules, str) else modules):
        _import(name, f"{place} {name}")


def load_object(text: str, place: str) -> Any:
    """Import the user's `MODULE:OBJECT`; the working directory is searched first."""
    if "://" in text:
        raise PrerequisiteError(f"{place}: is an address; give a Python object, MODULE:OBJECT, for example a function that calls it.")
    module, colon, path = text.partition(":")
    if not (module and colon and path):
        raise PrerequisiteError(f"{place}: write MODULE:OBJECT, for example my_module:my_object.")
    found = _import(module, place, f":{path}")
    with looking_at(f"{place}: {escape_control(path)} cannot be read from {escape_control(module)}"):
        for name in path.split("."):
            if not hasattr(found, name):
                public = [one for one in vars(found) if not one.startswith("_")] if hasattr(found, "__dict__") else []
                raise PrerequisiteError(f"{place}: {module} has no '{path}'.{suggest_nearest(name, public)}")
            found = getattr(found, name)
    return found


def load_named(thing: str | T, place: str) -> T:
    """Return `thing`, or import it if it is written as `MODULE:OBJECT`."""
    if not isinstance(thing, str):
        return thing
    if not thing.startswith("talm_sim."):
        return cast("T", load_object(thing, place))
    module, _, attribute = thing.partition(":")
    return cast("T", getattr(import_module(module), attribute))


@contextmanager
def looking_at(fails: str) -> Iterator[None]:
    """Import or inspect the user's code, which may fail in any way, within the block."""
    try:
        with in_foreign_code(), directory_kept():
            yield
    except (PrerequisiteError, KeyboardInterrupt):  # ours, or possibly Ctrl-C
        raise
    except BaseException as err:
        raise PrerequisiteError(f"{fails}: {escape_control(error_line(err, _LONGEST))}{_place_of(err)}.") from err


def _place_of(err: BaseException) -> str:
    """Return file and line of an error; empty if our own code or Python's import raised it."""
    ours = ("<", str(Path(__file__).parents[1]), str(Path(import_module.__code__.co_filename).parent))
    frames = [one for one in extract_tb(err.__traceback__) if not one.filename.startswith(ours)]
    return f" ({escape_control(Path(frames[-1].filename).name)}, line {frames[-1].lineno})" if frames else ""


def _import(name: str, place: str, rest: str = "") -> Any:
    """Import the module called `name`; `rest` is what was written after the name."""
    path = PurePath(name)
    if path.suffix == ".py":
        where, dotted = (f"in {path.parent} write ", path.stem) if path.is_absolute() else ("write ", ".".join(path.with_suffix("").parts))
        raise PrerequisiteError(f"{place}: is a file name; {where}{dotted}{rest}, without .py.")
    if ":" in name:
        raise PrerequisiteError(f"{place}: name only the module: write {name.partition(':')[0]}.")
    if "" not in sys.path:
        sys.path.insert(0, "")
    fails = f"{place}: cannot be imported"
    with looking_at(fails):
        try:
            return import_module(name)
        except PrerequisiteError as err:  # for example, of a run that it starts
            raise PrerequisiteError(f"{fails}: {error_line(err, _LONGEST)}.") from err
        except ModuleNotFoundError as err:
            if not isinstance(err.name, str) or not f"{name}.".startswith(f"{err.name}."):
                raise
            raise PrerequisiteError(
                f"{fails}: {escape_control(error_line(err, _LONGEST))}; install it, or run where it can be imported."
            ) from err


@lru_cache(maxsize=16)
def _entry_points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # not at the top: it costs a help page more than the page itself

    return {point.name: point for point in entry_points(group=group)}


def _package(point: EntryPoint) -> str:
    return f"package {point.dist.name}" if point.dist is not None else ""
