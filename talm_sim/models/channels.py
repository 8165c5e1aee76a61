"""Separate thoughts, answers and calls marked with special tokens: gpt-oss, Gemma 4, Command R7B and Command A, and Apertus."""

from __future__ import annotations

import re

__all__ = ["split_channels"]

_CHANNELS = re.compile(r"<\|channel>|<channel\|>|<\|channel\|>|<\|(?:START|END)_(?:THINKING|RESPONSE|TEXT)\|>|<\|inner_(?:prefix|suffix)\|>")
_HARMONY = re.compile(r"<\|(?P<mark>start|channel|message|end|call|return)\|>")
_LED = re.compile(r"\s*+(?>(?:assistant\s*+)?)(?>(?:to=[^\s<]++\s*+)?)")
_NAMED = re.compile(r"<\|channel\|>\s*(\w+)")
_ANSWER = re.compile(r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>")
_THOUGHT = re.compile(
    r"(?P<open><\|channel>(?:thought\b)?|<\|START_THINKING\|>|<\|inner_prefix\|>)|(?P<close><channel\|>|<\|END_THINKING\|>|<\|inner_suffix\|>)"
    r"|(?P<call><\|tools_prefix\|>)|(?P<called><\|tools_suffix\|>)"
)


def split_channels(text: str) -> tuple[str, list[str]]:
    """Take out thoughts that special tokens separate from answers; remove what frames an answer, and leave calls as they were written.

    A thought without an end runs to the end, or to a call; one without a beginning starts at the beginning.

    Returns:
        The text without thoughts, and the thoughts; text without such tokens comes back unchanged.

    >>> split_channels("<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>Yes.")
    ('Yes.', ['Easy.'])
    """
    if not _CHANNELS.search(text):
        return text, []
    if "<|channel|>" in text:
        return _split_harmony(text)
    return _split_thoughts(_ANSWER.sub("", text))


def _split_harmony(text: str) -> tuple[str, list[str]]:
    """Yield messages up to what ends them, each with a header that names its channel and perhaps a tool."""
    said: list[str] = []
    thoughts: list[str] = []
    begun, headed, body = 0, False, -1
    for mark in _HARMONY.finditer(text):
        kind, at = mark["mark"], mark.start()
        if kind == "message":
            body = mark.end() if body < 0 else body
        elif kind not in ("start", "channel"):
            _keep(text, begun, body, at, mark.end(), said, thoughts)
            begun, headed, body = mark.end(), False, -1
        elif body >= 0:  # a new message, although nothing ended the last one
            _keep(text, begun, body, at, at, said, thoughts)
            begun, headed, body = at, True, -1
        elif not headed:
            if _LED.fullmatch(text, begun, at) is None:  # the prompt opened this message
                said.append(text[begun:at])
                begun = at
            headed = True
    _keep(text, begun, body, len(text), len(text), said, thoughts)
    return "".join(said), thoughts


def _keep(text: str, begun: int, body: int, at: int, end: int, said: list[str], thoughts: list[str]) -> None:
    """File a message as what it is: a thought, an answer, or a call, which keeps its header."""
    header = text[begun:body] if body >= 0 else ""
    channel = _NAMED.search(header)
    if "to=" in header:
        said.append(text[begun:end])
    elif channel and channel[1] == "analysis":
        thoughts.append(text[body:at])
    else:
        said.append(text[max(begun, body) : at])


def _split_thoughts(text: str) -> tuple[str, list[str]]:
    said: list[str] = []
    thoughts: list[str] = []
    at, inside, calling, known = 0, False, False, False
    for mark in _THOUGHT.finditer(text):
        if mark["call"] or mark["called"]:
            if inside and not calling and mark["call"]:
                thoughts.append(text[at : mark.start()])
                at, calling = mark.start(), True
            elif calling and mark["called"]:
                said.append(text[at : mark.end()])
                at, calling = mark.end(), False
            continue
        written = text[at : mark.start()]
        if mark["close"] and not known:
            thoughts.append("".join(said) + written)
            said = []
        else:
            (thoughts if inside and not calling else said).append(written)
        at, inside, calling, known = mark.end(), bool(mark["open"]), False, True
    (thoughts if inside and not calling else said).append(text[at:])
    return "".join(said), thoughts
