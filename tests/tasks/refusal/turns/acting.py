"""A served model that acts by a script, for multi-turn rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from talm_sim.models.formats import FORMATS, CallToWrite
from tests.models.stand_in import StandIn

Calls = list[tuple[str, dict[str, Any]]]
TOUCH_A: Calls = [("touch", {"file_name": "a"})]
TOUCH_B: Calls = [("touch", {"file_name": "b"}), ("ls", {})]
Play = Callable[..., int]


class Actor(StandIn):
    """Makes the calls of its script, by what the user or a person said last, then answers; without native tools it writes them."""

    script: Mapping[str, Calls]
    again = False

    def act(self, messages: Sequence[tuple[str, str]], tools: Mapping[str, Mapping[str, Any]]) -> str | Calls:
        words, new, asked = "", False, False
        for who, text in messages:
            if who == "call":
                asked = text == "ask_human"
            elif who == "result" or (who == "user" and text.endswith("</tool_response>")):
                new = asked or '"name": "ask_human"' in text
                words = text if new else words
            elif who == "user":
                words, new = text, True
        calls = next((calls for said, calls in self.script.items() if said in words), [])
        if not calls or not (new or self.again):
            return "Done."
        if tools:
            return calls
        if "first_function(" in messages[0][1]:
            return FORMATS["pythonic"].write([CallToWrite(name, given) for name, given in calls])
        return FORMATS["hermes"].write([CallToWrite(name, given) for name, given in calls])


RIGHT: Mapping[str, Calls] = {"Make a.": TOUCH_A, "list all": [], "more functions": TOUCH_B, "Call it b": TOUCH_B[:1]}


@contextmanager
def acting(script: Mapping[str, Calls], *, again: bool = False) -> Iterator[Actor]:
    server = Actor("guesses")
    server.script, server.again = script, again
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
