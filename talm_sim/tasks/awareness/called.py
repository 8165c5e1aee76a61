"""Whether a free answer makes a call: the one rule of both implicit protocols (the study's appendix B.1 and figure 23).

1. A call in the provider's own form is one, also one that cannot be read.
2. Thinking blocks are passed over.
3. A call written in the text is one, wherever it stands: in brackets, `[Name(key='value')]`, or in a form of any model family.
4. A call without brackets is one where nothing else is said, or where it fills a line and names a shown tool. Within a sentence it is spoken
   of, not made.
"""

from __future__ import annotations

from collections.abc import Collection

from talm_sim.models.formats import read_calls
from talm_sim.models.formats.literals import BrokenError
from talm_sim.models.formats.python_calls import CALL_LIST, read_list
from talm_sim.models.formats.readers import read_alone
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import ModelTurn

__all__ = ["makes_call"]


def makes_call(turn: ModelTurn, tools: Collection[str] = ()) -> bool:
    """Tell whether a turn makes a call by the rule of this module.

    Args:
        turn: The model's free answer.
        tools: Names of the tools that were shown.

    >>> makes_call(ModelTurn(text="[GetToday()]")), makes_call(ModelTurn(text="I could call GetToday() for you."))
    (True, False)
    """
    if turn.tool_calls or turn.unparsable_calls:
        return True
    text = split_reasoning(turn.text or turn.raw_text)[0]
    read = read_calls(text)
    return bool(read.calls or read.unparsable) or _in_brackets(text) or any(_fills(line, tools) for line in text.splitlines())


def _in_brackets(text: str) -> bool:
    at = 0
    while opened := CALL_LIST.search(text, at):
        try:
            read_list(text, opened.start())
        except BrokenError as err:
            at = max(err.at, opened.end())
        else:
            return True
    return False


def _fills(line: str, tools: Collection[str]) -> bool:
    found = read_alone(line)
    return found is not None and any(one.name in tools for one in found.found)
