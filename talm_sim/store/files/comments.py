"""Keep comments that readers write on the episodes of a run: one line of JSON each, in a file beside `run.db` that only grows.

A comment is no verdict: it enters no rate, and the seal of the run does not cover it. Any process may add one, whoever runs the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.common.plain_files import read_bytes
from talm_sim.common.typed_options import fault_of
from talm_sim.config import check_person
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.shared_files import lock_folder
from talm_sim.store.files.database import check_regular

__all__ = ["COMMENTS", "LONGEST_COMMENT", "Comment", "add_comments", "make_comment", "read_comments"]

COMMENTS: Final = "comments.jsonl"
"""Name of the file below the run's directory."""
LONGEST_COMMENT: Final = 4_000
"""Characters of one comment."""
_LARGEST: Final = 8 * 2**20
"""Bytes of the file, which may come from elsewhere and is read as a whole."""
_LATEST_TIME: Final = 253_402_300_800
"""The year 10,000 in Unix seconds, which no date reaches."""


class Comment(BaseModel):
    """A reader's comment on an episode."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    episode_id: str
    attempt: int = Field(ge=1)
    """The attempt that the reader saw; a later one may have taken its place."""
    name: str
    """What the reader calls themselves; it may be empty."""
    text: str = Field(min_length=1, max_length=LONGEST_COMMENT)
    written_at: float = Field(ge=0, lt=_LATEST_TIME)
    """When, in Unix seconds."""

    @property
    def attribution(self) -> str:
        """Who wrote it, and when in UTC.

        >>> Comment(episode_id="e", attempt=1, name="Ada", text="Why?", written_at=0.0).attribution
        'Ada, 1970-01-01 00:00 UTC'
        """
        return f"{self.name or 'anonymous'}, {datetime.fromtimestamp(self.written_at, UTC):%Y-%m-%d %H:%M} UTC"

    def line(self) -> bytes:
        """Return the line that is kept, in ASCII: control characters are escaped."""
        return f"{json.dumps(self.model_dump(), separators=(',', ':'))}\n".encode()


def read_comments(directory: Path) -> list[Comment]:
    """Return the comments on a run, in the order in which they were added.

    Raises:
        PrerequisiteError: The file cannot be read, or has a line that is not a comment.
    """
    path = directory / COMMENTS
    check_regular(path)
    try:
        *lines, last = read_bytes(path, _LARGEST).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be read ({err.strerror}).") from None
    # What has no line end was written by hand, or was cut off by a kill and is dropped by the next writer.
    return [*(_parse(line, f"{path}:{number}") for number, line in enumerate(lines, 1)), *([_parse(last, "")] if _is_whole(last) else [])]


def add_comments(directory: Path, comments: Sequence[Comment]) -> None:
    """Add comments to those on a run; they are on the disk when this returns. Without any, nothing is written.

    Raises:
        PrerequisiteError: The file cannot be written, or is full.
    """
    if not comments:
        return
    path, lines = directory / COMMENTS, b"".join(one.line() for one in comments)
    check_regular(path)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with lock_folder(directory), os.fdopen(os.open(path, flags, 0o666), "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size + len(lines) > _LARGEST:
                raise PrerequisiteError(f"{path}: is full: a run keeps at most {_LARGEST >> 20} MiB of comments.")
            last = file.read(size).rpartition(b"\n")[2]
            if _is_whole(last):
                lines = b"\n" + lines
            elif last:
                file.truncate(size - len(last))
            file.write(lines)
            os.fsync(file.fileno())
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be written ({err.strerror or err}); free disk space or fix its permissions.") from None


def make_comment(episode_id: str, attempt: int, text: str, name: str, written_at: float) -> Comment:
    """Return a comment as it is kept: with uniform line ends, and without the credentials of this environment.

    Raises:
        PrerequisiteError: The text is empty or too long, or contains half of a character; or the name is none.
    """
    hider = Hider.from_environment(credentials_in_environment())
    if not (text := hider.text(text.replace("\r\n", "\n").replace("\r", "\n").strip())):
        raise PrerequisiteError("the comment is empty; write a text.")
    if len(text) > LONGEST_COMMENT:
        raise PrerequisiteError(f"the comment has {len(text):,} characters; write at most {LONGEST_COMMENT:,}.")
    try:
        f"{text}{name}".encode()
    except UnicodeEncodeError:
        raise PrerequisiteError("the comment contains half of a character; remove it.") from None
    try:
        name = check_person(hider.text(name))
    except ValueError as err:
        raise PrerequisiteError(f"name: {err}.") from None
    return Comment(episode_id=episode_id, attempt=attempt, name=name, text=text, written_at=written_at)


def _parse(line: bytes, place: str) -> Comment:
    try:
        return Comment.model_validate_json(line)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, first["loc"]))
        fault = f"{where}: {fault_of(first)}" if where else fault_of(first)
        raise PrerequisiteError(f"{place}: is not a comment ({fault}); correct or delete the line.") from None


def _is_whole(line: bytes) -> bool:
    """Return whether a line without an end is a comment all the same."""
    try:
        return bool(Comment.model_validate_json(line))
    except ValidationError:
        return False
