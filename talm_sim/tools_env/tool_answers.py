"""Write the text that the model reads of a tool's answer."""

from __future__ import annotations

import json
import re
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import read_json
from talm_sim.config import RESULT_LIMIT
from talm_sim.errors import ToolError
from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.routes import FUNCTION_ERROR, NOT_EXECUTABLE, TOO_LARGE

_NO_ANSWER = {
    "timeout": "The tool did not answer in time.",
    "connection_reset": "The connection was reset.",
    NOT_EXECUTABLE: "This tool cannot be executed here.",
    TOO_LARGE: "The tool's answer is larger than 4 MB and was not read.",
}
_CUT = re.compile(r"\.\.\. \[\d+ characters cut\]\Z")


def render_outcome(outcome: Outcome, limit: int) -> tuple[str, str]:
    """Return what the model is shown of a tool's answer, and the reason code where that is an error."""
    try:
        return read_answer(outcome, limit), ""
    except ToolError as err:
        return refusal_text(err)


def refusal_text(err: ToolError) -> tuple[str, str]:
    """Return the text that the model reads of a failed call, and the reason code."""
    return canonical_json({"error": str(err)}), err.code


def read_answer(outcome: Outcome, limit: int = RESULT_LIMIT) -> str:
    """Return what the model reads of a tool's answer: at most its first `limit` characters, and how many were cut.

    Raises:
        ToolError: No answer came, the answer is an error, or it cannot be read.
    """
    if outcome.error == FUNCTION_ERROR:
        value = read_json(outcome.body)
        raise ToolError(cut_text(str(value.get("detail", "") if isinstance(value, dict) else value), 500), outcome.error)
    if outcome.error:
        raise ToolError(_NO_ANSWER.get(outcome.error, outcome.error), outcome.error)
    assert outcome.status is not None
    try:
        value = json.loads(outcome.body)
        text = outcome.body.decode() if outcome.is_plain else write_result(value)
    except (ValueError, RecursionError):
        broken = cut_text(outcome.body.decode(errors="backslashreplace"), 200)
        raise ToolError(f"The tool answered with a broken body: {broken}", "malformed_body") from None
    if not 200 <= outcome.status < 300:
        detail = value.get("detail", value) if isinstance(value, dict) else value
        told = cut_text(write_result(detail), 500)
        stop = "" if told.endswith((".", "!", "?")) else "."
        wait = f" Retry after {outcome.retry_after:g} s." if outcome.retry_after is not None else ""
        raise ToolError(f"HTTP {outcome.status}: {told}{stop}{wait}", f"http_{outcome.status}")
    return cut_text(text, limit)


def write_result(value: Any) -> str:
    """Write a tool's result for the built-in agent: a text as it is, anything else as JSON in the order it came.

    >>> write_result("two words"), write_result({"b": 1, "a": None})
    ('two words', '{"b":1,"a":null}')
    """
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="backslashreplace").decode()  # JSON can hold half a character, and no message can


def cut_text(text: str, limit: int) -> str:
    """Cut a text, and say how much of it."""
    return text if len(text) <= limit else f"{text[:limit]}... [{len(text) - limit} characters cut]"


def is_cut(result: str) -> bool:
    """Return whether a result is only the beginning of what the tool returned."""
    return _CUT.search(result, max(len(result) - 60, 0)) is not None
