"""Make scenarios of task `talm`: draft them from real calls, and prove them.

From the lowest layer up:

- `giveaways.py` finds what the tools' descriptions give away
- `check.py` proves scenarios
- `drafts.py` drafts scenarios from calls that were made
- `other_values.py` tries other values where a description gives one away
"""
