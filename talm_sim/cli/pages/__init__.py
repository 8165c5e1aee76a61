"""The page of runs: tables, an index of the episodes, transcripts, and runs side by side."""

from talm_sim.cli.pages.files import render_page
from talm_sim.cli.pages.index import build_index, build_transcript

__all__ = ["build_index", "build_transcript", "render_page"]
