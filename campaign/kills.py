"""Commands are killed at random moments and go on: nothing finished may be lost or repeated, and the numbers must be an unbroken run's."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, talm
from campaign.kinds import KINDS, RUN, Kind
from campaign.sessions import Kill, Session, broken_off
from campaign.stand_in import Model, serving
from talm_sim.errors import PrerequisiteError
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import find_task

_KILLS_A_STORY: Final = 3
_MOST_SESSIONS: Final = 12
_SHORT: Final = 3
"""Kills in the short form."""


class World:
    """What the stories of a part share: unbroken runs to compare with, each made once."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.queries: dict[str, set[str]] = defaultdict(set)
        """Ids of scenarios by their query: items of different classes may ask the same."""
        for name in ("talm", "when2call"):
            for scenario in find_task(name).read(find_task(name).groups("all" if name == "when2call" else "underspecified")):
                self.queries[scenario.query].add(scenario.id)
        self._whole: dict[str, Story] = {}
        self._locks = {kind.name: threading.Lock() for kind in KINDS}

    def whole(self, kind: Kind) -> Story:
        """A story of this kind in which nothing is killed."""
        with self._locks[kind.name]:
            if kind.name not in self._whole:
                story = Story(self, kind, self.scratch / f"whole {kind.name}", random.Random(0))
                story.play(0)
                self._whole[kind.name] = story
            return self._whole[kind.name]


class Story:
    """One run of a kind, killed several times, until it is done."""

    def __init__(self, world: World, kind: Kind, place: Path, rng: random.Random) -> None:
        self.world, self.kind, self.place, self.rng = world, kind, place, rng
        self.model = Model(tuple(world.queries))
        self.kills = 0
        self.failures: list[str] = []
        self.sessions: list[Session] = []
        self._known: dict[str, Any] = {}
        self._asked: Counter[str] = Counter()
        self._saved = 0
        place.mkdir(parents=True)

    @property
    def runs(self) -> list[StoredRun]:
        return [StoredRun(file.parent) for file in sorted((self.place / "runs").glob("[!.]*/run.json"))]

    def play(self, kills: int) -> None:
        """Kill so many times at most, and go on to the end."""
        with serving(self.model):
            if self.kind.work:
                self._prepare()
            while not self._done(kills):
                if len(self.sessions) >= _MOST_SESSIONS:
                    self._fail(f"not done after {_MOST_SESSIONS} sessions: {self.sessions[-1].text[-300:]}")
                    return
            if self.kind.name == "answer":
                self._last(talm("resume", RUN, "--display", "json", scratch=self.place, seconds=240))

    def metrics(self) -> Any:
        """What `report --json` prints."""
        return {run.id: run.summary_records() for run in self.runs}

    def content(self) -> dict[str, Any]:
        """The episodes less times and attempts."""
        return {name: timeless(value) for name, value in self._stored().items()}

    def verdicts(self) -> list[tuple[Any, ...]]:
        return sorted((run.id, one.episode_id, one.judge, str(one.value), str(one.label)) for run in self.runs for one in run.verdicts())

    def recorded(self) -> dict[str, list[str]]:
        """Every recording, its exchanges in order of what they hold."""
        found = {}
        for file in sorted((self.place / self.kind.tapes).rglob("*.json") if self.kind.tapes else ()):
            value = json.loads(file.read_text(encoding="utf-8"))
            exchanges = value.get("interactions", [value]) if isinstance(value, dict) else value
            found[str(file.relative_to(self.place))] = sorted(json.dumps(_undated(one), sort_keys=True) for one in exchanges)
        return found

    def check(self) -> list[str]:
        """Compare with the unbroken story."""
        if self.failures:
            return self.failures
        whole = self.world.whole(self.kind)
        self._see()
        kept = sum(len(episode.human_events) for run in self.runs for episode in run.episodes())
        if self.kind.typed and self._saved > kept:
            self._fail(f"lost: {self._saved} answers were saved, {kept} are there")
        for what, mine, theirs in (
            ("metrics", self.metrics(), whole.metrics()),
            ("episodes", self.content(), whole.content()),
            ("verdicts", self.verdicts(), whole.verdicts()),
            ("recordings", self.recorded(), whole.recorded()),
        ):
            if mine != theirs:
                self._fail(f"{what} differ: {_difference(mine, theirs)}")
        if left := _left_behind(self.place):
            self._fail(f"left: {left[:3]}")
        return self.failures

    def _prepare(self) -> None:
        base = self.world.scratch / f"base {self.kind.name}"
        with _BASES:
            if not base.exists():
                base.mkdir()
                self._last(talm("run", *self.kind.begin, scratch=base, env=self.model.environment(), seconds=240), (0, 1))
        shutil.copytree(base / "runs", self.place / "runs")

    def _done(self, kills: int) -> bool:
        """Play the next session; whether it was the last."""
        command = self.kind.work or (("resume", RUN, "--display", "json") if self._begun() else ("run", *self.kind.begin))
        kill = self._kill() if self.kills < kills else None
        typed = "I would rather not say\n" * 100 if self.kind.typed else ""
        session = broken_off(command, self.place, kill, typed=typed, env=self.model.environment())
        self.sessions.append(session)
        self.kills += session.killed
        self._judge(session)
        self._see()
        return not session.killed or (session.code == 0 and not self.kind.typed)

    def _judge(self, session: Session) -> None:
        allowed = {0}
        if session.killed:
            # Before its first word, and after its last, a command ends by the signal itself.
            at_an_end = not session.lines or "this table: " in session.text
            allowed |= {-9} if not session.term else {143} | ({-15} if at_an_end else set())
        if session.wrong or session.code not in allowed:
            self._fail(f"exit {session.code} {session.wrong}: {session.text[-300:]}")
        if session.term and session.code == 143 and session.under_way and "Continue with: " not in session.text:
            self._fail(f"SIGTERM said nothing: {session.text[-300:]}")
        told = _told(session)
        again = self._known.keys() & set(told)
        if again or len(set(told)) < len(told):
            self._fail(f"repeated: {sorted(again)[:3]}")
        try:
            there = self._stored().keys()
        except PrerequisiteError as err:
            self._fail(f"cannot be read: {err}")
            return
        if lost := set(told) - there:
            self._fail(f"lost: {sorted(lost)[:3]}")
        self._saved += sum("saved: I would" in line and "not saved" not in line for line in session.lines)

    def _see(self) -> None:
        """See that what was there before is there still, to the letter, and that the model was not asked about it again."""
        now = self._stored()
        if self.kind.name == "judge":
            judged = [one for run in self.runs for one in run.verdicts() if one.judge == "llm"]
            now |= {f"verdict of {one.episode_id}": one.model_dump(mode="json") for one in judged}
        changed = [name for name, value in self._known.items() if now.get(name) != value]
        if changed:
            self._fail(f"lost or repeated: {changed[:3]}")
        asked = Counter(self.model.asked)
        prefix = "verdict of " if self.kind.name == "judge" else ""
        finished = [{f"{prefix}{one}" for one in self.world.queries[query]} for query in asked - self._asked if query]
        again = [name for names in finished if names <= self._known.keys() for name in sorted(names)]
        if again:
            self._fail(f"the model was asked again about {again[:3]}")
        self._known, self._asked = now, asked

    def _stored(self) -> dict[str, Any]:
        return {_named(run.id, one.id): one.model_dump(mode="json") for run in self.runs for one in run.episodes()}

    def _kill(self) -> Kill:
        late = self.rng.random() < 0.75
        most = 6 if self.kind.sounds != "episode_finished" else 38
        return Kill(
            sounds=self.kind.sounds,
            after=self.rng.randrange(most) if late else None,
            seconds=self.rng.uniform(0, 0.05) if late else self.rng.uniform(0, 3),
            term=self.rng.random() < 0.15,
        )

    def _begun(self) -> bool:
        return (self.place / "runs" / RUN / "run.json").exists()

    def _last(self, ran: Any, allowed: tuple[int, ...] = (0,)) -> None:
        if ran.wrong or ran.code not in allowed:
            self._fail(f"{' '.join(ran.command[:2])}: exit {ran.code} {ran.wrong}: {ran.err[-300:]}")

    def _fail(self, what: str) -> None:
        signs = ", ".join(str(session.kill) for session in self.sessions if session.kill)
        self.failures.append(f"{self.kind.name}, killed {signs or 'never'}: {what}")


_BASES: Final = threading.Lock()
_LEFT_S: Final = 15.0
"""After so long nothing that a killed command started may be there."""


def _named(run: str, episode: str) -> str:
    return episode if run == RUN else f"{run}:{episode}"


def _told(session: Session) -> list[str]:
    """The episodes that a session said are finished."""
    found, run = [], RUN
    for event in session.events:
        if event["event"] == "run_started":
            run = event["run_id"]
        elif event["event"] == "episode_finished":
            found.append(_named(run, event["episode_id"]))
    return found


def _left_behind(place: Path) -> list[str]:
    """The command lines of processes that a story started and that outlive it."""
    until = time.monotonic() + _LEFT_S
    while (found := list(_processes_of(place))) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def _processes_of(place: Path) -> Iterator[str]:
    home = f"HOME={place}/home".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (process / "cmdline").read_bytes()
            if line and (home in (process / "environ").read_bytes().split(b"\0") or (process / "cwd").readlink().is_relative_to(place)):
                yield line.replace(b"\0", b" ").decode(errors="replace")[:100]


def timeless(episode: dict[str, Any]) -> Any:
    # What was recorded before a kill is played after it.
    left_out = {"started_at", "elapsed_s", "attempt", "elapsed_ms", "asked_at", "answered_at", "origin"}

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(one) for key, one in value.items() if key not in left_out}
        return [strip(one) for one in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = strip(episode)
    stripped["events"] = sorted(stripped["events"], key=lambda event: json.dumps(event, sort_keys=True))
    return stripped


def _undated(exchange: Any) -> Any:
    return {key: value for key, value in exchange.items() if key != "recorded_at"} if isinstance(exchange, dict) else exchange


def _difference(mine: Any, theirs: Any, place: str = "") -> str:
    """The first place where two values differ, and both sides of it."""
    pairs: list[tuple[Any, Any, Any]] = []
    if isinstance(mine, dict) and isinstance(theirs, dict):
        pairs = [(name, mine.get(name), theirs.get(name)) for name in sorted(mine.keys() | theirs.keys())]
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        pairs = [(number, *both) for number, both in enumerate(zip(mine, theirs, strict=True))]
    for name, one, other in pairs:
        if one != other:
            return _difference(one, other, f"{place}/{name}")
    return f"{place}: {str(mine)[:150]} | {str(theirs)[:150]}"


def _play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    # A short form kills each kind once at most.
    kills_a_story = _KILLS_A_STORY if count > _SHORT else 1
    seeds = [(KINDS[number % len(KINDS)], rng.random()) for number in range(4 * count + len(KINDS))]
    kills: Counter[str] = Counter()
    failures: list[str] = []
    lock = threading.Lock()
    numbers = iter(enumerate(seeds))

    def work() -> None:
        while True:
            with lock:
                left = count - kills.total()
                number, (kind, seed) = next(numbers, (0, (None, 0.0)))
            if left <= 0 or kind is None:
                return
            story = Story(world, kind, scratch / f"{number} {kind.name}", random.Random(seed))
            story.play(min(left, kills_a_story))
            found = story.check()
            with lock:
                kills[kind.name] += story.kills
                failures.extend(found)
            if not found:
                shutil.rmtree(story.place, ignore_errors=True)

    world = World(scratch)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work) for _ in range(2)]:
            done.result()
    of = Counter(line.partition(": ")[2].partition(":")[0].split(" ")[0] for line in failures)
    figures = {"lost": str(of["lost"]), "repeated": str(of["repeated"]), "metric differences": str(of["metrics"]), "left": str(of["left"])}
    return Outcome(kills.total(), failures, figures | {f"of {name}": str(number) for name, number in kills.items()})


PARTS: tuple[Part, ...] = (Part("kills", "commands killed at random moments, then gone on with", "kills", full=220, short=_SHORT, play=_play),)
