"""Ten published OpenAPI documents: how many operations are taken, and for which reasons others are not.

They are in the folder `openapi` of `TALM_SIM_BENCH_DATA`, from the public repositories of their services, under the names below. Figures are
those of the versions of 2026-08 and before; a later one may have others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tools_env.sources.openapi import files_beside, parse_document
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.tools_env.sources.openapi_limits import is_transport
from talm_sim.tools_env.sources.references import Reading

SERVER, UPLOAD, TWICE, QUERY = "a server of its own", "a body that is not JSON", "distinct names", "its path contains"
DOCUMENTS: dict[str, tuple[int, int, dict[str, int]]] = {
    "figma.yaml": (47, 47, {}),
    "plaid.yml": (329, 329, {}),
    "sendgrid.json": (334, 330, {TWICE: 4}),
    "discord.json": (242, 239, {UPLOAD: 3}),
    "openai.json": (288, 272, {UPLOAD: 9, QUERY: 7}),
    "pagerduty.json": (465, 465, {}),
    "box.json": (294, 278, {SERVER: 14, UPLOAD: 1, "also called": 1}),
    "asana.yaml": (247, 246, {UPLOAD: 1}),
    "xero.yaml": (235, 213, {UPLOAD: 22}),
    "digitalocean/DigitalOcean-public.v2.yaml": (659, 643, {SERVER: 15, TWICE: 1}),
}
"""Operations, those that are taken, and the others by a part of the reason."""
UPLOADS = {"box.json": 10}
"""Operations that need an upload, where they are left out for another reason: the server of uploads."""


@pytest.mark.bench_data
@pytest.mark.parametrize("name", DOCUMENTS)
def test_at_least_95_of_100_operations_are_taken_and_none_without_its_arguments(name: str, bench_data: Path) -> None:
    file = bench_data / "openapi" / name
    if not file.is_file():
        pytest.skip(f"{file} is not there")
    document = parse_document(file.read_text(encoding="utf-8"))
    tools = tools_from_openapi(document, "s", load=files_beside(file))
    operations, taken, reasons = DOCUMENTS[name]
    left = [one for one in tools.not_taken if not one.tool.startswith("parameter ")]
    found = Counter(next((part for part in reasons if part in one.reason), one.reason) for one in left)
    assert (len(tools.specs) + len(left), len(tools.specs), dict(found)) == (operations, taken, reasons)
    assert taken >= 0.95 * (operations - UPLOADS.get(name, reasons.get(UPLOAD, 0)))
    reading = Reading(document, files_beside(file)).with_parts(10**9)
    for tool, route in tools.routes.items():
        paths = [path for path in document["paths"] if path.partition("#")[0] == route.path.removeprefix("/s")]
        items = [reading.resolve(document["paths"][path]) for path in paths]
        declared = [_declared(reading, item, reading.resolve(item[route.method.lower()])) for item in items if route.method.lower() in item]
        assert tool not in tools.specs or any(names <= tools.specs[tool].parameters["properties"].keys() for names in declared), tool


def _declared(reading: Reading, item: Mapping[str, Any], operation: Mapping[str, Any]) -> set[str]:
    """The parameters of an operation, and of its body what must be given."""
    parameters = [reading.resolve(one) for one in (*item.get("parameters", ()), *operation.get("parameters", ()))]
    body = reading.resolve(operation.get("requestBody", {}))
    schema = reading.resolve(body.get("content", {}).get("application/json", {}).get("schema", {}))
    return {one["name"] for one in parameters if not is_transport(one["in"], one["name"])} | {
        *(name for name in schema.get("required", ()) if name in schema.get("properties", {}) and body.get("required"))
    }
