"""Tests of an agent as pytest runs them: the fixture `talm`, and what can be asserted of how the agent behaved.

From the lowest layer up:

- `seen_calls.py` looks at an episode's calls
- `emptiness.py` finds calls that came back empty
- `played_agent.py` has the assertions
- `lab.py` runs scenarios against an agent
- `plugin.py` is the pytest plugin
"""
