"""The page of runs: tables, an index of the episodes, transcripts, and runs side by side."""

from talm_sim.cli.pages.index import build_index, build_transcript
from talm_sim.cli.pages.page_files import render_page

__all__ = ["build_index", "build_transcript", "render_page"]
