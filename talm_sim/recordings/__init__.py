"""Recordings of tool and model traffic in vcrpy's format, played without patching anything."""

from talm_sim.recordings.http_exchange import FAULT_HEADER, STATE_HEADER, HttpRequest, HttpResponse
from talm_sim.recordings.library import CassetteLibrary, RecordedAnswer, Recording, model_folder, shipped_cassettes
from talm_sim.recordings.packing import export
from talm_sim.recordings.player import Player, current_player, playing
from talm_sim.recordings.redaction import REDACTED, Redactor
from talm_sim.recordings.tape import Tape
from talm_sim.recordings.transport import RecordingTransport

__all__ = [
    "FAULT_HEADER",
    "REDACTED",
    "STATE_HEADER",
    "CassetteLibrary",
    "HttpRequest",
    "HttpResponse",
    "Player",
    "RecordedAnswer",
    "Recording",
    "RecordingTransport",
    "Redactor",
    "Tape",
    "current_player",
    "export",
    "model_folder",
    "playing",
    "shipped_cassettes",
]
