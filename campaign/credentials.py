"""Secrets planted wherever one may stand are found nowhere afterwards; what only looks like one is not changed in episodes."""

from __future__ import annotations

import base64
import json
import random
import socket
import sqlite3
import string
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from campaign.base import Outcome, Part, talm
from campaign.servers import MODELS, TURNS, Play, http, serve

BATCH: Final = 12
EPISODES: Final = 2
LETTERS: Final = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Planted:
    """A secret: what it is of, its value, and where it was put besides a server's answers.

    Attributes:
        kind: What it is of.
        value: The secret.
        variables: Environment variables that hold it.
        named: The argument a model gives it as; such a one is sought in recordings only.
    """

    kind: str
    value: str
    variables: tuple[tuple[str, str], ...] = ()
    named: str = ""


def _token(rng: random.Random, size: int, letters: str = LETTERS) -> str:
    return "a1" + "".join(rng.choices(letters, k=size - 2))


def _of_environment(rng: random.Random) -> Iterator[Planted]:
    for name in ("GITHUB_TOKEN", "MY_API_KEY", "X_SECRET", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "AZURE_OPENAI_KEY",
                 "HF_TOKEN", "SVC_ACCESS_TOKEN", "MAIL_PASSWD"):  # fmt: skip
        value = rng.choice((_token(rng, 24), _token(rng, 9), _token(rng, 30, LETTERS + "/+=-_."), _token(rng, 12, "abc \"'\\é!")))
        yield Planted(f"environment {name}", value, ((name, value),))


def _of_shape(rng: random.Random) -> Iterator[Planted]:
    jwt = ".".join(
        base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=") for one in ({"alg": "HS256"}, {"sub": _token(rng, 9)})
    )
    for value in (
        "sk-" + _token(rng, 30), "sk-proj-" + _token(rng, 40, LETTERS + "-_"), "sk-ant-api03-" + _token(rng, 30), "ghp_" + _token(rng, 36),
        "hf_" + _token(rng, 30),
        "AKIA" + "".join(rng.choices(string.ascii_uppercase + string.digits, k=16)), "AIza" + _token(rng, 35), "xoxb-" + _token(rng, 20),
        f"{jwt}.{_token(rng, 30)}", "glpat-" + _token(rng, 20), "gsk_" + _token(rng, 30),
    ):  # fmt: skip
        yield Planted(f"shape {value[:4]}", value)
    before = "key" + rng.choice("bcdfgh") + "sk-" + _token(rng, 24)
    yield Planted("shape sk- after a letter", before[4:])


def _named(rng: random.Random) -> Iterator[Planted]:
    names = "api_key apiKey access_token x-api-key client_secret authorization token auth credentials secret refreshToken session_token"
    for name in names.split():
        yield Planted(f"argument {name}", _token(rng, 20), named=name)


def _all(count: int, rng: random.Random) -> list[Planted]:
    found: list[Planted] = []
    while len(found) < count:
        kinds = [list(kind(rng)) for kind in (_of_environment, _of_shape, _named)]
        for one in kinds:
            rng.shuffle(one)
        while any(kinds) and len(found) < count:
            found += [one.pop() for one in kinds if one]
    return found[:count]


def _spelt(value: str, rng: random.Random) -> str:
    """JSON text of it, in one of the ways that readers take for the same."""
    plain = json.dumps(value)
    return rng.choice(
        (plain, plain.replace("/", "\\/"), '"' + "".join(f"\\u{ord(char):04x}" for char in value) + '"', json.dumps(value, ensure_ascii=False))
    )


def _server(protocol: str, planted: Sequence[Planted], rng: random.Random) -> Callable[[bytes], bytes]:
    """Echoes every secret in every place of an answer: text, arguments, ids, headers; first a question to the person, then a tool call."""
    free = [one.value for one in planted if not one.named]
    marks = {f"@{number}@": _spelt(value, rng)[1:-1] for number, value in enumerate(free)}
    words = " ".join(["Yes.", *marks, *(f"Bearer {mark}" for mark in marks)])
    named = {one.named: one.value for one in planted if one.named}

    def answer(request: bytes) -> bytes:
        body = json.loads(request.partition(b"\r\n\r\n")[2] or b"{}")
        told = sum(message.get("role") == "assistant" for message in body.get("messages", ()))
        calls = [("ask_human", json.dumps({"question": f"Is it {words}?", **named})), ("search_web", json.dumps({"query": words, **named}))]
        turn = TURNS[protocol](words, calls[:1] if told == 0 else calls if told == 1 else None) if body.get("tools") else TURNS[protocol](words)
        text = json.dumps(turn)
        for mark, spelt in marks.items():
            # Within a call's arguments, which are JSON in JSON, its letters are spelt once more.
            text = text.replace(mark, json.dumps(spelt)[1:-1] if protocol == "chat" and f'\\"query\\": \\"{mark}' in text else spelt)
        headers = {"x-request-id": " ".join(free).encode("ascii", "replace").decode(), "retry-after": "0"}
        return http(text.encode("utf-8", "surrogatepass"), headers=headers)

    return answer


def _answering(answer: Callable[[bytes], bytes], heard: Callable[[], list[bytes]]) -> Play:
    def play(connection: socket.socket) -> None:
        connection.sendall(answer(heard()[-1]))

    return play


def _failing(planted: Sequence[Planted]) -> Play:
    words = " ".join(f"{one.value}, http://me:{quote(one.value, safe='')}@h/, Bearer {one.value};" for one in planted if not one.named)

    def play(connection: socket.socket) -> None:
        status = "400 " + words.encode("ascii", "replace").decode()[:300]
        connection.sendall(http(json.dumps({"error": {"message": words, "code": words}}).encode(), status))

    return play


def _bytes_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """All that is stored below a folder, databases and what is packed in them included."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()
            if path.suffix == ".db":
                yield from _rows_of(path, folder)


def _rows_of(path: Path, folder: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(path)) as conn:
        for (table,) in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in conn.execute(f'SELECT * FROM "{table}"'):
                for cell in row:
                    data = cell if isinstance(cell, bytes) else str(cell).encode()
                    with suppress(zlib.error):
                        data = zlib.decompress(data)
                    yield f"{path.relative_to(folder).as_posix()}:{table}", data


def _forms(value: str) -> set[bytes]:
    texts = {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe=""),
        base64.b64encode(f"me:{value}".encode()).decode(),
    }
    texts |= {json.dumps(text)[1:-1] for text in texts} | {"".join(f"\\u{ord(char):04x}" for char in value)}
    return {text.encode() for text in texts}


def _sought(planted: Sequence[Planted], places: Sequence[tuple[str, bytes]]) -> Iterator[str]:
    for one in planted:
        where = {
            place for place, data in places for form in _forms(one.value) if form in data and (not one.named or place.startswith("recordings/"))
        }
        if where:
            yield f"{one.kind} '{one.value}' found in {', '.join(sorted(where)[:4])}"


def _batch(planted: list[Planted], protocol: str, rng: random.Random, folder: Path) -> Iterator[str]:
    folder.mkdir()
    key, password = _token(rng, rng.choice((12, 40))), _token(rng, 12)
    planted = [*planted, Planted("the provider's key", key), Planted("the address's password", password)]
    answer = _server(protocol, planted, rng)
    with serve(lambda _: None) as server:
        server.play = _answering(answer, lambda: server.heard)
        address = server.url.replace("http://", f"http://me:{password}@")
        env = {"EVIL_BASE_URL": f"{address}/v1", "EVIL_API_KEY": key, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": key}
        env |= {name: value for one in planted for name, value in one.variables}
        env |= {"TALM_SIM_MAX_RETRIES": "1", "TALM_SIM_MAX_EPISODES": "1", "TALM_SIM_FAIL_FAST": "false"}
        run = partial(talm, scratch=folder, env=env, warm=True)
        common = ("run", "--split", "underspecified", "--limit", str(EPISODES), "--model", MODELS[protocol], "--run-id")
        tapes = ("--cassettes", "recordings")
        ran = [run(*common, "kept", "--record", *tapes), run(*common, "asked", "--human", "terminal")]
        server.play = _failing(planted)
        ran.append(run(*common, "failed", "--display", "json", env=env | {"TALM_SIM_LOG_LEVEL": "debug"}))
        heard = len(server.heard)
        ran.append(run(*common, "again", "--replay", *tapes))
        if len(server.heard) != heard:
            yield "a replay asked the server"
    looks = ("report kept failed --html r.html", "report kept --csv --rows", "report kept --json", "show kept --json", "models list", "doctor")
    ran += [run(*words.split()) for words in looks]
    yield from (f"{' '.join(one.command)[:80]}: {one.wrong}" for one in ran if one.wrong)
    places = [*_bytes_of(folder), *((f"output of {' '.join(one.command[:4])}", (one.out + one.err).encode()) for one in ran)]
    yield from _sought(planted, places)
    if not any(place.startswith("recordings/") for place, _ in places):
        yield f"nothing was recorded: {ran[0].err[-300:]}"


def plant(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Run against servers that echo secrets, and seek these in all that was written."""
    planted, failures = _all(count, rng), list[str]()
    batches = [planted[start : start + BATCH] for start in range(0, len(planted), BATCH)]
    for number, batch in enumerate(batches):
        failures += _batch(batch, ("chat", "messages")[number % 2], rng, scratch / f"{number}")
    return Outcome(count, failures, {"beside them keys and passwords": str(2 * len(batches))})


PARTS = (Part("secrets", "secrets planted in the environment, addresses and answers", "secrets", 100, 12, plant),)
