"""Write a conversation as text for a writing model, and read back the model's changed one; whatever it writes is untrusted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from talm_sim.tasks.awareness.making.remove import make_removed_scenario, readable_texts
from talm_sim.tasks.awareness.making.value_spellings import gives_value_away
from talm_sim.types import JsonObject, Missing, MissingKind, Scenario, Turn

_USER, _ASSISTANT, _CALL, _RESULT = "User", "AI", "API call", "API result"
_SPEAKER = re.compile(rf"^({_USER}|{_ASSISTANT}|{_CALL}|{_RESULT}):[ \t]*", re.MULTILINE)
_LONGEST = 100_000
"""Characters of an answer that are read."""
_MOST_TIMES = 10
"""How often an answer is read, one object within another one, until one has the key."""
_MOST_COMPARED = 300
"""Words of a text that are compared with those of another."""


def conversation_text(scenario: Scenario) -> str:
    """Return what was said and called so far, each on a line that begins with the speaker."""
    return "\n".join(f"{speaker}: {text}" for speaker, text in _lines(scenario.turns))


def described_apis(scenario: Scenario, names: Sequence[str] = ()) -> str:
    """List the tools shown, one per line; only those of the given names if there are any."""
    texts = [text for text in scenario.shown_tools if not names or json.loads(text).get("name") in names]
    return "\n".join(texts) or "(none)"


def gold_calls_text(scenario: Scenario) -> str:
    """List the calls that would serve the request, one per line."""
    calls = [json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False) for call in scenario.gold_calls]
    return "\n".join(calls) or "(not given)"


def read_object(text: str, key: str) -> JsonObject | None:
    """Return the first JSON object of an answer that has `key`, anywhere: in a code block, or after other words; None if there is none.

    If brackets are opened again and again, it gives up once it has read about ten times the text.
    """
    decoder = json.JSONDecoder(strict=False)  # models write line ends unescaped into texts
    text = text[:_LONGEST]
    left = _MOST_TIMES * len(text)
    for match in re.finditer(r"\{", text):
        start = end = match.start()
        try:
            found, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as err:
            found, end = None, len(text) if err.msg.startswith("Unterminated") else err.pos
        except (ValueError, RecursionError):
            found, end = None, len(text)
        if isinstance(found, dict) and key in found:
            return found
        left -= end - start + end // 50  # an error counts the lines before it, too
        if left < 0:
            break
    return None


def read_removal(text: str, scenario: Scenario, made_by: str) -> Scenario | str:
    """Read a model's answer: the scenario with the user's words as the model changed them, or why it cannot be used."""
    if (found := read_object(text, "answer")) is None:
        return "the answer is no JSON with `answer`"
    if not isinstance(answer := found["answer"], str):
        return "`answer` is no text"
    before, after = list(_lines(scenario.turns)), _read_lines(answer)
    if [speaker for speaker, _ in before] != [speaker for speaker, _ in after]:
        return "the conversation has other speakers, or not as many lines"
    if any(speaker != _USER and _squeeze(old) != _squeeze(new) for (speaker, old), (_, new) in zip(before, after, strict=True)):
        return "something was changed that the user did not say"
    said = [new for (speaker, _), (_, new) in zip(before, after, strict=True) if speaker == _USER]
    return replace_user_words(scenario, said, made_by)


def replace_user_words(scenario: Scenario, said: Sequence[str], made_by: str) -> Scenario:
    """Return the scenario with other words of the user's, in order, and what they no longer say."""
    words = iter(said)
    turns: list[Turn] = []
    gone: list[str] = []
    for turn in scenario.turns:
        messages: list[dict[str, Any]] = []
        for message in turn.messages:
            new = next(words) if message["role"] == "user" else message["content"]
            same = _squeeze(new) == _squeeze(message["content"])
            messages.append(message if same else message | {"content": new})
            gone += [] if same else _removed_words(message["content"], new)
        turns.append(turn.model_copy(update={"messages": tuple(messages)}))
    lost = [(name, value) for name, value in _arguments_said(scenario, scenario.turns) if (name, value) not in _arguments_said(scenario, turns)]
    name, value = lost[0] if len(lost) == 1 else (", ".join(name for name, _ in lost), None)
    missing = Missing(kind=MissingKind.UTTERANCE, name=name, value=value, removed_text=" ... ".join(gone))
    return make_removed_scenario(scenario, tuple(turns), [missing], made_by)


def _arguments_said(scenario: Scenario, turns: Sequence[Turn]) -> list[tuple[str, Any]]:
    texts = list(readable_texts(turns))
    given = [one for call in scenario.gold_calls for one in call.arguments.items()]
    return [(name, value) for name, value in given if any(gives_value_away(text, value) for text in texts)]


def _lines(turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    for turn in turns:
        for message in turn.messages:
            calls = message.get("tool_calls", ())
            if message["role"] == "user":
                yield _USER, message["content"]
            elif message["role"] == "tool":
                yield _RESULT, message["content"]
            elif message["content"] or not calls:
                yield _ASSISTANT, message["content"]
            for call in calls:
                yield _CALL, json.dumps({"name": call["name"], "arguments": call["arguments"]}, ensure_ascii=False)


def _read_lines(text: str) -> list[tuple[str, str]]:
    """Split a text of lines that begin with the speaker into who said what; a line without a speaker is the user's."""
    if not (marks := [*_SPEAKER.finditer(text)]):
        return [(_USER, text.strip())]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _removed_words(before: str, after: str) -> list[str]:
    """Return the words of a text that another one lacks in that place; for a longer text, everything between the first and last change."""
    old, new = before.split(), after.split()
    if max(len(old), len(new)) > _MOST_COMPARED:
        old, new = _differing_words(old, new)
    if max(len(old), len(new)) > _MOST_COMPARED:
        return [" ".join(old)] if old else []
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [" ".join(old[start:end]) for kind, start, end, _, _ in codes if kind in {"delete", "replace"}]


def _differing_words(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Return both lists without the words that they share at the beginning and at the end."""
    first = next((place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    old, new = old[first:], new[first:]
    last = next((place for place, (one, other) in enumerate(zip(old[::-1], new[::-1], strict=False)) if one != other), min(len(old), len(new)))
    return old[: len(old) - last], new[: len(new) - last]
