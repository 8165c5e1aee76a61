"""The shards of a run are killed at random moments, resumed and merged: the merged run must be what one process plays."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, talm
from campaign.kills import timeless
from campaign.sessions import Kill, broken_off
from talm_sim.runs.stored_run import StoredRun

__all__ = ["PARTS"]

_MOST_SHARDS: Final = 16
_KILLS: Final = 50
"""In the full form; in a shorter one the run and its shards are fewer."""
_WHOLE: Final = ("run", "--model", "sim/asker", "--human", "simulated", "--replay", "--perturb", "http-500:p=0.4", "--epochs", "2")
_SHOWN: Final = ("--display", "json")
_SOUND: Final = "episode_finished"
_MOST_SESSIONS: Final = 12
_MERGED: Final = "merged"


class _Shard:
    """One shard, killed several times, until it is done."""

    def __init__(self, part: str, options: Sequence[str], kills: int, place: Path, seed: float) -> None:
        self.name = f"s{part.partition('/')[0]}"
        self.kills = 0
        self.failures: list[str] = []
        self._begin = (*options, "--shard", part, "--run-id", self.name)
        self._to_kill = kills
        self._place = place
        self._rng = random.Random(seed)
        self._told: Counter[str] = Counter()

    def play(self) -> None:
        for _ in range(_MOST_SESSIONS):
            begun = (self._place / "runs" / self.name / "run.json").exists()
            command = ("resume", self.name) if begun else self._begin
            session = broken_off((*command, *_SHOWN), self._place, self._kill() if self.kills < self._to_kill else None)
            self.kills += session.killed
            self._told.update(event["episode_id"] for event in session.events if event["event"] == _SOUND)
            if session.wrong or (not session.killed and session.code != 0):
                self.failures.append(f"{self.name}: exit {session.code} {session.wrong}: {session.text[-300:]}")
                return
            if not session.killed:
                break
        else:
            self.failures.append(f"{self.name}: not done after {_MOST_SESSIONS} sessions")
        there = {episode.id for episode in StoredRun(self._place / "runs" / self.name).episodes()}
        if lost := self._told.keys() - there:
            self.failures.append(f"{self.name}: lost: {sorted(lost)[:3]}")
        if twice := [name for name, times in self._told.items() if times > 1]:
            self.failures.append(f"{self.name}: repeated: {twice[:3]}")

    def _kill(self) -> Kill:
        late = self._rng.random() < 0.75
        return Kill(_SOUND, self._rng.randrange(8) if late else None, self._rng.uniform(0, 0.05) if late else self._rng.uniform(0, 3))


def _play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    number, options = (_MOST_SHARDS, _WHOLE) if count >= _KILLS else (4, (*_WHOLE, "--split", "underspecified", "--limit", "40"))
    spread = Counter(rng.randrange(1, number + 1) for _ in range(count))
    shards = [_Shard(f"{part}/{number}", options, spread[part], scratch, rng.random()) for part in range(1, number + 1)]
    with ThreadPoolExecutor(2) as pool:
        whole = pool.submit(talm, *options, *_SHOWN, "--run-id", "whole", scratch=scratch)
        for done in [pool.submit(shard.play) for shard in shards]:
            done.result()
    failures = [line for shard in shards for line in shard.failures]
    if whole.result().code:
        failures.append(f"whole: {whole.result().err[-300:]}")
    if not failures:
        failures += _merge(shards, scratch)
    tried = sum(shard.kills for shard in shards)
    return Outcome(tried, failures, {"shards": str(number)})


def _merge(shards: Sequence[_Shard], scratch: Path) -> list[str]:
    """See that what is not the whole is refused, merge the shards, and compare."""
    names = [shard.name for shard in shards]
    wrong: list[tuple[str, list[str]]] = [("a missing one", names[1:]), ("one twice", [*names, names[0]])]
    (other := scratch / "runs" / "other").mkdir()
    for file in (scratch / "runs" / names[0]).iterdir():
        shutil.copy(file, other)
    manifest = other / "run.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"talm-sim": "', '"talm-sim": "9'), encoding="utf-8")
    wrong.append(("one that was changed", ["other", *names[1:]]))
    failures = []
    for what, given in wrong:
        ran = talm("runs", "merge", _MERGED, *given, scratch=scratch)
        if ran.code != 2 or ran.wrong or len(ran.err.strip().splitlines()) != 1 or (scratch / "runs" / _MERGED).exists():
            failures.append(f"{what} was not refused in a line: exit {ran.code}: {ran.err[-300:]}")
    ran = talm("runs", "merge", _MERGED, *names, scratch=scratch)
    if ran.code or ran.wrong:
        return [*failures, f"merge: exit {ran.code} {ran.wrong}: {ran.err[-300:]}"]
    tables, contents = zip(*((_table(name, scratch), _content(name, scratch)) for name in (_MERGED, "whole")), strict=True)
    failures += [f"{what} differ" for what, (one, other_one) in (("tables", tables), ("episodes", contents)) if one != other_one]
    return failures


def _table(name: str, scratch: Path) -> Any:
    records = json.loads(talm("report", name, "--json", scratch=scratch).out)
    return json.loads(json.dumps(records).replace(f'"{name}"', '"run"'))


def _content(name: str, scratch: Path) -> Any:
    run = StoredRun(scratch / "runs" / name)
    verdicts = sorted((one.episode_id, one.judge, str(one.value), str(one.label)) for one in run.verdicts())
    return [timeless(episode.model_dump(mode="json")) for episode in run.episodes()], verdicts


PARTS: tuple[Part, ...] = (Part("shards", "shards killed at random moments, resumed and merged", "kills", full=_KILLS, short=4, play=_play),)
