"""The page of runs: tables, an index of the episodes, transcripts, and runs side by side.

From the lowest layer up:

- `plain_tables.py` writes tables as plain data, `transcripts.py` a transcript
- `index.py` is all of a page but the transcripts
- `page_files.py` writes the page
- `notebook_cell.py` shows a transcript in a notebook
"""

from talm_sim.cli.pages.index import build_index, build_transcript
from talm_sim.cli.pages.page_files import render_page

__all__ = ["build_index", "build_transcript", "render_page"]
