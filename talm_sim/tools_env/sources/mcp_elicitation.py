"""MCP elicitation, form mode (specification 2025-11-25): what a server asks of the person while a call of it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from mcp.types import INVALID_PARAMS, INVALID_REQUEST, ElicitRequestURLParams, ElicitResult, ErrorData
from pydantic_core import to_json

from talm_sim.common.credentials import Hider
from talm_sim.tools_env.person import AskPerson
from talm_sim.types import Decision, Form

__all__ = ["Elicitation"]

MOST_OF_A_FORM: Final = 100_000
"""Bytes that a form may have."""
_PRIMITIVE: Final = frozenset({"string", "number", "integer", "boolean"})

log = logging.getLogger(__name__)


class Elicitation:
    """Answers what one server asks of a person: the person of the episode whose call is under way.

    Args:
        source: The source's name.
        hide: Removes secrets from what the server says.
    """

    def __init__(self, source: str, hide: Hider) -> None:
        self._source = source
        self._hide = hide
        self._person: AskPerson | None = None
        self._limit: asyncio.Timeout | None = None
        self._asking: set[asyncio.Task[Decision]] = set()
        self._left = 0.0

    @contextmanager
    def during_call(self, person: AskPerson | None, limit: asyncio.Timeout) -> Iterator[None]:
        """Let the server ask a person during the block; the time that the person takes does not count towards the call's time limit."""
        self._person, self._limit = person, limit
        try:
            yield
        finally:
            self._person = self._limit = None
            for asking in self._asking:  # the server did not wait for the answer
                asking.cancel()

    async def __call__(self, context: Any, params: Any) -> ElicitResult | ErrorData:
        """Answer a request of the server."""
        if isinstance(params, ElicitRequestURLParams):
            host = self._hide.text(urlsplit(params.url).hostname or "")[:100]
            log.warning("MCP server '%s': wanted to send the person to a web page (%s), which is refused", self._source, host)
            return ErrorData(code=INVALID_PARAMS, message="URL mode is not supported: nobody is sent to a web page from here.")
        if self._person is None:
            return ErrorData(code=INVALID_REQUEST, message="There is no call under way whose person could be asked.")
        if why := _explain_refusal(params.message, params.requested_schema):
            log.warning("MCP server '%s': its form is refused: %s", self._source, why)
            return ErrorData(code=INVALID_PARAMS, message=f"The form cannot be shown: {why}")
        form = Form.model_validate(
            self._hide.value({"message": params.message, "fields": params.requested_schema, "source": self._source}),
        )
        try:
            decision = await self._ask(self._person(form))
        except asyncio.CancelledError:
            return ElicitResult(action="cancel")
        return ElicitResult(action=decision.action, content=decision.content if decision.action == "accept" else None)

    async def _ask(self, asked: Coroutine[Any, Any, Decision]) -> Decision:
        """Wait for the person, with the clock of the call stopped; a server may ask several things at once."""
        limit, now = self._limit, asyncio.get_running_loop().time
        if not self._asking and limit is not None:
            self._left = (limit.when() or now()) - now()
            limit.reschedule(None)
        asking = asyncio.create_task(asked)
        self._asking.add(asking)
        try:
            return await asking
        finally:
            asking.cancel()
            self._asking.discard(asking)
            if not self._asking and limit is not None and limit is self._limit:
                limit.reschedule(now() + self._left)


def _explain_refusal(message: str, schema: Any) -> str:
    """Say why a form cannot be shown; empty where it can."""
    if len(to_json([message, schema], fallback=str)) > MOST_OF_A_FORM:
        return f"it is longer than {MOST_OF_A_FORM:,} bytes."
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or schema.get("type") != "object":
        return "its schema is not that of an object with properties."
    odd = next((name for name, field in properties.items() if not _is_flat(field)), None)
    return "" if odd is None else f"its field '{odd[:80]}' is not a text, a number, a boolean or a choice."


def _is_flat(field: Any) -> bool:
    if not isinstance(field, dict):
        return False
    if field.get("type") == "array":
        items = field.get("items")
        return isinstance(items, dict) and any(isinstance(items.get(key), list) for key in ("enum", "anyOf", "oneOf"))
    return field.get("type") in _PRIMITIVE
