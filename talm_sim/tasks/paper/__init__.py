"""A paper's rows beside a run's, for tasks that come from a paper.

From the lowest layer up:

- `published/` holds the tables of the four papers
- `paper_rows.py` finds the rows that are about a run's groups and model
"""
