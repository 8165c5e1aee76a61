"""Recognize credentials by their name and by their value.

Names decide what may be given as an option or kept of a request. Values decide what is hidden in a server's answer: the credentials of the
run and of the environment, and whatever looks like a well-known key. Names do not count there, since arguments are what is measured; nor,
in what is measured, does a key that the episode's own scenario says.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any
from unicodedata import name as name_of
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from talm_sim.errors import PrerequisiteError

REDACTED = "REDACTED"

# --- names ---
_CASES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALWAYS = _words(
    "apikey apikeys accesskey secretkey privatekey subscriptionkey accesstoken authtoken bearertoken refreshtoken apitoken sessiontoken "
    "idtoken bearer password passwd pwd passphrase secret secrets authorization credential credentials cookie"
)
_ENDS = _words("key keys token auth pass pat")
_ENDINGS = ("password", "passwd", "passphrase", "secret")
"""Endings of a word that was written in one piece: `PGPASSWORD`."""
_PAIRS = frozenset({("api", "key"), ("api", "keys"), ("access", "key"), ("access", "token"), ("auth", "token"), ("auth", "header")})
_OF_DATA = _words("cache sort public primary foreign group partition index metric input output text label prompt message content ignore")
_HARMLESS_BEFORE = {
    "key": _OF_DATA,
    "keys": _OF_DATA,
    "token": _words(
        "eos bos pad unk sep cls mask stop start end begin special additional new first last next image audio video think thinking tool "
        "decoder page per extra forced suppress"
    ),
    "auth": _words("use no skip with without"),
    "pass": _words("one two single multi first second forward no"),
}
"""Words after which an ending in `_ENDS` is not a credential: `eos_token`, `prompt_cache_key`."""


def names_credential(name: str) -> bool:
    """Return whether a name is one that credentials have, read by whole words: split at case and at everything but letters and digits.

    >>> [names_credential(name) for name in ("x-api.key", "hf_token", "accessToken", "max_tokens", "eos_token_id", "tokenizer")]
    [True, True, True, False, False, False]
    """
    if not (words := [word.lower() for word in _CASES.split(name) if word]):
        return False
    *_, before, last = ["", *words]
    ends = last in _ENDS and before not in _HARMLESS_BEFORE.get(last, ())
    return ends or any(word.endswith(_ENDINGS) for word in words) or not _ALWAYS.isdisjoint(words) or not _PAIRS.isdisjoint(pairwise(words))


# --- values ---
_LINE_BREAKS = "\n\r"


def checked_credential(variable: str, value: str) -> str:
    """Return a credential without the space around it; refuse one that no HTTP header can carry, because it was copied wrongly.

    >>> checked_credential("OPENAI_API_KEY", " sk-1 ")
    'sk-1'
    """
    value = value.strip()
    if (wrong := next((place for place, one in enumerate(value) if not " " <= one <= "~"), None)) is None:
        return value
    one = value[wrong]
    shown = one if one.isprintable() else f"U+{ord(one):04X}"
    called = "a line break" if one in _LINE_BREAKS else f"{shown} ({name_of(one, 'no character of a key').lower()})"
    raise PrerequisiteError(
        f"{variable}: holds {called} at position {wrong + 1}, which a key cannot contain; copy the key again, without quotes around it."
    )


_RUN = r"(?=\w*\d)(?=\w*[A-Za-z])\w{16,}"
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (start, re.compile(pattern))
    for start, pattern in {
        # Before a key stands what a word may end in, too: only what no word goes on with is hidden in "task-...", "disk-...".
        "sk-": rf"sk-(?:(?<!\wsk-)[\w-]{{16,}}|(?:proj|ant|svcacct|or)-[\w-]{{16,}}|(?<![aeiouAEIOU]sk-){_RUN}"
        r"|(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])\w{16,}|[\w.-]{0,64}\*{3}[\w*.-]*)",
        "sk_live_": r"sk_live_\w{16,}",
        "rk_live_": r"rk_live_\w{16,}",
        "gsk_": r"gsk_(?<!\wgsk_)\w{20,}",
        **{start: rf"{start}(?<!\w{start})\w{{20,}}" for start in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "npm_")},
        **{start: rf"{start}(?<!\w{start})[\w-]{{10,}}" for start in ("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-")},
        "glpat-": r"glpat-[\w-]{20,}",
        "xai-": r"xai-(?<!\wxai-)\w{20,}",
        "SG.": r"SG\.(?<!\wSG\.)[\w-]{16,}\.[\w-]{16,}",
        "dop_v1_": r"dop_v1_[0-9a-f]{32,}",
        "r8_": r"r8_(?<!\wr8_)\w{30,}",
        "pypi-AgEI": r"pypi-AgEI[\w-]{16,}",
        "hooks.slack.com/services/": r"(?<=hooks\.slack\.com/services/)[\w/]{16,}",
        "asic ": r"(?<=[Bb]asic )(?=[A-Za-z+/]*[0-9])(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])[A-Za-z0-9+/]{12,}={0,2}(?![\w+/])",
        "AKIA": r"AKIA(?<!\wAKIA)[0-9A-Z]{16}",
        "ASIA": r"ASIA(?<!\wASIA)(?=[A-Z]*\d)[0-9A-Z]{16}",
        "AIza": r"AIza(?<!\wAIza)[\w-]{30,}",
        "eyJ": r"eyJ(?<![\w-]eyJ)[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
        "PRIVATE KEY-----": r"PRIVATE KEY-----[^-]{16,}(?:-----END [A-Z ]*PRIVATE KEY-----)?",
        "earer ": r"(?<=earer )(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{8,}",
        "EARER ": r"(?<=EARER )(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{8,}",
        "-key: ": r"(?<=-key: )(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{8,}",
        "://": r"(?<=://)[^/:?#@\s\"'<>\\]{1,128}:[^/?#@\s\"'<>\\]{1,256}(?=@)",
    }.items()
)
"""Patterns of well-known services' keys, of what follows `Bearer`, and of what precedes the host of a URL. Each begins with a literal, or
looks back at one, so that texts without any cost next to nothing. Lookaheads are bounded, because a text may be crafted to be slow.
"""
_SHORTEST = 8
_SHORTEST_WORD, _SHORTEST_NUMBER = 12, 12
_PLACEHOLDERS = _words(
    "not-needed not_needed none-needed not-required no-api-key no-key-required sk-no-key-required lm-studio placeholder your-api-key"
)
_ESCAPED = re.compile(r"\\u00[0-7]|\\/")
_MOST_NESTED = 8


def is_distinctive(value: str) -> bool:
    """Return whether a credential's value is long and odd enough to be searched for: "test" or a year occur in other texts as well.

    >>> [is_distinctive(value) for value in ("hunter2-hunter2", "true", "password", "20240101", "not-needed")]
    [True, False, False, False, False]
    """
    if len(value) < _SHORTEST or value.lower() in _PLACEHOLDERS:
        return False
    if value.isdecimal():
        return len(value) >= _SHORTEST_NUMBER
    return not (value.isalpha() and (value.islower() or value.isupper() or value.istitle())) or len(value) >= _SHORTEST_WORD


def credentials_in_environment(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the values of environment variables with a secret name, and the credentials in the addresses of others, longest first."""
    variables = os.environ if environ is None else environ
    found: set[str] = set()
    for name, value in variables.items():
        if name not in {"PWD", "OLDPWD"} and names_credential(name):
            found.add(value.strip())
        if "://" in value:
            urls = {value, *value.split(",")}  # one address, whose password may contain a comma, or several
            found.update(one for url in urls if "://" in url and len(url) < 4096 for one in credentials_in_url(url.strip()))
    return tuple(sorted(filter(is_distinctive, found), key=lambda value: (-len(value), value)))


def credentials_in_url(url: str) -> Iterator[str]:
    """Return an address' user and password, the password alone, and the values of secret names in its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user_info, at, _ = parts.netloc.rpartition("@")
    if at:
        user, _, password = user_info.partition(":")
        yield from (user_info, base64.b64encode(unquote(user_info).encode()).decode(), unquote(password) or unquote(user))
    yield from (value for name, value in parse_qsl(parts.query) if names_credential(name))


def credentials_in_headers(headers: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return what a request's headers prove its sender by: without the scheme, and with user and password apart."""
    for name, value in headers:
        if not names_credential(name):
            continue
        scheme, _, rest = value.partition(" ")
        proof = rest.strip() or scheme
        yield proof
        if scheme.lower() == "basic":
            try:
                pair = base64.b64decode(proof).decode()
            except ValueError:
                continue
            yield from (pair, pair.partition(":")[2])


_THOUGHTS = frozenset({"signature", "thinking", "encrypted_content", "thought_signature", "thinking_blocks", "extra_content"}) | {
    *("reasoning", "reasoning_content", "reasoning_details"),
}
"""Fields of an answer with a model's thought."""
_THOUGHT_TYPES = ("reasoning", "thinking", "redacted_thinking", "summary_text")
"""Types of blocks with one, or how they begin (`reasoning.encrypted`)."""
_CALLED = frozenset({"input", "arguments", "args", "parameters"})
"""Fields with a call's arguments, which may have any names."""
_EVENT = re.compile(r"(?m)^(data:[ \t]*)(\{.*\})[ \t\r]*$")


_said: ContextVar[Callable[[], frozenset[str]]] = ContextVar("_said", default=frozenset)


@contextmanager
def saying(text: Callable[[], str]) -> Iterator[None]:
    """Let who is measured within the block repeat what looks like a key, where it stands in a text: the episode's scenario."""
    token = _said.set(cache(lambda: keys_in(text())))
    try:
        yield
    finally:
        _said.reset(token)


def keys_in(text: str) -> frozenset[str]:
    """Return all that looks like a key in a text."""
    return frozenset(found for start, shape in _SHAPES if start in text for found in shape.findall(text))


class Hider:
    """Takes credentials out of texts by their value. Applying it twice changes nothing more.

    Args:
        secrets: Credentials by their value.
        measured: Whether the texts are measured: they may repeat what looks like a key and stands in the scenario, see `saying`.
    """

    def __init__(self, secrets: Iterable[str], *, measured: bool = False) -> None:
        self._measured = measured
        self._literals: dict[str, str] = {}
        for secret in sorted(set(secrets), key=lambda value: (-len(value), value)):
            # A secret of digits may be echoed as a JSON number, which must stay one.
            hidden = "1" if secret.isdecimal() else REDACTED
            for form in _forms(secret):
                self._literals.setdefault(form, hidden)

    @classmethod
    def from_environment(cls, environment: tuple[str, ...], borne: tuple[str, ...] = (), *, measured: bool = False) -> Hider:
        """Return one that knows `credentials_in_environment()` and the credentials of a request; the last ones are kept."""
        return _hider(environment, borne, measured)

    def text(self, text: str) -> str:
        """Hide known secrets, also as JSON, a URL or a page would spell them, and everything that looks like a key."""
        text = self._known(text)
        for start, shape in _SHAPES:
            if start in text:
                text = shape.sub(self._hide_shape, text)
        return text

    def _hide_shape(self, found: re.Match[str]) -> str:
        return found[0] if self._measured and found[0] in _said.get()() else REDACTED

    def _known(self, text: str) -> str:
        for literal, hidden in self._literals.items():
            if literal in text:
                text = text.replace(literal, hidden)
        return text

    def body(self, body: bytes, *, of_model: bool = False) -> bytes:
        """Hide the same in a body, even if its letters are spelt as JSON escapes; a body without any is unchanged, byte for byte.

        Args:
            body: It.
            of_model: Whether a model's provider wrote it: its thought goes back as it was, and may look like a key, so it loses known
                secrets alone.
        """
        text = body.decode("utf-8", "surrogateescape")
        hidden = self._hide_body(self._known(text), False if of_model else None)
        return body if hidden == text else hidden.encode("utf-8", "surrogateescape")

    def _hide_body(self, text: str, thought: bool | None) -> str:
        if self.text(text) == text and not _ESCAPED.search(text):
            return text
        try:
            value = json.loads(text)
            hidden = self.value(value, 0, thought)
            return text if hidden == value else json.dumps(hidden)
        except (ValueError, RecursionError):
            at, said = 0, []
            for event in _EVENT.finditer(text):
                said += [self.text(text[at : event.start(2)]), self._hide_body(event[2], thought)]
                at = event.end(2)
            return "".join([*said, self.text(text[at:])])

    def _hide_in_json(self, text: str, level: int = 0) -> str:
        """Read JSON, hide secrets, and write it again if it had any; JSON, and JSON within its strings, may spell a letter in many ways."""
        if level > _MOST_NESTED or not _ESCAPED.search(text):
            return text
        try:
            value = json.loads(text)
            hidden = self.value(value, level)
            return text if hidden == value or not isinstance(value, dict | list) else json.dumps(hidden)
        except (ValueError, RecursionError):
            return text

    def value(self, value: Any, level: int = 0, thought: bool | None = None) -> Any:
        """Hide the same in all texts of a JSON value.

        Args:
            value: The value.
            level: How many texts of JSON it is within.
            thought: Whether it belongs to a thought; None where nothing does: in a call's arguments, and in what no model wrote.

        Raises:
            RecursionError: It is nested too deeply.
        """
        if isinstance(value, str):
            return self._known(value) if thought else self._hide_in_json(self.text(value), level + 1)
        if isinstance(value, dict):
            if thought is False:
                thought = str(value.get("type")).startswith(_THOUGHT_TYPES)
            return {
                self.text(key) if isinstance(key, str) else key: self.value(
                    item, level, thought if thought is not False else None if key in _CALLED else key in _THOUGHTS
                )
                for key, item in value.items()
            }
        return [self.value(item, level, thought) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=64)
def _hider(environment: tuple[str, ...], borne: tuple[str, ...], measured: bool) -> Hider:
    return Hider((*environment, *borne), measured=measured)


def _forms(secret: str) -> tuple[str, ...]:
    written = json.dumps(secret)[1:-1]
    more = (json.dumps(secret, ensure_ascii=False)[1:-1], written.replace("/", "\\/"), html.escape(secret))
    return (secret, written, *more, quote(secret, safe=""), quote(secret), quote_plus(secret))
