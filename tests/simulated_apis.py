"""A package of the same form as `bfcl-eval`, written for the tests: two classes of simulated APIs, rows for them, and a check of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODULES = (
    "gorilla_file_system",
    "math_api",
    "message_api",
    "posting_api",
    "ticket_api",
    "trading_bot",
    "travel_booking",
    "vehicle_control",
)
CODE = {
    "gorilla_file_system": '''
import time
from copy import deepcopy

SEEN = []
"""Kept by the module: what episodes share if they share a process."""


class GorillaFileSystem:
    def __init__(self):
        self.names = []
        self._place = "/"

    def _load_scenario(self, scenario, long_context=False):
        self.names = deepcopy(scenario.get("names", []))
        self.long_context = long_context

    def ls(self):
        SEEN.append("ls")
        return {"names": list(self.names), "seen": len(SEEN), **({"padding": "x" * 9000} if self.long_context else {})}

    def touch(self, file_name):
        if not isinstance(file_name, str):
            raise TypeError("a name is a text")
        self.names.append(file_name)

    def cd(self, folder):
        self._place = folder
        return {"place": folder}

    def wait(self, seconds):
        time.sleep(seconds)
        return "done"
''',
    "math_api": """
import mpmath


class MathAPI:
    def mean(self, numbers):
        return {"result": sum(numbers) / len(numbers)}
""",
}
CHECK = '''
"""Passes a row whose calls leave the same files after each turn with right calls, and whose turns with such calls have calls."""
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.gorilla_file_system import GorillaFileSystem


def play(instance, calls):
    for call in calls:
        try:
            eval("instance." + call)
        except Exception:
            pass


def multi_turn_checker(steps, gold, row, category, model):
    theirs, right = GorillaFileSystem(), GorillaFileSystem()
    for one in (theirs, right):
        one._load_scenario(row["initial_config"]["GorillaFileSystem"], long_context="long_context" in category)
    for number, calls in enumerate(gold):
        for step in steps[number]:
            play(theirs, step)
        play(right, calls)
        if calls and not steps[number]:
            return {"valid": False, "error_type": "multi_turn:empty_turn_model_response", "error_message": f"nothing in turn {number}"}
        if calls and theirs.names != right.names:
            return {"valid": False, "error_type": "multi_turn:instance_state_mismatch", "error_message": f"{theirs.names} {right.names}"}
    return {"valid": True}
'''
LISTS = [[{"role": "user", "content": "Make a."}], [{"role": "user", "content": "Make b, and list all."}]]


def _function(name: str, **types: str) -> dict[str, Any]:
    properties = {one: {"type": kind, "description": f"The {one}."} for one, kind in types.items()}
    return {
        "name": name,
        "description": f"Tool description: {name}.",
        "parameters": {"type": "dict", "properties": properties, "required": [*types]},
        "response": {"type": "dict", "properties": {}},
    }


FUNCTIONS = {
    "gorilla_file_system": [
        _function("ls"),
        _function("touch", file_name="string"),
        _function("cd", folder="string"),
        _function("wait", seconds="float"),
    ],
    "math_api": [{**_function("mean", numbers="array")}],
}


def row(name: str, question: list[Any], gold: list[list[str]], **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a row, and its ground truth."""
    asked = {
        "id": name,
        "question": question,
        "initial_config": {"GorillaFileSystem": {"names": ["old"]}},
        "path": [],
        "involved_classes": ["GorillaFileSystem", "MathAPI"],
        **more,
    }
    return asked, {"id": name, "ground_truth": gold}


ROWS = {
    "base": [row("multi_turn_base_0", LISTS, [["touch('a')"], ["touch(file_name='b')", "ls()"]])],
    "miss_func": [
        row(
            "multi_turn_miss_func_0",
            [LISTS[0], LISTS[1], []],
            [["touch('a')"], [], ["touch(file_name='b')", "ls()"]],
            missed_function={"2": ["ls"]},
        )
    ],
    "miss_param": [
        row(
            "multi_turn_miss_param_0",
            [LISTS[0], [{"role": "user", "content": "Make another."}], [{"role": "user", "content": "Call it b."}]],
            [["touch('a')"], [], ["touch('b')"]],
        )
    ],
    "long_context": [row("multi_turn_long_context_0", LISTS, [["touch('a')"], ["touch(file_name='b')", "ls()"]])],
}


def make_package(folder: Path, version: str = "v4") -> Path:
    """Write the package into a folder, as `pip install --target` does, with what it needs beside it; return its own folder."""
    package = folder / "bfcl_eval"
    checks = package / "eval_checker" / "multi_turn_eval"
    code, data = checks / "func_source_code", package / "data"
    for place in (code, data / "multi_turn_func_doc", data / "possible_answer", folder / "mpmath"):
        place.mkdir(parents=True)
    for place in (package, package / "eval_checker", checks, code, folder / "mpmath"):
        (place / "__init__.py").write_text("")
    for module in MODULES:
        (code / f"{module}.py").write_text(CODE.get(module, ""))
        lines = [json.dumps(one) for one in FUNCTIONS.get(module, ())]
        (data / "multi_turn_func_doc" / f"{module}.json").write_text("\n".join(lines))
    (code / "long_context.py").write_text("")
    (checks / "multi_turn_checker.py").write_text(CHECK)
    for subset, rows in ROWS.items():
        name = f"BFCL_{version}_multi_turn_{subset}.json"
        (data / name).write_text("".join(f"{json.dumps(asked)}\n" for asked, _ in rows))
        (data / "possible_answer" / name).write_text("".join(f"{json.dumps(right)}\n" for _, right in rows))
    return package
