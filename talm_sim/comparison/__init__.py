"""Compare runs with each other and with limits: differences with their tests, tables by model and by tool, and gates.

From the lowest layer up:

- `compared_rows.py` is what a comparison knows of a run, or of a baseline file
- `divergences.py` finds where two transcripts part
- `run_power.py` computes what a run can tell apart
- `by_model.py` makes a table with a row per model, `by_tool.py` one with a row per tool
- `differences.py` computes a difference over pairs of scenarios
- `person_differences.py` compares people with simulated ones, `worth_of_asking.py` computes what asking is worth
- `compare.py` compares two runs
- `bounded_gates.py` checks gates with a bound, `baselines.py` gates against a baseline
- `gate_set.py` checks all gates of a command
"""
