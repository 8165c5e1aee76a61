"""What is known to differ: `OPEN` is to be mended, a row each; `REMAINS` is for a reason, which is given.

A line names a difference as `compared.differences` does: `result *` is about all results. One that no longer differs fails, and goes.
"""

from __future__ import annotations

OPEN: dict[str, dict[str, str]] = {}
"""Row, to what differs and how."""
OPEN_LINES: dict[str, str] = {}
"""Of `RUN_SETS`, what no line below the table says yet."""
REMAINS: dict[tuple[str, str], str] = {
    ("openapi", "parameters *"): "an argument that the document does not know is refused; LangChain reads no OpenAPI that could be the measure",
    ("handed_*", "stream"): "a turn is always asked for whole, as it is recorded; a stream gives the finished turn in pieces",
    ("handed_thought", "message assistant"): "what a provider sent with a thought goes back to it; LangChain's client drops it",
    ("handed_declined", "answer"): "a refusal is the text that the user is told",
    ("handed_declined", "state ai"): "the same",
    ("handed_declined", "last"): "the same",
    ("own_gate", "tool ask_human"): "where there is somebody to ask, an agent that takes its tools is offered to",
    ("handed_gate", "tool ask_human"): "the same",
    ("*_pause_*", "tool ask_human"): "the same",
}
"""Row, in which `*` stands for anything, and difference, to the reason."""
