"""Errors by audience: the model sees a `ToolError`, the user sees a `PrerequisiteError` as one line, and bugs simply raise.

Beside them is what their messages are made of: names that were meant, and lines for a person to copy into a shell.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar

__all__ = [
    "CassetteMissError",
    "ContextOverflowError",
    "OptionError",
    "PrerequisiteError",
    "ProviderError",
    "RefusedError",
    "RunExistsError",
    "ToolError",
    "ToolsGoneError",
    "did_you_mean",
    "format_names",
    "full_name",
    "is_copyable",
    "line_to_copy",
    "on_command_line",
    "pip_install",
    "quote",
    "suggest_nearest",
]


_PLAIN = re.compile(r"(?![=%])[A-Za-z0-9_@%+=:,./-]+")
_PARTS = re.compile(r"[^'\\]+|['\\]")
_NOT_COPIED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of what a terminal does not show, or acts on: controls, direction marks, halves of pairs, line ends."""


class ToolError(Exception):
    """A tool could not do its work. The message is shown to the model.

    Args:
        message: What the model is told.
        code: Short machine-readable reason, stored in `ToolEvent.error`.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


on_command_line: ContextVar[bool] = ContextVar("talm_sim_on_command_line", default=False)
"""Whether a command line is carried out, so that messages speak of options and not of arguments."""


class PrerequisiteError(Exception):
    """The user must fix something. The message is one line that names the place and the fix; the command exits with 2."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())  # it may quote a file

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show: the line alone, as the frames above it are none that a user could fix anything in."""
        return [f"{type(self).__name__}: {self}"]


class RefusedError(PrerequisiteError):
    """A model's server turned requests away before it had answered any: a wrong key, name or address, which no further request fixes."""


class NotRecordedError(PrerequisiteError):
    """A model is to be replayed that was not recorded, or not with these settings."""


class RunExistsError(PrerequisiteError):
    """A run of this name exists."""


class ToolsGoneError(PrerequisiteError):
    """The tool service died, was started again, and is gone for good."""


class OptionError(PrerequisiteError, ValueError):
    """A value of an option is wrong, or there is no such option.

    Args:
        name: The option's; empty where the fault is of several together.
        fault: What is wrong with it, and how it is written.
    """

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{name}: {fault}" if name else fault)
        self.name = name
        self.fault = fault


class CassetteMissError(Exception):
    """A replay met a request that was not recorded; the message names the nearest recording and what differs, redacted."""


class ProviderError(Exception):
    """A model provider failed for good: after retries, or in a way that retrying cannot fix."""


class ContextOverflowError(ProviderError):
    """The conversation is longer than the model's context."""


def did_you_mean(word: str, known: Iterable[str], spelt: Callable[[str], str] = str) -> str:
    """Return a ` Did you mean 'x'?` hint for `word`, or the known words when none is near.

    Args:
        word: What was written.
        known: What could have been.
        spelt: Writes a known word as it stands there.

    >>> did_you_mean("underspecifed", ["perfect", "underspecified"])
    " Did you mean 'underspecified'?"
    >>> did_you_mean("perfect", ["direct", "tool_call"])
    ' Known: direct, tool_call.'
    >>> did_you_mean("reference,llm", ["reference", "llm"])
    ' Repeat the option for each value.'
    """
    names = list(known)
    parts = [part.strip() for part in word.split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        return " Repeat the option for each value."
    return suggest_nearest(word, names, spelt) or (f" Known: {format_names([*map(spelt, names)])}." if names else "")


def suggest_nearest(word: str, known: Sequence[str], spelt: Callable[[str], str] = str) -> str:
    """Return a ` Did you mean 'x'?` hint as `did_you_mean` does, but nothing where no known word is near."""
    lower = word.lower()
    near = [name for name in known if name.lower() == lower] or difflib.get_close_matches(word, known, n=1, cutoff=0.65)
    near = near or [name for name in known if len(word) > 2 and word in name][:1]
    return f" Did you mean '{spelt(near[0])}'?" if near else ""


def full_name(word: str, known: Iterable[str], what: str) -> str | None:
    """Return the name in `known` that is `word`, or the only one that begins with it; None where there is none.

    A name that goes on from another that fits, as `first.sim-oracle` (a control) or `first@2` (an epoch) do from `first`, makes no doubt.

    Args:
        word: The name, or its beginning.
        known: The names there are.
        what: What they name, in the plural, for the message.

    Raises:
        PrerequisiteError: Several begin with it; the message lists them.
    """
    names = sorted(known)
    fitting = [word] if word in names else [name for name in names if word and name.startswith(word)]
    own = [name for name in fitting if not any(name.startswith((f"{other}.", f"{other}@")) for other in fitting)]
    if len(own) > 1:
        raise PrerequisiteError(f"'{word}' matches {len(own)} {what}: {format_names(own, 8)}; write more of the name.")
    return own[0] if own else None


def format_names(names: Sequence[str], most: int = 40) -> str:
    """Names as a message lists them: no more than `most`, and how many there are beside them."""
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def pip_install(extra: str) -> str:
    """The command that adds an extra, from where the package itself was installed: a checkout, a wheel, or the index.

    >>> pip_install("pandas").startswith("pip install '")
    True
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = json.loads(distribution("talm-sim").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    if "dir_info" not in origin:
        return line_to_copy("pip", "install", f"talm-sim[{extra}]{f' @ {url}' if url else ''}")
    place = Path(url2pathname(urlsplit(url).path))
    return line_to_copy("pip", "install", f"{'.' if place == Path.cwd() else place}[{extra}]")


def quote(word: str) -> str:
    r"""Return a word as bash, zsh and fish alike read it, plain where that is enough.

    Within single quotes fish reads a backslash as an escape and the others do not, so a backslash, as a single quote, stays outside.

    >>> print(quote("smollm-1:perfect-0"), quote("it's $(a)"), quote("~"), quote(""))
    smollm-1:perfect-0 'it'\''s $(a)' '~' ''
    """
    if not word or _PLAIN.fullmatch(word):
        return word or "''"
    return "".join(f"\\{part}" if part in ("'", "\\") else f"'{part}'" for part in _PARTS.findall(word))


def is_copyable(text: str) -> bool:
    """Whether a terminal shows each character of a text, so that it arrives as it is where it is pasted."""
    return not any(unicodedata.category(char) in _NOT_COPIED for char in text)


def line_to_copy(*words: str) -> str:
    r"""Return the line that passes these words; where one holds control characters, a sentence that says so.

    >>> line_to_copy("talm-sim", "report", "my run")
    "talm-sim report 'my run'"
    >>> line_to_copy("talm-sim", "report", "my\nrun")
    'no command to copy, because a name in it contains control characters'
    """
    if not all(map(is_copyable, words)):
        return "no command to copy, because a name in it contains control characters"
    return " ".join(map(quote, words))
