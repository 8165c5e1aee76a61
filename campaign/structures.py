"""Time against size of structures: what is nested, long, wide, or refers to itself, in all that reads documents of others."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from jinja2 import TemplateError

from campaign.base import Outcome, Part
from campaign.growth import fault_of
from campaign.readers import Reader
from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.import_traces import read_traces
from talm_sim.models.local.template_sandbox import environment, limit_rendering
from talm_sim.scenarios.load import read_scenario
from talm_sim.tools_env.argument_check import validate_arguments
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.types import ToolSpec

_Make = Callable[[int], Any]
SIZES: Final = (400, 2_000)
"""Parts of the larger structure; half of it is measured, too. What is refused by a limit is read quickly."""


def _nested(key: str, inside: Any, more: Any = None) -> _Make:
    """One part in the next, under a key or in a list."""

    def make(size: int) -> Any:
        value = inside
        for number in range(size):
            value = {**(more or {}), key: value if number % 2 else [value] if key in {"anyOf", "allOf", "oneOf"} else value}
        return value

    return make


def _chain(size: int) -> dict[str, Any]:
    """Definitions of which each refers to the next, and the last to the first."""
    return {
        "$defs": {f"d{n}": {"properties": {"a": {"$ref": f"#/$defs/d{(n + 1) % size}"}, "b": {"type": "string"}}} for n in range(size)},
        "properties": {"city": {"$ref": "#/$defs/d0"}},
    }


_WHOLE: Final = {"type": "string", "description": "d"}


def _of_city(key: str, size: int) -> dict[str, Any]:
    return {"properties": {"city": _nested(key, _WHOLE)(size)}}


SCHEMAS: Final[dict[str, _Make]] = {
    "properties in properties": lambda size: {"properties": {"city": _nested("properties", _WHOLE)(size)}},
    "many properties": lambda size: {"properties": {f"p{n}": _WHOLE for n in range(size)}, "required": [f"p{n}" for n in range(size)]},
    "items in items": lambda size: {"properties": {"city": _nested("items", _WHOLE, {"type": "array"})(size)}},
    **{name: partial(_of_city, name) for name in ("anyOf", "allOf", "oneOf", "not")},
    "many alternatives": lambda size: {"properties": {"city": {"anyOf": [{"const": n} for n in range(size)]}}},
    "definitions in a circle": _chain,
    "a long enum": lambda size: {"properties": {"city": {"enum": [str(n) for n in range(size)]}}},
}
ARGUMENTS: Final[dict[str, _Make]] = {
    "deep": lambda size: {"city": _nested("a", 1)(size)},
    "many": lambda size: {f"p{n}": n for n in range(size)},
    "a long list": lambda size: {"city": list(range(size))},
}


def _spans(size: int, parent: Callable[[int], int]) -> list[dict[str, Any]]:
    """Spans of one trace; each has a parent, and the last is a chat."""
    spans: list[dict[str, Any]] = [
        {"traceId": "1" * 32, "spanId": f"{n + 1:016x}", "name": "invoke_agent" if n % 2 else "chain", "startTimeUnixNano": str(n + 1)}
        | ({"parentSpanId": f"{parent(n) + 1:016x}"} if n else {})
        | {"endTimeUnixNano": str(10**9), "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}] * (n % 2)}
        for n in range(size)
    ]
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Which city?"}]}])
    values = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said, "gen_ai.output.messages": said.replace("user", "assistant")}
    spans[-1]["attributes"] = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    return spans


def _otlp(parent: Callable[[int], int]) -> _Make:
    return lambda size: {"resourceSpans": [{"scopeSpans": [{"spans": _spans(size, parent)}]}]}


def _talk(size: int) -> list[dict[str, Any]]:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer: dict[str, Any] = {"role": "tool", "tool_call_id": "a", "content": "x"}
    turn: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [call]}, answer]
    return [{"role": "user", "content": "Which city?"}, *turn * (size // 2), {"role": "assistant", "content": "Hanoi."}]


TRACES: Final[dict[str, _Make]] = {
    "one span in the next": _otlp(lambda n: n - 1),
    "all under the first": _otlp(lambda n: 0),
    "a tree": _otlp(lambda n: n // 2),
    "spans in a circle": _otlp(lambda n: n + 1),
    "a long conversation": _talk,
    "nested content": lambda size: [{"role": "user", "content": _nested("content", "x")(size)}, {"role": "assistant", "content": "y"}],
}


def _scenario(**parts: Any) -> dict[str, Any]:
    said = {"role": "user", "content": "Which city?"}
    return {"id": "a", "group": "own", "turns": [{"messages": [said]}], **parts}


_CALL: Final = {"name": "f", "arguments": {"city": "x"}}
_FACT: Final = {"name": "f", "value": 1}
SCENARIOS: Final[dict[str, _Make]] = {
    "many messages": lambda size: _scenario(turns=[{"messages": [{"role": "user", "content": f"m{n}"} for n in range(size)]}]),
    "many turns": lambda size: _scenario(turns=[{"messages": [{"role": "user", "content": f"m{n}"}]} for n in range(size)]),
    "many tools": lambda size: _scenario(tools=[f"t{n}" for n in range(size)]),
    "many facts": lambda size: _scenario(target={"type": "facts", "required": [{**_FACT, "name": f"f{n}"} for n in range(size)]}),
    "nested arguments": lambda size: _scenario(turns=[{"messages": [], "gold_calls": [{**_CALL, "arguments": _nested("a", 1)(size)}]}]),
    "nested unknown": lambda size: _scenario(other=_nested("a", 1)(size)),
}
TEMPLATES: Final[dict[str, Callable[[int], str]]] = {
    "nested ifs": lambda size: "{% if 1 %}" * size + "x" + "{% endif %}" * size,
    "nested loops": lambda size: "{% for a in messages %}" * (size // 100) + "x" + "{% endfor %}" * (size // 100),
    "many macros": lambda size: "".join(f"{{% macro m{n}() %}}{{{{ m{n + 1}() }}}}{{% endmacro %}}" for n in range(size)) + "{{ m0() }}",
    "many sets": lambda size: "{% set a = 'x' %}" + "{% set a = a + a %}" * size + "{{ a }}",
    "a long sum": lambda size: "{{ " + "+".join(["1"] * size) + " }}",
    "nested lists": lambda size: "{{ " + "[" * size + "]" * size + " }}",
}


def _spec(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="f", description="d", parameters={"type": "object", **schema})


def _read_schema(text: str) -> None:
    validate_arguments(_spec(json.loads(text)), {"city": {"a": {"a": ["x"]}}, "p1": "x"})


def _read_arguments(text: str) -> None:
    validate_arguments(_spec(SCHEMAS["items in items"](20)), json.loads(text))


def _read_document(text: str) -> None:
    schema = json.loads(text)
    content = {"application/json": {"schema": {"type": "object", **schema}}}
    answer = {"responses": {"200": {"description": "d", "content": content}}}
    post = {"operationId": "f", "requestBody": {"content": content}, **answer}
    tools_from_openapi({"openapi": "3.1.0", "servers": [{"url": "http://a"}], "paths": {"/f": {"post": post}}}, "x")


def _read_trace(text: str) -> None:
    with NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        read_traces(Path(file.name))


def _read_template(text: str) -> None:
    try:
        with limit_rendering():
            environment().from_string(text).render(messages=[{"role": "user", "content": "x"}] * 3)
    except (TemplateError, SyntaxError, MemoryError, RuntimeError) as err:  # "too many statically nested blocks" is Python's
        raise PrerequisiteError(str(err)) from err


READS: Final[tuple[tuple[str, dict[str, _Make], Callable[[str], object]], ...]] = (
    ("schemas", SCHEMAS, _read_schema),
    ("schemas of an OpenAPI document", SCHEMAS, _read_document),
    ("arguments", ARGUMENTS, _read_arguments),
    ("traces", TRACES, _read_trace),
    ("scenarios", SCENARIOS, lambda text: read_scenario(json.loads(text), "a.jsonl:1", "talm")),
    ("chat templates", TEMPLATES, _read_template),
)


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Read each structure in so many sizes."""
    outcome, slowest = Outcome(tried=0), (0.0, "")
    sys.setrecursionlimit(1_000)
    for what, structures, read in READS:
        for name, make in structures.items():
            for size in SIZES[: max(1, count // CASES)]:
                outcome.tried += 1
                reader = Reader(f"{what}, {name}", "", read, ())
                fault, took = fault_of(reader, partial(_written, make), size)
                slowest = max(slowest, (took, reader.name))
                if fault:
                    outcome.failures.append(f"{reader.name}, {size:,} parts: {fault}")
    outcome.figures = {"slowest": f"{slowest[0]:.2f} s, {slowest[1]}"}
    return outcome


def _written(make: _Make, size: int) -> str:
    value = make(size)
    sys.setrecursionlimit(100_000)
    try:
        return value if isinstance(value, str) else json.dumps(value)
    finally:
        sys.setrecursionlimit(1_000)


CASES: Final = sum(len(structures) for _, structures, _ in READS)
PARTS: Final = (Part("structures", "time against size of what is nested, long, wide or in a circle", "structures", 2 * CASES, CASES, play),)
