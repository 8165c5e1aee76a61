"""One recording in memory, shared by the episodes that play it and add to it.

Nothing is patched: vcrpy's own context manager replaces parts of HTTP libraries for the whole process, so two open cassettes in threads or
tasks would write each other's traffic. Of a request that was not recorded, the nearest recording is told, and where the two differ first.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from vcr.matchers import get_matchers_results
from vcr.request import Request

from talm_sim.common.ignored_parts import IgnoredParts
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.error_text import escape_control
from talm_sim.models.answers import anthropic_usage, usage_of
from talm_sim.recordings.http_exchange import HttpRequest, HttpResponse
from talm_sim.recordings.indexed import Ambiguous, IndexedCassette, vcr_request, vcr_response
from talm_sim.recordings.matching import MATCHERS, canonical_body, canonical_key, exact_key, is_same_text
from talm_sim.recordings.redaction import Redactor
from talm_sim.recordings.shared_files import lock_folder, read_text, write_atomically
from talm_sim.types import Usage

_URL_SHOWN = 160
ABSENT: Final = ...
"""What one side has where only the other one has a value."""
_BEFORE, _AFTER = 20, 40
"""Characters of an excerpt before the first one that differs, and from it on."""
_KEY_SHOWN, _PATH_SHOWN = 40, 120
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)

_CHANGING = re.compile(r"\d{1,2}:\d\d|\d{4}-\d\d|\d{6}|(?=[a-f]*\d)[0-9a-f]{8}|\b20\d\d\b", re.IGNORECASE)
"""What a time or an id looks like."""
_HINT = " If a time or an id in it differs from run to run: --ignore-in-prompts PATTERN."

_Place = tuple[Any, str | int] | None
"""A step below another place; None for the outermost value."""


class Tape:
    """One cassette.

    Args:
        text: The file's content; None for a new cassette.
        path: Where to save; None for a cassette that is only played.
        ignored: What is ignored of prompts; None if the requests are no prompts.
    """

    def __init__(
        self,
        name: str,
        text: str | None = None,
        *,
        path: Path | None = None,
        redactor: Redactor | None = None,
        ignored: IgnoredParts | None = None,
    ) -> None:
        self.name = name
        self._ignored = ignored or IgnoredParts()
        self._hints = ignored is not None
        self._path = path
        self._redactor = redactor or Redactor()
        self._lock = threading.RLock()
        self._cassette = self._read(name, text)
        self._saved = len(self._cassette)
        self._state: tuple[int, ...] | None = None
        self._added_from: dict[tuple[str, int], str] = {}

    def find(self, request: HttpRequest, played: Mapping[str, int]) -> tuple[str, HttpResponse] | None:
        """Return the key and the answer of the first matching interaction that has not been played yet."""
        with self._lock, self._unambiguous():
            if self._ignored.patterns:
                self._ignored.asked += 1
                self._ignored.matched += self._ignored.strip(request.body) is not None
            cassette = self._cassette
            for place in cassette.places(vcr_request(request)):
                key, number = cassette.entries[place]
                if number >= played.get(key, 0):
                    return key, self._redactor.said_again(cassette.answers[place], request)
        return None

    def append(self, request: HttpRequest, response: HttpResponse, played: Mapping[str, int]) -> str:
        """Add an exchange, without its secrets, and return its key.

        If another episode has added the same meanwhile, nothing is added: otherwise a call made by several episodes at the same time would
        be stored several times.
        """
        safe, answer = vcr_request(self._redactor.request(request)), self._redactor.response(response, request)
        key = exact_key(safe)
        with self._lock:
            with self._unambiguous():
                alike = self._cassette.first_alike(safe) if self._ignored.patterns else None
                if alike is not None and canonical_key(self._cassette.safe_requests()[alike]) != canonical_key(safe):
                    raise Ambiguous(alike, safe)
            if answer not in self._cassette.answers_of(key)[played.get(key, 0) :]:
                self._cassette.append(safe, vcr_response(answer))
        return key

    def save(self) -> None:
        """Write the file completely or not at all, with what others have added to it; do nothing if there is nothing new."""
        if self._path is None:
            return
        with self._lock:
            if len(self._cassette) == self._saved:
                return
            with lock_folder(self._path.parent):
                self._merge_with_file(self._path)
                write_atomically(self._path, self.text().encode())
                self._saved, self._state = len(self._cassette), _state(self._path)

    def add(self, other: Tape) -> None:
        """Add the exchanges of another recording; what both have is kept once."""
        with self._lock:
            known = dict(zip(self._cassette.entries, self._cassette.answers, strict=True))
            found = other._cassette
            for entry, answer, (request, response) in zip(found.entries, found.answers, found.data, strict=True):
                if entry not in known:
                    self._cassette.append(request, response)
                    self._added_from[entry] = other.name
                elif known[entry] != answer:
                    first, which = self._added_from.get(entry, self.name), self._redactor.text(f"{request.method} {request.uri}")
                    raise PrerequisiteError(f"{first} and {other.name}: have two answers to one request ({which}); delete one of the files.")

    def text(self) -> str:
        """Return the content of the file."""
        with self._lock:
            return self._cassette.text()

    def usages(self) -> list[Usage]:
        """Return the tokens of all answers, in the recorded order."""
        with self._lock:
            return [_usage_in(answer.body) for answer in self._cassette.answers]

    def explain_miss(self, request: HttpRequest) -> str:
        """Say which recording is nearest to `request` and what differs, without secrets."""
        with self._lock:
            recorded = list(self._cassette.safe_requests())
        line = explain_miss(vcr_request(self._redactor.request(request)), recorded, self._redactor.text)
        sides = line.rpartition("differs in ")[2].split(" against recorded ")
        hint = _HINT if self._hints and all(map(_CHANGING.search, sides)) else ""
        return self._redactor.text(f"{self.name}: {line}{hint}")

    @contextmanager
    def _unambiguous(self) -> Iterator[None]:
        try:
            yield
        except Ambiguous as err:
            requests = self._cassette.safe_requests()
            first, second = (one if isinstance(one, Request) else requests[one] for one in err.args)
            why = f"{second.method} {second.uri[:_URL_SHOWN]}: differs{_difference('body', second, first, self._redactor.text)}"
            what = f"{self.name}: two requests are one under --ignore-in-prompts ({why}); write a narrower pattern."
            raise PrerequisiteError(self._redactor.text(what)) from None

    def _merge_with_file(self, path: Path) -> None:
        """Add what this tape has added to the current content of the file."""
        if not path.is_file() or _state(path) == self._state:
            return
        merged = self._read(str(path), read_text(path))
        known = set(merged.entries)
        for entry, (request, response) in list(zip(self._cassette.entries, self._cassette.data, strict=True))[self._saved :]:
            if entry not in known:
                merged.append(request, response)
        self._cassette = merged

    def _read(self, name: str, text: str | None) -> IndexedCassette:
        def hide(request: Request) -> Request:
            return vcr_request(self._redactor.request(HttpRequest(request.method, request.uri, request.headers, request.body)))

        try:
            cassette: IndexedCassette = IndexedCassette.load(text=text, hide=hide, ignored=self._ignored)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as err:
            reason = f"{type(err).__name__}: {' '.join(str(err).split())[:80]}"
            raise PrerequisiteError(f"{name}: not a readable cassette ({reason}); delete it and record again, or restore it.") from None
        return cassette


_EARLIER = "; made when results of tools were shown in another form: record it anew"


def _usage_in(body: bytes) -> Usage:
    """Return the tokens that an answer in either protocol reports."""
    try:
        usage = json.loads(body)["usage"]
        return usage_of(usage["prompt_tokens"], usage["completion_tokens"]) if "prompt_tokens" in usage else anthropic_usage(usage)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Usage(uncounted=1)


def _state(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def explain_miss(asked: Request, recorded: Sequence[Request], hide: Callable[[str], str]) -> str:
    """Say in one line which of `recorded` is nearest to `asked`, and where the two differ first.

    Args:
        asked: The request, without secrets.
        recorded: The recorded requests, without secrets.
        hide: Removes secrets from a text: a value of a body may spell in plain letters what was escaped in the body.
    """
    shown = f"{asked.method} {asked.uri[:_URL_SHOWN]}"
    if not recorded:
        return f"{shown} was not recorded; the recording is empty or absent."
    place, failed = _nearest(asked, recorded)
    nearest = recorded[place]
    if not failed:
        times = sum(not get_matchers_results(asked, request, MATCHERS)[1] for request in recorded)
        return f"{shown} was recorded {times} time(s) and requested once more."
    what = "; ".join(f"{name} differs{_difference(name, asked, nearest, hide)}" for name in failed)
    # An address that differs in its query alone is not repeated: the message is printed on few lines, and the difference matters most.
    address = "" if {"query", "body"}.issuperset(failed) else f", {nearest.method} {nearest.uri[:_URL_SHOWN]}"
    return f"{shown} was not recorded. Nearest: number {place + 1:,} of {len(recorded):,}{address} ({what})."


def _nearest(asked: Request, recorded: Sequence[Request]) -> tuple[int, list[str]]:
    """Return the index of the recorded request that fails the fewest matchers and then is the same longest, and what it fails."""
    failures = [[name for name, _ in get_matchers_results(asked, request, MATCHERS)[1]] for request in recorded]
    fewest = min(map(len, failures))
    alike = [place for place, failed in enumerate(failures) if len(failed) == fewest]
    if len(alike) == 1 or not fewest:
        return alike[0], failures[alike[0]]
    wanted = _compared_text(asked)
    place = max(alike, key=lambda one: _common_prefix_length(wanted, _compared_text(recorded[one])))
    return place, failures[place]


def _compared_text(request: Request) -> str:
    return f"{request.uri}\n{canonical_body(request.body).decode('utf-8', 'replace')}"


def _difference(name: str, asked: Request, recorded: Request, hide: Callable[[str], str]) -> str:
    """Return where two requests differ in their path, query or body: ` in messages[1].content, at character 3: 'a' against recorded 'b'`."""
    if name not in {"path", "query", "body"}:
        return ""
    one, other = (_part(name, request) for request in (asked, recorded))
    if name == "body" and (isinstance(one, str) or isinstance(other, str)):
        one, other = ((request.body or b"").decode("utf-8", "backslashreplace") for request in (asked, recorded))
    # What a redacted value hides is no difference, unless there is no other one.
    found = first_difference(one, other) or first_difference(one, other, str.__eq__)
    if found is None:
        return ""
    before = isinstance(found.asked, str) and isinstance(found.recorded, str) and _signs(found.asked) == _signs(found.recorded)
    return f" {found.text(hide)}{_EARLIER if before else ''}"


def _signs(text: str) -> list[str]:
    """Return what two forms of one result have in common: its characters but quotes, escapes, blanks and full stops, in any order."""
    return sorted(re.sub(r"[\s\"\\.]|\\n", "", text))


def _part(name: str, request: Request) -> Any:
    """Return a part of a request as a JSON value; a body that is not JSON is a text."""
    if name == "path":
        return request.path
    if name == "query":
        pairs: dict[str, Any] = {}
        for key, value in parse_qsl(request.parsed_uri.query, keep_blank_values=True):
            pairs.setdefault(key, []).append(value)
        return {key: values[0] if len(values) == 1 else values for key, values in pairs.items()}
    try:
        return json.loads(request.body or b"null")
    except (ValueError, RecursionError):
        return ""


class Difference(NamedTuple):
    """The first place at which two JSON values differ."""

    path: tuple[str | int, ...]
    """Keys and indices that lead from the outermost value to the one that differs; empty for the outermost one."""
    asked: Any
    """The value there; `ABSENT` if there is none."""
    recorded: Any

    def text(self, hide: Callable[[str], str]) -> str:
        """Return the place and an excerpt of both sides, on one line and without control characters.

        Args:
            hide: Removes secrets from a text. It is called with whole texts, since half a secret is not recognized.

        >>> print(Difference(("a", 1, "b"), "cold and wet", "cold and dry").text(str))
        in a[1].b, at character 10: 'cold and wet' against recorded 'cold and dry'
        """
        where = [f"in {_format_path(self.path, hide)}"] if self.path else []
        asked, recorded, quote, place = _format_side(self.asked, hide), _format_side(self.recorded, hide), "", 0
        if isinstance(self.asked, str) and isinstance(self.recorded, str):
            asked, recorded, quote = hide(self.asked), hide(self.recorded), "'"
            place = _common_prefix_length(asked, recorded)
            # Characters are counted from 1, as editors count them.
            where.append(f"at character {place + 1:,}")
        excerpts = [f"{quote}{_excerpt(side, place)}{quote}" for side in (asked, recorded)]
        what = " against recorded ".join(excerpts) if asked != recorded else "only what is hidden as a secret differs"
        return f"{', '.join(where) or 'as a whole'}: {what}"


def first_difference(asked: Any, recorded: Any, is_same: Callable[[str, str], bool] = is_same_text) -> Difference | None:
    """Return where two JSON values differ first; None if they are the same.

    Values are compared as JSON writes them: 1, 1.0 and true differ. Keys are compared in the order of `asked`, then come those that only
    `recorded` has; lists are compared as far as both go, then the longer one's next item differs.

    Args:
        asked: A value.
        recorded: Another one.
        is_same: Compares two texts; by default, a redacted value in the second one is the same as any one value.
    """
    waiting: list[tuple[_Place, Any, Any]] = [(None, asked, recorded)]
    while waiting:
        place, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            pairs = [((place, key), one.get(key, ABSENT), other.get(key, ABSENT)) for key in {**one, **other}]
            waiting += reversed(pairs)
        elif isinstance(one, list) and isinstance(other, list):
            items = [((place, index), *both) for index, both in enumerate(zip_longest(one, other, fillvalue=ABSENT))]
            waiting += reversed(items)
        elif not _is_same_leaf(one, other, is_same):
            return Difference(_path_to(place), one, other)
    return None


def _common_prefix_length(one: str, other: str) -> int:
    """Return the length of the common beginning, found by halving: texts are long, and there may be many."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _is_same_leaf(one: Any, other: Any, is_same: Callable[[str, str], bool]) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return is_same(one, other)
    return type(one) is type(other) and json.dumps(one) == json.dumps(other)


def _path_to(place: _Place) -> tuple[str | int, ...]:
    steps = []
    while place is not None:
        place, step = place
        steps.append(step)
    return tuple(reversed(steps))


def _format_path(path: tuple[str | int, ...], hide: Callable[[str], str]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else _format_key(hide(step)) for step in path).removeprefix(".")
    return text if len(text) <= _PATH_SHOWN else f"…{text[-_PATH_SHOWN:]}"


def _format_key(key: str) -> str:
    short = key if len(key) <= _KEY_SHOWN else f"{key[:_KEY_SHOWN]}…"
    return f".{short}" if _PLAIN_KEY.fullmatch(short) else f"['{escape_control(short)}']"


def _format_side(value: Any, hide: Callable[[str], str]) -> str:
    return "nothing" if value is ABSENT else hide(json.dumps(value, ensure_ascii=False))


def _excerpt(text: str, place: int) -> str:
    start, end = max(0, place - _BEFORE), place + _AFTER
    return f"{'…' if start else ''}{escape_control(text[start:end])}{'…' if end < len(text) else ''}"
