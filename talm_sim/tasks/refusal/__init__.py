"""Task `refusal`: call a tool if one fits, and none if none does (Teaching Small Models When Not to Call Functions, SIGIR 2026).

From the lowest layer up:

- `attempts/` finds attempts at calls in a text, `call_checks/` checks whether calls are right
- `tool_wording.py` has the task's options and the texts that show tools
- `bfcl/` reads BFCL's data, `data.py` loads the scenarios of a run
- `shown_tools.py` says which tools a model is shown, `prompts.py` puts a scenario to a model
- `intent.py` judges whether a model tried to call a tool
- `controls.py` plays the controls
- `propensity.py` computes how likely a model begins a call
- `trees.py` computes BFCL's overall scores
- `turns/` plays the rows with several turns
- `outcomes.py` says what each answer came to
- `measures.py` computes the metrics
- `page.py` adds notes and published rows to the table
- `maker.py` writes thoughts for training with the texts of `making/`, `training/` what the task can teach
- `task.py` is the task
"""
