"""Damaged files: nothing is counted differently without a word, nothing ends in a traceback or never."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from campaign.base import Outcome, Part, Ran, start, talm

_PAGE: Final = 4096
_CASE: Final = "case"
"""Name of the folder that is damaged; a run is called what its folder is called."""
_SHORT_RUN: Final = ("run", "--split", "perfect,underspecified", "--limit", "12", "--model", "sim/oracle", "--replay", "-q")
_TWICE: Final = ("--limit", "6", "--epochs", "3")
Damage = Callable[[bytearray, random.Random], str]


def _flip(data: bytearray, rng: random.Random) -> str:
    place, bit = rng.randrange(len(data)), rng.randrange(8)
    data[place] ^= 1 << bit
    return f"bit {bit} of byte {place} flipped"


def _overwrite(data: bytearray, rng: random.Random) -> str:
    place = rng.randrange(max(1, len(data) - 4))
    data[place : place + 4] = rng.randbytes(min(4, len(data) - place))
    return f"4 bytes at {place} overwritten"


def _truncate(data: bytearray, rng: random.Random) -> str:
    size = rng.randrange(len(data))
    del data[size:]
    return f"cut to {size} bytes"


def _zero(data: bytearray, rng: random.Random) -> str:
    page = rng.randrange(max(1, len(data) // _PAGE)) * _PAGE
    data[page : page + _PAGE] = bytes(len(data[page : page + _PAGE]))
    return f"page at {page} zeroed"


def _duplicate(data: bytearray, rng: random.Random) -> str:
    place, size = rng.randrange(len(data)), rng.randrange(1, 512)
    data[place:place] = data[place : place + size]
    return f"{size} bytes at {place} doubled"


def _append(data: bytearray, rng: random.Random) -> str:
    size = rng.randrange(1, 2 * _PAGE)
    data += rng.randbytes(size)
    return f"{size} bytes appended"


_DAMAGES: Final[tuple[Damage, ...]] = (_flip, _overwrite, _truncate, _zero, _duplicate, _append)


def _damaged(file: Path, rng: random.Random) -> str:
    """Damage a file in one of the ways, and say how; one that stays as it was is damaged again."""
    while True:
        data = bytearray(before := file.read_bytes())
        how = rng.choice(_DAMAGES)(data, rng)
        if data != before:
            file.write_bytes(data)
            return f"{file.name}: {how}"


_ROWS: Final = (
    "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {one})",
    "UPDATE {table} SET body = (SELECT body FROM {table} ORDER BY {key} LIMIT 1 OFFSET {other})"
    " WHERE {key} IN (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {one})",
    "UPDATE {table} SET {column} = {value} WHERE {key} IN (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {one})",
)
_KEYED: Final = {
    "episodes": ("id", {"grp": "'underspecified'", "termination": "'turn_limit'", "position": "position + 1", "attempt": "7"}),
    "verdicts": ("episode_id", {"failed": "1 - failed", "judge": "judge || 'x'"}),
    "scenarios": ("id", {"grp": "'underspecified'", "position": "position + 1000"}),
}


def _damaged_rows(file: Path, rng: random.Random) -> str:
    """Take a row away, give it another's body, or change a column: what is left is a sound database."""
    table = rng.choice(sorted(_KEYED))
    key, columns = _KEYED[table]
    with closing(sqlite3.connect(file)) as conn:
        while True:
            (size,) = conn.execute(f"SELECT count(*) FROM {table}").fetchone()
            column = rng.choice(sorted(columns))
            words = {"table": table, "key": key, "column": column, "value": columns[column], "one": rng.randrange(size)}
            statement = rng.choice(_ROWS).format(**words, other=rng.randrange(size))
            before = conn.execute(f"SELECT * FROM {table}").fetchall()
            try:
                conn.execute(statement)
            except sqlite3.IntegrityError:
                continue
            if conn.execute(f"SELECT * FROM {table}").fetchall() != before:
                conn.commit()
                return f"{file.name}: {statement}"


class _Tally:
    """What the cases of a part came to."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.ends: Counter[str] = Counter()
        self.tried = 0

    def add(self, case: str, ran: Ran, *, silent: bool) -> None:
        """Count a command: refused in one line, the same as before, or a failure."""
        if ran.wrong or silent or (ran.code == 2 and ran.err.count("\n") != 1):
            what = ran.wrong or ("silently different" if silent else f"not one line: {ran.err[:200]!r}")
            self.failures.append(f"{case}: {' '.join(ran.command)}: {what}")
        self.ends["refused" if ran.code == 2 else "said" if silent is False and ran.code else "same"] += 1

    def outcome(self, **figures: str) -> Outcome:
        return Outcome(self.tried, self.failures, {**{name: f"{number:,}" for name, number in sorted(self.ends.items())}, **figures})


def _cases(count: int, base: Path, scratch: Path) -> Iterator[tuple[int, Path]]:
    """So many fresh copies of a folder."""
    for number in range(count):
        case = scratch / _CASE
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(base, case)
        yield number, case


def _of_a_file(name: str) -> Callable[[int, random.Random, Path], Outcome]:
    """Damage one file of a finished run; its report is the same, or refused in one line."""

    def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
        run, tally = partial(talm, scratch=scratch, warm=True), _Tally()
        base = scratch / "runs" / _CASE
        made = run(*_SHORT_RUN, "--run-dir", "runs", "--run-id", _CASE)
        if made.code:
            return Outcome(0, [f"the run that is to be damaged failed: {made.err}"])
        expected = run("report", base, "--json").out
        for number, case in _cases(count, base, scratch):
            rows = name == "run.db" and number % 4 == 0
            how = (_damaged_rows if rows else _damaged)(case / name, rng)
            ran = run("report", case, "--json")
            tally.add(how, ran, silent=ran.code == 0 and ran.out != expected)
            tally.tried += 1
            if number % 5 == 0:
                looks = (
                    ["show", f"{case}"],
                    ["judge", f"{case}", "-q"],
                    ["resume", f"{case}", "-q"],
                    ["runs", "list", "--run-dir", f"{scratch}"],
                )
                verb = rng.choice(looks)
                tally.add(how, run(*verb), silent=False)
        return tally.outcome()

    return play


def _killed(scratch: Path, number: int, rng: random.Random) -> Path:
    """A run that was killed while its log held some of it."""
    name = f"killed-{number}"
    child = start([*_SHORT_RUN, "--run-dir", "runs", "--run-id", name, *_TWICE], scratch)
    log = scratch / "runs" / name / "run.db-wal"
    least, deadline = rng.randrange(30_000, 150_000), time.monotonic() + 60
    while child.poll() is None and time.monotonic() < deadline and not (log.exists() and log.stat().st_size > least):
        time.sleep(0.002)
    child.kill()
    child.wait()
    (scratch / "runs" / name / "run.db-shm").unlink(missing_ok=True)
    return scratch / "runs" / name


def _play_log(count: int, rng: random.Random, scratch: Path) -> Outcome:
    run = partial(talm, scratch=scratch, warm=True)
    whole = run(*_SHORT_RUN, "--run-dir", "whole", "--run-id", "whole", *_TWICE)
    tally, said = _Tally(), 0
    full = json.loads(run("report", scratch / "whole/whole", "--json").out)
    for killed in range(-(-count // 20)):
        base = _killed(scratch, killed, rng)
        if not (base / "run.db-wal").exists():
            continue  # it was done before it was killed
        for record in full:
            record["run"] = _CASE
        for _, case in _cases(min(20, count - tally.tried), base, scratch):
            how = f"{base.name}: {_damaged(case / 'run.db-wal', rng)}"
            ran = run("report", case)
            # Fewer results are no fault of a killed run, where the report says what is missing and how to go on.
            told = "was not closed properly" in ran.err and ("not finished" in ran.out or "without a verdict" in ran.out)
            said += ran.code == 0 and told
            same = ran.code == 0 and "not finished" not in ran.out and json.loads(run("report", case, "--json").out) == full
            tally.add(how, ran, silent=ran.code == 0 and not told and not same)
            tally.tried += 1
            for verb in ("resume", "judge"):
                tally.add(how, run(verb, case, "-q"), silent=False)
            ran = run("report", case, "--json")
            tally.add(f"{how}: resumed", ran, silent=ran.code != 0 or json.loads(ran.out) != full)
    if whole.code != 0:
        tally.failures.append(f"the unbroken run failed: {whole.err}")
    return tally.outcome(incomplete_and_said=f"{said:,}")


PARTS = (
    Part("damage-db", "run.db of a sealed run: bits, bytes, pages, length", "damages", 400, 16, _of_a_file("run.db")),
    Part("damage-json", "run.json of a sealed run", "damages", 240, 8, _of_a_file("run.json")),
    Part("damage-log", "the log of a killed run: reported, and repaired by resume and judge", "damages", 120, 4, _play_log),
)
