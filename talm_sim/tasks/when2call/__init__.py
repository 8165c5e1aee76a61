"""Task `when2call` (When2Call, Ross et al., NAACL 2025): answer, call, ask or decline, when one of four is right.

From the lowest layer up:

- `published.py` reads the published rows
- `scored.py` is an episode in which given answers were scored, `scores.py` computes scores of a confusion matrix
- `behaviour_llm.py` has the judge `behaviour-llm`
- `controls.py` plays the controls
- `outcomes.py` says what each answer came to
- `measures.py` computes the metrics
- `harness.py` writes the task for lm-evaluation-harness
- `making/` makes items, and `maker.py` offers that to `scenarios generate`
- `training/` makes training rows
- `task.py` is the task
"""
