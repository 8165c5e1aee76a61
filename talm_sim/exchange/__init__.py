"""Exchange data with other programs: import their traces and outputs as runs, and export runs in their forms.

From the lowest layer up:

- `exports/` writes stored runs for other programs
- `traces/` reads traces of agents that ran elsewhere
- `published_outputs.py` imports a paper's published outputs as runs
"""
