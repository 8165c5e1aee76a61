"""Test an agent with pytest: the fixture `talm`, and assertions about how the agent behaved.

From the lowest layer up:

- `seen_calls.py` looks at an episode's calls
- `emptiness.py` finds calls that came back empty
- `played_agent.py` has the assertions
- `lab.py` runs scenarios against an agent
- `plugin.py` is the pytest plugin
"""
