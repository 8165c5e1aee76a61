"""Requests, answers and recordings that the tests of this room share."""

from __future__ import annotations

import json
from pathlib import Path

from talm_sim.config import Traffic
from talm_sim.recordings import HttpRequest, HttpResponse, Player, Redactor
from talm_sim.recordings.tape import Tape

JSON = (("content-type", "application/json"),)


def get(path: str = "/a?x=1") -> HttpRequest:
    return HttpRequest("GET", "http://tools.invalid" + path, {}, None)


def post(body: object) -> HttpRequest:
    return HttpRequest("POST", "http://tools.invalid/p", {"content-type": "application/json"}, json.dumps(body).encode())


def answer(text: str = "{}", status: int = 200) -> HttpResponse:
    return HttpResponse(status, "OK", JSON, text.encode())


def recorded(path: Path, *pairs: tuple[HttpRequest, HttpResponse], redactor: Redactor | None = None) -> Path:
    """Record `pairs` into a new file."""
    player = Player(Tape(str(path), path=path, redactor=redactor), Traffic.RECORD)
    for request, response in pairs:
        assert player.lookup(request) is None
        player.record(request, response)
    player.save()
    return path


def reopen(path: Path, mode: Traffic = Traffic.REPLAY, redactor: Redactor | None = None) -> Player:
    """A player of a recorded file."""
    return Player(Tape(str(path), path.read_text(), path=path, redactor=redactor), mode)
