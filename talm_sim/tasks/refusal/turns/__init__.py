"""The rows of task `refusal` in which the model acts: BFCL's multi-turn rows, how they are played, and who says whether they pass."""
