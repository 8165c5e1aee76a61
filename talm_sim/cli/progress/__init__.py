"""Show the progress of a run.

From the lowest layer up:

- `tally.py` counts episodes and requests so far
- `budget_lines.py` words a budget
- `display.py` has the displays
- `python_progress.py` shows progress to Python and notebooks
"""
