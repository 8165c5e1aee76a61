"""Make data of any kind: from sources to outcomes, in a folder that survives being killed, with a person's decisions on the result.

    sources -> for each, once: an outcome (rows, what was rejected and why) -> state.jsonl -> items.jsonl, rejected.jsonl, report.json

A task's maker (`talm_sim.tasks.makers`) says what is made, and of what. From the lowest layer up:

- `options.py` has the options of every making
- `outcome.py` says what goes in and what comes out
- `prompts.py` reads the wording for a writing model, and asks it
- `state.py` keeps what was finished
- `run_maker.py` makes the rest
- `review.py` keeps what people decide on the result
- `merge_reviews.py` merges the decisions of two people
"""
