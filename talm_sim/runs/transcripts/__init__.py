"""The transcript of an episode as plain data: `show`, the page and notebooks show the same."""

from talm_sim.runs.transcripts.data import Asked, Broken, Call, Fault, Transcript, TurnPart
from talm_sim.runs.transcripts.making import event_part, fold_turns, likeness, make_transcript, read_transcript

__all__ = [
    "Asked",
    "Broken",
    "Call",
    "Fault",
    "Transcript",
    "TurnPart",
    "event_part",
    "fold_turns",
    "likeness",
    "make_transcript",
    "read_transcript",
]
