"""Recordings of tool and model traffic in vcrpy's format, played without patching anything.

From the lowest layer up:

- `http_exchange.py` is one request and its response
- `shared_files.py` reads and writes files that several writers share
- `archive.py` opens a packed recording, `packing.py` unpacks those that are shipped
- `matching.py` decides which recorded request one is
- `indexed.py` searches a cassette by an index, `redaction.py` keeps secrets out of it
- `tape.py` is one recording in memory, and explains a miss
- `merge_recordings.py` merges trees of recordings into one
- `player.py` is the way of one episode through a recording
- `library.py` finds and opens recordings, `transport.py` records and replays a model's traffic
"""

from talm_sim.common.credentials import REDACTED
from talm_sim.recordings.http_exchange import (
    ARTIFACT_HEADER,
    FAULT_HEADER,
    PLAIN_HEADER,
    STATE_HEADER,
    TEXT_HEADER,
    WORDED_HEADER,
    HttpRequest,
    HttpResponse,
    Returned,
)
from talm_sim.recordings.library import CassetteLibrary, RecordedAnswer, Recording, model_folder, shipped_cassettes
from talm_sim.recordings.packing import export
from talm_sim.recordings.player import Player, current_player, playing
from talm_sim.recordings.redaction import Redactor
from talm_sim.recordings.transport import RecordingTransport

__all__ = [
    "ARTIFACT_HEADER",
    "FAULT_HEADER",
    "PLAIN_HEADER",
    "REDACTED",
    "STATE_HEADER",
    "TEXT_HEADER",
    "WORDED_HEADER",
    "CassetteLibrary",
    "HttpRequest",
    "HttpResponse",
    "Player",
    "RecordedAnswer",
    "Recording",
    "RecordingTransport",
    "Redactor",
    "Returned",
    "current_player",
    "export",
    "model_folder",
    "playing",
    "shipped_cassettes",
]
