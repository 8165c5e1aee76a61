"""Play the rows of task `refusal` in which the model acts: BFCL's multi-turn rows, how they are played, and who says whether they pass.

From the lowest layer up:

- `controls.py` plays the controls, `prompted.py` lets a model act that has no native tools
- `row_person.py` is the person of rows that lack a value
- `turns_judge.py` has judge `bfcl-turns`, `missing_turn.py` judge `missing-turn`
- `play.py` plays the rows
- `missing_table.py` is the table of the turns that lack something
"""
