"""Errors by audience: the model sees a `ToolError`, the user sees a `PrerequisiteError` as one line, and bugs simply raise."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "CassetteMissError",
    "ContextOverflowError",
    "PrerequisiteError",
    "ProviderError",
    "RefusedError",
    "ToolError",
    "did_you_mean",
    "pip_install",
]


class ToolError(Exception):
    """A tool could not do its work; the message is shown to the model.

    Args:
        message: What the model is told.
        code: Short machine-readable reason, stored in `ToolEvent.error`.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class PrerequisiteError(Exception):
    """The user must mend something. The message is one line that names the place and the mend; the command exits with 2."""


class RefusedError(PrerequisiteError):
    """A model's server turned requests away before it had answered any: a wrong key, name or address, which no further request mends."""


class CassetteMissError(Exception):
    """A replay met a request that was not recorded; the message names the nearest recording and what differs, redacted."""


class ProviderError(Exception):
    """A model provider failed for good: after retries, or in a way that retrying cannot mend."""


class ContextOverflowError(ProviderError):
    """The conversation is longer than the model's context."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a ` Did you mean 'x'?` hint for `word`, or the known words when none is near.

    >>> did_you_mean("underspecifed", ["perfect", "underspecified"])
    " Did you mean 'underspecified'?"
    >>> did_you_mean("zzz", ["a", "b"])
    ' Known: a, b.'
    """
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f" Did you mean '{near[0]}'?" if near else f" Known: {', '.join(names)}."


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
        return f"pip install 'talm-sim[{extra}]{f' @ {url}' if url else ''}'"
    place = Path(url2pathname(urlsplit(url).path))
    return f"pip install '{'.' if place == Path.cwd() else place}[{extra}]'"
