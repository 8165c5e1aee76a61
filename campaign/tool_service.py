"""The tool service is asked whatever its own description allows, and what it forbids; none of it may break it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import requests

from campaign.base import Outcome, Part
from talm_sim.tools_env.service import HEALTH_PATH
from talm_sim.tools_env.service.process import ToolService

__all__ = ["PARTS"]

_EDGES: Final = {
    "string": ("", "0001-01-01", "9999-12-31", "a" * 5_000, "\u202e\U0001f600\ud7ff", "9" * 400, "../..", "nan", "1e999", "((((", "9**9**9"),
    "integer": ("0", "-1", "2147483648", "9" * 30),
    "number": ("0", "-0.0", "1e308", "-1e308", "5e-324", "inf", "nan"),
    "boolean": ("maybe",),
}
"""Values at the edges of what a parameter of a kind may hold."""


def _play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    del scratch  # the service writes nothing
    if find_spec("schemathesis") is None:
        return Outcome(0, skipped="schemathesis is not installed: pip install --group campaign")
    found = Outcome(0)
    statuses: dict[int, int] = {}
    with ToolService() as service, requests.Session() as session:
        session.trust_env = False

        def ask(url: str) -> None:
            found.tried += 1
            try:
                status = session.get(url, timeout=30).status_code
            except requests.RequestException as err:
                found.failures.append(f"GET {url.removeprefix(service.base_url)[:500]}: {type(err).__name__}")
                return
            statuses[status // 100] = statuses.get(status // 100, 0) + 1
            if status >= 500:
                found.failures.append(f"GET {url.removeprefix(service.base_url)[:500]}: {status}")

        document = session.get(f"{service.base_url}/openapi.json", timeout=30).json()
        edges = list(_edges(document))
        for path, query in rng.sample(edges, min(len(edges), count // 4)):
            ask(str(requests.Request("GET", service.base_url + path, params=query).prepare().url))
        at_edges = found.tried
        _drawn(document, service.base_url, count, rng, ask)
        if session.get(f"{service.base_url}{HEALTH_PATH}", timeout=30).status_code != 200:
            found.failures.append("the service does not answer any more")
    found.figures = {
        "drawn": f"{found.tried - at_edges:,}",
        "at edges": f"{at_edges:,}",
        "5xx": str(statuses.get(5, 0)),
        "2xx": str(statuses.get(2, 0)),
        "4xx": str(statuses.get(4, 0)),
    }
    return found


def _edges(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Calls with good values in all parameters but one."""
    for path, item in document["paths"].items():
        parameters = item["get"].get("parameters", [])
        good = {one["name"]: _good(one["schema"]) for one in parameters if one.get("required") or "default" not in one["schema"]}
        for one in parameters:
            kinds = [kind["type"] for kind in (one["schema"], *one["schema"].get("anyOf", [])) if kind.get("type") in _EDGES]
            for value in itertools.chain.from_iterable(_EDGES[kind] for kind in kinds):
                query = good | {one["name"]: value}
                filled = path
                for name in [name for name in query if f"{{{name}}}" in path]:
                    filled = filled.replace(f"{{{name}}}", quote(query.pop(name), safe=""))
                yield filled, query


def _good(schema: Mapping[str, Any]) -> str:
    examples = schema.get("examples") or schema.get("enum") or [schema.get("default", 1)]
    return str(examples[0])


def _drawn(document: Mapping[str, Any], address: str, count: int, rng: random.Random, ask: Any) -> None:
    """Draw calls from the description, three quarters of them as it allows, the others as it forbids."""
    import hypothesis
    import schemathesis

    operations = [result.ok() for result in schemathesis.openapi.from_dict(dict(document)).get_all_operations()]
    modes = [schemathesis.GenerationMode.POSITIVE] * 3 + [schemathesis.GenerationMode.NEGATIVE]
    shares = [(operation, mode) for operation in operations for mode in modes]
    rng.shuffle(shares)
    for number, (operation, mode) in enumerate(shares):
        most = count * (number + 1) // len(shares) - count * number // len(shares)
        if most:
            _draw(hypothesis, operation.as_strategy(generation_mode=mode), most, rng.randrange(2**32), address, ask)


def _draw(hypothesis: Any, cases: Any, most: int, seed: int, address: str, ask: Any) -> None:
    def drawn(case: Any) -> None:
        request = requests.Request(**{name: case.as_transport_kwargs(base_url=address)[name] for name in ("method", "url", "params")})
        if request.method == "GET":
            ask(str(request.prepare().url))

    settings = hypothesis.settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(seed)(settings(hypothesis.given(case=cases)(drawn)))()


PARTS: tuple[Part, ...] = (Part("tools", "the tool service, asked by its own description", "calls", full=10_000, short=150, play=_play),)
