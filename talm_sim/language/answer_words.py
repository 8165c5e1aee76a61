"""Load the words by which an agent's final message is read: `answer_words.toml` and `evidence.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

QUOTE = re.compile(r"^\s{0,3}>", re.MULTILINE)


def compile_words(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives; `]*` only so much that the work grows with the length of the text alone."""
    return re.compile("|".join(patterns).replace("]*", "]{0,200}"), re.IGNORECASE)


def compile_small(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives for texts in small letters, read in a quarter of the time; those that begin at a word are tried together."""
    at_word = "|".join(one for one in patterns if one.startswith(r"\b"))
    others = [one for one in patterns if not one.startswith(r"\b")]
    return re.compile("|".join([*filter(None, [at_word and f"(?:{at_word})"]), *others]).replace("]*", "]{0,200}"))


@cache
def read_words(name: str) -> dict[str, Any]:
    """Return the tables of a file of this folder, in whose patterns `<name>` stands for the part of that name."""
    read = tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    parts: dict[str, str] = {}
    for part, pattern in read.pop("parts").items():
        parts[part] = _fill(pattern if isinstance(pattern, str) else f"(?:{'|'.join(pattern)})", parts)
    return {title: {key: _fill(one, parts) for key, one in table.items()} for title, table in read.items()}


def _fill(pattern: Any, parts: dict[str, str]) -> Any:
    if isinstance(pattern, list):
        return [_fill(one, parts) for one in pattern]
    return re.sub(r"<([a-z_]+)>", lambda found: parts[found[1]], pattern)


@cache
def way(name: str) -> re.Pattern[str]:
    """Return what is left out of a text, or ends a clause of it, by its name in the file."""
    return compile_words(*read_words("answer_words.toml")["ways"][name])


def says(name: str, text: str) -> bool:
    """Return whether a text declines, fails, finds nothing or claims in one of the ways of that name in the file."""
    return finds("answer_words.toml", "ways", name, text)


def finds(file: str, table: str, name: str, text: str) -> bool:
    """Return whether one of the patterns of that name in a table is found in a text, whatever its case."""
    return _small(file, table, name).search(text.lower()) is not None


@cache
def _small(file: str, table: str, name: str) -> re.Pattern[str]:
    """Return the patterns as one; it is compiled when it is first looked for."""
    return compile_small(*read_words(file)[table][name])
