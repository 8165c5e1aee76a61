"""Errors by audience: the model sees a `ToolError`, the user sees a `PrerequisiteError` as one line, and bugs simply raise.

The module also builds parts of their messages: suggestions for a misspelt name, and commands to copy into a shell.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar

__all__ = [
    "BlockedError",
    "CassetteMissError",
    "ContextOverflowError",
    "EmptyShardError",
    "NotComparableError",
    "OptionError",
    "OutOfBudgetError",
    "PrerequisiteError",
    "ProviderError",
    "RefusedError",
    "RunExistsError",
    "ToolError",
    "ToolStatusError",
    "ToolsGoneError",
    "command_lines",
    "did_you_mean",
    "format_names",
    "full_name",
    "line_to_copy",
    "on_command_line",
    "pip_install",
    "quote",
    "suggest_nearest",
]


_PLAIN = re.compile(r"(?![=%])[A-Za-z0-9_@%+=:,./-]+")
_WORDS = re.compile(r"(?:--[\w-]+ (?!-))?(?:[^\s'\\]|'[^']*'|\\.)+")
_PARTS = re.compile(r"[^'\\]+|['\\]")
_NOT_COPIED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of what a terminal does not show, or acts on: controls, direction marks, halves of pairs, line ends."""


class ToolError(Exception):
    """A tool could not do its work. The message is shown to the model.

    Args:
        message: The text that the model sees.
        code: Short machine-readable reason, stored in `ToolEvent.error`.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class ToolStatusError(RuntimeError):
    """What your agent's tool raises when a server answered with an error.

    Attributes:
        status_code: The HTTP status.
        headers: The headers of the answer, their names in lower case.
        body: Its text.
    """

    def __init__(self, message: str, status_code: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = dict(headers)
        self.body = body


on_command_line: ContextVar[bool] = ContextVar("talm_sim_on_command_line", default=False)
"""Whether a command line is being executed, so that messages name options and not arguments."""


class PrerequisiteError(Exception):
    """The user must fix something. The message is one line that names the place and the fix; the command exits with 2."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())  # it may quote a file

    def _render_traceback_(self) -> list[str]:
        """Return the line alone for IPython and Jupyter: no frame above it is one that a user could fix."""
        return [f"{type(self).__name__}: {self}"]


class NotComparableError(PrerequisiteError):
    """Two runs cannot be compared. The message is one line that says why and what to do; the command exits with 3."""


class RefusedError(PrerequisiteError):
    """A model's server refused requests before it answered any, because of a wrong key, name or address; retrying does not help."""


class NotRecordedError(PrerequisiteError):
    """The model to replay was not recorded, or not with these settings."""


class RunExistsError(PrerequisiteError):
    """A run of this name exists."""


class EmptyShardError(PrerequisiteError):
    """No scenario falls into a shard. Nothing has to be fixed; `talm-sim run` exits with 0."""


class OutOfBudgetError(PrerequisiteError):
    """A budget left something undone, and there is no run yet that could be shown; the command exits with 4."""


class ToolsGoneError(PrerequisiteError):
    """The tool service died again after a restart."""


class OptionError(PrerequisiteError, ValueError):
    """A value of an option is wrong, or there is no such option.

    Args:
        name: The option's name; empty if several options are at fault together.
        fault: What is wrong, and what to write instead.
    """

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{name}: {fault}" if name else fault)
        self.name = name
        self.fault = fault


class CassetteMissError(Exception):
    """A replay received a request that was not recorded. The message names the nearest recording and what differs, redacted."""


class ProviderError(Exception):
    """A model provider failed permanently: after retries, or in a way that retrying cannot fix."""


class ContextOverflowError(ProviderError):
    """The conversation is longer than the model's context."""


class BlockedError(ProviderError):
    """The provider withheld an answer, or refused a request by its content; trying again would not help."""


def did_you_mean(word: str, known: Iterable[str], spelt: Callable[[str], str] = str) -> str:
    """Return a ` Did you mean 'x'?` hint for `word`, or list the known words if none is close.

    Args:
        word: What was written.
        known: What could have been.
        spelt: Turns a known word into the spelling that the message shows.

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
    """Return a ` Did you mean 'x'?` hint as `did_you_mean` does, but nothing if no known word is close."""
    lower = word.lower()
    near = [name for name in known if name.lower() == lower] or difflib.get_close_matches(word, known, n=1, cutoff=0.65)
    near = near or [name for name in known if len(word) > 2 and word in name][:1]
    return f" Did you mean '{spelt(near[0])}'?" if near else ""


def full_name(word: str, known: Iterable[str], what: str) -> str | None:
    """Return the name in `known` that is `word`, or the only one that begins with it; None if there is none.

    A name that extends another match, as `first.sim-oracle` (a control) or `first@2` (an epoch) extends `first`, is not ambiguous.

    Args:
        word: The name or a prefix of it.
        known: The known names.
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
    """Join names for a message: at most `most` of them, and the number of the others."""
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def pip_install(extra: str) -> str:
    """Return the command that installs an extra from where the package itself was installed: a checkout, a wheel or the index.

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


def _is_copyable(text: str) -> bool:
    """Return whether a terminal shows every character of a text, so that a copy of it is exact."""
    return not any(unicodedata.category(char) in _NOT_COPIED for char in text)


def line_to_copy(*words: str) -> str:
    r"""Return the shell command of these words; if one contains control characters, a sentence that says so.

    >>> line_to_copy("talm-sim", "report", "my run")
    "talm-sim report 'my run'"
    >>> line_to_copy("talm-sim", "report", "my\nrun")
    'no command to copy: a name in it has control characters'
    """
    if not all(map(_is_copyable, words)):
        return "no command to copy: a name in it has control characters"
    return " ".join(map(quote, words))


def command_lines(command: str, width: int) -> list[str]:
    r"""Return a command as lines of at most `width` columns, with a backslash where a shell reads on; a longer word is left whole.

    >>> command_lines("talm-sim show 'my run':a --all", 22)
    ['talm-sim show \\', "  'my run':a --all"]
    """
    if len(command) <= width or command.startswith("no command"):
        return [command]
    lines = [""]
    for word in _WORDS.findall(command):
        if lines[-1].strip() and len(f"{lines[-1]} {word}") > width - 2:
            lines[-1] += " \\"
            lines.append(f"  {word}")
        else:
            lines[-1] += f"{' ' * bool(lines[-1])}{word}"
    return lines
