"""An agent that is a plain function, here with no model at all: it converts a date, which it asks a person for.

What may pass (a server's error, no answer) it tries three times; what failed, it says. test_plain_function.py holds it to that.

talm-sim run --agent plain_function:act --scenario calendar-01.underspecified --human simulated
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool


def act(messages: Sequence[AnyMessage], tools: Sequence[BaseTool]) -> list[AnyMessage]:
    """Play one episode: the request is the last message given, the answer is the last message returned."""
    by_name = {tool.name: tool for tool in tools}
    text = messages[-1].text
    if "ask_human" in by_name:
        text = by_name["ask_human"].invoke({"question": "What is the date of birth?"})
    date = re.search(r"\d{4}-\d\d-\d\d", text)
    if date is None or "convert_to_hijri" not in by_name:
        return [*messages, AIMessage("I cannot tell: I know no date, or have no calendar.")]
    for _ in range(3):
        try:
            found = by_name["convert_to_hijri"].invoke({"date": date[0]})
            return [*messages, AIMessage(f"{date[0]} is {found['day']} {found['month_name']} {found['year']}.")]
        except Exception as err:
            failed = str(err)
            if getattr(err, "status_code", 500) < 500:
                break
    return [*messages, AIMessage(f"I could not look it up: {failed}")]
