"""What is no plain file, too large or too deep, in each place where a file from outside is read: one line, at once, in little memory."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from campaign.base import Outcome, Part, Ran, talm
from talm_sim.common.plain_files import LARGEST_DATA, LARGEST_DOCUMENT, LARGEST_SETTINGS

__all__ = ["PARTS"]

_DEPTH: Final = 100_000
_SLOWER: Final = 1.0
"""Seconds that a refusal may take beyond that of a small file with nonsense in it."""
_TRIES: Final = 3
_MORE: Final = 100 * 2**20
"""Bytes of memory beyond that."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file is read.

    Attributes:
        name: What it is.
        path: Where the file lies.
        command: Reads it.
        largest: Bytes it may have.
        deep: What is nested too deeply there; empty where nothing nests.
    """

    name: str
    path: str
    command: tuple[str, ...]
    largest: int = LARGEST_DATA
    deep: str = "[" * _DEPTH


_RUN: Final = ("run", "--model", "sim/oracle", "--limit", "1", "-q")
_IMPORT: Final = ("import", "fail-talms", "release")
_TOML: Final = "a=" + "[" * _DEPTH
_SMALL: Final = LARGEST_SETTINGS
_DOCUMENT: Final = LARGEST_DOCUMENT
_PLACES: Final = (
    _Place("--scenarios", "x.jsonl", (*_RUN, "--scenarios", "x.jsonl")),
    _Place("scenarios check", "x.jsonl", ("scenarios", "check", "--scenarios", "x.jsonl")),
    _Place("scenarios stats", "x.jsonl", ("scenarios", "stats", "--scenarios", "x.jsonl")),
    _Place("scenarios review", "x.jsonl", ("scenarios", "review", "x.jsonl")),
    _Place("scenarios generate", "x.jsonl", ("scenarios", "generate", "--from", "x.jsonl", "--out", "made")),
    _Place("generate, awareness", "x.jsonl", ("scenarios", "generate", "--task", "awareness", "--from", "x.jsonl", "--out", "made")),
    _Place("export when2call", "x.jsonl", ("export", "when2call", "x.jsonl", "--out", "y.jsonl")),
    _Place("export training", "x.jsonl", ("export", "training", "x.jsonl", "--kind", "sft", "--out", "y.jsonl")),
    _Place("run, when2call", "x.jsonl", (*_RUN, "--task", "when2call", "--scenarios", "x.jsonl")),
    _Place("run, awareness", "x.jsonl", (*_RUN, "--task", "awareness", "--scenarios", "x.jsonl")),
    _Place("run, refusal", "x.jsonl", (*_RUN, "--task", "refusal", "--bfcl", "x.jsonl")),
    _Place("--config", "x.toml", (*_RUN, "--config", "x.toml"), deep=_TOML, largest=_SMALL),
    _Place("--grid", "x.toml", ("ablate", "--grid", "x.toml"), deep=_TOML, largest=_SMALL),
    _Place("--prices", "x.toml", (*_RUN, "--prices", "x.toml"), deep=_TOML, largest=_SMALL),
    _Place("--template", "x.jinja", (*_RUN, "--task", "when2call", "--template", "x.jinja"), deep="", largest=_SMALL),
    _Place("--arguments", "x.json", ("tools", "check", "--arguments", "x.json"), largest=_SMALL),
    _Place("tools: document", "x.json", ("tools", "check", "--tools-from", "x.json"), largest=_DOCUMENT),
    _Place("tools: YAML", "x.yaml", ("tools", "check", "--tools-from", "openapi:x.yaml"), largest=_DOCUMENT),
    _Place("tools: list", "x.json", ("tools", "check", "--tools-from", "specs:x.json"), largest=_DOCUMENT),
    _Place("tools: folder", "tools/x.json", ("tools", "check", "--tools-from", "fail-talms:tools"), largest=_DOCUMENT),
    _Place("tools: module", "x.py", ("tools", "check", "--tools-from", "x.py"), deep="(" * _DEPTH, largest=_SMALL),
    _Place("import", "release/outputs/Original/m_auto_eval/answers.json", _IMPORT, largest=_DOCUMENT),
    _Place("import, queries", "release/benchmark/Original/all_Original_queries.json", (*_IMPORT, "--scenarios-to", "y"), largest=_DOCUMENT),
    _Place("import, tools", "release/tools/Geo/x.json", (*_IMPORT, "--tools-to", "y"), largest=_DOCUMENT),
    _Place("import, traces", "x.jsonl", ("import", "traces", "x.jsonl")),
    _Place("--cassettes: tools", "tapes/tools/perfect.zip", (*_RUN, "--replay", "--cassettes", "tapes"), deep="", largest=2**30),
    _Place("--cassettes: specs", "tapes/tools/specs.json", (*_RUN, "--replay", "--cassettes", "tapes"), largest=_DOCUMENT),
    _Place("export cassettes", "tapes/tools/perfect.zip", ("export", "cassettes", "--from", "tapes", "--to", "out"), deep="", largest=2**30),
    _Place("report: run.json", "runs/r/run.json", ("report", "runs/r"), largest=8 * 2**20),
)  # fmt: skip


def _fifo(path: Path, _: _Place) -> None:
    os.mkfifo(path)


def _zeros(path: Path, _: _Place) -> None:
    path.symlink_to("/dev/zero")


def _directory(path: Path, _: _Place) -> None:
    path.mkdir()


def _socket(path: Path, _: _Place) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


def _large(path: Path, place: _Place) -> None:
    with path.open("wb") as file:
        file.truncate(place.largest + 1)


def _deep(path: Path, place: _Place) -> None:
    path.write_text(place.deep, encoding="utf-8")


_THINGS: Final[dict[str, Callable[[Path, _Place], None]]] = {
    "pipe": _fifo,
    "zeros": _zeros,
    "directory": _directory,
    "socket": _socket,
    "large": _large,
    "deep": _deep,
}


def _read(place: _Place, make: Callable[[Path], None], scratch: Path) -> Ran:
    """Lay something in a place, and read it there."""
    shutil.rmtree(scratch, ignore_errors=True)
    path = scratch / place.path
    path.parent.mkdir(parents=True)
    make(path)
    return talm(*place.command, scratch=scratch, seconds=15)


def _lay(place: _Place, thing: str, path: Path) -> None:
    _THINGS[thing](path, place)


def _nonsense(path: Path) -> None:
    path.write_text("?", encoding="utf-8")


def _fault(ran: Ran, usual: Ran) -> str:
    if ran.wrong:
        return ran.wrong
    lines = ran.err.strip().splitlines()
    if ran.code != 2 or len(lines) != 1:
        return f"code {ran.code}, {len(lines)} lines: {ran.err[:200]!r}"
    if ran.seconds > usual.seconds + _SLOWER:
        return f"{ran.seconds:.1f} s, and {usual.seconds:.1f} s with nonsense"
    more = ran.most_memory - usual.most_memory
    return f"{more >> 20} MiB more than with nonsense" if more > _MORE else ""


def _play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    cases = [(place, thing) for place in _PLACES for thing in _THINGS if _applies(place, thing)]
    chosen = sorted(rng.sample(cases, min(count, len(cases))), key=cases.index)
    usual: dict[str, Ran] = {}
    outcome = Outcome(len(chosen))
    slowest, most = 0.0, 0
    for place, thing in chosen:
        if place.name not in usual:
            usual[place.name] = _read(place, _nonsense, scratch / "c")
        for _ in range(_TRIES):
            ran = _read(place, partial(_lay, place, thing), scratch / "c")
            fault = _fault(ran, usual[place.name])
            if not fault:
                break
            usual[place.name] = _read(place, _nonsense, scratch / "c")  # the machine may be busier now
        if fault:
            outcome.failures.append(f"{place.name}, {thing}: {fault}")
        else:
            slowest = max(slowest, ran.seconds - usual[place.name].seconds)
            most = max(most, ran.most_memory - usual[place.name].most_memory)
    outcome.figures = {"slowest, beyond nonsense": f"{slowest:.1f} s", "most memory, beyond nonsense": f"{most >> 20} MiB"}
    return outcome


def _applies(place: _Place, thing: str) -> bool:
    if thing == "deep":
        return bool(place.deep)
    return thing != "directory" or place.name != "--cassettes: specs"  # it may be one


_WHAT: Final = "no plain file, too large or too deep, where a file is read"
PARTS: tuple[Part, ...] = (Part("places", _WHAT, "files", full=len(_PLACES) * len(_THINGS), short=12, play=_play),)
