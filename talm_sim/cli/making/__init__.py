"""Making scenarios at the terminal: tools tried, drafts, generation, review.

From the lowest layer up:

- `tool_trials.py` tries tools
- `drafting.py` is `scenarios init`
- `generating.py` is `scenarios generate`
- `fault_ways.py` is `scenarios check --faults`
- `reviewing.py` shows an entry and takes a key: it is `scenarios review`
"""
