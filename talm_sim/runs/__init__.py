"""A run from its options to its last verdict. Only this room starts, continues or judges one; it prints nothing, it reports events.

From the lowest layer up:

- `events.py` are the events that a run reports
- `prices.py` reads what models cost, `tool_sources.py` holds a run's tool sources
- `budget.py` counts what a command has spent
- `resolve.py` turns what the user gave into what is run
- `batch.py` runs many episodes at once
- `judging.py` lets the judges over the stored episodes
- `make_scenarios.py` opens what a maker needs, and makes scenarios
- `runner.py` runs one episode with its recordings in place
- `plan.py` plans a run, and opens what the plan needs
- `api.py` has the verbs: run, resume, judge
- `forecast.py` says what a run would ask and cost
- `ablation/` runs a grid of runs, `engines/` plays a run's shards elsewhere
"""
