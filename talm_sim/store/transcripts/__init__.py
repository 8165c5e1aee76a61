"""The transcript of an episode as plain data: `show`, the page and notebooks show the same."""

from talm_sim.store.transcripts.from_episode import event_part, fold_turns, likeness, make_transcript, read_transcript
from talm_sim.store.transcripts.transcript import Asked, Broken, Call, Fault, Transcript, TurnPart

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
