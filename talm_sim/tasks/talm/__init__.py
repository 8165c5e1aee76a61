"""Task `talm` (Fail-TaLMs, Treviño et al., NAACL 2025): under-specified queries and unavailable tools, with or without a person to ask.

From the lowest layer up:

- `groups.py` is the table of the scenario groups
- `recovered.py` finds what the study took away from its queries
- `reactions.py` finds what an agent does when a tool fails or something is missing
- `guesses.py` finds calls that make up what is missing
- `ask_scores.py` scores whether it asks when it needs to, `blockers.py` whether it asks for each thing
- `outcomes.py` decides what each episode came to
- `rows.py` says what each episode counts as
- `published.py` reads what the study's authors published
- `measures.py` computes the metrics: pass rate, awareness, asking
- `making/` makes and proves scenarios
- `task.py` is the task
"""
