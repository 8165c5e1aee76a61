"""`talm-sim view`: the page of stored runs on loopback, live while a run goes on.

From the lowest layer up:

- `watched.py` reads runs when their files have changed
- `app.py` serves the page
"""
