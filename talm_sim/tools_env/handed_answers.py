"""Give an agent that is not ours a tool's answer as the tool itself would: its value, or an error that is raised."""

from __future__ import annotations

import builtins
import json
from ast import literal_eval
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from talm_sim.common.json_values import read_json
from talm_sim.errors import ToolError, ToolStatusError
from talm_sim.recordings import ARTIFACT_HEADER, PLAIN_HEADER, TEXT_HEADER, WORDED_HEADER, Returned
from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.routes import FUNCTION_ERROR, NOT_EXECUTABLE
from talm_sim.types import ToolEvent

INJECTED_FAULT = "talm_sim_fault"
"""Attribute of an error with the fault that it is, as it was written."""
_KINDS: dict[str, type[Exception]] = {
    "timeout": TimeoutError,
    "connection_reset": ConnectionResetError,
    NOT_EXECUTABLE: NotImplementedError,
    "unknown_tool": LookupError,
}


@dataclass(frozen=True, slots=True)
class PlayedCall:
    """A call that was made."""

    event: ToolEvent
    outcome: Outcome | None = None
    error: ToolError | None = None

    def read(self) -> tuple[Returned, str | None]:
        """Return what the tool returned, and the text that LangChain writes of its value, where that is not the value's own."""
        made = self.outcome.made if self.outcome is not None else None
        if self.outcome is None or made is None:
            return Returned(self._value()), None
        artifact, text = (read_json(made.header(name) or None) for name in (ARTIFACT_HEADER, TEXT_HEADER))
        if made.body != self.outcome.body:
            return Returned(self.event.result if made.header(PLAIN_HEADER) else self._value()), None
        if made.header(PLAIN_HEADER):
            return Returned(made.body.decode(), artifact), None
        if isinstance(made.live, Returned):
            return made.live, text
        return Returned(self._value(), artifact, bool(made.header(WORDED_HEADER))), text

    def _value(self) -> Any:
        if self.outcome is not None and self.outcome.is_plain:
            return self.outcome.body.decode(errors="replace")
        try:
            return json.loads(self.outcome.body) if self.outcome is not None else self.event.result
        except (ValueError, RecursionError):
            return self.event.result

    def failure(self) -> Exception | None:
        """Return the error that the tool itself would raise, with the fault that it is; None if the call did not fail."""
        if self.error is None:
            return None
        made = self.outcome.made if self.outcome is not None else None
        damaged = [log.name for log in self.event.perturbations if log.seen]
        if made is not None and isinstance(made.live, Exception) and not damaged:
            return made.live
        raised = self._build(self.error)
        if damaged:
            setattr(raised, INJECTED_FAULT, damaged[-1])
        return raised

    def _build(self, error: ToolError) -> Exception:
        text, outcome = str(error), self.outcome
        if error.code == FUNCTION_ERROR:
            kind, _, said = text.partition(": ")
            known: Any = getattr(builtins, kind, None)
            usable = isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, UnicodeError)
            with suppress(ValueError, SyntaxError, TypeError):  # of a group, for example, more than its text is needed
                raised: Exception = known(literal_eval(said) if known is KeyError else said) if usable else RuntimeError(text)
                return raised
            return RuntimeError(text)
        if outcome is not None and outcome.status is not None and not outcome.error and error.code.startswith("http_"):
            headers = {name.lower(): value for name, value in (outcome.made.headers if outcome.made is not None else ())}
            if outcome.retry_after is not None:
                headers["retry-after"] = f"{outcome.retry_after:g}"
            return ToolStatusError(text, outcome.status, headers, outcome.body.decode(errors="replace"))
        return _KINDS.get(error.code, ValueError)(text)
