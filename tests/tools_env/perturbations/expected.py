"""What an agent reads under each fault, over HTTP: one entry per kind, sorted by family. A kind without an entry fails the tests.

Unless an entry says otherwise, the agent calls `get_mountain(name="Mont Blanc", unit="m")` of the server in `alps`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.tools_env.perturbations.alps import MONT_BLANC

ASKED = ("get_mountain", {"name": "Mont Blanc", "unit": "m"})


@dataclass(frozen=True)
class Expected:
    """What one fault does.

    Attributes:
        reads: The text that the agent reads of the last call.
        error: Reason code of that call; empty where it looks like a success.
        reached: Whether the tool was called; its answer was then replaced.
        calls: The calls in their order. The fault is looked for in the last one.
        options: Options of the fault that are needed.
        others: Arguments of gold calls of other scenarios, by tool.
        seconds: How long the last call takes on the environment's clock.
        tools: Names of the tools in sight, where the fault changes them; it fires there, and not on a call.
        elsewhere: The file whose tests over HTTP take the place of these.
    """

    reads: str = ""
    error: str = ""
    reached: bool = True
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = (ASKED,)
    options: str = ""
    others: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    seconds: float = 0
    tools: tuple[str, ...] | None = None
    elsewhere: str = ""


def _refused(text: str, error: str, seconds: float = 0) -> Expected:
    """What is answered in the tool's place."""
    return Expected(json.dumps({"error": text}, separators=(",", ":")), error, reached=False, seconds=seconds)


_SILENT, _MODEL = "tests/tools_env/perturbations/test_silent_over_http.py", "tests/agent/test_faulty_model.py"
EXPECTED: Mapping[str, Expected] = {
    # endpoint
    "connection-reset": _refused("The connection was reset.", "connection_reset"),
    "empty-result": Expected("{}"),
    "hang": _refused("The tool did not answer in time.", "timeout", seconds=120),
    "http-401": _refused("HTTP 401: Unauthorized.", "http_401"),
    "http-403": _refused("HTTP 403: Forbidden.", "http_403"),
    "http-404": _refused("HTTP 404: Not Found.", "http_404"),
    "http-410": _refused("HTTP 410: Gone.", "http_410"),
    "http-429": _refused("HTTP 429: Too Many Requests. Retry after 2 s.", "http_429"),
    "http-500": _refused("HTTP 500: Internal Server Error.", "http_500"),
    "http-503": _refused("HTTP 503: Service Unavailable.", "http_503"),
    "malformed-body": Expected(
        r'{"error":"The tool answered with a broken body: {\"name\": \"Mont Blanc\", \"country\": \"France\", \"eleva"}', "malformed_body"
    ),
    "slow": Expected(MONT_BLANC, seconds=5),
    "timeout": _refused("The tool did not answer in time.", "timeout", seconds=10),
    "truncated-body": Expected(
        r'{"error":"The tool answered with a broken body: {\"name\": \"Mont Blanc\", \"country\": \"France\", '
        r'\"elevation\": 4806, \"unit\": \"m\", \"surveyed\": \"2"}',
        "malformed_body",
    ),
    # silent
    "coerced-argument": Expected(elsewhere=_SILENT),
    "contradiction": Expected(elsewhere=_SILENT),
    "ignored-argument": Expected(elsewhere=_SILENT),
    "implicit-default": Expected(elsewhere=_SILENT),
    "off-by-one": Expected(elsewhere=_SILENT),
    "stale": Expected(elsewhere=_SILENT),
    "wrong-record": Expected(elsewhere=_SILENT),
    "wrong-unit": Expected(elsewhere=_SILENT),
    # drift
    "field-to-list": Expected('{"name":"Mont Blanc","country":["France"],"elevation":[4806],"unit":"m","surveyed":["2023-09-12"]}'),
    "null-field": Expected('{"name":"Mont Blanc","country":null,"elevation":null,"unit":"m","surveyed":null}'),
    "removed-field": Expected('{"name":"Mont Blanc","unit":"m"}'),
    "renamed-argument": _refused("HTTP 422: unknown field 'name'; expected 'nam'.", "http_422"),
    "renamed-field": Expected('{"name":"Mont Blanc","cou":"France","ele":4806,"unit":"m","sur":"2023-09-12"}'),
    "retyped-field": Expected(
        '{"name":"Mont Blanc","country":{"value":"France"},"elevation":"4806","unit":"m","surveyed":{"value":"2023-09-12"}}'
    ),
    # tools
    "description": Expected(elsewhere=_SILENT),
    "distractors": Expected(elsewhere=_SILENT),
    "mask": Expected(
        '{"error":"There is no tool \'get_mountain\'."}', "unknown_tool", tools=("list_mountains", "take_note"), options="tool=get_mountain"
    ),
    "rename": Expected(elsewhere=_SILENT),
    "replacement": Expected(elsewhere=_SILENT),
    # model
    "model-500": Expected(elsewhere=_MODEL),
    "model-cut": Expected(elsewhere=_MODEL),
    "model-empty": Expected(elsewhere=_MODEL),
    "model-html": Expected(elsewhere=_MODEL),
    "model-refusal": Expected(elsewhere=_MODEL),
    "model-repeat": Expected(elsewhere=_MODEL),
}
