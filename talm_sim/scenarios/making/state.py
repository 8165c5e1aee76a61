"""Keep what a making has finished: one line per source, and the files that are made of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from talm_sim.common.plain_files import LARGEST_DATA, read_bytes
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.making.outcome import Made, MakingSource

STATE = "state.jsonl"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FixedSettings:
    """The settings that are fixed for a folder once it is started.

    Attributes:
        settings: What decides what is made, as JSON values.
        command: The command line, kept from the first call on.
        rules: Version of the rules by which it is made and judged.
    """

    task: str
    settings: Mapping[str, Any]
    command: str
    rules: int


class State:
    """The state file of a folder, open for appending.

    Args:
        length: Bytes of complete lines in the file; the rest was cut off by a kill.
    """

    def __init__(self, path: Path, begun: FixedSettings, finished: dict[str, Any], length: int) -> None:
        self.begun = begun
        self.finished = finished
        self._path = path
        self._length = length
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._file = open(self._path, "ab")
            self._file.truncate(self._length)
            if not self._length:
                self._append(asdict(self.begun))
        except OSError as err:
            raise PrerequisiteError(f"{self._path}: cannot be written: {err.strerror}; choose another --out.") from None
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, outcome: Made) -> None:
        """Save the outcome of a source; it is on disk when this returns."""
        self.finished[outcome.source] = outcome
        self._append(asdict(outcome))

    def _append(self, document: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write((json.dumps(document, ensure_ascii=False) + "\n").encode())
        self._file.flush()
        os.fsync(self._file.fileno())


def open_state(folder: Path, begun: FixedSettings, sources: Sequence[MakingSource], kind: type[Made]) -> State:
    """Open the state of a folder, new or already started."""
    path = folder / STATE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = read_bytes(path, LARGEST_DATA) if path.is_file() else b""
        others = sorted(one.name for one in folder.iterdir() if one.name != STATE)
    except OSError as err:
        raise PrerequisiteError(f"{folder}: cannot be used: {err.strerror}; choose another --out.") from None
    if not (length := content.rfind(b"\n") + 1):
        if others:
            raise PrerequisiteError(
                f"{folder}: contains '{others[0]}' but no {STATE}, so no generation was started there; choose another --out."
            )
        return State(path, begun, {}, 0)
    lines = list(enumerate(content[:length].split(b"\n")[:-1], 1))
    before = _read(path, 1, lines[0][1], partial(_header, folder))
    if before.task != begun.task:
        raise PrerequisiteError(f"{folder}: was started for task {before.task}; add --task {before.task}, or choose another --out.")
    if before.rules != begun.rules:
        raise PrerequisiteError(
            f"{folder}: was started with version {before.rules} of the checks, and this talm-sim has version "
            f"{begun.rules}; finish it with the talm-sim it was started with, or choose another --out."
        )
    _refuse_changes(folder, before.settings, begun.settings)
    outcomes = [_read(path, number, line, lambda document: kind(**document)) for number, line in lines[1:]]
    finished = {outcome.source: outcome for outcome in outcomes}
    if finished and not any(source.id in finished for source in sources):
        raise PrerequisiteError(
            f"{folder}: contains results from other sources, for example '{next(iter(finished))}', which this command would leave out; "
            f"continue with those (--from, --limit), or choose another --out."
        )
    for source in sources:
        if (done := finished.get(source.id)) is not None and done.digest != source.digest:
            raise PrerequisiteError(f"{folder}: source '{source.id}' has changed since it was started; choose another --out.")
    return State(path, before, finished, length)


def _header(folder: Path, document: dict[str, Any]) -> FixedSettings:
    if isinstance(document.get("settings"), dict) and not {"task", "rules"} <= document.keys():
        raise PrerequisiteError(
            f"{folder}: was started by an earlier talm-sim, which stored no task or no rules; generate it again with another --out."
        )
    return FixedSettings(str(document["task"]), dict(document["settings"]), str(document["command"]), int(document["rules"]))


def _read(path: Path, number: int, line: bytes, reader: Callable[[Any], T]) -> T:
    try:
        return reader(json.loads(line))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise PrerequisiteError(f"{path}:{number}: not a line of a started generation; restore the file or choose another --out.") from None


def _refuse_changes(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was = json.dumps(before.get(name), ensure_ascii=False)[:60]
            raise PrerequisiteError(f"{folder}: was started with {name} = {was}; continue with that, or choose another --out.")


def write_lines(path: Path, documents: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON document per line, the whole file at once."""
    text = "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
