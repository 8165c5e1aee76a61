"""Make scenarios at the terminal: try tools, draft, generate, review.

From the lowest layer up:

- `tool_trials.py` tries tools
- `drafting.py` is `scenarios init`
- `generating.py` is `scenarios generate`
- `fault_ways.py` is `scenarios check --faults`
- `reviewing.py` shows an entry and takes a key: it is `scenarios review`
"""
