"""What was finished stays finished: one line a source question, and the files that are made of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Self

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.generate.checks import RULES_VERSION
from talm_sim.scenarios.generate.pipeline import Outcome
from talm_sim.scenarios.generate.sources import SourceQuestion

__all__ = ["STATE", "State", "open_state", "write_lines"]

STATE = "state.jsonl"


class State:
    """The state file of a folder, open for appending.

    Args:
        path: The file.
        header: Settings, command and version of the rules of the first call.
        finished: Outcomes by source id.
        length: Bytes of the file that are whole lines; what follows was cut off by a kill.
    """

    def __init__(self, path: Path, header: dict[str, Any], finished: dict[str, Outcome], length: int) -> None:
        self.header = header
        self.finished = finished
        self._path = path
        self._length = length
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._file = open(self._path, "ab")
            self._file.truncate(self._length)
            if not self._length:
                self._append(self.header)
        except OSError as err:
            raise PrerequisiteError(f"{self._path}: cannot be written: {err.strerror}; choose another --out.") from None
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, outcome: Outcome) -> None:
        """Note what became of a source question; it is on disk when this returns."""
        self.finished[outcome.source] = outcome
        self._append(asdict(outcome))

    def _append(self, document: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write((json.dumps(document, ensure_ascii=False) + "\n").encode())
        self._file.flush()
        os.fsync(self._file.fileno())


def open_state(folder: Path, settings: Mapping[str, Any], command: str, sources: Sequence[SourceQuestion]) -> State:
    """Open the state of a folder, new or begun.

    Args:
        folder: The folder of `--out`; made where it is not there.
        settings: What decides the texts, as JSON values.
        command: The command line, kept from the first call on.
        sources: The source questions of this call.

    Raises:
        PrerequisiteError: The folder was begun with other settings, rules or questions, holds something else, or cannot be read or written.
    """
    path = folder / STATE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes() if path.is_file() else b""
        others = sorted(one.name for one in folder.iterdir() if one.name != STATE)
    except OSError as err:
        raise PrerequisiteError(f"{folder}: cannot be used: {err.strerror}; choose another --out.") from None
    length = content.rfind(b"\n") + 1
    if not length:
        if others:
            raise PrerequisiteError(f"{folder}: holds '{others[0]}' but no {STATE}, so it is no begun generation; choose another --out.")
        return State(path, {"settings": dict(settings), "command": command, "rules": RULES_VERSION}, {}, 0)
    header, finished = _read(path, content[:length])
    if header["rules"] != RULES_VERSION:
        raise PrerequisiteError(
            f"{folder}: was begun with version {header['rules']} of the rules that texts are judged by, and this talm-sim has version "
            f"{RULES_VERSION}; finish it with the one it was begun with, or choose another --out."
        )
    _same(folder, header["settings"], settings)
    for source in sources:
        done = finished.get(source.id)
        if done is not None and done.digest != source.digest:
            raise PrerequisiteError(f"{folder}: source question '{source.id}' was another one when it was begun; choose another --out.")
    return State(path, header, finished, length)


def _read(path: Path, content: bytes) -> tuple[dict[str, Any], dict[str, Outcome]]:
    header: dict[str, Any] = {}
    finished: dict[str, Outcome] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            document = json.loads(line)
            if number == 1:
                # The first versions of talm-sim kept no version of the rules.
                header = {"settings": dict(document["settings"]), "command": str(document["command"]), "rules": int(document.get("rules", 1))}
            else:
                outcome = Outcome(**document)
                finished[outcome.source] = outcome
        except (ValueError, LookupError, TypeError, RecursionError):
            raise PrerequisiteError(f"{path}:{number}: not a line of a begun generation; restore the file or choose another --out.") from None
    return header, finished


def _same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was = json.dumps(before.get(name), ensure_ascii=False)[:60]
            raise PrerequisiteError(f"{folder}: was begun with {name} = {was}; go on with that, or choose another --out.")


def write_lines(path: Path, documents: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON document a line, the whole file at once."""
    text = "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
