"""Secrets planted wherever one may stand are found nowhere afterwards; what only looks like one is not changed in episodes."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import socket
import sqlite3
import string
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from campaign.base import ROOT, Outcome, Part, Ran, talm
from campaign.servers import MODELS, TURNS, Play, http, serve

__all__ = ["PARTS"]

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
    for name, form in (
        ("ftp_proxy", "http://me:{}@proxy:1"),
        ("DATABASE_URL", "postgres://me:{}@db/x"),
        ("OTHER_BASE_URL", "http://h/v1?api_key={}"),
        ("MANY_BASE_URL", "http://h/v1,http://me:{}@i/v1"),
    ):
        value = _token(rng, 14)
        yield Planted(f"address in {name}", value, ((name, form.format(value)),))


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
    for name in (
        "api_key",
        "apiKey",
        "access_token",
        "x-api-key",
        "client_secret",
        "authorization",
        "token",
        "auth",
        "credentials",
        "secret",
        "refreshToken",
        "session_token",
    ):
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
        common = ("--split", "underspecified", "--limit", str(EPISODES), "--model", MODELS[protocol])
        ran = [talm("run", *common, "--run-id", "kept", "--record", "--cassettes", "recordings", scratch=folder, env=env)]
        ran += [talm("run", *common, "--run-id", "asked", "--human", "terminal", scratch=folder, env=env)]
        server.play = _failing(planted)
        ran += [talm("run", *common, "--run-id", "failed", "--display", "json", scratch=folder, env=env | {"TALM_SIM_LOG_LEVEL": "debug"})]
        heard = len(server.heard)
        ran += [talm("run", *common, "--run-id", "again", "--replay", "--cassettes", "recordings", scratch=folder, env=env)]
        if len(server.heard) != heard:
            yield "a replay asked the server"
    for words in (
        ("report", "kept", "failed", "--html", "r.html"),
        ("report", "kept", "--csv", "--rows"),
        ("report", "kept", "--json"),
        ("show", "kept", "--json"),
    ):
        ran.append(talm(*words, scratch=folder, env=env))
    ran += [talm("models", "list", scratch=folder, env=env), talm("doctor", scratch=folder, env=env)]
    yield from (f"{' '.join(one.command)[:80]}: {one.wrong}" for one in ran if one.wrong)
    yield from _replayed_alike(ran[0], ran[3])
    places = [*_bytes_of(folder), *((f"output of {' '.join(one.command[:4])}", (one.out + one.err).encode()) for one in ran)]
    yield from _sought(planted, places)
    if not any(place.startswith("recordings/") for place, _ in places):
        yield f"nothing was recorded: {ran[0].err[-300:]}"


def _replayed_alike(live: Ran, again: Ran) -> Iterator[str]:
    """A table is the same live and replayed; the notes below it say which it was, and what it took."""
    tables = [list(takewhile(lambda line: "model:" not in line, one.out.splitlines())) for one in (live, again)]
    if tables[0] != tables[1] or not tables[0]:
        yield f"a replay gives another table: {again.err[-200:]}"


def _options(rng: random.Random, folder: Path, names: Sequence[str]) -> Iterator[str]:
    """`-M` of each spelling is refused in a line, and nothing is written."""
    folder.mkdir()
    for name in names:
        value = _token(rng, 20)
        plain = name.partition("{")[0]
        option = f"{plain}={value}" if plain == name else f"{plain}={name[len(plain) :]}".replace("@", value)
        env = {"EVIL_BASE_URL": "http://127.0.0.1:1/v1"}
        ran = talm("run", "--split", "perfect", "--limit", "1", "--model", "openai-api/evil/m", "-M", option, scratch=folder, env=env)
        written = [path.name for path in folder.iterdir() if path.name != "home"]
        if ran.code != 2 or value in ran.out + ran.err or ran.err.count("\n") != 1 or "environment variable" not in ran.err or written:
            yield f"-M {option}: exit {ran.code}, {ran.err[:200]!r}, written: {written}"


OPTIONS: Final = (
    "api-key", "x-api-key", "api.key", "token", "key", "auth", "access-token", "bearer", "pwd", "passwd", "hf_token", "API_KEY", "clientSecret",
    'extra_headers{"Authorization": "Bearer @"}', 'default_headers{"X-Api-Key": "@"}', 'extra_query{"key": "@"}',
    'extra_body{"a": [{"token": "@"}]}',
)  # fmt: skip


def plant(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Run against servers that echo secrets, and seek these in all that was written."""
    options = rng.sample(OPTIONS, min(len(OPTIONS), max(1, count // 6)))
    planted = _all(count - len(options), rng)
    failures = [*_options(rng, scratch / "options", options)]
    batches = [planted[start : start + BATCH] for start in range(0, len(planted), BATCH)]
    for number, batch in enumerate(batches):
        failures += _batch(batch, ("chat", "messages")[number % 2], rng, scratch / f"{number}")
    checkpoints = len(list(scratch.rglob("checkpoints.db")))
    return Outcome(count, failures, {"beside them keys and passwords": str(2 * len(batches)), "checkpoints read": str(checkpoints)})


# --- look-alikes ---


def _gold(data: Path) -> Iterator[str]:
    """Gold arguments of API-Bank that are given as tokens, passwords and keys, and others."""
    for path in sorted(data.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            arguments = json.loads(line).get("param_dict") if line.strip() else None
            yield from (
                str(value) for name, value in (arguments or {}).items() if any(word in name for word in ("token", "password", "key", "user"))
            )


def _facts() -> Iterator[str]:
    """Facts of the packaged scenarios."""
    for path in sorted((ROOT / "talm_sim" / "scenarios" / "data").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield from _strings(json.loads(line))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _made_up(rng: random.Random) -> list[str]:
    hexes = "0123456789abcdef"
    uuid = "-".join(_token(rng, size, hexes) for size in (8, 4, 4, 4, 12))
    page = base64.b64encode(f"page:{rng.randrange(99)}:{_token(rng, 12)}".encode()).decode()
    return [
        *(_token(rng, size, hexes) for size in (32, 40, 64)), uuid, page, "CAUQ" + _token(rng, 20),
        f"task-{_token(rng, 20, hexes)}", "a bearer bond", "no token", f"sha256:{_token(rng, 64, hexes)}",
    ]  # fmt: skip


def keep(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Let a model say look-alikes in texts and arguments, and find them in the episodes, live and replayed, as they were said."""
    given = os.environ.get("TALM_SIM_BENCH_DATA")
    data = Path(given) / "apibank" if given else None
    gold = sorted(set(_gold(data))) if data is not None and data.is_dir() else []
    facts = sorted({text for text in _facts() if 8 <= len(text) <= 200})
    made_up = [text for _ in range(count) for text in _made_up(rng)]
    said: list[str] = []
    for number in range(count):
        said.append(rng.choice((gold, facts, made_up)[number % 3] or made_up))
    failures: list[str] = []
    for number, start in enumerate(range(0, count, 25)):
        failures += _kept(said[start : start + 25], ("chat", "messages")[number % 2], scratch / f"{number}")
    figures = {"gold arguments": str(len(gold)) if gold else "none: TALM_SIM_BENCH_DATA holds no apibank", "facts": f"{len(facts):,}"}
    return Outcome(count, failures, figures)


def _kept(said: list[str], protocol: str, folder: Path) -> Iterator[str]:
    folder.mkdir()
    words = "Yes. " + "\n".join(said)
    names = ("token", "password", "key", "page_token", "api_key")
    arguments = json.dumps({"question": words, **{f"{names[number % 5]}{number // 5 or ''}": text for number, text in enumerate(said)}})

    def answer(request: bytes) -> bytes:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        told = any(message.get("role") == "assistant" for message in body["messages"])
        return http(json.dumps(TURNS[protocol](words, [("ask_human", arguments)] if body.get("tools") and not told else None)).encode())

    env = {"OTHER_TOKEN": "true", "SHORT_API_KEY": "1", "TEST_PASSWORD": "password", "DAY_TOKEN": "20240101"}
    with serve(lambda _: None) as server:
        server.play = _answering(answer, lambda: server.heard)
        env |= {"EVIL_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none-needed"}
        common = ("--split", "underspecified", "--limit", "1", "--model", MODELS[protocol], "--display", "none", "--cassettes", "recordings")
        for run, how in (("live", "record"), ("again", "replay")):
            ran = talm("run", *common, "--run-id", run, f"--{how}", scratch=folder, env=env)
            if ran.wrong or ran.code != 0:
                yield f"{protocol}, {run}: {ran.wrong or ran.err[-300:]}"
                return
            stored = [
                data.decode()
                for place, data in _rows_of(folder / "runs" / run / "run.db", folder)
                if place.endswith(":episodes") and data[:1] == b"{"
            ]
            texts = list(_strings([json.loads(text) for text in stored]))
            for value in said:
                if value not in texts:
                    yield f"{protocol}, {run}: '{value}' is not in the episode as it was said"
            if how == "record":
                calls = [text for text in texts if text == words]
                if not calls:
                    yield f"{protocol}, {run}: the text as a whole is not in the episode"
    shutil.rmtree(folder)


PARTS = (
    Part("secrets", "secrets planted in the environment, options, addresses and answers", "secrets", 100, 12, plant),
    Part("lookalikes", "gold arguments, hashes, page tokens, facts", "values", 100, 15, keep),
)
