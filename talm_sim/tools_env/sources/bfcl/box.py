"""The program in the sandbox: it makes instances of the package's classes and calls their methods, or asks the package's own check.

It is run as a script and imports nothing of this package. Methods are called with arguments that are parsed already.
"""

import copy
import hashlib
import importlib
import inspect
import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def open_apis(
    places: "Sequence[str]", modules: "Mapping[str, str]", classes: "Mapping[str, Any]", long_context: bool
) -> "Callable[..., dict[str, Any]]":
    """Make an instance of each class, and return what calls their methods."""
    sys.path[:0] = places
    instances = {}
    for name, start in classes.items():
        instances[name] = getattr(importlib.import_module(modules[name]), name)()
        if hasattr(instances[name], "_load_scenario"):
            instances[name]._load_scenario(copy.deepcopy(start), long_context=long_context)
    methods = {
        name: method for one in instances.values() for name, method in inspect.getmembers(one, inspect.ismethod) if not name.startswith("_")
    }

    def call(tool: str, arguments: "Mapping[str, Any]") -> "dict[str, Any]":
        before = _digest(instances)
        try:
            found = {"value": _plain(methods[tool](**arguments))}
        except Exception as err:  # as the package, which answers with these words
            found = {"error": f"Error during execution: {err}"}
        return {**found, "before": before, "after": _digest(instances)}

    return call


def check(places: "Sequence[str]", row: "Mapping[str, Any]", steps: "list[list[list[str]]]", gold: "list[list[str]]") -> "dict[str, Any]":
    """Return what the package's own check says of the calls in each turn of a row.

    The package evaluates the texts of calls, so whoever asks writes them anew, of known functions and literal arguments.
    """
    sys.path[:0] = places
    checker = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    said = checker.multi_turn_checker(steps, gold, row, row["id"].rsplit("_", 1)[0], "talm_sim")
    return {key: str(said.get(key, "")) if key != "valid" else bool(said[key]) for key in ("valid", "error_type", "error_message")}


def _plain(value: "Any") -> "Any":
    """Return what the package shows of a result: a text or an object as it is, anything else as its text."""
    if isinstance(value, dict):
        try:
            json.dumps(value, allow_nan=False)
            return value
        except (TypeError, ValueError):
            return str(value)
    return value if isinstance(value, str) else str(value)


def _digest(instances: "Mapping[str, Any]") -> str:
    """Return a digest of what the package's own check compares: the attributes whose names do not begin with an underscore."""
    text = json.dumps({name: _state(one, ()) for name, one in sorted(instances.items())}, sort_keys=True)
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]


def _state(value: "Any", above: "tuple[int, ...]") -> "Any":
    """Return a value as JSON; of what it contains itself, that it does."""
    below = (*above, id(value))
    if id(value) in above:
        found: Any = "(above)"
    elif isinstance(value, dict):
        found = {repr(key): _state(one, below) for key, one in value.items()}
    elif isinstance(value, (list, tuple)):
        found = [type(value).__name__, *(_state(one, below) for one in value)]
    elif hasattr(value, "__dict__"):
        public = {name: _state(one, below) for name, one in vars(value).items() if not name.startswith("_")}
        found = {"": type(value).__name__, **public}
    else:
        found = repr(value)
    return found
