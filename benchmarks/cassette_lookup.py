"""What replaying one request costs: our indexed lookup against plain vcrpy's linear one, in the same process on the same file.

    python benchmarks/cassette_lookup.py [--interactions N] [--rounds N]

Requests are model calls of a growing conversation, a dozen kilobytes each. Both sides match method, scheme, host, path, query and body,
vcrpy with its own matchers. It also prints what opening a recording out of a zip costs, and fails where a lookup takes longer than the limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from vcr import matchers
from vcr.cassette import Cassette
from vcr.record_mode import RecordMode
from vcr.request import Request
from vcr.serializers import jsonserializer

from scripts.pack_recordings import pack
from talm_sim.config import Traffic
from talm_sim.recordings import CassetteLibrary, HttpRequest, HttpResponse, Player
from talm_sim.recordings.tape import Tape

LIMIT_MS = 0.3
STOCK_MATCHERS = (matchers.method, matchers.scheme, matchers.host, matchers.path, matchers.query, matchers.body)
HEADERS = {"content-type": "application/json"}
MODEL = "openai/benchmark"
EPISODES = 100
TURNS = 4


def conversation(length: int, name: str = "") -> list[HttpRequest]:
    """Model calls whose conversation grows by a turn each, from about 8 kB."""
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "description": "What the tool does. " * 20}} for n in range(12)]
    system = {"role": "system", "content": f"Episode {name}. " + "Solve the task with the tools, or say what is missing. " * 50}
    turns = [{"role": "user", "content": f"Turn {n}: where is flight {n} now?"} for n in range(length)]
    return [
        HttpRequest(
            "POST",
            "http://model.invalid/v1/chat/completions",
            HEADERS,
            json.dumps({"model": "x", "tools": tools, "messages": [system, *turns[: n + 1]]}).encode(),
        )
        for n in range(length)
    ]


def recorded(requests: list[HttpRequest]) -> Tape:
    """A tape that holds an answer to each request."""
    tape = Tape("benchmark")
    player = Player(tape, Traffic.RECORD)
    for request in requests:
        player.record(request, HttpResponse(200, "OK", (("content-type", "application/json"),), b'{"choices": []}'))
    return tape


def play_ours(tape: Tape, requests: list[HttpRequest]) -> None:
    """Replay an episode."""
    player = Player(tape, Traffic.REPLAY)
    for request in requests:
        player.lookup(request)


def play_vcrpy(file: Path, requests: list[HttpRequest]) -> Callable[[], None]:
    """Replay an episode the way vcrpy's patched connections do."""
    cassette = Cassette.load(path=str(file), serializer=jsonserializer, record_mode=RecordMode.NONE, match_on=STOCK_MATCHERS)

    def play() -> None:
        cassette.rewind()
        for request in requests:
            asked = Request(request.method, request.url, request.body, dict(request.headers))
            if cassette.can_play_response_for(asked):
                cassette.play_response(asked)

    return play


def seconds(action: Callable[[], object], rounds: int) -> float:
    """Median time of one call."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def opening(folder: Path, rounds: int) -> tuple[float, float]:
    """Seconds to open one model conversation out of a zip, and to open and replay it."""
    tree = CassetteLibrary(folder / "tree")
    for number in range(EPISODES):
        player = tree.open_model(MODEL, f"s-{number}", "perfect", 1, 0, "abc", Traffic.RECORD)
        for request in conversation(TURNS, str(number)):
            player.record(request, HttpResponse(200, "OK", (), b'{"choices": []}'))
        player.save()
    pack(folder / "tree", folder / "zips", command="benchmark", licence="none")
    library = CassetteLibrary(folder / "zips")
    asked = {f"s-{number}": conversation(TURNS, str(number)) for number in range(EPISODES)}

    def visit(play: bool) -> None:
        for name, requests in asked.items():
            player = library.open_model(MODEL, name, "perfect", 1, 0, "abc", Traffic.REPLAY)
            for request in requests if play else ():
                player.lookup(request)

    visit(False)
    return seconds(lambda: visit(False), rounds) / EPISODES, seconds(lambda: visit(True), rounds) / EPISODES


def compare(length: int, folder: Path, rounds: int) -> float:
    """Print both rates for a recording of `length` interactions; return our milliseconds."""
    requests = conversation(length)
    tape = recorded(requests)
    file = folder / f"{length}.json"
    file.write_text(tape.text(), encoding="utf-8")
    ours = seconds(lambda: play_ours(tape, requests), rounds) / length
    vcrpy = seconds(play_vcrpy(file, requests), rounds) / length
    size = len(requests[-1].body or b"") / 1000
    rates = [f"{name} {1 / each:9,.0f} lookups/s ({each * 1e3:.3f} ms)" for name, each in (("ours", ours), ("vcrpy", vcrpy))]
    print(f"{length:5} interactions, the longest {size:.0f} kB: {', '.join(rates)}, ratio {vcrpy / ours:.1f}")
    return ours * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description="Lookups per second, ours against plain vcrpy's.")
    parser.add_argument("--interactions", type=int, default=100, help="interactions of the large recording")
    parser.add_argument("--rounds", type=int, default=15, help="times each measurement is repeated; the median counts")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        worst = max(compare(length, folder, given.rounds) for length in (TURNS, given.interactions))
        opened, replayed = opening(folder, given.rounds)
        print(
            f"one conversation of {TURNS} calls out of a zip of {EPISODES}: open {opened * 1e3:.2f} ms, open and replay {replayed * 1e3:.2f} ms"
        )
    if worst > LIMIT_MS:
        print(f"a lookup took {worst:.3f} ms; the limit is {LIMIT_MS} ms", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
