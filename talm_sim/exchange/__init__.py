"""What other programs write and read: their traces and outputs come in as runs, runs go out in their forms.

From the lowest layer up:

- `exports/` writes stored runs for other programs
- `traces/` reads traces of agents that ran elsewhere
- `published_outputs.py` imports a paper's published outputs as runs
"""
