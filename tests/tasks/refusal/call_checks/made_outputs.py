"""Answers made from BFCL's ground truths by seeded mutations: right ones, and ones with a fault of each kind."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim.types import AcceptedCall, Calls

Call = tuple[str, dict[str, Any]]
"""A function's name and its arguments; those of Java and JavaScript are texts of source code."""

AST_SUBSETS = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
REFUSAL_SUBSETS = ("irrelevance", "live_irrelevance", "live_relevance")
SYNTAX = {"simple_java": "java", "simple_javascript": "javascript"}
BARE = re.compile(r"[A-Za-z_][\w.]*|-?\d+(\.\d+)?[LFlfn]?|new .*[)}]|\[.*\]|\{.*\}", re.ASCII)
"""What stands in source code without quotes."""


@dataclass(frozen=True)
class BfclRow:
    """A published row, as the official checker takes it."""

    id: str
    subset: str
    functions: list[dict[str, Any]]
    ground_truth: list[dict[str, dict[str, list[Any]]]]

    @property
    def syntax(self) -> str:
        return SYNTAX.get(self.subset, "python")

    @property
    def target(self) -> Calls:
        accepted = tuple(AcceptedCall(name=name, arguments=arguments) for call in self.ground_truth for name, arguments in call.items())
        expected = "calls" if accepted else "any" if self.subset == "live_relevance" else "none"
        return Calls.model_validate({"expected": expected, "accepted": accepted, "syntax": self.syntax})


@dataclass(frozen=True)
class Output:
    """What a model might have answered."""

    row: BfclRow
    mutation: str
    calls: list[Call]
    text: str
    """The same in BFCL's own form, `[f(a=1)]`."""


def read_rows(data: Path, subset: str) -> Iterator[BfclRow]:
    """Rows of a subset out of the files of the installed package, version 4."""
    answers = data / "possible_answer" / f"BFCL_v4_{subset}.json"
    truth = {one["id"]: one["ground_truth"] for one in _lines(answers)} if answers.exists() else {}
    for row in _lines(data / f"BFCL_v4_{subset}.json"):
        yield BfclRow(row["id"], subset, row["function"], truth.get(row["id"], []))


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def outputs_of(row: BfclRow, seed: int) -> Iterator[Output]:
    """One answer of each mutation that the row allows."""
    for name, mutate in MUTATIONS.items():
        rng = random.Random(f"{seed} {row.id} {name}")
        calls = mutate(right_calls(row, rng), row, rng)
        if calls is not None:
            yield Output(row, name, calls, native(calls, row))


# A right answer


def right_calls(row: BfclRow, rng: random.Random) -> list[Call]:
    """One of the answers that the ground truth accepts."""
    calls = []
    for call in row.ground_truth:
        ((name, accepted),) = call.items()
        arguments = {}
        for argument, values in accepted.items():
            given = [value for value in values if value != ""]
            if given and not ("" in values and rng.random() < 0.4):
                arguments[argument] = _source(_chosen(rng.choice(given), rng), row, name, argument)
        calls.append((name, arguments))
    return calls


def _chosen(value: Any, rng: random.Random) -> Any:
    """A value that an accepted one stands for: its objects hold choices."""
    if isinstance(value, dict):
        choices = {key: one if isinstance(one, list) and one else [one] for key, one in value.items()}
        return {
            key: _chosen(rng.choice([one for one in given if one != ""]), rng)
            for key, given in choices.items()
            if given != [""] and not ("" in given and rng.random() < 0.4)
        }
    if isinstance(value, list):
        return [_chosen(one, rng) for one in value]
    return value


def _source(value: Any, row: BfclRow, function: str, argument: str) -> Any:
    """The value, or for Java and JavaScript its source."""
    if row.syntax == "python":
        return value
    schema = schema_of(row, function, argument)
    return java_source(value, schema) if row.syntax == "java" else javascript_source(value)


def schema_of(row: BfclRow, function: str, argument: str) -> dict[str, Any]:
    found = next((one for one in row.functions if one["name"] == function), None)
    schema: dict[str, Any] = found["parameters"]["properties"].get(argument, {}) if found else {}
    return schema


def java_source(value: Any, schema: Mapping[str, Any]) -> str:
    declared, item = schema.get("type"), schema.get("items", {}).get("type")
    if isinstance(value, list):
        items = ", ".join(_java_item(one, item) for one in value)
        return f"new {item}[]{{{items}}}" if declared == "Array" else f"new ArrayList<{item}>(Arrays.asList({items}))"
    if isinstance(value, dict):
        puts = " ".join(f"put({json.dumps(key)}, {_java_item(one, None)});" for key, one in value.items())
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value}L" if declared == "long" else f"{value}f" if declared == "float" else str(value)


def _java_item(value: Any, item: str | None) -> str:
    if isinstance(value, str):
        return f"'{value}'" if item == "char" else value if item == "any" else f'"{value}"'
    return java_source(value, {"type": item})


def javascript_source(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_javascript_item(one) for one in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_javascript_item(one)}' for key, one in value.items())}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _javascript_item(value: Any) -> str:
    return (
        json.dumps(value) if isinstance(value, str) and "'" in value else f"'{value}'" if isinstance(value, str) else javascript_source(value)
    )


# Its text in BFCL's own form


def native(calls: Sequence[Call], row: BfclRow) -> str:
    """The calls as BFCL's prompt asks for them."""
    written = []
    for name, arguments in calls:
        values = ", ".join(f"{key}={_native_value(value, row, name, key)}" for key, value in arguments.items())
        written.append(f"{name}({values})")
    return f"[{', '.join(written)}]"


def _native_value(value: Any, row: BfclRow, function: str, argument: str) -> str:
    if row.syntax == "python" or not isinstance(value, str):
        return repr(value)
    quoted = schema_of(row, function, argument).get("type") in {"String", "char"} or not BARE.fullmatch(value)
    return json.dumps(value, ensure_ascii=False) if quoted and '"' not in value and "\\" not in value else f"'{value}'" if quoted else value


# Mutations: each takes a right answer, and gives a changed one or None where the row has nothing to change

Mutate = Callable[[list[Call], BfclRow, random.Random], list[Call] | None]


def _one(calls: list[Call], rng: random.Random) -> tuple[dict[str, Any], str] | None:
    """The arguments of a call, and the name of one of them."""
    with_arguments = [arguments for _, arguments in calls if arguments]
    if not with_arguments:
        return None
    arguments = rng.choice(with_arguments)
    return arguments, rng.choice(sorted(arguments))


def _changing(change: Callable[[Any, random.Random], Any]) -> Mutate:
    def mutate(calls: list[Call], row: BfclRow, rng: random.Random) -> list[Call] | None:
        picked = _one(calls, rng)
        if picked is None:
            return None
        arguments, name = picked
        arguments[name] = change(arguments[name], rng)
        return calls

    return mutate


def _respelt(value: Any, rng: random.Random) -> Any:
    if isinstance(value, str):
        return rng.choice([value.upper(), value.replace(" ", ""), f" {value}.", value.replace("-", "/"), value.title()])
    if isinstance(value, list):
        return [_respelt(one, rng) for one in value]
    if isinstance(value, dict):
        return {key: _respelt(one, rng) for key, one in value.items()}
    return value


def _other_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([value + 1, -value, value * 10, 0])
    if isinstance(value, str):
        return rng.choice([f"{value}x", value[:-1], "", "unknown", value[::-1], value.replace(",", ";")])
    if isinstance(value, list):
        changed = [*value]
        rng.shuffle(changed)
        return rng.choice([changed, value[:-1], [*value, *value[:1]], [], [_other_value(one, rng) for one in value]])
    if isinstance(value, dict) and value:
        name = rng.choice(sorted(value))
        rest = {key: one for key, one in value.items() if key != name}
        return rng.choice([rest, {**value, "surplus": 1}, {**value, name: _other_value(value[name], rng)}, {}])
    return "something"


def _other_type(value: Any, rng: random.Random) -> Any:
    others: list[Any] = [
        "text",
        "",
        3,
        2.5,
        True,
        None,
        [],
        [1, "a"],
        ["text"],
        {},
        {"key": 1},
        [{}],
        [[1]],
        str(value),
        [value],
        {"value": value},
    ]
    if isinstance(value, int):
        others += [float(value), bool(value)] * 3
    if isinstance(value, float):
        others += [int(value)] * 3
    if isinstance(value, list) and value:
        others += [value[0], [*map(str, value)]] * 3
    return rng.choice([one for one in others if type(one) is not type(value) or one != value])


def _missing(calls: list[Call], row: BfclRow, rng: random.Random) -> list[Call] | None:
    picked = _one(calls, rng)
    if picked is not None:
        arguments, name = picked
        del arguments[name]
    return calls if picked else None


def _extra(calls: list[Call], row: BfclRow, rng: random.Random) -> list[Call] | None:
    if not calls:
        return None
    name, arguments = rng.choice(calls)
    known = [one for function in row.functions if function["name"] == name for one in function["parameters"]["properties"]]
    arguments[rng.choice([*known, "surplus"])] = rng.choice(["text", 1, True])
    return calls


def _reordered(calls: list[Call], row: BfclRow, rng: random.Random) -> list[Call]:
    shuffled = [(name, dict(sorted(arguments.items(), key=lambda _: rng.random()))) for name, arguments in calls]
    rng.shuffle(shuffled)
    return shuffled


def _other_function(calls: list[Call], row: BfclRow, rng: random.Random) -> list[Call] | None:
    if not calls:
        return None
    number = rng.randrange(len(calls))
    name, arguments = calls[number]
    others = [one["name"] for one in row.functions if one["name"] != name]
    calls[number] = (rng.choice([*others, f"{name}_two", name.replace(".", "_"), name.upper()]), arguments)
    return calls


def _other_count(calls: list[Call], row: BfclRow, rng: random.Random) -> list[Call]:
    return rng.choice([calls[:-1], calls + calls[:1], [], calls[1:], calls[::-1] + calls])


def _swapped(calls: list[Call], row: BfclRow, rng: random.Random) -> list[Call] | None:
    """Some values of one call moved into another of the same function."""
    pairs = [(one, two) for one, a in calls for two, b in calls if one == two and a is not b]
    if not pairs:
        return None
    name = rng.choice(pairs)[0]
    first, second = rng.sample([arguments for called, arguments in calls if called == name], 2)
    for argument in sorted(set(first) & set(second)):
        if rng.random() < 0.5:
            first[argument], second[argument] = second[argument], first[argument]
    return calls


MUTATIONS: Mapping[str, Mutate] = {
    "right": lambda calls, row, rng: calls,
    "right again": lambda calls, row, rng: calls,
    "respelt": _changing(_respelt),
    "wrong value": _changing(_other_value),
    "wrong value again": _changing(_other_value),
    "wrong type": _changing(_other_type),
    "wrong type again": _changing(_other_type),
    "missing": _missing,
    "extra": _extra,
    "reordered": _reordered,
    "other function": _other_function,
    "other count": _other_count,
    "swapped": _swapped,
}
